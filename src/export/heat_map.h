// Darshan's heat maps: how many bytes a rank read and wrote in each part of the job's time.
#pragma once

#include <stdint.h>

#include "base/lookup.h"
#include "darshan/write.h"
#include "log/event.h"

enum heat_kind { HEAT_POSIX, HEAT_MPIIO, HEAT_STDIO, HEAT_KINDS };

struct heat {
    uint64_t *bytes; // by bin those written, then by bin those read; NULL: none
};

// The maps of all ranks.
struct heat_maps {
    int64_t width_ns; // of a bin
    unsigned bins;
    struct heat_row {
        unsigned kind;
        int64_t rank;
        struct heat heat;
    } * row;
    size_t rows;
    struct lookup by_rank; // by kind and rank
};

void heat_begin(struct heat_maps *maps, int64_t run_ns);
// Adds a read or write to the heat of one process.
int heat_add(struct heat *heat, const struct heat_maps *maps, const struct log_event *event);
// Adds the heat of a process to that of its rank, and empties it.
int heat_join(struct heat_maps *maps, struct heat *heat, unsigned kind, int64_t rank);
int heat_write(const struct heat_maps *maps, struct darshan_writer *writer);
void heat_free(struct heat_maps *maps);
