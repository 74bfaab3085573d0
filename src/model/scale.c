#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "model/model.h"

struct scaling {
    struct model *model;
    uint32_t from, to; // processes
    size_t types;      // before scaling
    int64_t copies;    // copies of the program that the new processes form; the last may be incomplete
};

// --- ranks

// True if the ranks are first, first + step, … up to the number of processes.
static bool is_open_ended(const struct scaling *s, const struct model_part *part, uint32_t *step) {
    *step = part->ranks > 1 ? part->rank[1] - part->rank[0] : s->from;
    for (size_t i = 1; i < part->ranks; i++) {
        if (part->rank[i] - part->rank[i - 1] != *step) return false;
    }
    return part->rank[part->ranks - 1] + *step >= s->from;
}

// The new ranks that do the work of a part, each with the place of the recorded rank that it copies.
struct ranks {
    uint32_t *rank;
    size_t *like;
    size_t count;
};

static int add(struct ranks *ranks, uint32_t rank, size_t like) {
    ranks->rank[ranks->count] = rank;
    ranks->like[ranks->count++] = like;
    return 0;
}

static int scale_ranks(const struct scaling *s, const struct model_part *part, struct ranks *ranks) {
    struct arena *arena = &s->model->arena;
    uint32_t step;
    ranks->count = 0;
    FORWARD(arena_array(arena, ranks->rank, s->to));
    FORWARD(arena_array(arena, ranks->like, s->to));
    bool is_first = part->ranks == 1 && part->rank[0] == 0, is_last = part->ranks == 1 && part->rank[0] == s->from - 1;
    if (is_first) return add(ranks, 0, 0);
    if (is_last) return add(ranks, s->to - 1, 0);
    bool open_ended = is_open_ended(s, part, &step);
    bool but_last = !open_ended && part->ranks > 1 && part->rank[part->ranks - 1] == s->from - 2;
    uint32_t end = s->to - (but_last && s->to > 1 ? 1 : 0);
    if (open_ended || but_last) {
        for (uint32_t r = part->rank[0], i = 0; r < end; r += step, i++) add(ranks, r, i % part->ranks);
        return 0;
    }
    for (size_t i = 0; i < part->ranks; i++) {
        if (part->rank[i] < s->to) add(ranks, part->rank[i], i);
    }
    return 0;
}

// --- values

static int scale_value(const struct scaling *s, const struct model_part *part, const struct ranks *ranks,
                       struct model_value *value, bool moves) {
    if (!value->table) return 0;
    size_t old = part->ranks, phs = part->phs;
    int64_t *table, low = INT64_MAX, high = 0;
    FORWARD(arena_array(&s->model->arena, table, phs * ranks->count));
    for (size_t i = 0; i < old * phs; i++) {
        if (value->table[i] < low) low = value->table[i];
        if (value->table[i] > high) high = value->table[i];
    }
    int64_t span = old > 1 ? (high - low) / (int64_t)(old - 1) * (int64_t)old : 0;
    for (size_t p = 0; p < phs; p++) {
        for (size_t i = 0; i < ranks->count; i++) {
            int64_t copies = ranks->rank[i] / s->from;
            table[p * ranks->count + i] = value->table[p * old + ranks->like[i]] + (moves ? copies * span : 0);
        }
    }
    value->table = table;
    return 0;
}

// Returns the end of the lists of all ranks: the next copy begins there.
static int64_t reach_of(const struct model_item *item, size_t lists) {
    int64_t reach = 0;
    for (size_t i = 0; i < lists; i++) {
        for (uint64_t k = 0; k < item->count; k++) {
            int64_t end = item->list[i][k].at[AT_OFFSET] + item->list[i][k].at[AT_SIZE];
            if (end > reach) reach = end;
        }
    }
    return reach;
}

static int scale_list(const struct scaling *s, const struct model_part *part, const struct ranks *ranks,
                      struct model_item *item) {
    struct arena *arena = &s->model->arena;
    int64_t reach = reach_of(item, part->ranks * part->phs);
    struct op **lists;
    FORWARD(arena_array(arena, lists, part->phs * ranks->count));
    for (size_t p = 0; p < part->phs; p++) {
        for (size_t i = 0; i < ranks->count; i++) {
            int64_t copies = ranks->rank[i] / s->from;
            struct op *list =
                arena_copy(arena, item->list[p * part->ranks + ranks->like[i]], item->count * sizeof *list);
            RETURN_IF(!list, -ENOMEM);
            for (uint64_t k = 0; k < item->count && copies; k++) list[k].at[AT_OFFSET] += copies * reach;
            lists[p * ranks->count + i] = list;
        }
    }
    item->list = lists;
    return 0;
}

// Makes file views for ranks that were not recorded. Types have numbers, not rules. Each further copy of the program
// comes after the previous one in every tile of the file.
static int scale_view(const struct scaling *s, const struct model_part *part, const struct ranks *ranks,
                      struct model_item *item) {
    struct arena *arena = &s->model->arena;
    size_t all = part->phs * ranks->count;
    struct model_value type = {0}, start = {0};
    FORWARD(arena_array(arena, type.table, all));
    FORWARD(arena_array(arena, start.table, all));
    for (size_t p = 0; p < part->phs; p++) {
        for (size_t i = 0; i < ranks->count; i++) {
            uint32_t like = part->rank[ranks->like[i]];
            struct expr_variables variables = {.idp = like, .np = s->from, .ph = part->ph[p]};
            size_t from = p * part->ranks + ranks->like[i], to = p * ranks->count + i;
            FORWARD(model_value_at(&item->at[AT_SECOND], &variables, from, &type.table[to]));
            FORWARD(model_value_at(&item->at[AT_OFFSET], &variables, from, &start.table[to]));
            if ((uint64_t)type.table[to] >= s->types) continue;
            start.table[to] += ranks->rank[i] / s->from * s->model->types.type[type.table[to]].extent;
            if (s->copies > 1) type.table[to] += (int64_t)s->types;
        }
    }
    expr_free(item->at[AT_SECOND].expr);
    expr_free(item->at[AT_OFFSET].expr);
    item->at[AT_SECOND] = type;
    item->at[AT_OFFSET] = start;
    return 0;
}

// Copies the types with room in each tile for all copies of the program.
static int widen_types(struct scaling *s) {
    struct types *types = &s->model->types;
    s->types = types->count;
    s->copies = (s->to + s->from - 1) / s->from;
    for (size_t i = 0; i < s->types && s->copies > 1; i++) {
        FORWARD(array_room(types->type, types->count));
        struct model_type *type = &types->type[types->count];
        *type = types->type[i];
        type->extent *= s->copies;
        type->flat.item = malloc((type->flat.items + 1) * sizeof *type->flat.item);
        RETURN_IF(!type->flat.item, -ENOMEM);
        memcpy(type->flat.item, types->type[i].flat.item, type->flat.items * sizeof *type->flat.item);
        types->count++;
    }
    return 0;
}

static int scale_items(const struct scaling *s, const struct model_part *part, const struct ranks *ranks,
                       struct model_items *items) {
    struct model_leaves leaves = model_leaves(items);
    for (struct model_item *item; (item = model_next_leaf(&leaves));) {
        if (item->type == LOOPS_LIST) FORWARD(scale_list(s, part, ranks, item));
        if (item->type == LOOPS_OP && s->model->kind[item->kind].etype_bytes) {
            FORWARD(scale_view(s, part, ranks, item));
            continue;
        }
        for (unsigned c = 0; item->type == LOOPS_OP && c < AT_COUNT; c++) {
            FORWARD(scale_value(s, part, ranks, &item->at[c], c == AT_OFFSET));
        }
        FORWARD(scale_value(s, part, ranks, &item->logical, true));
    }
    return 0;
}

static int scale_parts(const struct scaling *s, struct model_part *parts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct ranks ranks;
        FORWARD(scale_ranks(s, &parts[i], &ranks));
        FORWARD(scale_items(s, &parts[i], &ranks, &parts[i].items));
        parts[i].rank = ranks.rank;
        parts[i].ranks = ranks.count;
    }
    return 0;
}

// Further copies of the program have communicators of their own, where there is no rule.
static int scale_membership(const struct scaling *s, struct model_value *value, bool is_color) {
    if (!value->table) return 0;
    int64_t *table, most = 0;
    FORWARD(arena_array(&s->model->arena, table, s->to));
    for (uint32_t i = 0; i < s->from; i++) {
        if (value->table[i] > most) most = value->table[i];
    }
    for (uint32_t i = 0; i < s->to; i++) {
        table[i] = value->table[i % s->from];
        if (is_color && table[i] >= 0) table[i] += (most + 1) * (i / s->from);
    }
    value->table = table;
    return 0;
}

static int scale_communicators(const struct scaling *s, uint32_t program) {
    for (size_t i = 0; i < s->model->communicators; i++) {
        struct model_communicator *communicator = &s->model->communicator[i];
        if (communicator->program != program) continue;
        FORWARD(scale_membership(s, &communicator->color, true));
        FORWARD(scale_membership(s, &communicator->key, false));
    }
    return 0;
}

// Drops the waits: ranks may do the work of others now, so it is not known which operations wait.
static void drop_waits(struct model *model, uint32_t program) {
    size_t kept = 0;
    for (size_t i = 0; i < model->waits; i++) {
        if (model->wait[i].program != program) model->wait[kept++] = model->wait[i];
    }
    model->waits = kept;
}

int model_scale(struct model *model, uint32_t program, uint32_t np) {
    struct scaling s = {.model = model, .from = model->program[program].np, .to = np};
    RETURN_IF(!np, ERR_USAGE);
    if (s.from == s.to) return 0;
    FORWARD(widen_types(&s));
    FORWARD(scale_communicators(&s, program));
    for (size_t i = 0; i < model->families; i++) {
        struct model_family *family = &model->family[i];
        if (family->program != program) continue;
        FORWARD(scale_parts(&s, family->part, family->parts));
        FORWARD(scale_parts(&s, family->other, family->others));
    }
    model->program[program].np = np;
    drop_waits(model, program);
    return 0;
}
