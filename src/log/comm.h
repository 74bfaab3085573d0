// The communication of a log without its events.
#pragma once

#include "log/event.h"

// Takes one; a negative return ends the work and is handed up.
typedef int log_comm_take(const struct log_comm *comm, void *context);

// Stream by stream, each in its order; then process by process what the events do not tell of, unless the filter has a
// time. Of the filter rank, process, pid and times count; it may be NULL.
int log_comm(struct log *log, const struct log_filter *filter, log_comm_take *take, void *context);

// What the events of a process do not tell of.
int log_comm_untraced(const struct log_process *process, log_comm_take *take, void *context);
