// Reads a MODEL file (doc/model.md) without trusting it: whatever it accepts can be expanded, written and walked
// through without further checks. Loops are not expanded. Memory grows with the size of the file, except for ranks and
// phases that are given as ranges, of which there may be MODEL_READ_NUMBERS in total.
#pragma once

#include "base/json_in.h"
#include "model/model.h"

enum { MODEL_READ_NUMBERS = 1 << 26 };

// Both return 0 or a negative code with the reason in `error`, and then leave nothing to free. ERR_VERSION: written by
// a newer ioseer.
int model_read(struct model *model, const char *path, struct json_in_error *error);
int model_parse(struct model *model, const char *text, size_t len, struct json_in_error *error);
