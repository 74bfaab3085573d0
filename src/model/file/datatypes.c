// Datatypes and hints. Consecutive types form one entry if they differ only in numbers that follow a rule. So the views
// of a thousand ranks take no more room than those of four.
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/json_keys.h"
#include "base/scoped.h"
#include "model/file/read_private.h"
#include "model/file/write_private.h"
#include "model/fit.h"

// --- writing

// Types of one entry: the rule is over idP, their number within the entry.
struct rule {
    struct writing *w;
    const struct model_type *type;
    size_t count;
    struct fit_point *point;
};

static bool same_shape(const struct model_type *a, const struct model_type *b) {
    if (a->flat.items != b->flat.items || a->cut || b->cut || a->derived != b->derived) return false;
    for (uint32_t i = 0; i < a->flat.items; i++) {
        if (a->flat.item[i].span != b->flat.item[i].span) return false;
    }
    return true;
}

enum number { TYPE_BYTES, TYPE_EXTENT, ITEM_OFFSET, ITEM_COUNT, ITEM_STRIDE, ITEM_BYTES };

static int64_t number_of(const struct model_type *type, enum number which, uint32_t item) {
    switch (which) {
    case TYPE_BYTES: return (int64_t)type->bytes;
    case TYPE_EXTENT: return type->extent;
    case ITEM_OFFSET: return type->flat.item[item].offset;
    case ITEM_COUNT: return (int64_t)type->flat.item[item].count;
    case ITEM_STRIDE: return type->flat.item[item].stride;
    default: return (int64_t)type->flat.item[item].bytes;
    }
}

static int fit_number(struct rule *r, enum number which, uint32_t item, char text[FIT_TEXT_BYTES]) {
    for (size_t i = 0; i < r->count; i++) {
        r->point[i] = (struct fit_point){(int64_t)i, 1, number_of(&r->type[i], which, item)};
    }
    struct fit_input input = {.point = r->point, .count = r->count, .np = (int64_t)r->count};
    return fit_expression(&input, text);
}

static bool has_rule(struct rule *r) {
    char text[FIT_TEXT_BYTES];
    if (fit_number(r, TYPE_BYTES, 0, text) || fit_number(r, TYPE_EXTENT, 0, text)) return false;
    for (uint32_t i = 0; i < r->type->flat.items; i++) {
        for (enum number which = ITEM_OFFSET; which <= ITEM_BYTES; which++) {
            if (fit_number(r, which, i, text)) return false;
        }
    }
    return true;
}

static void write_number(struct rule *r, const char *key, enum number which, uint32_t item) {
    char text[FIT_TEXT_BYTES], *end;
    if (fit_number(r, which, item, text)) return;
    long long plain = strtoll(text, &end, 10);
    json_members(r->w->json, *end ? m_text(key, text) : m_signed(key, plain));
}

static void write_form(struct rule *r, uint32_t first, uint32_t end) {
    struct json_out *json = r->w->json;
    json_array(json);
    for (uint32_t i = first; i < end; i += r->type->flat.item[i].span) {
        const struct datatype_item *item = &r->type->flat.item[i];
        if (!datatype_is_loop(item)) {
            json_array(json);
            write_number(r, NULL, ITEM_OFFSET, i);
            write_number(r, NULL, ITEM_BYTES, i);
            json_close(json);
            continue;
        }
        json_object(json);
        write_number(r, "loop", ITEM_COUNT, i);
        write_number(r, "offset", ITEM_OFFSET, i);
        write_number(r, "stride", ITEM_STRIDE, i);
        json_key(json, "body");
        write_form(r, i + 1, i + item->span);
        json_close(json);
    }
    json_close(json);
}

static void write_entry(struct rule *r) {
    struct json_out *json = r->w->json;
    json_fold(json);
    json_object(json);
    key_number(r->w->json, "types", r->count);
    write_number(r, "bytes", TYPE_BYTES, 0);
    write_number(r, "extent", TYPE_EXTENT, 0);
    if (r->type->cut) key_bool(json, "cut", true);
    if (r->type->derived) key_bool(json, "derived", true);
    json_key(json, "form");
    write_form(r, 0, r->type->flat.items);
    json_close(json);
}

// Returns how many of the next types are one entry: all similar ones, or else the longest run that doubling finds.
// Trying every length would take time that grows with the square of the number of ranks.
static size_t entry_length(struct rule *r, size_t alike, bool try_all) {
    enum { LEAST = 4 }; // any two numbers follow some rule
    r->count = alike;
    if (alike == 1 || (try_all && has_rule(r))) return alike;
    size_t good = 1;
    for (r->count = LEAST; r->count <= alike && has_rule(r); r->count *= 2) good = r->count;
    return good;
}

int write_types(struct writing *w) {
    const struct types *types = &w->model->types;
    SCOPED_FREE struct fit_point *point = malloc((types->count + 1) * sizeof *point);
    struct rule r = {.w = w, .point = point};
    RETURN_IF(!point, -ENOMEM);
    key_array(w->json, "types");
    for (size_t first = 0, end = 0; first < types->count; first += r.count) {
        r.type = &types->type[first];
        bool is_first = first == end; // of those that look alike
        if (is_first) {
            for (end = first + 1; end < types->count && same_shape(r.type, &types->type[end]);) end++;
        }
        r.count = entry_length(&r, end - first, is_first);
        write_entry(&r);
    }
    json_close(w->json);
    return 0;
}

static void write_hint_list(struct writing *w, const struct model_hint *hint, size_t count) {
    json_fold(w->json);
    json_array(w->json);
    for (size_t i = 0; i < count; i++) json_array_of(w->json, m_text(NULL, hint[i].name), m_text(NULL, hint[i].value));
    json_close(w->json);
}

void write_hints(struct writing *w, bool in_force) {
    key_array(w->json, in_force ? "hints_in_force" : "hints");
    for (size_t i = 0; i < w->model->hints_count; i++) {
        const struct model_hints *hints = &w->model->hints[i];
        if (in_force) {
            write_hint_list(w, hints->in_force, hints->in_force_count);
        } else {
            write_hint_list(w, hints->asked, hints->asked_count);
        }
    }
    json_close(w->json);
}

// --- reading

enum { TYPES_MOST = 1 << 20, FORM_DEPTH = DATATYPE_MAX_DEPTH };

// One of the types of an entry.
struct making {
    struct reading *r;
    struct expr_variables variables; // idP: its number within the entry
    unsigned depth;
};

// A number, or an expression that gives one.
static int read_number(struct making *m, const struct json_value *value, int64_t *out) {
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

static int read_member(struct making *m, const struct json_value *object, const char *key, int64_t *out) {
    const struct json_value *value = json_in_member(object, key);
    if (!value) return json_in_fail(m->r->error, object, "there is no \"%s\"", key);
    return read_number(m, value, out);
}

static int read_form(struct making *m, const struct json_value *form, struct datatype *out);

static int read_piece(struct making *m, const struct json_value *value, struct datatype *out) {
    int64_t offset, bytes;
    FORWARD(read_number(m, json_in_at(value, 0), &offset));
    FORWARD(read_number(m, json_in_at(value, 1), &bytes));
    if (bytes <= 0 || offset > INT64_MAX - bytes || offset < INT64_MIN / 2) {
        return json_in_fail(m->r->error, value, "a piece of %lld bytes", (long long)bytes);
    }
    return datatype_add_piece(out, offset, (uint64_t)bytes);
}

static int read_loop(struct making *m, const struct json_value *value, struct datatype *out) {
    int64_t count, offset, stride;
    SCOPED(datatype_free) struct datatype body = {0};
    FORWARD(read_member(m, value, "loop", &count));
    FORWARD(read_member(m, value, "offset", &offset));
    FORWARD(read_member(m, value, "stride", &stride));
    if (count < 2 || m->depth >= FORM_DEPTH)
        return json_in_fail(m->r->error, value, "a loop of %lld rounds", (long long)count);
    m->depth++;
    FORWARD(read_form(m, json_in_member(value, "body"), &body));
    m->depth--;
    datatype_seal(&body);
    return datatype_add(out, &body, (uint64_t)count, stride, offset);
}

static int read_form(struct making *m, const struct json_value *form, struct datatype *out) {
    if (json_in_type(form) != JSON_ARRAY) return json_in_fail(m->r->error, form, "a datatype's form is not an array");
    for (size_t i = 0; i < json_in_length(form); i++) {
        const struct json_value *value = json_in_at(form, i);
        FORWARD(json_in_type(value) == JSON_OBJECT ? read_loop(m, value, out) : read_piece(m, value, out));
    }
    return 0;
}

static int add_type(struct reading *r, const struct json_value *entry, size_t number, uint64_t count) {
    struct types *types = &r->model->types;
    struct making m = {.r = r, .variables = {.idp = (int64_t)number, .np = (int64_t)count, .ph = 1}};
    int64_t bytes, extent;
    FORWARD(array_room(types->type, types->count));
    struct model_type *type = &types->type[types->count];
    *type = (struct model_type){0};
    FORWARD(read_member(&m, entry, "bytes", &bytes));
    FORWARD(read_member(&m, entry, "extent", &extent));
    FORWARD(read_optional_bool(r, entry, "cut", &type->cut));
    FORWARD(read_optional_bool(r, entry, "derived", &type->derived));
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
static uint64_t count_values(const struct json_value *form) {
    uint64_t count = 1;
    for (size_t i = 0; i < json_in_length(form); i++) count += count_values(json_in_at(form, i));
    return count;
}

int read_types(struct reading *r) {
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

static int read_hint_list(struct reading *r, const struct json_value *value, struct model_hint **out, size_t *count) {
    *count = json_in_length(value);
    FORWARD(arena_array(&r->model->arena, *out, *count));
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

int read_hints(struct reading *r) {
    const struct json_value *asked = NULL, *in_force = NULL;
    FORWARD(read_optional_array(r, r->structure, "hints", &asked));
    if (r->observed) FORWARD(read_optional_array(r, r->observed, "hints_in_force", &in_force));
    r->model->hints_count = json_in_length(asked);
    FORWARD(arena_array(&r->model->arena, r->model->hints, r->model->hints_count));
    for (size_t i = 0; i < r->model->hints_count; i++) {
        struct model_hints *hints = &r->model->hints[i];
        FORWARD(read_hint_list(r, json_in_at(asked, i), &hints->asked, &hints->asked_count));
        if (i >= json_in_length(in_force)) continue;
        FORWARD(read_hint_list(r, json_in_at(in_force, i), &hints->in_force, &hints->in_force_count));
    }
    return 0;
}
