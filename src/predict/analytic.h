// Times from the points of a SYSTEM, without running anything.
#pragma once

#include "measure/statistics.h"
#include "predict/classes.h"
#include "target/system/system.h"

struct estimate {
    struct interval seconds;
    const struct system_point *below, *above; // points of the next smaller and larger size, or the same; either or NULL
    const struct system_point *rested;        // a point with pauses between requests, where the class has them; or NULL
    bool extrapolated;                        // points differ in mode, number of processes, or size
    const char *reason;                       // in what they differ; NULL unless extrapolated
};

// How long all requests of the class take on the system. ERR_NOTHING if it has no point for the class's operation.
int analytic_estimate(const struct system *system, const struct io_class *class, struct estimate *estimate);

// A point in words: "write 1 MiB sequential, 4 processes, shared".
void analytic_point_text(const struct system_point *point, char out[128]);
