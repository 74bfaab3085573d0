// How many bytes of files a program touches: each byte of a file that is read or written counts once, by whatever
// process and however often.
#pragma once

#include <stdint.h>

#include "model/model.h"

// `by_phase` has room for all phases of the model, or is NULL. `total` counts a byte of several phases once.
int working_set_of(const struct model *model, uint32_t program, uint64_t *by_phase, uint64_t *total);
