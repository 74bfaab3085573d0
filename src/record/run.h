// Runs the command, passes signals on to it and reaps all its descendants.
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "fmt/spill.h"
#include "pack/pack.h"
#include "record/guard.h"

struct record_plan {
    char **command;
    char **environment;
    char **follower;         // not NULL: the words of the command that has it followed (base/follower.h)
    const char *group;       // cgroup that the command is to run in, as process_enter_group takes it; or NULL
    const char *mark;        // name of the link to make if that cannot be started (SPILL_UNFOLLOWED_SUFFIX)
    double wait_seconds;     // longest wait for descendants that outlive the command
    sighandler_t file_limit; // the command's SIGXFSZ; the caller ignores the signal for the files it writes
    // Called if the command still runs some time after a signal that ends most programs; or NULL.
    void (*still_runs)(const char *command, pid_t pid, int signal);
    struct record_guard *guard; // NULL without one; with one, the command dies with the caller
};

struct record_run {
    int exec_error; // errno if the command could not be started; the members below are then not valid
    int status;     // of the command, as waitpid gives it
    struct spill_moment start;
    struct spill_moment end;     // of the last process that was seen to end
    struct pack_child *children; // all that were reaped
    size_t child_count;
    bool all_reaped; // no descendant was left at the end
    bool holds_signals;
    sigset_t mask_before; // of the caller's signals
};

// Starts the command and returns when it and its descendants have ended, or when the wait for the descendants is over.
// From here on signals do not end the caller, until record_run_free().
int record_run_command(struct record_run *run, const struct record_plan *plan);

struct spill_moment record_run_now(void); // all clocks
int record_run_add_child(struct record_run *run, const struct pack_child *child);

void record_run_free(struct record_run *run);
