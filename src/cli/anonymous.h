// Logs that verbs give away without names.
#pragma once

#include "anonymous/write.h"
#include "cli/argument.h"

struct anonymous_work {
    struct log *log;
    struct anonymous_key key;
    struct anonymous_options options;
    uint64_t left_out; // damaged records and blocks
};

// Prepares the work on a log with the key of a file, or with `key_path` NULL one that is thrown away.
int anonymous_prepare(struct anonymous_work *work, struct log *log, const char *key_path, struct problem *problem);

// Writes the log as `path`, which replaces what is there. `work` is a struct anonymous_work.
int anonymous_make(void *work, const char *path);

// Makes the argument's log one without names. With `quiet`, says nothing of damage.
int anonymous_argument(struct anonymous_work *work, struct argument *argument, bool quiet, struct problem *problem);
