// Runs the command that is recorded, hands signals on to it and reaps all that descends from it.
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fmt/spill.h"
#include "pack/pack.h"
#include "record/guard.h"

struct record_plan {
    char **command;
    char **environment;
    double wait_seconds;              // for descendants that outlive the command, at most
    sighandler_t file_limit;          // how the command finds SIGXFSZ; the caller ignores it, for the files it writes
    const struct record_guard *guard; // NULL without one; with one, the command dies with the caller
};

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

// Starts the command and returns when it and its descendants have ended, or the wait for these is over. From here on
// signals no longer end the caller.
int record_run(struct record_run *run, const struct record_plan *plan);

struct spill_moment record_run_now(void); // on all clocks
int record_run_add_child(struct record_run *run, const struct pack_child *child);

void record_run_free(struct record_run *run);
