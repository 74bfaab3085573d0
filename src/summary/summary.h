// What `ioseer info` knows about a log: job, processes, ranks, files, devices, coverage and losses. The verb prints it,
// the report contains it.
#pragma once

#include "base/json_out.h"
#include "summary/coverage.h"
#include "summary/mpi_files.h"

// An open log and where it comes from.
struct info_source {
    struct log *log;
    const char *path;
    bool from_spills; // `path` is a directory of spill files, packed on the fly
};

struct info_file {
    const struct log_file *file;
    uint64_t bytes[DIRECTION_COUNT];
    uint64_t opens;
    uint64_t processes;
    uint64_t ranks;
    const struct log_process *last; // the last process counted: the records of a process are adjacent
};

// How a rank spent the time of its run.
enum rank_time { RANK_RUN, RANK_IO, RANK_COMMUNICATION, RANK_REST, RANK_TIMES };

struct info_rank {
    const struct log_process *process;
    int64_t ns[RANK_TIMES];
    bool known; // all times are, not just that of the run; a log of an early version lacks them past the end of the
                // trace
};

struct info {
    struct info_source source;
    struct log *log;         // source.log
    struct info_file *files; // the files that were used, most bytes first
    size_t file_count;
    const struct log_process **processes; // ranks first
    struct info_rank *ranks;              // by world, then rank
    size_t rank_count;
    struct mpi_files mpi_files;
    bool layer_used[LAYER_COUNT];
    uint64_t lost_events;
    uint64_t spill_damaged_bytes; // of the spill files that the log was made from
    bool may_lack_events;         // damage may hide events that cannot be counted
    bool is_damaged;              // something in the log or in its spill files cannot be read
    const char *mpi;              // or NULL
    uint64_t nprocs;
    uint64_t host_count;
    struct coverage coverage;
    log_stats_take *also; // or NULL
    void *also_context;
    struct log_stats_request stats;
    struct info_reading *reading; // by process, while the events are read
};

// Reads all events and counters. info_free in any case.
int info_gather(struct info *info, const struct info_source *source);

// The same as part of a visit that has other consumers as well (log/visit.h): its consumers, and what is to be done
// after it. `also` (or NULL) gets the counters, too.
enum { INFO_CONSUMERS = 2 };
int info_begin(struct info *info, const struct info_source *source, log_stats_take *also, void *context,
               struct log_consumer consumer[INFO_CONSUMERS]);
int info_finish(struct info *info);

// Reads no events: leaves the files and the times of the ranks unknown.
int info_gather_records(struct info *info, const struct info_source *source);
void info_free(struct info *info);

// Fills processes, ranks and rank_count; reads no events.
int info_list_ranks(struct info *info);
// The consumer that fills in the times of the ranks and mpi_files, and what is to be done after the visit.
int info_begin_ranks(struct info *info, struct log_consumer *consumer);
void info_finish_ranks(struct info *info);

// One object. No list has more than `most` members; with SIZE_MAX long words are not cut either.
void info_json(const struct info *info, struct json_out *json, size_t most);
