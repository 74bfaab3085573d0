#include "model/nest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/lookup.h"

enum {
    RUN_LEAST = 3,   // operations at a constant step that are a run whatever the step is
    LIST_LEAST = 16, // single operations in a row that are a list
    CANDIDATES = 8,  // periods that are tried at one place
    ABSORB = 8,      // a list takes in neighbours that are this many times smaller
};

struct folding {
    struct arena *arena;
    struct nest *item;
    size_t count;
};

// --- shapes and steps

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t shape_of(struct nest *item)
{
    uint64_t hash = mix(item->type + 1, item->count);
    if (item->type == NEST_OP) {
        hash = mix(hash, item->op.kind);
        for (unsigned s = 0; s < item->steps; s++) {
            for (unsigned c = 0; c < AT_COUNT; c++) hash = mix(hash, (uint64_t)item->step[s].at[c]);
        }
    } else if (item->type == NEST_LOOP) {
        for (uint32_t i = 0; i < item->length; i++) hash = mix(hash, item->body[i].shape = shape_of(&item->body[i]));
    }
    return hash;
}

static struct nest_step step_between(const struct op *a, const struct op *b)
{
    struct nest_step step;
    for (unsigned c = 0; c < AT_COUNT; c++) step.at[c] = (int64_t)((uint64_t)b->at[c] - (uint64_t)a->at[c]);
    return step;
}

static bool same_step(const struct nest_step *a, const struct nest_step *b)
{
    return !memcmp(a, b, sizeof *a);
}

static struct nest single(const struct op *op)
{
    struct nest item = {.type = NEST_OP, .count = 1, .ops = 1, .op = *op};
    item.shape = shape_of(&item);
    return item;
}

// Whether the second of two operations begins where the first one ends, or the other way round, or both in one place.
static bool touching(const struct nest_step *step, const struct op *op)
{
    int64_t offset = step->at[AT_OFFSET];
    return step->at[AT_MEMBER] == 0 && step->at[AT_SIZE] == 0 && step->at[AT_SHORT] == 0 &&
           (offset == 0 || offset == op->at[AT_SIZE] || offset == -op->at[AT_SIZE]);
}

// --- comparing repetitions

struct likeness {
    bool has_first;
    struct nest_step first; // the first operation's step from one repetition to the next
    bool alike;             // all operations have that step
    bool steady;            // each has the same step twice
};

// Items of equal shape at three repetitions of a body; the third may be missing.
static bool compare(struct likeness *like, const struct nest *a, const struct nest *b, const struct nest *c)
{
    if (a->type == NEST_LIST) return false;
    for (uint32_t i = 0; a->type == NEST_LOOP && i < a->length; i++) {
        if (!compare(like, &a->body[i], &b->body[i], c ? &c->body[i] : NULL)) return false;
    }
    if (a->type == NEST_LOOP) return true;
    struct nest_step step = step_between(&a->op, &b->op);
    if (!like->has_first) {
        like->first = step;
        like->has_first = true;
    }
    if (!same_step(&like->first, &step)) like->alike = false;
    if (c) {
        struct nest_step next = step_between(&b->op, &c->op);
        if (!same_step(&step, &next)) like->steady = false;
    } else {
        like->steady = false;
    }
    return like->alike || like->steady;
}

static bool deep(const struct nest *item)
{
    if (item->type == NEST_OP) return item->steps >= NEST_MAX_DEPTH;
    for (uint32_t i = 0; item->type == NEST_LOOP && i < item->length; i++) {
        if (deep(&item->body[i])) return true;
    }
    return false;
}

static bool same_shapes(const struct nest *a, const struct nest *b, size_t period)
{
    for (size_t k = 0; k < period; k++) {
        if (a[k].shape != b[k].shape) return false;
    }
    return true;
}

// How often the `period` items at `at` repeat, 0 where they form no loop.
static uint64_t repetitions(const struct folding *f, size_t at, size_t period)
{
    const struct nest *a = f->item + at, *b = a + period, *c = b + period;
    size_t left = f->count - at;
    if (left < 2 * period || !same_shapes(a, b, period)) return 0;
    bool third = left >= 3 * period && same_shapes(b, c, period);
    struct likeness like = {.alike = true, .steady = third};
    for (size_t k = 0; k < period; k++) {
        if (deep(&a[k]) || !compare(&like, &a[k], &b[k], third ? &c[k] : NULL)) return 0;
    }
    if (!like.steady) return period > 1 || a->type == NEST_LOOP || touching(&like.first, &a->op) ? 2 : 0;
    uint64_t count = 3;
    for (const struct nest *next = c + period; next + period <= f->item + f->count; next += period, count++) {
        if (!same_shapes(next - period, next, period)) break;
        like = (struct likeness){.steady = true};
        for (size_t k = 0; k < period && like.steady; k++) {
            compare(&like, &next[(ptrdiff_t)k - 2 * (ptrdiff_t)period], &next[(ptrdiff_t)k - (ptrdiff_t)period],
                    &next[k]);
        }
        if (!like.steady) break;
    }
    return count;
}

// --- building loops

static int add_step(struct arena *arena, struct nest *item, const struct nest *next)
{
    for (uint32_t i = 0; item->type == NEST_LOOP && i < item->length; i++) {
        FORWARD(add_step(arena, &item->body[i], &next->body[i]));
    }
    if (item->type != NEST_OP) return 0;
    struct nest_step *steps = arena_alloc(arena, (item->steps + 1u) * sizeof *steps);
    RETURN_IF(!steps, -ENOMEM);
    if (item->steps) memcpy(steps, item->step, item->steps * sizeof *steps);
    steps[item->steps++] = step_between(&item->op, &next->op);
    item->step = steps;
    return 0;
}

static int make_loop(const struct folding *f, size_t at, size_t period, uint64_t count, struct nest *loop)
{
    *loop = (struct nest){.type = NEST_LOOP, .length = (uint32_t)period, .count = count};
    loop->body = arena_copy(f->arena, f->item + at, period * sizeof *loop->body);
    RETURN_IF(!loop->body, -ENOMEM);
    for (size_t k = 0; k < period; k++) {
        loop->ops += loop->body[k].ops;
        FORWARD(add_step(f->arena, &loop->body[k], &f->item[at + period + k]));
    }
    loop->ops *= count;
    loop->shape = shape_of(loop);
    return 0;
}

// Runs of single operations, straight from the input: most of what there is disappears here.
static int fold_runs(struct folding *f, const struct op *ops, size_t count)
{
    for (size_t i = 0, n; i < count; i += n) {
        n = 1;
        struct nest_step step;
        if (i + 1 < count && ops[i + 1].kind == ops[i].kind) {
            step = step_between(&ops[i], &ops[i + 1]);
            for (n = 2; i + n < count && ops[i + n].kind == ops[i].kind; n++) {
                struct nest_step next = step_between(&ops[i + n - 1], &ops[i + n]);
                if (!same_step(&step, &next)) break;
            }
        }
        struct nest *item = &f->item[f->count++];
        *item = single(&ops[i]);
        if (n < RUN_LEAST) {
            n = 1;
            continue;
        }
        struct nest *body = arena_copy(f->arena, item, sizeof *item);
        RETURN_IF(!body, -ENOMEM);
        body->step = arena_copy(f->arena, &step, sizeof step);
        RETURN_IF(!body->step, -ENOMEM);
        body->steps = 1;
        *item = (struct nest){.type = NEST_LOOP, .length = 1, .count = n, .ops = n, .body = body};
        item->shape = shape_of(item);
    }
    return 0;
}

// For each item the next one of its shape, or the count where there is none.
static int link_shapes(const struct folding *f, uint32_t *next)
{
    struct lookup last = {0};
    int code = 0;
    for (size_t i = f->count; i-- > 0 && !code;) {
        uint32_t found = lookup_find(&last, f->item[i].shape);
        next[i] = found == LOOKUP_NONE ? (uint32_t)f->count : found;
        code = lookup_set(&last, f->item[i].shape, (uint32_t)i);
    }
    lookup_free(&last);
    return code;
}

// One pass from left to right; `next` as link_shapes made it. Returns whether anything was folded.
static int fold_pass(struct folding *f, const uint32_t *next, size_t longest)
{
    size_t from = 0, to = 0;
    struct nest loop;
    while (from < f->count) {
        uint64_t count = 0;
        size_t period = 0, at = from;
        for (unsigned tries = 0; tries < CANDIDATES && !count; tries++) {
            at = next[at];
            period = at - from;
            if (at >= f->count || period > longest) break;
            count = repetitions(f, from, period);
        }
        if (count) {
            FORWARD(make_loop(f, from, period, count, &loop));
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

static int fold_loops(struct folding *f)
{
    uint32_t *next = malloc((f->count + 1) * sizeof *next);
    RETURN_IF(!next, -ENOMEM);
    int code = link_shapes(f, next);
    for (size_t longest = 1; !code && longest <= NEST_MAX_PERIOD && longest < f->count;) {
        int folded = fold_pass(f, next, longest);
        longest = folded > 0 ? 1 : longest * 2;
        code = folded < 0 ? folded : folded ? link_shapes(f, next) : 0;
    }
    free(next);
    return code;
}

// --- lists

struct listing {
    struct op *ops;
    size_t count;
};

static int take_into_list(const struct op *op, size_t leaf, void *context)
{
    struct listing *listing = context;
    (void)leaf;
    listing->ops[listing->count++] = *op;
    return 0;
}

static int make_list(struct folding *f, const struct nest *items, size_t count, struct nest *list)
{
    uint64_t ops = 0;
    for (size_t i = 0; i < count; i++) ops += items[i].ops;
    struct listing listing = {.ops = arena_alloc(f->arena, ops * sizeof(struct op))};
    RETURN_IF(!listing.ops, -ENOMEM);
    struct nest_seq seq = {(struct nest *)items, count};
    nest_walk(&seq, take_into_list, &listing);
    *list = (struct nest){.type = NEST_LIST, .count = ops, .ops = ops, .list = listing.ops};
    list->shape = shape_of(list);
    return 0;
}

static size_t singles_from(const struct folding *f, size_t at)
{
    size_t n = 0;
    while (at + n < f->count && f->item[at + n].type == NEST_OP) n++;
    return n;
}

// Long rows of single operations become lists; two alike that stand alone are a loop after all.
static int list_singles(struct folding *f)
{
    size_t to = 0;
    for (size_t from = 0, n; from < f->count; from += n) {
        n = singles_from(f, from);
        struct nest made;
        const struct nest *first = &f->item[from];
        if (n >= LIST_LEAST) {
            FORWARD(make_list(f, first, n, &made));
        } else if (n == 2 && first[0].shape == first[1].shape && first[0].op.at[AT_SIZE] == first[1].op.at[AT_SIZE]) {
            FORWARD(make_loop(f, from, 1, 2, &made));
        } else {
            n = n ? n : 1;
            memmove(&f->item[to], first, n * sizeof *first);
            to += n;
            continue;
        }
        f->item[to++] = made;
    }
    f->count = to;
    return 0;
}

// Items that will be one: only lists take others in.
struct group {
    size_t first;
    uint64_t ops;
    bool is_list;
};

static bool takes_in(const struct group *list, const struct group *other)
{
    return list->is_list && (other->is_list || other->ops * ABSORB <= list->ops);
}

// Loops that chance made among operations that follow no rule go back into the list around them.
static int absorb(struct folding *f)
{
    struct group *group = malloc((f->count + 1) * sizeof *group);
    RETURN_IF(!group, -ENOMEM);
    size_t groups = 0;
    for (size_t i = 0; i < f->count; i++) {
        group[groups++] = (struct group){i, f->item[i].ops, f->item[i].type == NEST_LIST};
        for (struct group *top = &group[groups - 1]; groups > 1; top = &group[groups - 1]) {
            struct group *below = top - 1;
            if (!takes_in(top, below) && !takes_in(below, top)) break;
            *below = (struct group){below->first, below->ops + top->ops, true};
            groups--;
        }
    }
    int code = 0;
    for (size_t g = 0; g < groups && !code; g++) {
        size_t first = group[g].first, end = g + 1 < groups ? group[g + 1].first : f->count;
        struct nest item = f->item[first];
        if (end - first > 1) code = make_list(f, &f->item[first], end - first, &item);
        f->item[g] = item;
    }
    f->count = groups;
    free(group);
    return code;
}

// --- the whole

struct checking {
    const struct op *next;
};

static int check_one(const struct op *op, size_t leaf, void *context)
{
    struct checking *checking = context;
    (void)leaf;
    const struct op *expected = checking->next++;
    return expected->kind != op->kind || memcmp(expected->at, op->at, sizeof op->at);
}

int nest_fold(struct arena *arena, const struct op *ops, size_t count, struct nest_seq *out)
{
    *out = (struct nest_seq){0};
    if (!count) return 0;
    RETURN_IF(count >= UINT32_MAX, ERR_LIMIT);
    struct folding f = {.arena = arena, .item = malloc(count * sizeof *f.item)};
    RETURN_IF(!f.item, -ENOMEM);
    int code = fold_runs(&f, ops, count);
    if (!code) code = fold_loops(&f);
    if (!code) code = list_singles(&f);
    if (!code) code = absorb(&f);
    // Two shapes with one hash would make a wrong model: then the operations stay a list.
    struct checking checking = {ops};
    struct nest_seq seq = {f.item, f.count};
    if (!code && nest_walk(&seq, check_one, &checking)) {
        for (size_t i = 0; i < count; i++) f.item[i] = single(&ops[i]);
        code = make_list(&f, f.item, count, &f.item[0]);
        f.count = 1;
    }
    if (!code) {
        out->count = f.count;
        out->item = arena_copy(arena, f.item, f.count * sizeof *f.item);
        if (!out->item) code = -ENOMEM;
    }
    free(f.item);
    return code;
}

// --- walking

struct walk {
    nest_take *take;
    void *context;
    size_t leaf;
    unsigned depth;
    uint64_t index[NEST_MAX_DEPTH]; // of the loops around, the outermost first
};

static int walk_op(struct walk *w, const struct nest *item)
{
    struct op op = item->op;
    for (unsigned s = 0; s < item->steps && s < w->depth; s++) {
        uint64_t index = w->index[w->depth - 1 - s];
        for (unsigned c = 0; c < AT_COUNT; c++) {
            op.at[c] = (int64_t)((uint64_t)op.at[c] + index * (uint64_t)item->step[s].at[c]);
        }
    }
    return w->take(&op, w->leaf++, w->context);
}

static int walk_items(struct walk *w, const struct nest *items, size_t count);

static int walk_loop(struct walk *w, const struct nest *loop)
{
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

static int walk_items(struct walk *w, const struct nest *items, size_t count)
{
    int stop = 0;
    for (size_t i = 0; i < count && !stop; i++) {
        const struct nest *item = &items[i];
        if (item->type == NEST_OP) {
            stop = walk_op(w, item);
        } else if (item->type == NEST_LOOP) {
            stop = walk_loop(w, item);
        } else {
            for (uint64_t k = 0; k < item->count && !stop; k++) stop = w->take(&item->list[k], w->leaf, w->context);
            w->leaf++;
        }
    }
    return stop;
}

int nest_walk(const struct nest_seq *seq, nest_take *take, void *context)
{
    struct walk w = {.take = take, .context = context};
    return walk_items(&w, seq->item, seq->count);
}
