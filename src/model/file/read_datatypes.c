// Datatypes and hints (write_datatypes.c).
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "model/file/reading.h"

enum { TYPES_MOST = 1 << 20, FORM_DEPTH = DATATYPE_MAX_DEPTH };

// One of the types of an entry.
struct making {
    struct reading *r;
    struct expr_variables variables; // idP: its number within the entry
    unsigned depth;
};

// A number, or an expression that gives one.
static int read_number(struct making *m, const struct json_value *value, int64_t *out)
{
    const char *text;
    struct expr *expr;
    if (json_in_int64(value, out) == 0) return 0;
    if (json_in_text(value, &text, NULL) || expr_parse(text, &expr)) {
        return json_in_fail(m->r->error, value, "a datatype's number is neither an integer nor an expression");
    }
    int code = expr_eval(expr, &m->variables, out);
    expr_free(expr);
    return code ? json_in_fail(m->r->error, value, "a datatype's expression has no value") : 0;
}

static int read_member(struct making *m, const struct json_value *object, const char *key, int64_t *out)
{
    const struct json_value *value = json_in_member(object, key);
    if (!value) return json_in_fail(m->r->error, object, "there is no \"%s\"", key);
    return read_number(m, value, out);
}

static int read_form(struct making *m, const struct json_value *form, struct datatype *out);

static int read_piece(struct making *m, const struct json_value *value, struct datatype *out)
{
    int64_t offset, bytes;
    FORWARD(read_number(m, json_in_at(value, 0), &offset));
    FORWARD(read_number(m, json_in_at(value, 1), &bytes));
    if (bytes <= 0 || offset > INT64_MAX - bytes || offset < INT64_MIN / 2) {
        return json_in_fail(m->r->error, value, "a piece of %lld bytes", (long long)bytes);
    }
    return datatype_add_piece(out, offset, (uint64_t)bytes);
}

static int read_loop(struct making *m, const struct json_value *value, struct datatype *out)
{
    int64_t count, offset, stride;
    struct datatype body = {0};
    FORWARD(read_member(m, value, "loop", &count));
    FORWARD(read_member(m, value, "offset", &offset));
    FORWARD(read_member(m, value, "stride", &stride));
    if (count < 2 || m->depth >= FORM_DEPTH)
        return json_in_fail(m->r->error, value, "a loop of %lld rounds", (long long)count);
    m->depth++;
    int code = read_form(m, json_in_member(value, "body"), &body);
    m->depth--;
    if (!code) datatype_seal(&body);
    if (!code) code = datatype_add(out, &body, (uint64_t)count, stride, offset);
    datatype_free(&body);
    return code;
}

static int read_form(struct making *m, const struct json_value *form, struct datatype *out)
{
    if (json_in_type(form) != JSON_ARRAY) return json_in_fail(m->r->error, form, "a datatype's form is not an array");
    for (size_t i = 0; i < json_in_length(form); i++) {
        const struct json_value *value = json_in_at(form, i);
        FORWARD(json_in_type(value) == JSON_OBJECT ? read_loop(m, value, out) : read_piece(m, value, out));
    }
    return 0;
}

static int add_type(struct reading *r, const struct json_value *entry, size_t number, uint64_t count)
{
    struct types *types = &r->model->types;
    struct making m = {.r = r, .variables = {.idp = (int64_t)number, .np = (int64_t)count, .ph = 1}};
    int64_t bytes, extent;
    FORWARD(array_room(types->type, types->count));
    struct model_type *type = &types->type[types->count];
    *type = (struct model_type){0};
    FORWARD(read_member(&m, entry, "bytes", &bytes));
    FORWARD(read_member(&m, entry, "extent", &extent));
    FORWARD(read_optional_bool(r, entry, "cut", &type->cut));
    types->count++; // from here on it is freed with the model
    type->bytes = (uint64_t)bytes;
    type->extent = extent;
    FORWARD(read_form(&m, json_in_member(entry, "form"), &type->flat));
    datatype_seal(&type->flat);
    if (bytes < 0 || (!type->cut && type->flat.bytes != (uint64_t)bytes)) {
        return json_in_fail(r->error, entry, "a datatype's form has another size than its bytes");
    }
    return 0;
}

// Counts the values in a form: at least as many as it has items.
static uint64_t count_values(const struct json_value *form)
{
    uint64_t count = 1;
    for (size_t i = 0; i < json_in_length(form); i++) count += count_values(json_in_at(form, i));
    return count;
}

int read_types(struct reading *r)
{
    const uint64_t item_numbers = sizeof(struct datatype_item) / sizeof(uint32_t); // that take as much memory
    const struct json_value *entries = NULL;
    FORWARD(read_optional_array(r, r->structure, "types", &entries));
    for (size_t i = 0; i < json_in_length(entries); i++) {
        const struct json_value *entry = json_in_at(entries, i);
        uint64_t count;
        FORWARD(read_count(r, entry, "types", 1, TYPES_MOST, &count));
        FORWARD(read_charge(r, entry, count * item_numbers * count_values(json_in_member(entry, "form"))));
        for (uint64_t k = 0; k < count; k++) FORWARD(add_type(r, entry, k, count));
    }
    return 0;
}

// --- hints

static int read_hint_list(struct reading *r, const struct json_value *value, struct model_hint **out, size_t *count)
{
    *count = json_in_length(value);
    *out = arena_alloc(&r->model->arena, (*count + 1) * sizeof **out);
    RETURN_IF(!*out, -ENOMEM);
    for (size_t i = 0; i < *count; i++) {
        const struct json_value *pair = json_in_at(value, i);
        const char *name, *text;
        if (json_in_text(json_in_at(pair, 0), &name, NULL) || json_in_text(json_in_at(pair, 1), &text, NULL)) {
            return json_in_fail(r->error, pair, "a hint is not a name and a value");
        }
        (*out)[i].name = arena_text(&r->model->arena, name);
        (*out)[i].value = arena_text(&r->model->arena, text);
        RETURN_IF(!(*out)[i].name || !(*out)[i].value, -ENOMEM);
    }
    return 0;
}

int read_hints(struct reading *r)
{
    const struct json_value *asked = NULL, *in_force = NULL;
    FORWARD(read_optional_array(r, r->structure, "hints", &asked));
    if (r->observed) FORWARD(read_optional_array(r, r->observed, "hints_in_force", &in_force));
    r->model->hints_count = json_in_length(asked);
    r->model->hints = arena_alloc(&r->model->arena, (r->model->hints_count + 1) * sizeof *r->model->hints);
    RETURN_IF(!r->model->hints, -ENOMEM);
    for (size_t i = 0; i < r->model->hints_count; i++) {
        struct model_hints *hints = &r->model->hints[i];
        FORWARD(read_hint_list(r, json_in_at(asked, i), &hints->asked, &hints->asked_count));
        if (i >= json_in_length(in_force)) continue;
        FORWARD(read_hint_list(r, json_in_at(in_force, i), &hints->in_force, &hints->in_force_count));
    }
    return 0;
}
