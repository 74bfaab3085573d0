// What two phases do besides transfers, without lookups.
//
// Lookups ask about names and leave nothing behind: stat, access, readlink, reading directories, and opens and the like
// that fail. How many there are depends on where the files lie (each folder of the path is asked for), on what else is
// there and on how long a program waited for something to appear. They are in models, and the number is compared, but
// they do not make two structures different.
#pragma once

#include "model/compare/fingerprint.h"

struct other_op {
    uint32_t rank;
    uint32_t thread;
    size_t order; // among all
    struct op op;
};

struct diff_others {
    struct other_op *op; // by rank and thread, each in its order
    size_t count;
    uint64_t lookups;
};

// ERR_LIMIT: so many that they are not looked at one by one.
int diff_others_collect(const struct fingerprint *fingerprint, uint32_t phase, struct diff_others *others);
void diff_others_free(struct diff_others *others);
