// The events of a log in the order of their starts, each with its thread and with the call that it was made inside.
// Memory is bounded: what is remembered of calls that may have children is a table of fixed size for each process.
#pragma once

#include "base/lookup.h"
#include "log/iter.h"

// What is remembered of a call that may be a parent.
struct log_around {
    uint64_t id;
    const struct log_call *call; // NULL: the entry is not in use
    int64_t start_ns;
    bool is_own; // the program made it
};

struct log_step {
    const struct log_event *event;
    uint32_t lane; // number of the thread, in the order of their first events
    bool is_own;   // the program itself made the call: nothing recorded is around it
    bool moves;    // a transfer that did not fail, counted once: by the highest layer that moved the bytes
    const struct log_around *parent; // NULL where there is none, or it is not remembered any more
};

struct log_lane {
    const struct log_process *process;
    uint32_t tid;
};

struct log_walk {
    struct log *log;
    struct log_iter *iter;
    struct lookup lane_of; // process and thread -> number
    struct log_lane *lane;
    size_t lanes;
    struct log_around **around; // by process, each a table of WALK_AROUND, or NULL
};

int log_walk_open(struct log_walk *walk, struct log *log, const struct log_filter *filter);
// 1 with the next step, good until the next call; 0 at the end; a negative code where reading fails.
int log_walk_next(struct log_walk *walk, struct log_step *step);
void log_walk_close(struct log_walk *walk);
