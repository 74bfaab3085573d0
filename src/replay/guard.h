// Cleans up when a process that replays is killed. The guard is a process in its own session: it notices the death of
// the other by a pipe that closes, ends the runner and removes the folders.
#pragma once

#include <stdbool.h>

struct replay_guard {
    int end; // of the pipe; -1: no guard
};

// The guard ends processes with `work` in their command line, then removes both folders with all that is in them.
void replay_guard_start(struct replay_guard *guard, const char *folder, const char *work);
// Ends the guard, when both folders are removed.
void replay_guard_dismiss(struct replay_guard *guard);

// Ends the processes with `work` in their command line and waits, five seconds at most, until they are gone.
void replay_end_processes(const char *work);
void replay_remove_tree(const char *path);
