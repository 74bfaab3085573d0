// Prints every operation of a model again, in each process's order.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/output.h"
#include "model/model.h"

// `only_rank` is UINT64_MAX for all. 0 or a negative code.
int expand_print(const struct model *model, bool as_json, uint64_t only_rank, struct output *output);
