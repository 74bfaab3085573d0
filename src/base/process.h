// Other processes: what the kernel shows about them in /proc, and a guard that survives this one.
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process_stat {
    char state; // 'R', 'S', 'Z', ...
    pid_t parent;
    uint64_t start_ticks; // since boot; sysconf(_SC_CLK_TCK) per second
};

// False if there is no such process, or it cannot be read.
bool process_stat(pid_t pid, struct process_stat *stat);

uint64_t process_start_ticks(pid_t pid); // 0 if there is no such process

// Reaps a child that has ended. `chars`: the bytes that it read and wrote, with those of the children that it reaped
// itself. Newer kernels show them (/proc/PID/io) to root only; then they are what our own count grows by. Other threads
// must not reap at the same time. False if there is no such child.
bool process_reap(pid_t pid, int *status, uint64_t chars[2], bool *chars_known);

// False also for a process that has ended and was not reaped yet.
bool process_is_running(pid_t pid);

// Those by which a user ends a program: SIGINT, SIGTERM, SIGHUP.
sigset_t process_ending_signals(void);

// Moves this process into a cgroup, and so what it starts from then on; `procs` is the group's file cgroup.procs. NULL:
// it stays where it is.
int process_enter_group(const char *procs);

// Starts a guard: a process that is not our child, in its own session, with the standard streams and one end of a
// socket pair as its only descriptors. Returns twice, like fork: true in the guard. It reads from *guard_fd what this
// process tells it, and notices the end of this process when the other end closes. -1 in this process: there is no
// guard.
bool process_start_guard(int *guard_fd);
void process_tell_guard(int guard_fd, const void *message, size_t len); // a few bytes; also without a guard
