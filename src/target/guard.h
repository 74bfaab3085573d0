// Two processes that stand behind a target: a keeper that makes it and keeps it, and a guard, its parent, that removes
// what the keeper has left when that is gone, however that came. The keeper ends when the guard does. Only where both
// are killed at once does something stay, for whoever comes next.
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct target_outcome {
    int code;      // 0: the target is there
    char why[200]; // more about the code, in words; may be empty
};

extern const struct target_outcome target_killed; // what holds where no word came

// Called once it is known whether the target is there. A negative result ends it again.
typedef int target_ready(const struct target_outcome *outcome, void *context);

struct guard_work {
    // In the keeper. Calls guard_tell() once, and returns when the target is gone or one of the signals has come, which
    // are blocked.
    int (*keep)(void *context, const sigset_t *signals, int outcome);
    // In the guard: the target has come (may be NULL); somebody wants it to end, which the keeper is told if this gives
    // a negative code; the keeper and its children are gone.
    void (*came)(void *context);
    int (*end)(void *context);
    void (*clean)(void *context);
    void *context;
};

void guard_tell(int outcome, int code, const char *why);

// Makes this process the guard and returns when the target is gone: it ended by itself, or this process got SIGINT,
// SIGTERM or SIGHUP. This process must have no other children and no other threads.
int guard_run(const struct guard_work *work, target_ready *ready, void *ready_context);

// A descriptor of a guard's process, or a negative code where it is gone. Its number may be another's by now.
int guard_open(pid_t guard);
bool guard_ends_within(int guard_process, int timeout_ms);
