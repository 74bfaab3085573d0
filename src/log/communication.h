// The communication in a log, without its events.
#pragma once

#include "log/event.h"

// Receives one sum. A negative return value stops the reading and is returned to the caller.
typedef int log_comm_callback(const struct log_comm *comm, void *context);

// First the streams one after the other, each in its order. Then, unless the filter limits the time, what each process
// counted outside its events. Only rank, process, pid and times of the filter apply; it may be NULL.
int log_comm(struct log *log, const struct log_filter *filter, log_comm_callback *callback, void *context);

// The communication that the process counted outside its events.
int log_comm_untraced(const struct log_process *process, log_comm_callback *callback, void *context);
