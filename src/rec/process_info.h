// Describes the process in its spill file: host, program, arguments, and the kernel's count of its I/O.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fmt/records.h"

enum process_birth {
    BIRTH_EXEC,        // by exec
    BIRTH_FORK,        // by a process that has called this
    BIRTH_RECENT_FORK, // the same; what the kernel counts began with 0 a moment ago
    BIRTH_JOINED,      // it has been running for a while
};

// At the start.
void process_info_start(enum process_via via, enum process_birth birth);
void process_info_end(void); // at the end
// The kernel's count of bytes read and written so far; unchanged if it is not known.
void process_info_chars(uint64_t chars[2]);

bool process_info_is_traced(void); // by a debugger, or by the tracer of the recorder
