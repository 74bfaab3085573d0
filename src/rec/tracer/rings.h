// Rings of io_uring of a followed process. The tracer copies a ring when the process enters the kernel with it; the
// probes for liburing's rings (rec/async/uring.c) read the copy.
#pragma once

#include "rec/probe/probe.h"

bool rings_before_setup(struct probe *probe, const long word[6]);
void rings_after_setup(struct probe *probe, const long word[6], long returned);
bool rings_before_enter(struct probe *probe, const long word[6]);
void rings_after_enter(struct probe *probe, const long word[6], long returned);

// The process has mapped something: perhaps a part of a ring.
void rings_mapped(const long word[6], long address);
// The thread is the last one of its process: its completions are seen now or never.
void rings_end(struct thread *thread);
