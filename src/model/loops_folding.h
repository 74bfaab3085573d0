// Shared by the parts of folding: loops.c makes loops, loops_list.c makes lists of what is left.
#pragma once

#include "base/hash.h"
#include "model/loops.h"

struct folding {
    struct arena *arena;
    struct loops *item;
    size_t count;
};

// Turns the first `period` of the items at `at` into a loop over all of their repetitions.
int loops_make_loop(const struct folding *f, size_t at, size_t period, uint64_t count, struct loops *loop);
// Turns loose items into lists, and pairs of operations into loops.
int loops_list_loose(struct folding *f);
// Makes one list of all operations.
int loops_list_all(struct folding *f, const struct op *ops, size_t count);
