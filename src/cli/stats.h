// What `ioseer stats` prints besides counters.
#pragma once

#include "cli/output.h"
#include "log/log.h"
#include "summary/call_list.h"
#include "summary/file_rows.h"

// These return 0 or a negative code. In the columns of darshan-parser; of an imported log every record that it has.
int stats_print_darshan(struct log *log, bool per_rank, struct output *output);
// Each layer with a total; of its rows only the first `top`, 0: all.
int stats_print_rows(const struct file_rows *rows, uint64_t top, bool as_json, struct output *output);
int stats_print_calls(const struct call_list *calls, bool as_json, struct output *output);
