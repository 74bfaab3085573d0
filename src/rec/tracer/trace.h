// The tracer: follows a process and all that it starts until the last of them has ended. It only watches: every signal
// is passed on, every stop is ended at once.
#pragma once

#include <sys/types.h>

// Attaches to the process, which waits for that. Returns a negative code on failure.
int trace_attach(pid_t pid);

// Attaches to a process that runs already, with all its threads, and begins its record. Such processes have no filter:
// they stop at each of their system calls.
int trace_join(pid_t pid);

// In a handler of signals: trace_run returns soon, and has ended all records. The processes go on when the tracer ends;
// the kernel detaches it without stopping them once more, which could interrupt their calls.
void trace_stop(void);

// Returns when nothing is left to follow. The filter cannot be removed from a process, and without a tracer the calls
// that it names would fail: so the tracer must not end before.
void trace_run(void);
