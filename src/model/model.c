#include "model/model.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"

// --- memory

static void free_items(struct model_items *items) {
    struct model_leaves leaves = model_leaves(items);
    for (struct model_item *item; (item = model_next_leaf(&leaves));) {
        for (unsigned c = 0; c < AT_COUNT; c++) expr_free(item->at[c].expr);
        expr_free(item->logical.expr);
    }
}

void model_free(struct model *model) {
    for (size_t i = 0; i < model->communicators; i++) {
        expr_free(model->communicator[i].color.expr);
        expr_free(model->communicator[i].key.expr);
    }
    free(model->communicator);
    for (size_t i = 0; i < model->families; i++) {
        struct model_family *family = &model->family[i];
        for (size_t k = 0; k < family->parts; k++) free_items(&family->part[k].items);
        for (size_t k = 0; k < family->others; k++) free_items(&family->other[k].items);
    }
    free(model->program);
    free(model->file);
    free(model->kind);
    free(model->family);
    free(model->phase);
    free(model->stay);
    free(model->wait);
    free(model->found);
    types_free(&model->types);
    file_sets_free(&model->sets);
    arena_free(&model->arena);
    *model = (struct model){0};
}

// --- items

struct model_leaves model_leaves(const struct model_items *items) {
    return (struct model_leaves){.level[0] = {items, 0, 1}};
}

struct model_item *model_next_leaf(struct model_leaves *l) {
    for (;;) {
        const struct model_items *items = l->level[l->depth].items;
        if (l->level[l->depth].next < items->count) {
            struct model_item *item = &items->item[l->level[l->depth].next++];
            if (item->type != LOOPS_LOOP) return item;
            uint64_t times = l->level[l->depth].times * item->count;
            l->level[++l->depth] = (typeof(*l->level)){&item->body, 0, times};
        } else if (!l->depth--) {
            l->depth = 0;
            return NULL;
        }
    }
}

// --- one process in one phase

int model_value_at(const struct model_value *value, const struct expr_variables *variables, size_t index,
                   int64_t *out) {
    if (value->expr) return expr_eval(value->expr, variables, out);
    *out = value->table ? value->table[index] : 0;
    return 0;
}

int model_membership(const struct model *model, uint32_t communicator, uint32_t rank, struct model_membership *out) {
    const struct model_communicator *of = &model->communicator[communicator];
    struct expr_variables variables = {.idp = rank, .np = model->program[of->program].np, .ph = 1};
    FORWARD(model_value_at(&of->color, &variables, rank, &out->color));
    return model_value_at(&of->key, &variables, rank, &out->key);
}

static int instance_op(const struct model_item *item, struct expr_variables *variables, size_t index,
                       struct loops *to) {
    to->op.kind = item->kind;
    to->step = item->step;
    variables->rs = 0;
    FORWARD(model_value_at(&item->at[AT_SIZE], variables, index, &to->op.at[AT_SIZE]));
    variables->rs = to->op.at[AT_SIZE];
    for (unsigned c = 0; c < AT_COUNT; c++) {
        if (c != AT_SIZE) FORWARD(model_value_at(&item->at[c], variables, index, &to->op.at[c]));
    }
    return 0;
}

static int instance_items(struct arena *arena, const struct model_items *items, struct expr_variables *variables,
                          size_t index, struct loops_seq *out) {
    out->count = items->count;
    FORWARD(arena_array(arena, out->item, items->count));
    for (size_t i = 0; i < items->count; i++) {
        const struct model_item *item = &items->item[i];
        struct loops *to = &out->item[i];
        *to = (struct loops){.type = item->type,
                             .steps = item->steps,
                             .length = (uint32_t)item->body.count,
                             .count = item->count,
                             .ops = item->ops};
        if (item->type == LOOPS_LIST) {
            to->list = item->list[index];
        } else if (item->type == LOOPS_OP) {
            FORWARD(instance_op(item, variables, index, to));
        } else {
            struct loops_seq inner;
            FORWARD(instance_items(arena, &item->body, variables, index, &inner));
            to->body = inner.item;
        }
    }
    return 0;
}

int model_walk(const struct model_process *process, loops_callback *callback, void *context) {
    const struct model_part *part = process->part;
    struct expr_variables variables = {.idp = part->rank[process->rank_place],
                                       .np = process->model->program[process->family->program].np,
                                       .ph = part->ph[process->ph_place]};
    struct arena arena = {0};
    struct loops_seq seq;
    size_t index = process->ph_place * part->ranks + process->rank_place;
    int stop = instance_items(&arena, &part->items, &variables, index, &seq);
    if (!stop) stop = loops_walk(&seq, callback, context);
    arena_free(&arena);
    return stop;
}

size_t model_place(const uint32_t *sorted, size_t count, uint32_t value) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (sorted[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && sorted[low] == value ? low : SIZE_MAX;
}

// --- every operation again

struct expanding {
    const struct model *model;
    uint32_t rank, thread, phase;
    struct op *op;                  // transfers, then others
    const struct model_item **from; // for each operation: the item that it comes from
    size_t ops;
    const struct model_item **leaf; // of the part that is being expanded
    size_t leaves;
    model_callback *callback;
    void *context;
};

static int keep_op(const struct op *op, size_t leaf, void *context) {
    struct expanding *e = context;
    FORWARD(array_room(e->op, e->ops));
    FORWARD(array_room(e->from, e->ops));
    e->from[e->ops] = e->leaf[leaf];
    e->op[e->ops++] = *op;
    return 0;
}

static int list_leaves(struct expanding *e, const struct model_items *items) {
    struct model_leaves leaves = model_leaves(items);
    e->leaves = 0;
    for (const struct model_item *item; (item = model_next_leaf(&leaves));) {
        FORWARD(array_push(e->leaf, e->leaves, item));
    }
    return 0;
}

// Appends the operations of the parts that this thread is in.
static int expand_parts(struct expanding *e, const struct model_family *family, const struct model_part *parts,
                        size_t count, uint32_t ph) {
    for (size_t i = 0; i < count; i++) {
        const struct model_part *part = &parts[i];
        size_t rank_place = model_place(part->rank, part->ranks, e->rank),
               ph_place = model_place(part->ph, part->phs, ph);
        if (part->thread != e->thread || rank_place == SIZE_MAX || ph_place == SIZE_MAX) continue;
        FORWARD(list_leaves(e, &part->items));
        FORWARD(model_walk(&(struct model_process){e->model, family, part, ph_place, rank_place}, keep_op, e));
    }
    return 0;
}

static int give(const struct expanding *e, size_t i, bool is_other) {
    struct model_step step = {.kind = &e->model->kind[e->op[i].kind],
                              .op = &e->op[i],
                              .is_other = is_other,
                              .phase = e->phase,
                              .think = e->from[i]->think,
                              .async = e->from[i]->async};
    return e->callback(&step, e->context);
}

static int expand_phase(struct expanding *e, uint32_t id) {
    const struct model_phase *phase = &e->model->phase[id];
    const struct model_family *family = &e->model->family[phase->family];
    e->ops = 0;
    e->phase = id;
    FORWARD(expand_parts(e, family, family->part, family->parts, phase->ph));
    size_t transfers = e->ops;
    FORWARD(expand_parts(e, family, family->other, family->others, phase->ph));
    size_t other = transfers;
    int stop = 0;
    for (size_t i = 0; i <= transfers && !stop; i++) {
        for (; other < e->ops && (i == transfers || e->op[other].at[AT_POSITION] <= (int64_t)i) && !stop; other++) {
            stop = give(e, other, true);
        }
        if (i < transfers && !stop) stop = give(e, i, false);
    }
    return stop;
}

static int end_expanding(struct expanding *e, int stop) {
    free(e->op);
    free(e->from);
    free(e->leaf);
    return stop;
}

int model_expand_phase(const struct model *model, uint32_t phase, uint32_t rank, uint32_t thread,
                       model_callback *callback, void *context) {
    struct expanding e = {.model = model, .rank = rank, .thread = thread, .callback = callback, .context = context};
    return end_expanding(&e, expand_phase(&e, phase));
}

int model_expand(const struct model *model, uint32_t program, uint32_t rank, uint32_t thread, model_callback *callback,
                 void *context) {
    struct expanding e = {.model = model, .rank = rank, .thread = thread, .callback = callback, .context = context};
    int stop = 0;
    for (size_t i = model->program[program].first; i < model->program[program].end && !stop; i++) {
        stop = expand_phase(&e, (uint32_t)i);
    }
    return end_expanding(&e, stop);
}

uint32_t model_threads(const struct model *model, uint32_t program) {
    uint32_t threads = 0;
    for (size_t i = 0; i < model->families; i++) {
        const struct model_family *family = &model->family[i];
        for (size_t k = 0; family->program == program && k < family->parts + family->others; k++) {
            const struct model_part *part = k < family->parts ? &family->part[k] : &family->other[k - family->parts];
            if (part->thread >= threads) threads = part->thread + 1;
        }
    }
    return threads;
}

void model_plain_name(const struct model *model, uint32_t file, uint32_t member, char name[MODEL_PLAIN_NAME_BYTES]) {
    char letters[8];
    unsigned used = 0;
    for (uint64_t left = (uint64_t)file + 1; left; left = (left - 1) / 26)
        letters[used++] = (char)('a' + (left - 1) % 26);
    letters[used] = 0;
    if (model->file[file].set->member_count == 1)
        snprintf(name, MODEL_PLAIN_NAME_BYTES, "file-%s", letters);
    else
        snprintf(name, MODEL_PLAIN_NAME_BYTES, "file-%s.%u", letters, (unsigned)member);
}

uint32_t model_main_program(const struct model *model) {
    uint32_t best = 0;
    uint64_t most = 0;
    for (uint32_t program = 0; program < model->programs; program++) {
        uint64_t bytes = 0;
        for (size_t i = model->program[program].first; i < model->program[program].end; i++) {
            bytes += model->family[model->phase[i].family].weight + 1;
        }
        if (bytes <= most) continue;
        most = bytes;
        best = program;
    }
    return best;
}
