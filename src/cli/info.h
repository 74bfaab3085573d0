// What `ioseer info` found out, for the two ways of printing it.
#pragma once

#include "base/json_out.h"
#include "cli/log_argument.h"
#include "cli/output.h"
#include "summary/coverage.h"
#include "summary/mpi_files.h"

struct info_file {
    const struct log_file *file;
    uint64_t bytes[DIRECTION_COUNT];
    uint64_t opens;
    uint64_t processes;
    uint64_t ranks;
    const struct log_process *last; // that was counted: a process's records come together
};

// What a rank did with its time.
struct info_rank {
    const struct log_process *process;
    int64_t run_ns;
    bool known; // the three below; a log of an early version lacks them past the trace
    int64_t io_ns;
    int64_t comm_ns;
    int64_t rest_ns;
};

struct info {
    const struct log_argument *argument;
    struct log *log;
    struct info_file *files; // those that were touched, most bytes first
    size_t file_count;
    const struct log_process **processes; // ranks first
    struct info_rank *ranks;              // by world, then rank
    size_t rank_count;
    struct info_mpi mpi_files;
    bool layer_used[LAYER_COUNT];
    uint64_t lost_events;
    uint64_t spill_damaged_bytes; // of the spill files that the log was made from
    const char *mpi;              // or NULL
    uint64_t nprocs;
    uint64_t host_count;
    struct coverage coverage;
    log_stats_take *also; // or NULL
    void *also_context;
};

// Reads all events and counters. `also` (or NULL) gets the counters as well.
int info_gather(struct info *info, const struct log_argument *argument, log_stats_take *also, void *context);
// Reads no events: files are not known, nor what the ranks did with their time.
int info_gather_records(struct info *info, const struct log_argument *argument);
void info_free(struct info *info);

// Fills processes, ranks, rank_count and mpi_files; the second without reading events.
int info_gather_ranks(struct info *info);
int info_list_ranks(struct info *info);

void info_text(const struct info *info, bool all, FILE *out);
// One object. No list has more than `most` members; with SIZE_MAX long words are whole, too.
void info_json(const struct info *info, struct json_out *json, size_t most);

// The devices under the files.
void info_devices_text(const struct log *log, FILE *out);
void info_devices_json(const struct log *log, struct json_out *json);

// Something cannot be read, in the log or in what it was made from.
bool info_is_damaged(const struct info *info);

// Events may be missing that nobody could count.
bool info_may_lack_events(const struct info *info);
