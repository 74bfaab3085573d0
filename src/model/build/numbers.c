#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/scoped.h"
#include "fmt/communicator.h"
#include "log/log.h"
#include "model/build/build.h"
#include "model/fit.h"

struct numbering {
    struct building *b;
    uint32_t *kind_of; // old -> new
    uint32_t *file_of;
    uint32_t *communicator_of;
    int error; // the first
};

static uint32_t number_file(struct numbering *n, uint32_t set) {
    struct model *model = n->b->model;
    if (set == OP_NO_SET || n->error) return set;
    if (n->file_of[set] == OP_NO_SET) {
        n->file_of[set] = (uint32_t)model->files;
        n->error = builder_add_file(&n->b->builder, &model->sets.set[set]);
    }
    return n->file_of[set];
}

// A rule over the ranks, or a table.
static int set_by_rank(struct building *b, struct model_value *value, const int64_t *number, uint32_t np) {
    char text[FIT_TEXT_BYTES];
    SCOPED_FREE struct fit_point *point = malloc((np + 1) * sizeof *point);
    RETURN_IF(!point, -ENOMEM);
    for (uint32_t i = 0; i < np; i++) point[i] = (struct fit_point){.idp = i, .ph = 1, .value = number[i]};
    int code = fit_expression(&(struct fit_input){.point = point, .count = np, .np = np}, text);
    if (!code) return builder_set_expression(&b->builder, value, text);
    FORWARD(arena_array(&b->model->arena, value->table, np));
    memcpy(value->table, number, np * sizeof *number);
    return 0;
}

static int add_communicator(struct building *b, const struct joined_communicator *from) {
    uint32_t np = b->model->program[from->program].np;
    struct model_communicator made = {.program = from->program, .origin = comm_origin_name(from->origin)};
    FORWARD(set_by_rank(b, &made.color, from->color, np));
    int code = from->key ? set_by_rank(b, &made.key, from->key, np) : 0;
    if (!code) return builder_add_communicator(&b->builder, &made);
    expr_free(made.color.expr);
    return code;
}

// Places of both start with 1; 0 is none.
static uint32_t number_communicator(struct numbering *n, uint32_t id) {
    if (id && !n->communicator_of[id] && !n->error) {
        n->error = add_communicator(n->b, &n->b->communicators.joined[id - 1]);
        n->communicator_of[id] = (uint32_t)n->b->model->communicators;
    }
    return n->communicator_of[id];
}

static uint32_t number_kind(struct numbering *n, uint32_t id) {
    if (n->kind_of[id] == UINT32_MAX && !n->error) {
        struct op_kind kind = n->b->recorded.kind[id];
        n->kind_of[id] = (uint32_t)n->b->model->kinds;
        kind.set = number_file(n, kind.set);
        kind.set2 = number_file(n, kind.set2);
        kind.communicator = number_communicator(n, kind.communicator);
        if (!n->error) n->error = builder_add_kind(&n->b->builder, &kind);
    }
    return n->kind_of[id];
}

static void number_items(struct numbering *n, struct model_items *items, size_t tables) {
    struct model_leaves leaves = model_leaves(items);
    for (struct model_item *item; (item = model_next_leaf(&leaves));) {
        if (item->type == LOOPS_OP) item->kind = number_kind(n, item->kind);
        for (size_t t = 0; item->type == LOOPS_LIST && t < tables; t++) {
            for (uint64_t k = 0; k < item->count; k++) item->list[t][k].kind = number_kind(n, item->list[t][k].kind);
        }
    }
}

static void number_parts(struct numbering *n, struct model_part *part, size_t count) {
    for (size_t i = 0; i < count; i++) number_items(n, &part[i].items, part[i].phs * part[i].ranks);
}

// Adds a member that existed before, with its size. Until all are known, the place is the member and the size is one
// too large.
static int add_before(struct model *model, struct model_file *file, uint32_t member, uint64_t bytes) {
    if (!file->before_bytes) {
        FORWARD(arena_array(&model->arena, file->before, file->set->member_count));
        FORWARD(arena_array(&model->arena, file->before_bytes, file->set->member_count));
    }
    if (!file->before_bytes[member]) file->before_bytes[member] = (int64_t)bytes + 1;
    return 0;
}

static void close_up_before(struct model_file *file) {
    for (size_t i = 0; file->before_bytes && i < file->set->member_count; i++) {
        if (!file->before_bytes[i]) continue;
        file->before[file->existed] = (uint32_t)i;
        file->before_bytes[file->existed++] = file->before_bytes[i] - 1;
    }
}

static int fill_files(struct building *b, struct log *log, const uint32_t *file_of) {
    struct model *model = b->model;
    for (size_t i = 0; i < log_file_count(log); i++) {
        uint32_t at = file_of[model->sets.place[i].set];
        if (at == OP_NO_SET) continue;
        const struct recorded_file *from = &b->recorded.file[i];
        struct model_file *to = &model->file[at];
        to->size_before += from->size_before;
        to->size_after += from->reach > from->size_before ? from->reach : from->size_before;
        to->read_before += from->read_before;
        to->read_cached += from->read_cached;
        if (from->existed) FORWARD(add_before(model, to, model->sets.place[i].member, from->size_before));
    }
    for (size_t i = 0; i < model->files; i++) close_up_before(&model->file[i]);
    return 0;
}

static int copy_hint_list(struct arena *arena, const struct log_hint_list *from, struct model_hint **to,
                          size_t *count) {
    *count = from->count;
    FORWARD(arena_array(arena, *to, from->count));
    for (size_t i = 0; i < from->count; i++) {
        (*to)[i].name = arena_text(arena, from->hint[i].name);
        (*to)[i].value = arena_text(arena, from->hint[i].value);
        RETURN_IF(!(*to)[i].name || !(*to)[i].value, -ENOMEM);
    }
    return 0;
}

static int copy_hints(struct building *b) {
    struct model *model = b->model;
    model->hints_count = b->recorded.hints_count;
    FORWARD(arena_array(&model->arena, model->hints, model->hints_count));
    for (size_t i = 0; i < model->hints_count; i++) {
        const struct log_hints *from = b->recorded.hints[i];
        struct model_hints *to = &model->hints[i];
        FORWARD(copy_hint_list(&model->arena, &from->asked, &to->asked, &to->asked_count));
        FORWARD(copy_hint_list(&model->arena, &from->in_force, &to->in_force, &to->in_force_count));
    }
    return 0;
}

int build_numbers(struct building *b, struct log *log) {
    struct model *model = b->model;
    model->types = b->recorded.types;
    b->recorded.types = (struct types){0};
    FORWARD(copy_hints(b));
    model->sets = b->recorded.sets;
    b->recorded.sets = (struct file_sets){0};
    SCOPED(arena_free) struct arena arena = {0};
    struct numbering n = {.b = b};
    FORWARD(arena_array(&arena, n.kind_of, b->recorded.kinds));
    FORWARD(arena_array(&arena, n.file_of, model->sets.set_count));
    FORWARD(arena_array(&arena, n.communicator_of, b->communicators.count + 1));
    memset(n.kind_of, 0xff, b->recorded.kinds * sizeof *n.kind_of);
    memset(n.file_of, 0xff, model->sets.set_count * sizeof *n.file_of);
    for (size_t i = 0; i < model->families; i++) {
        number_parts(&n, model->family[i].part, model->family[i].parts);
        number_parts(&n, model->family[i].other, model->family[i].others);
    }
    FORWARD(n.error);
    FORWARD(fill_files(b, log, n.file_of));
    return build_found(b, n.file_of);
}
