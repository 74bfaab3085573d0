// `mpiexec -n 4 ioseer record -o LOG -- ./a`: when a rank fails, the launcher kills every process that it started: the
// `record` of each rank, before one of them could make the log. So each has a guard, a process in another session
// that the launcher does not know. When its `record` is killed the guard does what was left to do.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct record_guard {
    int pipe_fd;  // `record` writes messages to its guard here; -1 without one
    pid_t record; // the process that is guarded
    // What the messages said, in the guard:
    pid_t command;
    bool packing;
};

// Returns twice, like fork: false at once, and true in the guard when the caller was killed. The guard keeps standard
// output and error open: launchers wait until they are closed, and so for the log.
bool record_guard_start(struct record_guard *guard);

// With GUARD_DONE there is nothing left to do: the guard ends. `command` is of GUARD_COMMAND.
enum record_guard_message { GUARD_COMMAND, GUARD_PACKING, GUARD_DONE };
void record_guard_tell(struct record_guard *guard, enum record_guard_message kind, pid_t command);

// For the guard: returns when the command, which dies with its `record`, has ended, or after `wait_seconds`.
void record_guard_await_command(const struct record_guard *guard, double wait_seconds);
