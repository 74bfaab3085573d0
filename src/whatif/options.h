// The ways to do the I/O that are worth a look.
#pragma once

#include "model/model.h"
#include "model/variant.h"
#include "whatif/counts.h"

struct options_of_program {
    struct variant *item; // the first one is as recorded
    size_t count;
};

// All that the program can do. `library` is that of the target. Free item.
int options_list(const struct model *model, uint32_t program, const struct library *library,
                 struct options_of_program *options);

// One that changes what either changes; `more` decides where both do.
struct variant options_both(const struct variant *one, const struct variant *more);
