// Processes that read logs. A log that crashes its reader, or needs more memory than there is, is a bad log and stops
// nothing else; and several logs are read at once.
#pragma once

#include "base/bytes.h"
#include "base/problem.h"

struct workers_order {
    void *context;
    size_t count;                                           // of logs
    int (*path_of)(void *context, size_t log, char path[]); // PATH_MAX bytes
    // What was read: `data` as job_get takes it, or NULL and the reason. In any order.
    int (*done)(void *context, size_t log, const struct bytes *data, const char *reason);
    int (*tick)(void *context); // several times per second
};

int workers_run(const struct workers_order *order, struct problem *problem);
