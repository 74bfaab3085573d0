// The terminal of `ioseer top`: shows a job until it ends or a key or signal ends it. The terminal is as before
// whatever ends it, except SIGKILL.
#pragma once

#include "cli/top_print.h"

// Whether standard input and output are a terminal that can show it.
bool top_screen_is_possible(void);

// Returns 0, a negative code, or the number of a signal that asks the program to end.
int top_screen_run(struct live *live, double interval, enum top_sort sort);

// Lets the user choose a job; its number from 0, or -1.
int top_screen_choose(const struct live_jobs *jobs);
