// What the process says of itself in its spill file: who it is, and the kernel's own count of its I/O.
#pragma once

void process_io_describe(void); // at the start
void process_io_end(void);      // at the end
