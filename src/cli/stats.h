// What `ioseer stats` prints besides counters.
#pragma once

#include "cli/output.h"
#include "summary/call_list.h"
#include "summary/file_rows.h"

// Each layer with a total; of its rows only the first `top`, 0: all. 0 or a negative code.
int stats_print_rows(const struct file_rows *rows, uint64_t top, bool as_json, struct output *output);
int stats_print_calls(const struct call_list *calls, bool as_json, struct output *output);
