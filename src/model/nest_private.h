// What the parts of folding share: nest.c makes loops, nest_list.c makes lists of what is left.
#ifndef IOSEER_MODEL_NEST_PRIVATE_H
#define IOSEER_MODEL_NEST_PRIVATE_H

#include "base/mix.h"
#include "model/nest.h"

struct folding {
    struct arena *arena;
    struct nest *item;
    size_t count;
};

// Turns the first `period` of the items at `at` into a loop over all of their repetitions.
int nest_make_loop(const struct folding *f, size_t at, size_t period, uint64_t count, struct nest *loop);
// Turns what is loose into lists, and pairs of operations into loops.
int nest_list_loose(struct folding *f);
// One list of all these operations.
int nest_list_all(struct folding *f, const struct op *ops, size_t count);

#endif
