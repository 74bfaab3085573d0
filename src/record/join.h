// Processes that run already: what they are, and why they cannot be joined.
#pragma once

#include "base/options.h"
#include "base/problem.h"
#include "base/text_list.h"

// The command of the first process, ended by NULL. Fails if one of them cannot be joined, as far as that is known
// before it is tried.
int record_join_look(const struct option_list *pids, struct text_list *command, struct problem *problem);

// Why it failed with this errno, in words.
int record_join_why(const struct option_list *pids, int error, struct problem *problem);
