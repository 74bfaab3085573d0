// What `ioseer info` found out, for the two ways of printing it.
#ifndef IOSEER_CLI_INFO_H
#define IOSEER_CLI_INFO_H

#include "cli/coverage.h"
#include "cli/log_argument.h"
#include "cli/output.h"

struct info_file {
    const struct log_file *file;
    uint64_t bytes[DIRECTION_COUNT];
    uint64_t opens;
    uint64_t processes;
    uint64_t ranks;
    const struct log_process *last; // that was counted: a process's records come together
};

struct info {
    const struct log_argument *argument;
    struct log *log;
    struct info_file *files; // those that were touched, most bytes first
    size_t file_count;
    bool layer_used[LAYER_COUNT];
    bool has_ranks;
    uint64_t lost_events;
    const char *mpi; // or NULL
    uint64_t nprocs;
    uint64_t host_count;
    struct coverage coverage;
};

void info_text(const struct info *info, bool all, FILE *out);
int info_json(const struct info *info, struct output *output);

// Whether events counted under this reason are missing from the log's events.
bool info_is_lost(const struct log_loss *loss);

bool info_is_damaged(const struct log_health *health);

#endif
