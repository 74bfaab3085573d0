// `mpiexec -n 4 ioseer record -o LOG -- ./a`: when a rank fails, the launcher kills every process that it started,
// including the `record` of each rank, before one of them can make the log. So each `record` has a guard: a process in
// another session that the launcher does not know. If its `record` is killed, the guard completes the work.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct record_guard {
    int fd;       // `record` tells its guard here; -1 without one
    pid_t record; // the process that is guarded
    // What the messages said, in the guard:
    pid_t command;
    bool packing;
};

// Returns twice, like fork: false at once, and true in the guard if the caller was killed. The guard keeps standard
// output and error open: launchers wait until these are closed, so they wait for the log.
bool record_guard_start(struct record_guard *guard);

// GUARD_DONE ends the guard: nothing is left to do. Only GUARD_COMMAND uses `command`.
enum record_guard_message { GUARD_COMMAND, GUARD_PACKING, GUARD_DONE };
void record_guard_tell(struct record_guard *guard, enum record_guard_message kind, pid_t command);

// For the guard: returns when the command, which dies with its `record`, has ended, or after `wait_seconds`.
void record_guard_await_command(const struct record_guard *guard, double wait_seconds);
