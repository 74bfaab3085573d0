// The communication between a process's events: not events themselves, but counted where they happened.
#pragma once

#include "log/iter.h"

struct log_comm {
    const struct log_process *process;
    bool has_thread; // else it is the process's, from where the events do not tell of it any more
    uint32_t tid;
    uint64_t tick; // of the event that follows; behind the last one: the latest that is known
    bool has_event;
    uint64_t event;   // that follows in the stream, meaningful with has_event
    int64_t start_ns; // of that event; behind the last one: the end of it
    enum stream_comm_kind kind;
    uint64_t count;
    uint64_t bytes;
    int64_t time_ns;
};

// Takes one; a negative return ends the work and is handed up.
typedef int log_comm_take(const struct log_comm *comm, void *context);

// Stream by stream, each in its order; then process by process what the events do not tell of, unless the filter has a
// time. Of the filter rank, process, pid and times count; it may be NULL.
int log_comm(struct log *log, const struct log_filter *filter, log_comm_take *take, void *context);
