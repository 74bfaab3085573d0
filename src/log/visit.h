// One pass over a log that serves every consumer of its events.
//
// Consumers register callbacks. Each block is decoded once, on all cores, and every consumer gets every event with the
// call around it and its thread. There are two kinds of callbacks, and a consumer may have both:
//
//   per process  The events of one process in the order of their starts, in batches. Several processes are processed in
//                parallel, each with its own state. The states are returned in the order of the processes.
//   ordered      The events of all processes in the order of their starts, in one thread. This needs a merge: a visit
//                without ordered callbacks is faster.
//
// Results depend neither on the number of threads nor on the other consumers. Memory is bounded by the number of
// threads and, with ordered callbacks, by the number of streams that are active at one time. Damaged blocks are skipped
// and counted in log_health.
#pragma once

#include "log/event.h"

struct log_consumer {
    void *context;
    // Calls of layers above MPI-IO (HDF5) are for consumers that want them. For all consumers, what is inside such a
    // call is not inside anything, and their bytes are not moved by the job.
    bool wants_above;
    // Calls below the system call are for consumers that want them; without one, their blocks are not read.
    bool wants_below;

    // Per process; all may be NULL. `begin` makes the state; without `begin` there is none. Processes without events
    // begin and end, too. The states end one at a time, in the order of the log's processes; `end` also frees. After
    // an error, `discard` frees the remaining states.
    int (*begin)(void *context, const struct log_process *process, void **state);
    int (*events)(void *state, const struct log_event *event, size_t count); // `thread` is numbered within the process
    int (*comm)(void *state, const struct log_comm *comm, size_t count);
    int (*end)(void *context, void *state);
    void (*discard)(void *state);

    // All processes; `thread` is numbered within the log. May be NULL. Runs in the thread that called log_visit.
    int (*ordered)(void *context, const struct log_event *const *event, size_t count);
};

struct log_visit {
    struct log *log;
    const struct log_filter
        *filter; // or NULL; the same for all consumers. For communication, only its conditions on processes apply
    const struct log_consumer *consumer;
    size_t consumers;
    unsigned threads; // 0: the variable IOSEER_THREADS, or else the number of cores
};

// A negative return value of a callback stops the visit and is returned.
int log_visit(const struct log_visit *visit);
