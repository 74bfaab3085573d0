#include "model/loops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/lookup.h"
#include "base/scoped.h"
#include "model/loops_folding.h"

enum {
    RUN_LEAST = 3,  // operations at any constant step that are a run
    CANDIDATES = 8, // periods to try at one place for one reason
};

// --- shapes and steps

static uint64_t shape_of(struct loops *item) {
    // A start value far from the counts that occur.
    uint64_t hash = hash_add(UINT64_C(0x6e65737400) + item->type, item->count);
    if (item->type == LOOPS_OP) {
        hash = hash_add(hash, item->op.kind);
        for (unsigned s = 0; s < item->steps; s++) {
            for (unsigned c = 0; c < AT_COUNT; c++) hash = hash_add(hash, (uint64_t)item->step[s].at[c]);
        }
    } else if (item->type == LOOPS_LOOP) {
        for (uint32_t i = 0; i < item->length; i++) {
            hash = hash_add(hash, item->body[i].shape = shape_of(&item->body[i]));
        }
    }
    return hash;
}

static struct loops_step step_between(const struct op *a, const struct op *b) {
    struct loops_step step;
    for (unsigned c = 0; c < AT_COUNT; c++) step.at[c] = (int64_t)((uint64_t)b->at[c] - (uint64_t)a->at[c]);
    return step;
}

static bool same_step(const struct loops_step *a, const struct loops_step *b) { return !memcmp(a, b, sizeof *a); }

const struct op *loops_first(const struct loops *item) {
    while (item->type == LOOPS_LOOP) item = item->body;
    return item->type == LOOPS_LIST ? item->list : &item->op;
}

static struct loops single(const struct op *op) {
    struct loops item = {.type = LOOPS_OP, .count = 1, .ops = 1, .op = *op};
    item.shape = shape_of(&item);
    return item;
}

// True if the second operation begins where the first one ends, or the reverse, or both begin at one place.
static bool touching(const struct loops_step *step, const struct op *op) {
    int64_t offset = step->at[AT_OFFSET];
    return step->at[AT_MEMBER] == 0 && step->at[AT_SIZE] == 0 && step->at[AT_SHORT] == 0 &&
           (offset == 0 || offset == op->at[AT_SIZE] || offset == -op->at[AT_SIZE]);
}

// --- runs of single operations, directly from the input: this folds most operations

// Counts the operations from the first on that have a constant step.
static size_t run_length(const struct op *ops, size_t count) {
    if (count < 2 || ops[1].kind != ops[0].kind) return 1;
    struct loops_step step = step_between(&ops[0], &ops[1]);
    size_t n = 2;
    for (; n < count && ops[n].kind == ops[0].kind; n++) {
        struct loops_step next = step_between(&ops[n - 1], &ops[n]);
        if (!same_step(&step, &next)) break;
    }
    return n;
}

static int make_run(const struct folding *f, const struct op *ops, size_t count, struct loops *item) {
    struct loops_step step = step_between(&ops[0], &ops[1]);
    struct loops *body = arena_alloc(f->arena, sizeof *body);
    RETURN_IF(!body, -ENOMEM);
    *body = (struct loops){.type = LOOPS_OP, .count = 1, .ops = 1, .op = *ops, .steps = 1};
    body->step = arena_copy(f->arena, &step, sizeof step);
    RETURN_IF(!body->step, -ENOMEM);
    *item = (struct loops){.type = LOOPS_LOOP, .depth = 1, .length = 1, .count = count, .ops = count, .body = body};
    item->shape = shape_of(item);
    return 0;
}

// If the last operation of a run begins a longer one, it belongs there.
static int fold_runs(struct folding *f, const struct op *ops, size_t count) {
    for (size_t i = 0, n; i < count; i += n) {
        n = run_length(ops + i, count - i);
        if (n > 1 && run_length(ops + i + n - 1, count - (i + n - 1)) > n) n--;
        if (n >= RUN_LEAST) {
            FORWARD(make_run(f, ops + i, n, &f->item[f->count++]));
        } else {
            n = 1;
            f->item[f->count++] = single(&ops[i]);
        }
    }
    return 0;
}

// --- comparing repetitions

// Compares the items of a body with the next repetition and the one after.
struct likeness {
    bool has_first;
    struct loops_step first; // the first operation's step from one repetition to the next
    bool alike;              // all operations have that step
    bool steady;             // each has the same step twice
};

// Items of equal shape at three repetitions of a body; the third may be missing.
static bool compare(struct likeness *like, const struct loops *a, const struct loops *b, const struct loops *c) {
    if (a->type == LOOPS_LIST) return false;
    for (uint32_t i = 0; a->type == LOOPS_LOOP && i < a->length; i++) {
        if (!compare(like, &a->body[i], &b->body[i], c ? &c->body[i] : NULL)) return false;
    }
    if (a->type == LOOPS_LOOP) return true;
    struct loops_step step = step_between(&a->op, &b->op);
    if (!like->has_first) {
        like->first = step;
        like->has_first = true;
    }
    if (!same_step(&like->first, &step)) like->alike = false;
    if (c && like->steady) {
        struct loops_step next = step_between(&b->op, &c->op);
        like->steady = same_step(&step, &next);
    } else {
        like->steady = false;
    }
    return like->alike || like->steady;
}

// For each period of this pass: no loop with it begins before this item.
struct trying {
    size_t *not_before; // by period
};

// Compares the `period` items at `at` with the two repetitions after them. If they form no loop, it notes up to which
// item none begins with this period, as the same pairs of items would fail again.
static bool compare_bodies(const struct folding *f, const struct trying *t, size_t at, size_t period,
                           struct likeness *like) {
    const struct loops *a = f->item + at, *b = a + period, *c = b + period;
    size_t left = f->count - at, turn = at, unsteady = at;
    *like = (struct likeness){.alike = true, .steady = left >= 3 * period};
    for (size_t k = 0; k < period; k++) {
        struct likeness before = *like;
        bool third = like->steady && b[k].shape == c[k].shape;
        if (a[k].shape != b[k].shape || a[k].depth >= LOOPS_MAX_DEPTH) {
            t->not_before[period] = at + k + 1;
            return false;
        }
        bool goes_on = compare(like, &a[k], &b[k], third ? &c[k] : NULL);
        if (before.alike && !like->alike) turn = k ? at + k - 1 : at;
        if (before.steady && !like->steady) unsteady = at + k;
        if (!goes_on) {
            t->not_before[period] = (turn < unsteady ? turn : unsteady) + 1;
            return false;
        }
    }
    return true;
}

// True if the two items at `other` are as far apart as those at `at`.
static bool is_pair_like(const struct folding *f, size_t at, size_t other, const struct likeness *like) {
    const struct loops *item = &f->item[other];
    if (other + 2 > f->count || item[0].shape != f->item[at].shape || item[1].shape != item[0].shape) return false;
    struct loops_step step = step_between(loops_first(&item[0]), loops_first(&item[1]));
    return same_step(&step, &like->first);
}

// True if items that occur twice, without a constant step, are a loop of two.
static bool is_twice(const struct folding *f, size_t at, size_t period, const struct likeness *like) {
    const struct loops *a = f->item + at;
    if (period > 1) return true;
    if (a->type == LOOPS_OP) return touching(&like->first, &a->op);
    bool has_third = (at + 2 < f->count && a[2].shape == a->shape) || (at && a[-1].shape == a->shape);
    return !has_third || is_pair_like(f, at, at + 2, like) || (at > 1 && is_pair_like(f, at, at - 2, like));
}

// Unsigned, as offsets may use all 64 bits.
static uint64_t offset_at(const struct folding *f, size_t at) { return (uint64_t)f->item[at].op.at[AT_OFFSET]; }

// A cheap test for single operations, which most attempts fail: the first two do not move alike, and the first one does
// not move by a constant step.
static bool cannot_repeat(const struct folding *f, size_t at, size_t period) {
    const struct loops *a = f->item + at;
    if (period < 2 || a[0].type != LOOPS_OP || a[1].type != LOOPS_OP || a[period].type != LOOPS_OP) return false;
    uint64_t step = offset_at(f, at + period) - offset_at(f, at);
    if (a[period + 1].type != LOOPS_OP || offset_at(f, at + period + 1) - offset_at(f, at + 1) == step) return false;
    if (f->count - at < 3 * period || a[2 * period].type != LOOPS_OP) return true;
    return offset_at(f, at + 2 * period) - offset_at(f, at + period) != step;
}

// Returns how often the `period` items at `at` repeat, or 0 if they form no loop.
static uint64_t repetitions(const struct folding *f, const struct trying *t, size_t at, size_t period) {
    struct likeness like;
    if (f->count - at < 2 * period || at < t->not_before[period] || cannot_repeat(f, at, period)) return 0;
    if (!compare_bodies(f, t, at, period, &like)) return 0;
    if (!like.steady) return is_twice(f, at, period, &like) ? 2 : 0;
    uint64_t count = 3;
    for (size_t next = at + 3 * period; next + period <= f->count; next += period, count++) {
        const struct loops *c = f->item + next, *b = c - period, *a = b - period;
        like = (struct likeness){.steady = true};
        for (size_t k = 0; k < period && like.steady; k++) {
            if (b[k].shape != c[k].shape)
                like.steady = false;
            else
                compare(&like, &a[k], &b[k], &c[k]);
        }
        if (!like.steady) break;
    }
    return count;
}

// --- building loops

static int add_step(struct arena *arena, struct loops *item, const struct loops *next) {
    for (uint32_t i = 0; item->type == LOOPS_LOOP && i < item->length; i++) {
        FORWARD(add_step(arena, &item->body[i], &next->body[i]));
    }
    if (item->type != LOOPS_OP) return 0;
    struct loops_step *steps = arena_alloc(arena, (item->steps + 1u) * sizeof *steps);
    RETURN_IF(!steps, -ENOMEM);
    if (item->steps) memcpy(steps, item->step, item->steps * sizeof *steps);
    steps[item->steps++] = step_between(&item->op, &next->op);
    item->step = steps;
    return 0;
}

int loops_make_loop(const struct folding *f, size_t at, size_t period, uint64_t count, struct loops *loop) {
    *loop = (struct loops){.type = LOOPS_LOOP, .length = (uint32_t)period, .count = count};
    loop->body = arena_copy(f->arena, f->item + at, period * sizeof *loop->body);
    RETURN_IF(!loop->body, -ENOMEM);
    for (size_t k = 0; k < period; k++) {
        loop->ops += loop->body[k].ops;
        if (loop->body[k].depth > loop->depth) loop->depth = loop->body[k].depth;
        FORWARD(add_step(f->arena, &loop->body[k], &f->item[at + period + k]));
    }
    loop->depth++;
    loop->ops *= count;
    loop->shape = shape_of(loop);
    return 0;
}

// --- where loops may begin

// Reasons why an item may begin a repetition of another one. The shape alone is weak evidence, but the only one for
// loops in which everything changes; the others find long periods among items of one shape.
enum reason {
    SAME_SHAPE,
    SAME_SIZE, // and the same file
    SAME_STEP, // to the item after it
    REASONS
};

struct links {
    uint32_t *next[REASONS]; // by item: the next similar one, or the count of items
    unsigned octaves;        // bit n: some period from 2^n to 2^(n+1)-1 is worth trying
};

static uint64_t likeness_key(const struct folding *f, size_t at, enum reason reason) {
    const struct loops *item = &f->item[at];
    if (reason == SAME_SHAPE) return item->shape;
    const struct op *op = loops_first(item);
    uint64_t key = hash_add(item->shape, (uint64_t)op->at[AT_SIZE]);
    key = hash_add(key, reason);
    if (reason == SAME_SIZE) return hash_add(key, (uint64_t)op->at[AT_MEMBER]);
    if (at + 1 == f->count) return key;
    struct loops_step step = step_between(op, loops_first(item + 1));
    for (unsigned c = 0; c < AT_COUNT; c++) key = hash_add(key, (uint64_t)step.at[c]);
    return hash_add(key, item[1].shape);
}

static unsigned octave_of(size_t period) { return 63u - (unsigned)__builtin_clzll(period); }

static int link_items(const struct folding *f, struct links *links) {
    SCOPED(lookup_free) struct lookup last = {0};
    links->octaves = 0;
    for (unsigned reason = 0; reason < REASONS; reason++) {
        uint32_t *next = links->next[reason];
        lookup_clear(&last);
        for (size_t i = f->count; i-- > 0;) {
            uint64_t key = likeness_key(f, i, reason);
            uint32_t found = lookup_find(&last, key);
            next[i] = found == LOOKUP_NONE ? (uint32_t)f->count : found;
            FORWARD(lookup_set(&last, key, (uint32_t)i));
            size_t at = next[i];
            for (unsigned tries = 0; tries < CANDIDATES && at < f->count; tries++, at = next[at]) {
                links->octaves |= 1u << octave_of(at - i);
            }
        }
    }
    return 0;
}

// Returns the shortest period of this octave that repeats the items at `from`.
static size_t find_period(const struct folding *f, const struct links *links, const struct trying *t, unsigned octave,
                          size_t from, uint64_t *count) {
    size_t found = 0;
    for (unsigned reason = 0; reason < REASONS; reason++) {
        size_t at = from;
        for (unsigned tries = 0; tries < CANDIDATES; tries++) {
            at = links->next[reason][at];
            size_t period = at - from;
            if (at >= f->count || period >> octave > 1 || (found && period >= found)) break;
            if (period >> octave != 1) continue;
            uint64_t times = repetitions(f, t, from, period);
            if (!times) continue;
            found = period;
            *count = times;
            break;
        }
    }
    return found;
}

// True if an operation continues the loop one repetition to the left: `r0 r1 w0 r2 w1` is two reads and a loop, not one
// read and a loop.
static bool precedes(const struct loops *before, const struct loops *body, const struct loops *next) {
    if (before->type != LOOPS_OP || body->type != LOOPS_OP || before->shape != body->shape) return false;
    struct loops_step step = step_between(&body->op, &next->op), to_body = step_between(&before->op, &body->op);
    return same_step(&step, &to_body);
}

// Makes one pass from left to right. Returns whether it folded anything.
static int fold_pass(struct folding *f, const struct links *links, const struct trying *t, unsigned octave) {
    size_t from = 0, to = 0;
    struct loops loop;
    memset(t->not_before + (1u << octave), 0, (1u << octave) * sizeof *t->not_before);
    while (from < f->count) {
        uint64_t count = 0;
        size_t period = find_period(f, links, t, octave, from, &count);
        const struct loops *item = &f->item[from];
        if (period > 1 && from && precedes(item - 1, item, item + period)) {
            FORWARD(loops_make_loop(f, from - 1, 1, 2, &loop));
            f->item[to - 1] = loop;
            from++;
        } else if (period) {
            FORWARD(loops_make_loop(f, from, period, count, &loop));
            f->item[to++] = loop;
            from += period * count;
        } else {
            f->item[to++] = f->item[from++];
        }
    }
    bool folded = to < f->count;
    f->count = to;
    return folded;
}

static int fold_octaves(struct folding *f, struct links *links, const struct trying *t) {
    FORWARD(link_items(f, links));
    for (unsigned octave = 0; 1u << octave <= LOOPS_MAX_PERIOD;) {
        int folded = links->octaves >> octave & 1 ? fold_pass(f, links, t, octave) : 0;
        FORWARD(folded);
        if (folded) FORWARD(link_items(f, links));
        octave = folded ? 0 : octave + 1;
    }
    return 0;
}

static int fold_loops(struct folding *f) {
    SCOPED_FREE uint32_t *next = malloc(REASONS * (f->count + 1) * sizeof *next);
    SCOPED_FREE size_t *not_before = malloc(2 * LOOPS_MAX_PERIOD * sizeof *not_before);
    struct links links = {0};
    RETURN_IF(!next || !not_before, -ENOMEM);
    for (unsigned reason = 0; reason < REASONS; reason++) links.next[reason] = next + reason * (f->count + 1);
    return f->count > 1 ? fold_octaves(f, &links, &(struct trying){not_before}) : 0;
}

// --- the whole

static int check_one(const struct op *op, size_t leaf, void *context) {
    const struct op **next = context, *expected = (*next)++;
    (void)leaf;
    return expected->kind != op->kind || memcmp(expected->at, op->at, sizeof op->at);
}

int loops_fold(struct arena *arena, const struct op *ops, size_t count, struct loops_seq *out) {
    *out = (struct loops_seq){0};
    if (!count) return 0;
    RETURN_IF(count >= UINT32_MAX, ERR_LIMIT);
    SCOPED_FREE struct loops *item = malloc(count * sizeof *item);
    struct folding f = {.arena = arena, .item = item};
    RETURN_IF(!item, -ENOMEM);
    FORWARD(fold_runs(&f, ops, count));
    FORWARD(fold_loops(&f));
    FORWARD(loops_list_loose(&f));
    // Two shapes with one hash would make a wrong model. Then the operations stay a list.
    const struct op *next = ops;
    if (loops_walk(&(struct loops_seq){item, f.count}, check_one, &next)) FORWARD(loops_list_all(&f, ops, count));
    out->count = f.count;
    out->item = arena_copy(arena, item, f.count * sizeof *item);
    return out->item ? 0 : -ENOMEM;
}

// --- walking

struct walk {
    loops_callback *callback;
    void *context;
    size_t leaf;
    unsigned depth;
    uint64_t index[LOOPS_MAX_DEPTH]; // of the loops around, the outermost first
};

static int walk_op(struct walk *w, const struct loops *item) {
    struct op op = item->op;
    for (unsigned s = 0; s < item->steps && s < w->depth; s++) {
        uint64_t index = w->index[w->depth - 1 - s];
        for (unsigned c = 0; c < AT_COUNT; c++) {
            op.at[c] = (int64_t)((uint64_t)op.at[c] + index * (uint64_t)item->step[s].at[c]);
        }
    }
    return w->callback(&op, w->leaf++, w->context);
}

static int walk_items(struct walk *w, const struct loops *items, size_t count);

static int walk_loop(struct walk *w, const struct loops *loop) {
    size_t leaf = w->leaf;
    int stop = 0;
    w->depth++;
    for (uint64_t i = 0; i < loop->count && !stop; i++) {
        w->leaf = leaf;
        w->index[w->depth - 1] = i;
        stop = walk_items(w, loop->body, loop->length);
    }
    w->depth--;
    return stop;
}

static int walk_items(struct walk *w, const struct loops *items, size_t count) {
    int stop = 0;
    for (size_t i = 0; i < count && !stop; i++) {
        const struct loops *item = &items[i];
        if (item->type == LOOPS_OP) {
            stop = walk_op(w, item);
        } else if (item->type == LOOPS_LOOP) {
            stop = walk_loop(w, item);
        } else {
            for (uint64_t k = 0; k < item->count && !stop; k++) stop = w->callback(&item->list[k], w->leaf, w->context);
            w->leaf++;
        }
    }
    return stop;
}

int loops_walk(const struct loops_seq *seq, loops_callback *callback, void *context) {
    struct walk w = {.callback = callback, .context = context};
    return walk_items(&w, seq->item, seq->count);
}

// --- visiting

struct visit {
    loops_see *see;
    void *context;
    unsigned depth;
    uint64_t count[LOOPS_MAX_DEPTH]; // of the loops around, from the end on
};

static void visit_items(struct visit *v, const struct loops *items, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct loops *item = &items[i];
        if (item->type == LOOPS_OP) {
            v->see(&item->op, item->step, v->count + LOOPS_MAX_DEPTH - v->depth, item->steps, v->context);
        } else if (item->type == LOOPS_LIST) {
            for (uint64_t k = 0; k < item->count; k++) v->see(&item->list[k], NULL, NULL, 0, v->context);
        } else {
            v->count[LOOPS_MAX_DEPTH - ++v->depth] = item->count;
            visit_items(v, item->body, item->length);
            v->depth--;
        }
    }
}

void loops_visit(const struct loops_seq *seq, loops_see *see, void *context) {
    struct visit v = {.see = see, .context = context};
    visit_items(&v, seq->item, seq->count);
}
