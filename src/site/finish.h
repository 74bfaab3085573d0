// Makes the logs of jobs without `record`: of one that has just ended, and of those whose processes were killed.
#pragma once

#include "pack/pack.h"
#include "site/settings.h"

struct site_finished {
    uint64_t logs;
    uint64_t waiting;       // jobs that still run, or may run on another host
    uint64_t failed;        // jobs whose log could not be made; their spill files stay
    char last[4096];        // path of the last log
    struct problem problem; // of the last failure
};

// `directory`: its spill files. If processes of the job still run, the last of them has the log made.
int site_finish(const struct site_settings *settings, const char *directory, struct site_finished *finished);

// Jobs of this user whose processes have ended without making the log, until there are `most` logs.
int site_finish_left(const struct site_settings *settings, uint64_t most, struct site_finished *finished);
// For root: those of all users.
int site_finish_all_users(const struct site_settings *settings, struct site_finished *finished);
