// The events that took longest.
#pragma once

#include "log/iter.h"

struct log_slowest {
    struct log_event *event; // the longest first; of equal ones the earlier
    size_t count;
    uint64_t *attributes; // of all events
};

// At most `most` of the events that pass the filter.
int log_slowest(struct log_slowest *slowest, struct log *log, const struct log_filter *filter, uint64_t most);
void log_slowest_free(struct log_slowest *slowest);
