// Other processes: what the kernel shows about them in /proc, and a guard that survives this one.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process_stat {
    char state; // 'R', 'S', 'Z', ...
    pid_t parent;
    uint64_t start_ticks; // since boot; sysconf(_SC_CLK_TCK) per second
};

// Both return false if there is no such process, or it cannot be read.
bool process_stat(pid_t pid, struct process_stat *stat);
bool process_chars(pid_t pid, uint64_t chars[2]); // rchar and wchar of /proc/PID/io

// False also for a process that has ended and was not reaped yet.
bool process_is_running(pid_t pid);

// Starts a guard: a process that is not our child, in its own session, with the standard streams and one end of a
// socket pair as its only descriptors. Returns twice, like fork: true in the guard. It reads from *guard_fd what this
// process tells it, and notices the end of this process when the other end closes. -1 in this process: there is no
// guard.
bool process_start_guard(int *guard_fd);
void process_tell_guard(int guard_fd, const void *message, size_t len); // a few bytes; also without a guard
