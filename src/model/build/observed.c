#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/order.h"
#include "base/scoped.h"
#include "model/build/build.h"

static struct model_pause pause_of(int64_t *times_ns, size_t count) {
    struct model_pause pause = {.count = count};
    if (!count) return pause;
    qsort(times_ns, count, sizeof *times_ns, order_int64);
    for (size_t i = 0; i < count; i++) pause.total_ns += times_ns[i];
    for (unsigned q = 0; q < 5; q++) pause.quantile_ns[q] = times_ns[(count - 1) * q / 4];
    return pause;
}

// Computes the period from the starts and ticks of the phases of a family, in order.
static void observe_period(struct model_family *family, const struct model_phase *const *phase, int64_t *between) {
    size_t count = family->count - 1u;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        between[i] = phase[i + 1]->start_ns - phase[i]->start_ns;
        sum += (double)between[i];
        squares += (double)between[i] * (double)between[i];
    }
    double mean = sum / (double)count, variance = squares / (double)count - mean * mean;
    qsort(between, count, sizeof *between, order_int64);
    family->has_period = true;
    family->period_ns = between[count / 2];
    family->irregularity = mean > 0 && variance > 0 ? sqrt(variance) / mean : 0;
    for (size_t i = 0; i < count; i++) between[i] = (int64_t)(phase[i + 1]->tick - phase[i]->tick);
    qsort(between, count, sizeof *between, order_int64);
    family->period_ticks = (uint64_t)between[count / 2];
}

int build_periods(struct building *b) {
    struct model *model = b->model;
    SCOPED(arena_free) struct arena arena = {0};
    const struct model_phase **sorted;
    size_t *next, first = 0;
    int64_t *between;
    FORWARD(arena_array(&arena, sorted, model->phases));
    FORWARD(arena_array(&arena, next, model->families));
    FORWARD(arena_array(&arena, between, model->phases));
    for (size_t i = 0; i < model->families; i++) {
        next[i] = first;
        first += model->family[i].count;
    }
    for (size_t i = 0; i < model->phases; i++) sorted[next[model->phase[i].family]++] = &model->phase[i];
    for (size_t i = 0; i < model->families; i++) {
        struct model_family *family = &model->family[i];
        if (family->count >= 3) observe_period(family, sorted + next[i] - family->count, between);
    }
    return 0;
}

// Collects the pauses before the operations of each leaf.
struct thinking {
    const struct op_time *time; // of the next operation
    int64_t **think_ns;
    size_t *count;
    int64_t **ahead;     // of asynchronous transfers; NULL if there are none
    int64_t *overlap_ns; // the same: sums
};

static int add_think(const struct op *op, size_t leaf, void *context) {
    struct thinking *t = context;
    const struct op_time *time = t->time++;
    (void)op;
    if (t->ahead) {
        t->ahead[leaf][t->count[leaf]] = (int64_t)time->ahead;
        t->overlap_ns[leaf] += time->overlap_ns;
    }
    t->think_ns[leaf][t->count[leaf]++] = time->think_ns;
    return 0;
}

static size_t count_leaves(const struct model_items *items) {
    struct model_leaves leaves = model_leaves(items);
    size_t count = 0;
    while (model_next_leaf(&leaves)) count++;
    return count;
}

static bool has_async(const struct building *b) {
    for (size_t i = 0; i < b->recorded.kinds; i++) {
        if (b->recorded.kind[i].nonblocking) return true;
    }
    return false;
}

// Room for as many times as each leaf occurs in `count` processes and phases.
static int make_room(struct thinking *t, struct arena *arena, const struct model_items *items, size_t count) {
    struct model_leaves leaves = model_leaves(items);
    const struct model_item *item;
    for (size_t i = 0; (item = model_next_leaf(&leaves)); i++) {
        uint64_t times = leaves.level[leaves.depth].times * item->count * count;
        FORWARD(arena_array(arena, t->think_ns[i], times));
        if (t->ahead) FORWARD(arena_array(arena, t->ahead[i], times));
    }
    return 0;
}

// True if the operation is asynchronous, or any operation of the list.
static bool is_async(const struct building *b, const struct model_item *item) {
    if (item->type == LOOPS_OP) return b->recorded.kind[item->kind].nonblocking;
    for (uint64_t i = 0; i < item->count; i++) {
        if (b->recorded.kind[item->list[0][i].kind].nonblocking) return true;
    }
    return false;
}

static int observe_leaf(struct building *b, struct thinking *t, size_t leaf, struct model_item *item) {
    struct model_pause pause = pause_of(t->think_ns[leaf], t->count[leaf]);
    FORWARD(builder_set_pause(&b->builder, item, &pause));
    if (!t->ahead || !t->count[leaf] || !is_async(b, item)) return 0;
    struct model_pause ahead = pause_of(t->ahead[leaf], t->count[leaf]);
    struct model_async async = {.ahead = (uint64_t)ahead.quantile_ns[2],
                                .overlap_ns = t->overlap_ns[leaf] / (int64_t)t->count[leaf]};
    item->async = arena_copy(&b->model->arena, &async, sizeof async);
    return item->async ? 0 : -ENOMEM;
}

int build_think(struct building *b, struct model_part *part, const struct piece *pieces, size_t count, bool others) {
    size_t leaves = count_leaves(&part->items);
    SCOPED(arena_free) struct arena arena = {0};
    struct thinking t = {0};
    FORWARD(arena_array(&arena, t.think_ns, leaves));
    FORWARD(arena_array(&arena, t.count, leaves));
    FORWARD(arena_array(&arena, t.overlap_ns, leaves));
    if (!others && has_async(b)) FORWARD(arena_array(&arena, t.ahead, leaves));
    FORWARD(make_room(&t, &arena, &part->items, count));
    for (size_t i = 0; i < count; i++) {
        const struct segment *segment = &b->segments.segment[pieces[i].segment];
        const struct thread_ops *thread = &b->recorded.thread[pieces[i].place];
        const struct loops_seq items = piece_items(b, &pieces[i], others);
        t.time = others ? &thread->other_time[segment->other_first] : &thread->time[segment->first];
        for (size_t k = pieces[i].first_item; k > 0; k--) t.time += items.item[-(ptrdiff_t)k].ops;
        loops_walk(&items, add_think, &t);
    }
    struct model_leaves at = model_leaves(&part->items);
    for (size_t i = 0; i < leaves; i++) FORWARD(observe_leaf(b, &t, i, model_next_leaf(&at)));
    return 0;
}
