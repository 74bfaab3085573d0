// Packing as `record` and `pack` both do it: with a word on how far it is, and one line on what came of it.
#pragma once

#include <stdbool.h>

#include "pack/pack.h"

// pack_directory, with progress on a terminal where it takes long. `job` may be NULL.
int pack_with_progress(const struct pack_job *job, const char *spill_dir, const char *log_path, bool replace,
                       bool quiet, struct pack_result *result);

// "ioseer: LOG: 1,234 events, 3 processes, 12.3 MiB read, 4.5 MiB written", and what was lost. `program` is what
// `ioseer doctor` should look at where nothing was recorded.
void pack_print_result(const char *log_path, const char *program, const struct pack_result *result);
