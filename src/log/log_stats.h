// Counters per process, layer and file: from the trace as far as it goes, then from the counters the recorder kept.
#ifndef IOSEER_LOG_LOG_STATS_H
#define IOSEER_LOG_LOG_STATS_H

#include "fmt/counters.h"
#include "log/log.h"
#include "log/log_iter.h"

struct log_stats_record {
    const struct log_process *process; // NULL: reduced over the ranks of a job
    bool has_rank;
    int64_t rank; // -1: reduced
    unsigned layer;
    const struct log_file *file;
    struct counters counters; // times in ns since the job's start
};

// Takes one record; a negative return ends the work and is handed up.
typedef int log_stats_take(const struct log_stats_record *record, void *context);

// Processes in the order of the log, each one's records by layer, then file. The filter may be NULL; with one on
// classes or times the counters are those of the events that pass, and those kept past the trace cap are left out.
// Holds one process's records at a time.
int log_stats(struct log *log, const struct log_filter *filter, log_stats_take *take, void *context);

#endif
