// Notices that a replay does not go on: each process tells in its slot of a file what it does (replay/contract.h), and
// ioseer looks there while it waits for the launcher. A file, because the processes may be on several hosts.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "replay/contract.h"

struct stall {
    const char *path;
    double limit; // seconds without the end of an operation; 0: none
    uint32_t np;
    double model_bytes; // that each process reads before it starts
    // The following are zero at the beginning:
    double looked, changed;
    uint64_t sum; // of all that changes when a process goes on
};

// Whether nothing has ended for too long. Then `why` says which ranks wait in which call.
bool stall_found(struct stall *stall, char *why, size_t room);
