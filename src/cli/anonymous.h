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

// Prepares the work on the argument's log, with the key of a file or, if `key_path` is NULL, one that is thrown away.
int anonymous_prepare(struct anonymous_work *work, const struct argument *argument, const char *key_path,
                      const struct anonymous_options *options, struct problem *problem);

// Writes the log as `path`. `work` is a struct anonymous_work.
int anonymous_make(void *work, const char *path);

// Makes the argument's log one without names. With `quiet`, says nothing of damage.
int anonymous_replace(struct anonymous_work *work, struct argument *argument, bool quiet, struct problem *problem);

// Says what could not be read or was left out.
void anonymous_warn(const struct anonymous_work *work, const struct argument *argument);
