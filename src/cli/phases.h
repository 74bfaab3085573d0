// The object that `ioseer phases --json` prints.
#pragma once

#include "base/json_out.h"
#include "model/model.h"

// No list has more than `most` members.
int phases_json(const struct model *model, struct json_out *json, size_t most);
