#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/order.h"
#include "base/scoped.h"
#include "model/build/build.h"

enum { MOST_TURNS = 64 }; // of asynchronous transfers

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
    int64_t **ahead, **work_ns; // of asynchronous transfers; NULL if there are none
};

static int add_think(const struct op *op, size_t leaf, void *context) {
    struct thinking *t = context;
    const struct op_time *time = t->time++;
    (void)op;
    if (t->ahead) {
        t->ahead[leaf][t->count[leaf]] = (int64_t)time->ahead;
        t->work_ns[leaf][t->count[leaf]] = time->work_ns;
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
        if (!t->ahead) continue;
        FORWARD(arena_array(arena, t->ahead[i], times));
        FORWARD(arena_array(arena, t->work_ns[i], times));
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

// Every turns-th value, from `turn` on: their median, and how many are equal to it.
static int64_t median_of_turn(const int64_t *value, size_t count, size_t turn, size_t turns, int64_t *sorted,
                              size_t *equal) {
    size_t taken = 0;
    for (size_t i = turn; i < count; i += turns) sorted[taken++] = value[i];
    qsort(sorted, taken, sizeof *sorted, order_int64);
    int64_t median = sorted[taken / 2];
    for (size_t i = 0; i < taken; i++) *equal += sorted[i] == median;
    return median;
}

// The least number of turns by which nearly all values of `ahead` are as expected; 1 if there is none. A process does
// the operation `each` times per phase, and begins with the first turn.
static size_t count_turns(const int64_t *ahead, size_t count, uint64_t each, int64_t *sorted) {
    for (size_t turns = 1; turns <= MOST_TURNS && turns <= each; turns++) {
        size_t equal = 0;
        if (each % turns) continue;
        for (size_t i = 0; i < turns; i++) median_of_turn(ahead, count, i, turns, sorted, &equal);
        if (equal >= count - count / 16) return turns;
    }
    return 1;
}

static int observe_async(struct building *b, const struct thinking *t, size_t leaf, uint64_t each,
                         struct model_item *item) {
    size_t count = t->count[leaf], equal = 0;
    int64_t *sorted = t->think_ns[leaf]; // not needed any more
    size_t turns = count_turns(t->ahead[leaf], count, each, sorted);
    FORWARD(arena_array(&b->model->arena, item->async, 1));
    FORWARD(arena_array(&b->model->arena, item->async->turn, turns));
    item->async->turns = turns;
    for (size_t turn = 0; turn < turns; turn++) {
        struct model_overlap *overlap = &item->async->turn[turn];
        overlap->ahead = (uint64_t)median_of_turn(t->ahead[leaf], count, turn, turns, sorted, &equal);
        for (size_t i = turn; i < count; i += turns) overlap->work_ns += t->work_ns[leaf][i];
        overlap->work_ns /= (int64_t)(count / turns);
    }
    return 0;
}

static int observe_leaf(struct building *b, const struct thinking *t, size_t leaf, uint64_t each,
                        struct model_item *item) {
    struct model_pause pause = pause_of(t->think_ns[leaf], t->count[leaf]);
    FORWARD(builder_set_pause(&b->builder, item, &pause));
    if (!t->ahead || !t->count[leaf] || !is_async(b, item)) return 0;
    return observe_async(b, t, leaf, each, item);
}

int build_think(struct building *b, struct model_part *part, const struct piece *pieces, size_t count, bool others) {
    size_t leaves = count_leaves(&part->items);
    SCOPED(arena_free) struct arena arena = {0};
    struct thinking t = {0};
    FORWARD(arena_array(&arena, t.think_ns, leaves));
    FORWARD(arena_array(&arena, t.count, leaves));
    if (!others && has_async(b)) {
        FORWARD(arena_array(&arena, t.ahead, leaves));
        FORWARD(arena_array(&arena, t.work_ns, leaves));
    }
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
    for (size_t i = 0; i < leaves; i++) {
        struct model_item *item = model_next_leaf(&at);
        FORWARD(observe_leaf(b, &t, i, at.level[at.depth].times * item->count, item));
    }
    return 0;
}
