// One run of one point, in a process of its own: what the run does to that process ends with it, and it can be ended.
#pragma once

#include <signal.h>

#include "sweep/memory.h"

struct run_result {
    int code; // 0: it has a time
    double io, wall;
    uint64_t working_set;         // 0: not asked for
    char why[1024];               // if it failed
    struct sweep_phase phase[64]; // the first ones, if the working set was asked for
    size_t phases;
    bool killed; // for memory
};

struct sweeping {
    struct sweep *sweep;
    const struct sweep_settings *settings;
    struct memory_limits limits;
    double deadline; // of clock_seconds; 0: none
    struct problem *problem;
};

// Returns 0 if the run took place, whatever came of it; -ETIMEDOUT at the deadline; -EINTR, with the signal in the
// problem.
int run_point(struct sweeping *sweeping, const struct sweep_point *point, struct run_result *result);

// Holds back signals that would end this process, so that a run under way ends first.
void run_hold_signals(sigset_t *before);
