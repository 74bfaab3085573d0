// Describes the process in its spill file: host, program, arguments, and the kernel's count of its I/O.
#pragma once

void process_info_start(void); // at the start
void process_info_end(void);   // at the end
