// `mpiexec -n 4 ioseer record -o LOG -- ./a`: where a rank fails, the launcher kills all that it started, and that is
// the `record`s, before one of them could make the log. Each has a guard, a process in a session of its own that the
// launcher does not know; when its `record` is killed it does what was left to do.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct record_guard {
    int words;     // where the guard is told things; -1 without one
    pid_t record;  // that it guards
    pid_t command; // what it was told of it
    bool packing;
};

// Returns twice, as fork does: false at once, and true in the guard when the caller was killed. The guard keeps
// standard output and error open, for which launchers wait: their end is also the log's.
bool record_guard_start(struct record_guard *guard);

void record_guard_tell_command(const struct record_guard *guard, pid_t command);
void record_guard_tell_packing(const struct record_guard *guard);
// Everything is done: the guard may go.
void record_guard_dismiss(struct record_guard *guard);

// For the guard: returns when the command, which dies with its `record`, is gone, or after some time.
void record_guard_await_command(const struct record_guard *guard, double wait_seconds);
