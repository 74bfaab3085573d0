// Families of phases: their parts, with operations, loops and lists.
#include <errno.h>
#include <inttypes.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/scoped.h"
#include "model/file/keywords.h"
#include "model/file/packed.h"
#include "model/file/read_private.h"

enum {
    MOST_THREADS = 1 << 16, // of a process
    COLUMNS = 1 + AT_COUNT, // of packed operations
};

int read_reason(struct reading *r, const struct json_value *value, int code) {
    if (code && r->b.fault[0]) json_in_fail(r->error, value, "%s", r->b.fault);
    return code;
}

// --- lists: operations one by one

// The number of the kind that an operation names.
static int read_kind_of(struct reading *r, const struct json_value *value, uint32_t *kind) {
    const char *name;
    FORWARD(json_in_need_text(value, "op", &name, NULL, r->error));
    *kind = string_table_find(&r->kinds, name);
    return *kind != LOOKUP_NONE ? 0 : json_in_fail(r->error, value, "there is no kind \"%s\"", name);
}

// The members that are present.
static int read_coordinates(struct reading *r, const struct json_value *value, uint32_t kind, int64_t at[AT_COUNT]) {
    for (unsigned c = 0; c < AT_COUNT; c++) {
        const char *key = model_coordinate_name(&r->model->kind[kind], c);
        if (json_in_member(value, key)) FORWARD(json_in_need_int64(value, key, &at[c], r->error));
    }
    return 0;
}

static int read_list_op(struct reading *r, const struct json_value *value, struct op *op) {
    FORWARD(read_kind_of(r, value, &op->kind));
    return read_coordinates(r, value, op->kind, op->at);
}

static int read_ops(struct reading *r, const struct json_value *value, uint64_t count, struct op **out) {
    const struct json_value *ops;
    FORWARD(json_in_need_array(value, "ops", &ops, r->error));
    if (json_in_length(ops) != count) {
        return json_in_fail(r->error, ops, "%zu operations, but there should be %" PRIu64, json_in_length(ops), count);
    }
    FORWARD(arena_array(&r->model->arena, *out, count));
    for (size_t i = 0; i < count; i++) FORWARD(read_list_op(r, json_in_at(ops, i), &(*out)[i]));
    return 0;
}

// --- lists: packed

// Kinds are stored as 64-bit numbers first, in the place of a coordinate.
static int unpack_columns(const struct bytes *columns, struct op *ops, uint64_t count) {
    const uint8_t *at = columns->data, *end = at + columns->len;
    FORWARD(packed_get(&at, end, &ops->at[0], sizeof *ops, count));
    for (uint64_t i = 0; i < count; i++) {
        RETURN_IF(ops[i].at[0] < 0 || ops[i].at[0] > UINT32_MAX, ERR_FORMAT);
        ops[i].kind = (uint32_t)ops[i].at[0];
    }
    for (unsigned c = 0; c < AT_COUNT; c++) FORWARD(packed_get(&at, end, &ops->at[c], sizeof *ops, count));
    return at == end ? 0 : ERR_FORMAT;
}

static int unpack_ops(struct reading *r, const struct json_value *value, uint64_t count, struct op **out) {
    const char *key = json_in_member(value, "zstd") ? "zstd" : "base64", *text;
    size_t len;
    SCOPED(bytes_free) struct bytes columns = {0};
    FORWARD(json_in_need_text(value, key, &text, &len, r->error));
    int code = packed_columns(text, len, key, &columns);
    if (!code && columns.len / COLUMNS < count) code = ERR_FORMAT; // each number takes a byte or more
    if (!code) code = arena_array(&r->model->arena, *out, count);
    if (!code) code = unpack_columns(&columns, *out, count);
    if (!code || code == -ENOMEM) return code;
    json_in_fail(r->error, value, "\"%s\" does not hold %" PRIu64 " packed operations", key, count);
    return code;
}

// --- lists: which rank and phase has which list

static int share_lists(struct reading *r, const struct json_value *value, uint64_t lists, struct op *ops,
                       struct model_item *item) {
    const struct json_value *which = json_in_member(value, "which");
    FORWARD(read_charge(r, value, r->b.tables));
    int64_t *of;
    uint64_t *times;
    FORWARD(arena_array(&r->scratch, of, r->b.tables));
    if (which) {
        FORWARD(read_numbers(r, which, "which", r->b.tables, of));
    } else if (lists > 1 && lists != r->b.tables) {
        return json_in_fail(r->error, value, "which of the %" PRIu64 " lists is whose is not said", lists);
    }
    for (size_t t = 0; t < r->b.tables; t++) {
        if (!which && lists > 1) of[t] = (int64_t)t;
        if (of[t] < 0 || (uint64_t)of[t] >= lists) return json_in_fail(r->error, which, "there is no such list");
        item->list[t] = ops + (uint64_t)of[t] * item->count;
    }
    // Each list is checked once, for as many ranks and phases as have it.
    FORWARD(arena_array(&r->scratch, times, lists));
    for (size_t t = 0; t < r->b.tables; t++) times[of[t]]++;
    for (uint64_t i = 0; i < lists; i++) {
        FORWARD(read_reason(r, value, builder_check_list(&r->b, ops + i * item->count, item->count, times[i])));
    }
    return 0;
}

static int read_list(struct reading *r, const struct json_value *value, struct model_item *item) {
    uint64_t count, lists = 1, all;
    struct op *ops = NULL;
    FORWARD(read_count(r, value, "list", 1, INT64_MAX, &count));
    FORWARD(read_optional_count(r, value, "lists", 1, r->b.tables, &lists));
    if (__builtin_mul_overflow(count, lists, &all)) return json_in_fail(r->error, value, "too many operations");
    if (json_in_member(value, "ops")) {
        FORWARD(read_ops(r, value, all, &ops));
    } else {
        FORWARD(unpack_ops(r, value, all, &ops));
    }
    FORWARD(builder_make_list(&r->b, item, count));
    return share_lists(r, value, lists, ops, item);
}

// --- operations

int read_value(struct reading *r, const struct json_value *value, const char *key, struct model_value *out) {
    const char *text;
    int64_t number = 0;
    if (json_in_text(value, &text, NULL) == 0) {
        int code = builder_set_expression(&r->b, out, text);
        if (!code || code == -ENOMEM) return code;
        return json_in_fail(r->error, value, "\"%s\" is not an expression: %s", key, text);
    }
    if (!value || json_in_int64(value, &number) == 0) return builder_set_number(&r->b, out, number);
    FORWARD(read_charge(r, value, 2 * r->b.tables));
    FORWARD(arena_array(&r->model->arena, out->table, r->b.tables));
    return read_numbers(r, value, key, r->b.tables, out->table);
}

static int read_steps(struct reading *r, const struct json_value *value, struct model_item *item) {
    const struct json_value *steps = NULL;
    FORWARD(read_optional_array(r, value, "steps", &steps));
    if (json_in_length(steps) > r->b.depth) {
        return json_in_fail(r->error, steps, "%zu steps, but %u loops around", json_in_length(steps), r->b.depth);
    }
    for (size_t s = 0; s < json_in_length(steps); s++) {
        const struct json_value *step = json_in_at(steps, s);
        if (json_in_type(step) != JSON_OBJECT) return json_in_fail(r->error, step, "a step is not an object");
        FORWARD(read_coordinates(r, step, item->kind, item->step[s].at));
    }
    return 0;
}

static int read_op(struct reading *r, const struct json_value *value, struct model_item *item) {
    uint32_t id;
    FORWARD(read_kind_of(r, value, &id));
    FORWARD(read_reason(r, value, builder_check_kind(&r->b, id)));
    FORWARD(builder_make_op(&r->b, item, id));
    for (unsigned c = 0; c < AT_COUNT; c++) {
        const char *key = model_coordinate_name(&r->model->kind[id], c);
        FORWARD(read_value(r, json_in_member(value, key), key, &item->at[c]));
    }
    const struct json_value *logical = json_in_member(value, "logical");
    if (logical) FORWARD(read_value(r, logical, "logical", &item->logical));
    FORWARD(read_steps(r, value, item));
    return read_reason(r, value, builder_check_op(&r->b, item));
}

// --- loops

static int read_items(struct reading *r, const struct json_value *items, struct model_items *out);

static int read_loop(struct reading *r, const struct json_value *value, struct model_item *item) {
    const struct json_value *body;
    FORWARD(read_count(r, value, "loop", 1, INT64_MAX, &item->count));
    FORWARD(json_in_need_array(value, "body", &body, r->error));
    if (!json_in_length(body)) return json_in_fail(r->error, value, "a loop over nothing");
    FORWARD(read_reason(r, value, builder_begin_loop(&r->b, item->count)));
    item->type = LOOPS_LOOP;
    FORWARD(read_items(r, body, &item->body));
    builder_end_loop(&r->b);
    return read_reason(r, value, builder_count_ops(&r->b, &item->body, item->count, &item->ops));
}

static int read_item(struct reading *r, const struct json_value *value, struct model_item *item) {
    if (json_in_member(value, "op")) return read_op(r, value, item);
    if (json_in_member(value, "list")) return read_list(r, value, item);
    if (json_in_member(value, "loop")) return read_loop(r, value, item);
    return json_in_fail(r->error, value, "neither \"op\", \"loop\" nor \"list\"");
}

static int read_items(struct reading *r, const struct json_value *items, struct model_items *out) {
    uint64_t ops;
    FORWARD(builder_make_items(&r->b, out, json_in_length(items)));
    for (size_t i = 0; i < out->count; i++) FORWARD(read_item(r, json_in_at(items, i), &out->item[i]));
    return read_reason(r, items, builder_count_ops(&r->b, out, 1, &ops));
}

// --- families and their parts

static int all_phases(struct reading *r, const struct json_value *value, struct model_part *part) {
    part->phs = r->model->family[r->model->families - 1].count;
    FORWARD(read_charge(r, value, part->phs));
    FORWARD(arena_array(&r->model->arena, part->ph, part->phs));
    for (uint32_t i = 0; i < part->phs; i++) part->ph[i] = i + 1;
    return 0;
}

static int read_part(struct reading *r, const struct json_value *value, struct model_part *part, bool others) {
    const struct json_value *phases = json_in_member(value, "phases"), *items;
    const struct model_family *family = &r->model->family[r->model->families - 1];
    struct read_limits ranks = {0, r->model->program[family->program].np - 1};
    uint64_t thread = 0;
    if (!json_in_member(value, "ranks")) return json_in_fail(r->error, value, "there is no \"ranks\"");
    FORWARD(read_ranges(r, json_in_member(value, "ranks"), "ranks", ranks, &part->rank, &part->ranks));
    if (phases) {
        FORWARD(read_ranges(r, phases, "phases", (struct read_limits){1, family->count}, &part->ph, &part->phs));
    } else {
        FORWARD(all_phases(r, value, part));
    }
    FORWARD(read_optional_count(r, value, "thread", 0, MOST_THREADS - 1, &thread));
    FORWARD(json_in_need_array(value, "items", &items, r->error));
    part->thread = (uint32_t)thread;
    builder_begin_part(&r->b, part, others);
    return read_items(r, items, &part->items);
}

static int read_parts(struct reading *r, const struct json_value *family, bool others, struct model_part **parts,
                      size_t *made) {
    const struct json_value *values = NULL;
    FORWARD(read_optional_array(r, family, others ? "others" : "parts", &values));
    size_t count = json_in_length(values);
    FORWARD(arena_array(&r->model->arena, *parts, count));
    for (size_t i = 0; i < count; i++) {
        *made = i + 1; // a part that is refused is freed with the others
        FORWARD(read_part(r, json_in_at(values, i), &(*parts)[i], others));
    }
    return 0;
}

static int read_family(struct reading *r, const struct json_value *value) {
    uint64_t program, phases, weight;
    const char *separator;
    if (!r->model->programs) return json_in_fail(r->error, value, "a family without a program");
    FORWARD(read_count(r, value, "program", 0, r->model->programs - 1, &program));
    FORWARD(read_count(r, value, "phases", 1, INT32_MAX, &phases));
    FORWARD(json_in_need_text(value, "separator", &separator, NULL, r->error));
    FORWARD(json_in_need_uint64(value, "weight", &weight, r->error));
    int cut = model_cut_find(separator);
    if (cut < 0) return json_in_fail(r->error, value, "there is no separator \"%s\"", separator);
    FORWARD(builder_add_family(&r->b, &(struct model_family){.program = (uint32_t)program,
                                                             .count = (uint32_t)phases,
                                                             .cut = (enum model_cut)cut,
                                                             .weight = weight}));
    struct model_family *family = &r->model->family[r->model->families - 1];
    FORWARD(read_parts(r, value, false, &family->part, &family->parts));
    FORWARD(read_parts(r, value, true, &family->other, &family->others));
    return read_reason(r, json_in_member(value, "weight"), builder_end_family(&r->b));
}

int read_families(struct reading *r) {
    const struct json_value *families;
    FORWARD(json_in_need_array(r->structure, "families", &families, r->error));
    for (size_t i = 0; i < json_in_length(families); i++) FORWARD(read_family(r, json_in_at(families, i)));
    return 0;
}

// --- the order of a program's phases: loops over families

struct ordering {
    struct reading *r;
    uint32_t program;
};

static int family_of(const struct ordering *o, const struct json_value *value, uint32_t *id) {
    const struct model *model = o->r->model;
    uint64_t number;
    if (json_in_uint64(value, &number) || !number || number > model->families) {
        return json_in_fail(o->r->error, value, "\"order\" contains something other than families and loops");
    }
    *id = (uint32_t)(number - 1);
    if (model->family[*id].program == o->program) return 0;
    return json_in_fail(o->r->error, value, "family %" PRIu64 " is of another program", number);
}

static int loop_of(const struct ordering *o, const struct json_value *value, uint64_t *count,
                   const struct json_value **body) {
    FORWARD(read_count(o->r, value, "loop", 1, INT32_MAX, count));
    FORWARD(json_in_need_array(value, "body", body, o->r->error));
    return json_in_length(*body) ? 0 : json_in_fail(o->r->error, value, "a loop over nothing");
}

// Counts the phases that the items stand for. The JSON reader limits the depth.
static int count_phases(const struct ordering *o, const struct json_value *items, uint64_t *phases) {
    *phases = 0;
    for (size_t i = 0; i < json_in_length(items); i++) {
        const struct json_value *value = json_in_at(items, i), *body;
        uint64_t times = 1, each = 1;
        uint32_t family;
        if (json_in_type(value) == JSON_OBJECT) {
            FORWARD(loop_of(o, value, &times, &body));
            FORWARD(count_phases(o, body, &each));
        } else {
            FORWARD(family_of(o, value, &family));
        }
        bool overflows = __builtin_mul_overflow(times, each, &each) || __builtin_add_overflow(*phases, each, phases);
        if (overflows) return json_in_fail(o->r->error, value, "too many phases");
    }
    return 0;
}

static int add_phases(const struct ordering *o, const struct json_value *items) {
    for (size_t i = 0; i < json_in_length(items); i++) {
        const struct json_value *value = json_in_at(items, i), *body;
        uint64_t times;
        uint32_t family;
        if (json_in_type(value) != JSON_OBJECT) {
            FORWARD(family_of(o, value, &family));
            FORWARD(builder_add_phase(&o->r->b, family));
            continue;
        }
        FORWARD(loop_of(o, value, &times, &body));
        for (uint64_t k = 0; k < times; k++) FORWARD(add_phases(o, body));
    }
    return 0;
}

static int order_program(struct ordering *o, const struct json_value *value) {
    const struct json_value *order;
    uint64_t count, numbers; // that take as much memory
    FORWARD(json_in_need_array(value, "order", &order, o->r->error));
    FORWARD(count_phases(o, order, &count));
    if (__builtin_mul_overflow(count, sizeof(struct model_phase) / sizeof(uint32_t), &numbers)) numbers = UINT64_MAX;
    FORWARD(read_charge(o->r, order, numbers));
    return add_phases(o, order);
}

int read_order(struct reading *r) {
    const struct json_value *programs = json_in_member(r->structure, "programs");
    const struct json_value *families = json_in_member(r->structure, "families");
    struct ordering o = {.r = r};
    for (; o.program < r->model->programs; o.program++) {
        FORWARD(order_program(&o, json_in_at(programs, o.program)));
    }
    for (uint32_t i = 0; i < r->model->families; i++) {
        FORWARD(read_reason(r, json_in_at(families, i), builder_check_phases(&r->b, i)));
    }
    return 0;
}
