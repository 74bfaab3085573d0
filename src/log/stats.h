// Counters per process, layer and file: from the trace as far as it goes, then from the counters the recorder kept.
#pragma once

#include "fmt/counters.h"
#include "log/visit.h"

struct log_stats_record {
    const struct log_process *process; // NULL: reduced over the ranks of a job
    bool has_rank;
    int64_t rank;   // -1: reduced
    uint32_t world; // LOG_NO_WORLD without a rank
    unsigned layer;
    const struct log_file *file;
    struct counters counters; // times in ns since the job's start
    bool is_reduced;
    struct counters_ranks ranks; // of a reduced one
};

// Takes one record; a negative return ends the work and is handed up.
typedef int log_stats_take(const struct log_stats_record *record, void *context);

// Processes in the order of the log, each one's records by layer, then file. The filter may be NULL; with one on
// classes or times the counters are those of the events that pass, and those kept past the trace cap are left out.
// Holds one process's records at a time.
int log_stats(struct log *log, const struct log_filter *filter, log_stats_take *take, void *context);

struct log_stats_slot; // log/stats_slot.h

// The same as a consumer of a visit, which must have the same filter; the request must stay as long as that lasts.
struct log_stats_request {
    struct log *log;
    const struct log_filter *filter; // or NULL
    log_stats_take *take;
    int (*take_slot)(struct log_stats_slot *slot, void *context); // instead, for log/reduce.c
    void *context;
};

struct log_consumer log_stats_consumer(struct log_stats_request *request);
int log_stats_visit(struct log_stats_request *request); // of this consumer alone

// The same by layer, then file, then rank. A file that every rank of an MPI job has a record of becomes one record of
// rank -1; processes without a rank are counted together as one. With `apart` nothing is joined.
int log_reduce(struct log *log, const struct log_filter *filter, bool apart, log_stats_take *take, void *context);

// Only what the recorder counted past the trace cap, in no order. No event is read.
int log_stats_untraced(struct log *log, log_stats_take *take, void *context);
