// Nests of loops: a sequence of operations as a short tree from which every operation comes back in order.
//
// An item is one operation, a loop over a body of items, or a list of operations that follow no rule. Inside loops an
// operation has a step for each coordinate and each loop around it, the innermost first.
//
// Folding goes from short periods to long ones, and from left to right within a period, so that inner loops are there
// before outer ones look for them. What repeats p items forms a loop where
//   - it occurs three times or more, each operation moved by a constant step of its own, or
//   - it occurs twice and everything moved by the same step. Of single operations this is true of any two: they must
//     begin where the other ends, or be in the same place, or be the only two of their kind and size in a row. Of
//     single loops too: there must be no third, or two more that are as far apart.
// Chance makes such loops as well. What speaks for a loop are the operations that follow from those before them (one of
// a run of three), and the changes of kind, file and size that come again with each repetition. Where there is little
// of that, less than three, or no more than what does not follow and less than eight, a loop is loose, as single
// operations are. Loose items in a row become a list: those of one kind from 8 operations on, if more does not follow
// than does; of kinds that change often from 16 items on. A list takes in what chance may have made next to it.
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "model/op.h"

enum loops_type { LOOPS_OP, LOOPS_LOOP, LOOPS_LIST };

enum { LOOPS_MAX_DEPTH = 8, LOOPS_MAX_PERIOD = 4096 };

struct loops_step {
    int64_t at[AT_COUNT];
};

struct loops {
    uint8_t type;
    uint8_t steps;   // LOOPS_OP: loops around it
    uint8_t depth;   // LOOPS_LOOP: levels of loops, itself included
    uint32_t length; // LOOPS_LOOP: items of the body
    uint64_t count;  // repetitions of a loop, operations of a list, 1
    uint64_t ops;    // operations it stands for
    uint64_t shape;  // equal for items that differ only in where they begin
    union {
        struct {
            struct op op; // the first one
            struct loops_step *step;
        };
        struct loops *body;
        struct op *list;
    };
};

struct loops_seq {
    struct loops *item;
    size_t count;
};

// Folds a sequence. All memory is the arena's.
int loops_fold(struct arena *arena, const struct op *ops, size_t count, struct loops_seq *out);

// Every operation in order; a return other than 0 ends the walk and is handed back. `leaf` counts the operations as
// written in the tree (and lists), in order, from 0.
typedef int loops_callback(const struct op *op, size_t leaf, void *context);
int loops_walk(const struct loops_seq *seq, loops_callback *callback, void *context);

// Every operation as it is written: the first one it stands for, its steps and the counts of the loops around it, the
// innermost first. Those of lists one by one, without steps, and `count` is NULL.
typedef void loops_see(const struct op *first, const struct loops_step *step, const uint64_t *count, unsigned steps,
                       void *context);
void loops_visit(const struct loops_seq *seq, loops_see *see, void *context);

const struct op *loops_first(const struct loops *item);
bool loops_is_loose(const struct loops *item);
