// Times from a SYSTEM's points, without running anything.
#pragma once

#include "predict/classes.h"
#include "predict/statistics.h"
#include "target/system/system.h"

struct estimate {
    struct interval seconds;
    const struct system_point *below, *above; // the points used: of the next smaller and larger size, or the same
    const struct system_point *rested;        // one of those used for pauses between requests, or NULL
    bool extrapolated;                        // no points like it: of another mode, number of processes, or size
    char reason[128];                         // why
};

// How long all requests of the class take on the system: that of the slowest process, as processes are alike.
// ERR_NOTHING where the system has no point for such an operation.
int analytic_estimate(const struct system *system, const struct io_class *class, struct estimate *estimate);

// A point in words: "write 1 MiB sequential, 4 processes, shared".
void analytic_point_text(const struct system_point *point, char out[128]);
