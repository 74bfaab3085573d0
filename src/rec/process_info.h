// Describes the process in its spill file: host, program, arguments, and the kernel's count of its I/O.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fmt/records.h"

// At the start; `joined`: the process has been running for a while.
void process_info_start(enum process_via via, bool joined);
void process_info_end(void); // at the end
// The kernel's count of bytes read and written so far; unchanged if it is not known.
void process_info_chars(uint64_t chars[2]);

bool process_info_is_traced(void); // by a debugger, or by the tracer of the recorder
