// Runs the command that is recorded, hands signals on to it and reaps all that descends from it.
#ifndef IOSEER_CLI_RECORD_RUN_H
#define IOSEER_CLI_RECORD_RUN_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fmt/spill.h"
#include "pack/pack.h"

struct record_run {
    int exec_error; // errno where the command could not be started; nothing else is known then
    int status;     // of the command, as waitpid gives it
    struct spill_moment start;
    struct spill_moment end;     // of the last process that was seen to end
    struct pack_child *children; // everything that was reaped
    size_t child_count;
    size_t child_capacity;
    bool all_reaped; // no descendant was left when the wait was over
};

// Starts `command` with `environment` and returns when it and its descendants have ended; those that outlive it are
// waited for `wait_seconds` at most. From here on signals no longer end the caller. The command finds SIGXFSZ as
// `file_limit` says: the caller ignores it for the files that it writes itself.
int record_run(struct record_run *run, char **command, char **environment, double wait_seconds,
               sighandler_t file_limit);

void record_run_free(struct record_run *run);

#endif
