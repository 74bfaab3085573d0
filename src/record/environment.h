// What is set up before the command runs: the directory for the spill files, the environment that loads the recorder
// into every process, and what the log will say about the job.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/follower.h"
#include "base/options.h"
#include "base/problem.h"
#include "base/text_list.h"
#include "pack/pack.h"
#include "record/ranks.h"

struct record_options {
    const char *log_path;
    const char *group; // as in struct record_plan
    const char *stack; // name of a stack whose layers are recorded, too; or NULL
    struct pack_options pack;
    bool no_trace;
    const char *layers; // names with commas; NULL: all
    const char *classes;
    bool callsites;
    bool keep_spill;
    bool no_devices;
    bool no_ptrace;          // programs that the recorder cannot be loaded into run unseen
    bool ptrace;             // follow all programs, also those that it can be loaded into
    struct option_list pids; // not empty: join these processes instead of running a command
    double for_seconds;      // with these: the longest time; 0: no limit
    double wait_seconds;
    void (*still_runs)(const char *command, pid_t pid, int signal); // as in struct record_plan
    uint64_t trace_cap_bytes;
    uint64_t file_cap;
    struct record_triggers { // what is traced; see ioseer.conf(5)
        struct option_list files;
        struct option_list programs;
        const char *ranks;
        uint64_t smaller_bytes;
        double slower_seconds;
        double from_seconds;
        double for_seconds;
    } triggers;
    struct option_list include;
    struct option_list exclude;
    struct option_list env; // names of variables whose values are stored too
};

struct record_job {
    const struct record_options *options;
    struct record_plan plan;
    struct record_ranks ranks;
    char *spill_dir;              // NULL: the command runs unrecorded
    struct text_list environment; // of the command; ends with NULL
    struct text_list names;       // of the settings
    char follower[PATH_MAX];      // path of ioseer-follow; "-": nothing is to be followed
    char program[PATH_MAX];       // the command's file
    bool follows_all;
    bool is_outdated;       // the command, as in struct program_file
    char **words;           // of the command, if it starts through ioseer-follow
    struct text_list joins; // of ioseer-follow, if it joins processes; ends with NULL
    struct follower_count word_count;
    char *mark; // of a command that runs unseen
    char *only; // of pack_job
    struct pack_setting *settings;
    char host[256];
    char cwd[4096];
    struct pack_job about; // settings, host and so on point into this struct
};

// On failure nothing is left behind, and the job will run the command unrecorded. From here on SIGXFSZ is ignored:
// writing beyond the file size limit is an error and does not kill the process.
int record_job_prepare(struct record_job *job, const struct record_options *options, char **command,
                       struct problem *problem);

void record_job_free(struct record_job *job);
