// What is set up before the command runs: the directory for the spill files, the environment that brings the recorder
// into every process, and what the log will say of the job.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/options.h"
#include "pack/pack.h"
#include "record/ranks.h"

struct record_options {
    const char *output;
    bool force;
    bool quiet;
    bool no_trace;
    bool callsites;
    bool keep_spill;
    bool no_devices;
    double wait_seconds;
    uint64_t trace_cap_bytes;
    uint64_t file_cap;
    struct option_list include;
    struct option_list exclude;
    struct option_list env; // names of variables whose values are stored too
};

struct record_job {
    struct record_ranks ranks;
    char *spill_dir;
    char **environment;
    size_t variables;
    struct pack_setting *settings;
    char host[256];
    char cwd[4096];
    struct pack_job about; // settings, host and so on point into this struct
};

// On failure `problem` says what is wrong, in words for the user; nothing is left behind.
int record_job_prepare(struct record_job *job, const struct record_options *options, const char *log_path,
                       char **command, char problem[512]);

void record_job_free(struct record_job *job);
