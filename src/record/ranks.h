// `mpiexec -n 4 ioseer record -o LOG -- ./a`: every rank has its own `record`, and together they make one log. They
// share the directory of spill files. Each leaves a mark there when it starts and another when it is done; the last one
// packs.
#pragma once

#include <stdbool.h>

#include "record/run.h"

struct record_ranks {
    int rank;
    int size;        // 0 or 1: not one of several
    char launch[64]; // identifies the launch; can be part of a file name
    char host[64];
};

// From the variables that launchers set.
struct record_ranks record_ranks_find(void);

static inline bool record_ranks_several(const struct record_ranks *ranks) { return ranks->size > 1; }

int record_ranks_arrive(const struct record_ranks *ranks, const char *spill_dir);

// Marks this rank as done, with the processes it reaped; true if this rank packs. Waits up to `wait_seconds` for ranks
// that have not arrived (they may write other logs), and never for ranks that still run: the last of them packs.
bool record_ranks_finish(const struct record_ranks *ranks, const char *spill_dir, const struct record_run *run,
                         double wait_seconds);

// Turns one rank's run into that of all ranks on this host: the earliest start and all reaped processes.
int record_ranks_gather(const struct record_ranks *ranks, const char *spill_dir, struct record_run *run);
