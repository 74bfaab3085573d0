// Makes the logs of jobs without `record`: of one that has just ended, and of those whose processes were killed.
#pragma once

#include "pack/pack.h"
#include "site/settings.h"

// Names of a job's directory, or of a host's folder, while its log is made, and before it is removed.
#define SITE_PACKING ".packing"
#define SITE_DONE ".done"

struct site_finished {
    uint64_t logs;
    uint64_t waiting;       // jobs that still run, or may run on another host
    uint64_t failed;        // jobs whose log could not be made; their spill files stay
    char last[4096];        // path of the last log
    struct problem problem; // of the last failure
};

// `directory`: of the job. If processes of it still run here, the last of them has the log made. If a host has not
// delivered what it has (deliver.h), the log is made without that, and made again when it arrives; the directory stays
// until then. It may also be such a host's folder: that is delivered.
int site_finish(const struct site_settings *settings, const char *directory, struct site_finished *finished);

// Jobs of this user whose processes have ended without making the log, until there are `most` logs.
int site_finish_left(const struct site_settings *settings, uint64_t most, struct site_finished *finished);
// For root: those of all users.
int site_finish_all_users(const struct site_settings *settings, struct site_finished *finished);
