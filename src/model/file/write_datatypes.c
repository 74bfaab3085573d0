// Datatypes and hints. Consecutive types that differ only in numbers which follow a rule are one entry, so the views of
// a thousand ranks take no more room than those of four.
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "model/file/writing.h"
#include "model/fit.h"

// Types of one entry: the rule is over idP, their number within the entry.
struct rule {
    struct writing *w;
    const struct model_type *type;
    size_t count;
    struct fit_point *point;
};

static bool same_shape(const struct model_type *a, const struct model_type *b)
{
    if (a->flat.items != b->flat.items || a->cut || b->cut) return false;
    for (uint32_t i = 0; i < a->flat.items; i++) {
        if (a->flat.item[i].span != b->flat.item[i].span) return false;
    }
    return true;
}

enum number { TYPE_BYTES, TYPE_EXTENT, ITEM_OFFSET, ITEM_COUNT, ITEM_STRIDE, ITEM_BYTES };

static int64_t number_of(const struct model_type *type, enum number which, uint32_t item)
{
    switch (which) {
    case TYPE_BYTES: return (int64_t)type->bytes;
    case TYPE_EXTENT: return type->extent;
    case ITEM_OFFSET: return type->flat.item[item].offset;
    case ITEM_COUNT: return (int64_t)type->flat.item[item].count;
    case ITEM_STRIDE: return type->flat.item[item].stride;
    default: return (int64_t)type->flat.item[item].bytes;
    }
}

static int fit_number(struct rule *r, enum number which, uint32_t item, char text[FIT_TEXT_BYTES])
{
    for (size_t i = 0; i < r->count; i++) {
        r->point[i] = (struct fit_point){(int64_t)i, 1, number_of(&r->type[i], which, item)};
    }
    struct fit_input input = {.point = r->point, .count = r->count, .np = (int64_t)r->count};
    return fit_expression(&input, text);
}

static bool has_rule(struct rule *r)
{
    char text[FIT_TEXT_BYTES];
    if (fit_number(r, TYPE_BYTES, 0, text) || fit_number(r, TYPE_EXTENT, 0, text)) return false;
    for (uint32_t i = 0; i < r->type->flat.items; i++) {
        for (enum number which = ITEM_OFFSET; which <= ITEM_BYTES; which++) {
            if (fit_number(r, which, i, text)) return false;
        }
    }
    return true;
}

static void write_number(struct rule *r, const char *key, enum number which, uint32_t item)
{
    char text[FIT_TEXT_BYTES], *end;
    if (fit_number(r, which, item, text)) return;
    if (key) json_key(r->w->json, key);
    long long plain = strtoll(text, &end, 10);
    if (*end) {
        json_text(r->w->json, text);
    } else {
        json_signed(r->w->json, plain);
    }
}

static void write_form(struct rule *r, uint32_t first, uint32_t end)
{
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

static void write_entry(struct rule *r)
{
    struct json_out *json = r->w->json;
    json_fold(json);
    json_object(json);
    key_number(r->w->json, "types", r->count);
    write_number(r, "bytes", TYPE_BYTES, 0);
    write_number(r, "extent", TYPE_EXTENT, 0);
    if (r->type->cut) key_bool(json, "cut", true);
    json_key(json, "form");
    write_form(r, 0, r->type->flat.items);
    json_close(json);
}

// Returns how many of the next types are one entry: all similar ones, or else the longest run that doubling finds. To
// try every length would take time that grows with the square of the ranks.
static size_t entry_length(struct rule *r, size_t alike, bool try_all)
{
    enum { LEAST = 4 }; // any two numbers follow some rule
    r->count = alike;
    if (alike == 1 || (try_all && has_rule(r))) return alike;
    size_t good = 1;
    for (r->count = LEAST; r->count <= alike && has_rule(r); r->count *= 2) good = r->count;
    return good;
}

int write_types(struct writing *w)
{
    const struct types *types = &w->model->types;
    struct rule r = {.w = w, .point = malloc((types->count + 1) * sizeof *r.point)};
    RETURN_IF(!r.point, -ENOMEM);
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
    free(r.point);
    return 0;
}

static void write_hint_list(struct writing *w, const struct model_hint *hint, size_t count)
{
    json_fold(w->json);
    json_array(w->json);
    for (size_t i = 0; i < count; i++) {
        json_array(w->json);
        json_text(w->json, hint[i].name);
        json_text(w->json, hint[i].value);
        json_close(w->json);
    }
    json_close(w->json);
}

void write_hints(struct writing *w, bool in_force)
{
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
