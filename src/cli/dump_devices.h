// `ioseer dump --devices`: what the devices under the files did, sample by sample.
#pragma once

#include "cli/output.h"
#include "log/iter.h"

// Of the filter only the range of time counts.
int dump_devices(const struct log *log, const struct log_filter *filter, bool as_json, struct output *output);
