// The extended model: what was counted, times what each of it costs.
#pragma once

#include "measure/statistics.h"
#include "target/system/system.h"
#include "whatif/counts.h"

// Of one kind of storage and one number of processes.
struct prices {
    const struct system *system;
    const struct system_mpiio *mpiio; // NULL: not measured, then MPI-IO costs nothing but its requests
};

struct extended {
    struct interval seconds;
    double agreeing;  // calls and rounds of collective I/O
    double shuffling; // bytes and pieces through aggregators
    double calling;   // independent calls and their pieces
    double storage;
    double waiting;    // for ranks that come later
    bool extrapolated; // no point of the profile is like the requests
};

// ERR_NOTHING: the system has no point for a direction.
int extended_estimate(const struct io_counts *counts, const struct prices *prices, struct extended *result);
