// What the kernel says about the recorded process's memory in /proc/PID/smaps.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// A part of the address space; sizes in bytes.
struct smaps_area {
    uintptr_t start;
    uintptr_t end;
    bool is_shared;
    bool is_writable;
    uint64_t resident; // what the process has touched and what is still in memory
    uint64_t dirty;    // of that, what has changed since it was last written to the file, by whomever
    uint64_t copied;   // of that, the process's own copies of the file's pages
};

// Calls `visit` for each area, by address, until it returns false. Returns false if the kernel does not tell, or not
// before the thread's processor time has reached `deadline_ns`. Not for two threads at once.
bool smaps_walk(bool (*visit)(void *context, const struct smaps_area *area), void *context, uint64_t deadline_ns);
