// What is seen of an export while it works, and its end by a signal.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/problem.h"

struct export_progress {
    struct problem *problem; // learns of the signal
    uint64_t all;            // events
    double start, shown;
    bool is_visible;
};

// From now on a signal ends the export, and a second one the program.
void export_progress_begin(struct export_progress *progress, struct problem *problem, uint64_t all, bool is_quiet);
// -EINTR after a signal.
int export_progress_watch(void *progress, uint64_t events);
void export_progress_end(const struct export_progress *progress);
