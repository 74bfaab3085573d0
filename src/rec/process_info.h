// What the process says of itself in its spill file: who it is, and the kernel's own count of its I/O.
#pragma once

void process_info_start(void); // at the start
void process_info_end(void);   // at the end
