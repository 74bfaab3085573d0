// Counts values that found no room among a record's candidates (fmt/counters.h).
#pragma once

#include "base/lookup.h"
#include "fmt/counters.h"

enum { VALUE_COUNTS_MAX = 4096 }; // distinct values; further ones are left out

struct value_count {
    uint64_t value;
    uint64_t count;
};

struct log_value_counts {
    struct lookup lookup;
    struct value_count *item;
    uint32_t count;
};

// `budget` is the number of values that all counts together may still add.
int log_value_counts_add(struct log_value_counts *counts, uint64_t value, uint64_t times, uint32_t *budget);
// Makes the most frequent of all values the candidates.
int log_value_counts_finish(const struct log_value_counts *counts, struct counters_common *common);
void log_value_counts_free(struct log_value_counts *counts);
