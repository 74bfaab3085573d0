// A record of log_stats before the values that found no room among its candidates are brought in.
#pragma once

#include "log/stats.h"
#include "log/tally.h"

struct log_stats_slot {
    struct log_stats_record record;
    struct log_tally sizes;
    struct log_tally strides;
    struct run *run; // of calls that wait to be counted, or NULL (log/stats.c)
};

// The most frequent of all values become the candidates: the record is then complete.
int log_stats_slot_finish(struct log_stats_slot *slot);
void log_stats_slot_free(struct log_stats_slot *slot); // what it holds, not itself
