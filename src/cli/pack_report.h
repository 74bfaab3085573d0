// What `record` and `pack` both print about packing: progress, and one line about the log.
#pragma once

#include <stdbool.h>

#include "pack/pack.h"

// Shows progress if packing takes long and standard error is a terminal.
void pack_report_progress(struct pack_options *options, bool quiet);
// Removes the progress from the terminal.
void pack_report_clear(void);

// "ioseer: LOG: 1,234 events, 3 processes, 12.3 MiB read, 4.5 MiB written", and what was lost. If nothing was recorded,
// the line suggests `ioseer doctor` with `program`.
void pack_report_result(const char *log_path, const char *program, const struct pack_result *result);
