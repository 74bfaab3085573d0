// One pass over a log for everybody who wants to know something about its events.
//
// Consumers register callbacks. Each block is decoded once, on as many cores as there are, and every consumer gets
// every event, with the call around it and its thread. There are two kinds of callbacks, and a consumer may have both:
//
//   per process  The events of one process in the order of their starts, in batches. Several processes are worked on at
//                once, each with a state of its own; the states are handed back in the order of the processes.
//   ordered      The events of all processes in the order of their starts, from one thread. They cost a merge, so a
//   visit
//                without such callbacks is faster.
//
// What a callback gets depends on neither the number of cores nor on the other consumers: results are the same with any
// number of threads. Memory is bounded by the number of threads, and with ordered callbacks by the number of streams
// that are under way at one time. Damaged blocks are passed over and counted in log_health.
#pragma once

#include "log/event.h"

struct log_consumer {
    void *context;

    // Per process; all may be NULL. `begin` makes the state (may be NULL: there is none). Processes without events
    // begin and end, too. The states end in the order of the log's processes, one at a time; `end` also frees. After an
    // error `discard` frees the states that are left.
    int (*begin)(void *context, const struct log_process *process, void **state);
    int (*events)(void *state, const struct log_event *event, size_t count); // `thread` counts within the process
    int (*comm)(void *state, const struct log_comm *comm, size_t count);
    int (*end)(void *context, void *state);
    void (*discard)(void *state);

    // All processes; `thread` counts within the log. May be NULL. Runs in the thread that called log_visit.
    int (*ordered)(void *context, const struct log_event *const *event, size_t count);
};

struct log_visit {
    struct log *log;
    const struct log_filter
        *filter; // or NULL; the same for all consumers. Communication only heeds the processes in it
    const struct log_consumer *consumer;
    size_t consumers;
    unsigned threads; // 0: the variable IOSEER_THREADS, or else the number of cores
};

// A negative code of a callback ends the work and is handed up.
int log_visit(const struct log_visit *visit);
