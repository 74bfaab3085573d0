// Operations and loops.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "model/file/keywords.h"
#include "model/file/reading.h"

// --- operations

static int read_expression(struct reading *r, const struct json_value *value, const char *key, const char *text,
                           struct model_value *out)
{
    out->text = arena_text(&r->model->arena, text);
    RETURN_IF(!out->text, -ENOMEM);
    int code = expr_parse(text, &out->expr);
    if (!code || code == -ENOMEM) return code;
    out->expr = NULL;
    return json_in_fail(r->error, value, "\"%s\" is no expression: %s", key, text);
}

// A number, an expression, or a table of numbers.
static int read_value(struct reading *r, const struct json_value *value, const char *key, struct model_value *out)
{
    const char *text;
    int64_t number = 0;
    char digits[24];
    if (json_in_text(value, &text, NULL) == 0) return read_expression(r, value, key, text, out);
    if (!value || json_in_int64(value, &number) == 0) {
        snprintf(digits, sizeof digits, "%" PRId64, number);
        return read_expression(r, value, key, digits, out);
    }
    FORWARD(read_charge(r, value, 2 * r->tables));
    out->table = arena_alloc(&r->model->arena, r->tables * sizeof *out->table);
    RETURN_IF(!out->table, -ENOMEM);
    return read_numbers(r, value, key, r->tables, out->table);
}

static int read_step(struct reading *r, const struct json_value *value, const struct op_kind *kind,
                     struct loops_step *step)
{
    if (json_in_type(value) != JSON_OBJECT) return json_in_fail(r->error, value, "a step is not an object");
    for (unsigned c = 0; c < AT_COUNT; c++) {
        const char *key = model_coordinate_name(kind, c);
        if (json_in_member(value, key)) FORWARD(json_in_need_int64(value, key, &step->at[c], r->error));
    }
    return 0;
}

static int read_steps(struct reading *r, const struct json_value *value, const struct op_kind *kind,
                      struct model_item *item)
{
    const struct json_value *steps = NULL;
    item->steps = (uint8_t)r->depth;
    item->step = arena_alloc(&r->model->arena, (r->depth + 1) * sizeof *item->step);
    RETURN_IF(!item->step, -ENOMEM);
    FORWARD(read_optional_array(r, value, "steps", &steps));
    if (json_in_length(steps) > r->depth) {
        return json_in_fail(r->error, steps, "%zu steps, but %u loops around", json_in_length(steps), r->depth);
    }
    for (size_t s = 0; s < json_in_length(steps); s++) {
        FORWARD(read_step(r, json_in_at(steps, s), kind, &item->step[s]));
    }
    return 0;
}

static int read_op(struct reading *r, const struct json_value *value, struct model_item *item)
{
    const char *name;
    FORWARD(json_in_need_text(value, "op", &name, NULL, r->error));
    item->kind = names_find(&r->kinds, name);
    if (item->kind == LOOKUP_NONE) return json_in_fail(r->error, value, "there is no kind \"%s\"", name);
    FORWARD(read_check_kind(r, value, item->kind));
    const struct op_kind *kind = &r->model->kind[item->kind];
    item->type = LOOPS_OP;
    item->count = item->ops = 1;
    for (unsigned c = 0; c < AT_COUNT; c++) {
        const char *key = model_coordinate_name(kind, c);
        FORWARD(read_value(r, json_in_member(value, key), key, &item->at[c]));
    }
    const struct json_value *logical = json_in_member(value, "logical");
    if (logical) FORWARD(read_value(r, logical, "logical", &item->logical));
    FORWARD(read_steps(r, value, kind, item));
    return read_check_op(r, value, item);
}

// --- loops

static int read_loop(struct reading *r, const struct json_value *value, struct model_item *item)
{
    const struct json_value *body;
    item->type = LOOPS_LOOP;
    FORWARD(read_count(r, value, "loop", 1, INT64_MAX, &item->count));
    FORWARD(json_in_need_array(value, "body", &body, r->error));
    if (!json_in_length(body)) return json_in_fail(r->error, value, "a loop over nothing");
    if (r->depth == LOOPS_MAX_DEPTH) {
        return json_in_fail(r->error, value, "more than %d loops inside each other", LOOPS_MAX_DEPTH);
    }
    uint64_t times = r->times;
    if (__builtin_mul_overflow(times, item->count, &r->times) || r->times > INT64_MAX) {
        return json_in_fail(r->error, value, "more repetitions than 63 bits count");
    }
    r->loop[r->depth++] = item->count;
    int code = read_items(r, body, &item->body);
    r->depth--;
    r->times = times;
    return code;
}

static int add_ops(struct reading *r, const struct json_value *value, const struct model_items *items, uint64_t times,
                   uint64_t *ops)
{
    *ops = 0;
    for (size_t i = 0; i < items->count; i++) {
        uint64_t all;
        bool overflows = __builtin_mul_overflow(items->item[i].ops, times, &all) ||
                         __builtin_add_overflow(*ops, all, ops) || *ops > INT64_MAX;
        if (overflows) return json_in_fail(r->error, value, "more operations than 63 bits count");
    }
    return 0;
}

static int read_item(struct reading *r, const struct json_value *value, struct model_item *item)
{
    if (json_in_member(value, "op")) return read_op(r, value, item);
    if (json_in_member(value, "list")) return read_list(r, value, item);
    if (!json_in_member(value, "loop")) return json_in_fail(r->error, value, "neither \"op\", \"loop\" nor \"list\"");
    FORWARD(read_loop(r, value, item));
    return add_ops(r, value, &item->body, item->count, &item->ops);
}

int read_items(struct reading *r, const struct json_value *items, struct model_items *out)
{
    size_t count = json_in_length(items);
    uint64_t ops;
    out->item = arena_alloc(&r->model->arena, (count + 1) * sizeof *out->item);
    RETURN_IF(!out->item, -ENOMEM);
    for (size_t i = 0; i < count; i++) {
        out->count = i + 1; // an item that is no good is let go with the others
        FORWARD(read_item(r, json_in_at(items, i), &out->item[i]));
    }
    return add_ops(r, items, out, 1, &ops);
}
