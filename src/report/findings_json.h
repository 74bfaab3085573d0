#pragma once

#include "base/json_out.h"
#include "findings/findings.h"

// A list of at most `most` objects (doc/page.md).
void findings_json(const struct findings *findings, struct json_out *json, size_t most);
