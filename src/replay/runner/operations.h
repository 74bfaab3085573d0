// The operations of a thread, as model_expand_phase gives them.
#pragma once

#include "replay/runner/runner.h"

// The context is the struct replay_thread.
int operations_run(const struct model_step *step, void *context);
// Of a phase that is not chosen: counts the operation for threads that wait for it.
int operations_leave_out(const struct model_step *step, void *context);
