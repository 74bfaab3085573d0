// Counts values that found no room among a record's candidates (fmt/counters.h).
#pragma once

#include "base/lookup.h"
#include "fmt/counters.h"

enum { TALLY_VALUES = 4096 }; // distinct values; further ones are left out

struct tally_item {
    uint64_t value;
    uint64_t count;
};

struct log_tally {
    struct lookup lookup;
    struct tally_item *item;
    uint32_t count;
};

// `budget` is the number of values that all counts together may still add.
int log_tally_add(struct log_tally *tally, uint64_t value, uint64_t times, uint32_t *budget);
// Makes the most frequent of all values the candidates.
int log_tally_finish(const struct log_tally *tally, struct counters_common *common);
void log_tally_free(struct log_tally *tally);
