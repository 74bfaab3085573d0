// The jobs that are recorded on this machine, as far as this user may see them.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/problem.h"

struct live_job {
    char *directory; // of its spill files
    char *name;      // of its log
    char *program;   // the first word of its command
    char *id;        // of the batch system; or NULL
    char *command;
    uint64_t start_ns; // since the epoch
};

struct live_jobs {
    struct live_job *job; // the last one first
    size_t count;
};

int live_jobs_find(struct live_jobs *jobs);
void live_jobs_free(struct live_jobs *jobs);

// The spill directory of a job that `word` names: the directory itself, a process, the log's name, the program, or the
// number of the batch system. NULL if there is none; *several if there are several.
const char *live_jobs_named(const struct live_jobs *jobs, const char *word, bool *several);
// The job that a process belongs to, or NULL.
const char *live_jobs_of_process(const struct live_jobs *jobs, uint32_t pid);

// The spill directory of a `record` that runs, without looking at any other process; false if it has none (yet).
bool live_jobs_directory(uint32_t record, char directory[PATH_MAX]);

// Whether anything on this machine still belongs to the job.
bool live_jobs_has(const char *directory);
