// Stores records of log_stats in a few hundred bytes each, for callers that need all records before they use the
// first.
#pragma once

#include "base/bytes.h"
#include "log/stats.h"

struct log_stored_record {
    const struct log_process *process;
    const struct log_file *file;
    unsigned layer;
    size_t at; // offset in `data`
    bool has_rank;
    bool is_added_up;
    int64_t rank;
    uint32_t world;
    struct counters_ranks ranks; // if it is added up
};

struct log_record_store { // all zero is empty
    struct log_stored_record *stored;
    size_t count;
    struct bytes data;
};

// The caller may append more data after the record.
int log_record_store_add(struct log_record_store *list, const struct log_stats_record *record);
// Also returns the data after the record; `behind` may be NULL.
int log_record_store_get(const struct log_record_store *list, const struct log_stored_record *stored,
                         struct counters *counters, struct fields_in *behind);
void log_record_store_free(struct log_record_store *list);
