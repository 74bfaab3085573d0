// Data sieving, as ROMIO does it: independent calls on scattered pieces move whole windows of the file. A writer locks
// its window, reads it, puts its pieces in, writes it and unlocks it, so ranks whose windows overlap take turns.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct window {
    int64_t offset;
    uint64_t bytes;
    uint64_t file; // different for different files
    uint32_t rank;
};

struct sieving {
    struct window *window; // rank after rank
    size_t count;
};

// What all writers together do.
struct sieved_writes {
    double written, read; // bytes; what lies behind the end of the file is not read
    double at_once;       // bytes in a unit of time: at most 2, as many as the ranks read and write at the same time
};

// The ranks go through their windows at the same time. A byte takes one unit of time, be it read or written. A file is
// empty at first.
int sieving_take_turns(const struct sieving *sieving, struct sieved_writes *result);
