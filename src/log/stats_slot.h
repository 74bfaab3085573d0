// A record of log_stats, with the values that found no room among its candidates.
#pragma once

#include "log/stats.h"
#include "log/value_counts.h"

struct log_stats_slot {
    struct log_stats_record record;
    struct log_value_counts sizes;
    struct log_value_counts strides;
    struct run *run; // calls that are not counted yet, or NULL (log/stats.c)
};

// Makes the most frequent of all values the candidates: this completes the record.
int log_stats_slot_finish(struct log_stats_slot *slot);
void log_stats_slot_free(struct log_stats_slot *slot); // frees the contents, not the slot
