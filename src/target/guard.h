// Two processes stand behind a target. The keeper makes the target and keeps it. The guard, its parent, removes what is
// left when the keeper ends, however that happens. The keeper ends when the guard does. If both are killed at once,
// something stays behind, and the next command removes it.
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct target_outcome {
    int code;      // 0: the target is there
    char why[200]; // explains the code; may be empty
};

extern const struct target_outcome target_killed; // if the keeper ended without a report

// Called when it is known whether the target is there. A negative result removes the target again.
typedef int target_ready(const struct target_outcome *outcome, void *context);

struct guard_work {
    // Runs in the keeper. Calls guard_tell() once. Returns when the target is gone, or when one of the signals comes;
    // the caller has blocked them.
    int (*keep)(void *context, const sigset_t *signals, int outcome_pipe);
    // Run in the guard.
    void (*ready)(void *context);    // the target is there; may be NULL
    int (*stop)(void *context);      // the guard got a signal; on a negative result the keeper gets SIGTERM
    void (*clean_up)(void *context); // the keeper and its children have ended
    void *context;
};

// Reports to the guard whether the target is there.
void guard_tell(int outcome_pipe, int code, const char *why);

// Makes this process the guard and returns when the target is gone: it ended by itself, or this process got SIGINT,
// SIGTERM or SIGHUP. This process must have no other children and no other threads.
int guard_run(const struct guard_work *work, target_ready *ready, void *ready_context);

// A pidfd of a guard or keeper, or a negative code if it has ended. Its process id may belong to another process by
// now: `start_ticks` tells when it began; 0: not known.
int guard_open(pid_t guard, uint64_t start_ticks);
bool guard_ends_within(int guard_process, int timeout_ms);
// Waits for a keeper whose guard has ended: it removes the target itself, and could remove a new one at the same place.
void guard_await_keeper(pid_t keeper, uint64_t start_ticks, int timeout_ms);
