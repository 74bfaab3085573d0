// Programs that got slower, compared with their own earlier runs.
#pragma once

#include <stddef.h>
#include <stdint.h>

// A run of a program, of the same user and with the same number of processes.
struct run {
    int64_t id, start_ns, run_ns, io_ns, bytes;
};

enum slower_measure { SLOWER_RUN, SLOWER_IO, SLOWER_MEASURES };

struct slower {
    size_t recent, earlier;     // number of runs that were compared
    double before_ns, after_ns; // medians
    double factor;
    double chance; // that noise alone looks like this
    int64_t since_ns;
};

// Runs come latest first. Returns 1 and the finding if the program got slower, else 0.
//
// The last 5 to 20 runs are compared with those before them, at least 8, as far as they moved between half and
// twice as many bytes: a larger problem is not a slowdown. The median must have grown by a fifth and by 10 ms, and
// noise must be an unlikely reason: a rank test gives at most 1 in 2,500 and the median moved by three times the spread
// of the earlier runs, or the test alone gives at most 1 in 10,000. Both are indifferent to single runs that are very
// slow.
int slower_find(const struct run *run, size_t runs, enum slower_measure measure, struct slower *slower);
