// Prints every operation of a model again, in each process's order.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/output.h"
#include "model/model.h"

struct expand_options {
    bool json;
    uint64_t rank; // UINT64_MAX: all
};

// 0 or a negative code; errors of the output are noted there.
int expand_print(const struct model *model, const struct expand_options *options, struct output *output);
