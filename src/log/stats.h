// Counters per process, layer and file: from the trace, and after its end from the counters that the recorder kept. If
// triggers chose what is in the trace, the recorder counted everything.
#pragma once

#include "darshan/record.h"
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
    struct counters_ranks ranks;           // for reduced records
    bool is_added_up;                      // the recorder did it: the log does not have the counters of each rank
    const struct darshan_record *imported; // whose counters these are, as far as ioseer has them; NULL: recorded
};

// Receives one record. A negative return value stops the reading and is returned to the caller.
typedef int log_stats_callback(const struct log_stats_record *record, void *context);

// Processes in the log's order, their records by layer, then file. The filter may be NULL. If it limits classes or
// times, the counters are those of the matching events, without those from after the trace cap. Memory holds the
// records of one process at a time.
int log_stats(struct log *log, const struct log_filter *filter, log_stats_callback *callback, void *context);

struct log_stats_slot; // log/stats_slot.h

// The same as a consumer of a visit with the same filter. The request must stay valid during the visit.
struct log_stats_request {
    struct log *log;
    const struct log_filter *filter; // or NULL
    log_stats_callback *callback;
    int (*slot_callback)(struct log_stats_slot *slot, void *context); // used instead by log/reduce.c
    void *context;
    uint64_t most_slots; // not packed, of all processes (log/stats.c); 0: as many as 64 MiB hold
    uint64_t slots;      // of all processes; atomic
};

struct log_consumer log_stats_consumer(struct log_stats_request *request);
int log_stats_visit(struct log_stats_request *request); // a visit with this consumer only

// The same by layer, then file, then rank. If every rank of an MPI job has a record of a file, they become one record
// of rank -1. Processes without a rank count together as one rank. With `apart` nothing is joined, but what ranks have
// added up themselves stays so.
int log_reduce(struct log *log, const struct log_filter *filter, bool apart, log_stats_callback *callback,
               void *context);

// The counters that ranks added up at MPI_Finalize, in no order. Those of one rank only have its process, if that is
// known; others have none and are reduced, whether all ranks have used the file or some.
int log_stats_added_up(struct log *log, const struct log_filter *filter, log_stats_callback *callback, void *context);

// Only the counters that the recorder kept, and those, in no order. Reads no events.
int log_stats_untraced(struct log *log, log_stats_callback *callback, void *context);

// For counters_list: which of Darshan's modules the record belongs to.
struct counters_module log_stats_module(const struct log *log, const struct log_stats_record *record);
