// What the devices under the files did while the job ran.
#pragma once

#include "base/json_out.h"
#include "log/log.h"

// A list of objects; at most `most` samples of each, neighbours are put together.
void devices_json(const struct log *log, struct json_out *json, size_t most);
