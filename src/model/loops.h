// Loops: a sequence of operations as a short tree that gives back every operation in order.
//
// An item is one operation, a loop over a body of items, or a list of operations that follow no rule. An operation
// inside loops has a step for each coordinate and each loop around it, the innermost first.
//
// Folding tries short periods before long ones, and goes from left to right within a period, so that inner loops exist
// before outer ones are searched. A run of p items that repeats forms a loop if
//   - it occurs three times or more, and each operation moves by a constant step of its own; or
//   - it occurs twice and all operations move by the same step. As any two single operations do that, they must also
//     touch, or be at the same place, or be the only two of their kind and size in a row. As any two single loops do
//     that too, there must be no third one, or two more that are as far apart.
// Such loops also arise by chance. Evidence for a loop is the number of operations that follow from earlier ones (one
// in a run of three), plus the changes of kind, file and size that each repetition has. A loop is loose if its evidence
// is less than three; or if it is less than eight and not more than the number of operations that do not follow. Single
// operations are loose too. Loose items in a row become a list: operations of one kind if there are 8 or more and most
// do not follow; operations of kinds that change often if there are 16 items or more. A list absorbs neighbours that
// may be there by chance.
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

// Calls back with every operation in order. A return value other than 0 ends the walk and is returned. `leaf` counts
// the operations and lists as they are written in the tree, from 0.
typedef int loops_callback(const struct op *op, size_t leaf, void *context);
int loops_walk(const struct loops_seq *seq, loops_callback *callback, void *context);

// Calls back with every operation as it is written: the first one that it stands for, its steps and the counts of the
// loops around it, the innermost first. Operations of lists come one by one, without steps, and `count` is NULL.
typedef void loops_see(const struct op *first, const struct loops_step *step, const uint64_t *count, unsigned steps,
                       void *context);
void loops_visit(const struct loops_seq *seq, loops_see *see, void *context);

const struct op *loops_first(const struct loops *item);
bool loops_is_loose(const struct loops *item);
