// What `ioseer dump` prints.
#pragma once

#include "base/table.h"
#include "cli/output.h"
#include "log/iter.h"

// The events that pass the filter; of these only the `slowest`, if it is not 0. 0 or a negative code.
int dump_events(struct log *log, const struct log_filter *filter, uint64_t slowest, bool as_json,
                struct output *output);

// The communication between events (--comm) and the samples of the devices that hold the files (--devices), which only
// the filter's range of time limits. 0 or a negative code.
int dump_comm(struct log *log, const struct log_filter *filter, bool as_json, struct output *output);
int dump_devices(const struct log *log, const struct log_filter *filter, bool as_json, struct output *output);

// Fills the next cell: the name of the error, else the value that the call returned, if it is known.
void dump_result(struct table *table, const char *error, bool known, int64_t result);
