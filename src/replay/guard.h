// Ends what a replay leaves behind. `ioseer replay` may be killed at any moment; its guard, a process in a session of
// its own, learns of that by the end of a pipe, ends the runner and removes the folders.
#pragma once

#include <stdbool.h>

struct replay_guard {
    int end; // of the pipe; -1 without a guard
};

// Folders that are removed, all that is in them too; either may be NULL. Processes with the second one in their command
// line are ended first.
void replay_guard_start(struct replay_guard *guard, const char *folder, const char *work);
// Everything is removed: the guard may go.
void replay_guard_dismiss(struct replay_guard *guard);

// Ends the processes of a replay, known by its working folder in their command lines, and waits until they are gone.
void replay_end_processes(const char *work);
void replay_remove_tree(const char *path);
