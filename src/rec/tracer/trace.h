// The tracer: follows a process and all that it starts until the last of them has ended. It only watches: every signal
// is passed on, every stop is ended at once.
#pragma once

#include <sys/types.h>

// Attaches to the process, which waits for that. Returns a negative code on failure.
int trace_attach(pid_t pid);

// Returns when nothing is left to follow. The filter cannot be removed from a process, and without a tracer the calls
// that it names would fail: so the tracer must not end before.
void trace_run(void);
