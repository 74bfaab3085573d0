// What `ioseer dump` prints.
#pragma once

#include "base/table.h"
#include "cli/output.h"
#include "log/iter.h"

// Of the events that pass the filter: only so many that took longest, if `slowest` is not 0; only an event and those
// inside it, if `tree` is not DUMP_NO_TREE. 0 or a negative code, such as ERR_NOTHING if there is no such event.
#define DUMP_NO_TREE UINT64_MAX
struct dump_choice {
    uint64_t slowest, tree;
};
int dump_events(struct log *log, const struct log_filter *filter, struct dump_choice choice, bool as_json,
                struct output *output);

// The communication between events (--comm) and the samples of the devices that hold the files (--devices), which only
// the filter's range of time limits. 0 or a negative code.
int dump_comm(struct log *log, const struct log_filter *filter, bool as_json, struct output *output);
int dump_devices(const struct log *log, const struct log_filter *filter, bool as_json, struct output *output);

// Fills the next cell: the name of the error, else the value that the call returned, if it is known.
void dump_result(struct table *table, const char *error, bool known, int64_t result);
