// The counters of files, in the spill file: what the recorder counts itself.
#pragma once

#include "fmt/counters.h"
#include "rec/files.h"

// Counts a call on the file, or on what stands for it if there is no room for its own counters. The thread is claimed.
// `handle` is the serial of the open file, 0 without.
void file_counters_add(struct file *file, uint32_t handle, unsigned layer, const struct counters_input *input);
// New counters begin in another chunk. Returns where the chunks so far end in the spill file.
uint64_t file_counters_end(void);
