// A log that can be given away: the same events, times and counters, without names.
#pragma once

#include "anonymous/key.h"
#include "log/log.h"

struct anonymous_options {
    bool replace; // a log that is there already
    // Called now and then with the events done so far. A negative value stops the work and is returned.
    int (*progress)(void *context, uint64_t events);
    void *context;
};

// Records and blocks that are damaged, or larger than a log may have, are left out and counted.
int anonymous_write(struct log *log, const char *path, const struct anonymous_key *key,
                    const struct anonymous_options *options, uint64_t *left_out);
