// What the parts of whatif share: whatif.c calculates, target.c measures, verify.c replays.
#pragma once

#include "whatif/access.h"
#include "whatif/options.h"
#include "whatif/whatif.h"

struct asking {
    const struct whatif_settings *settings;
    struct problem *problem;
    const struct model *model;
    struct accesses *families; // by place in model.family
    struct whatif *result;
};

// What each option asks for: by option, and by place in model.family.
struct counted {
    struct io_counts **option;
    size_t options;
    size_t families;
};

// Opens a profile, or measures what does not depend on the program.
int target_open(const struct asking *asking, struct whatif_target *target);
// Measures the points that the options need, all of them (`chosen` NULL), or again those of the chosen ones. Nothing
// for a profile.
int target_measure(const struct asking *asking, struct whatif_target *target, const struct counted *counted,
                   const bool *chosen);
struct library target_library(const struct asking *asking, const struct whatif_target *target);

// Replays the basic options and the best ones.
int verify_target(const struct asking *asking, struct whatif_target *target);
