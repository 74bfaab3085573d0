// Operations, loops and lists.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/json_keys.h"
#include "model/file/keywords.h"
#include "model/file/packed.h"
#include "model/file/write_list.h"
#include "model/file/writing.h"

// --- numbers

static int write_packed_numbers(struct writing *w, const int64_t *numbers, uint64_t count)
{
    struct bytes columns = {0}, text = {0};
    const char *key;
    int64_t smallest = numbers[0], largest = numbers[0];
    for (uint64_t i = 1; i < count; i++) {
        if (numbers[i] < smallest) smallest = numbers[i];
        if (numbers[i] > largest) largest = numbers[i];
    }
    int code = packed_add(&columns, numbers, sizeof *numbers, count);
    if (!code) code = packed_text(&columns, &text, &key);
    if (!code) {
        json_object(w->json);
        write_unsigned(w, "count", count);
        key_signed(w->json, "smallest", smallest);
        key_signed(w->json, "largest", largest);
        write_text(w, key, (const char *)text.data);
        json_close(w->json);
    }
    bytes_free(&columns);
    bytes_free(&text);
    return code;
}

int write_numbers(struct writing *w, const int64_t *numbers, uint64_t count)
{
    if (count > WRITING_INLINE) return write_packed_numbers(w, numbers, count);
    json_array(w->json);
    for (uint64_t i = 0; i < count; i++) json_signed(w->json, numbers[i]);
    json_close(w->json);
    return 0;
}

// Whether the text is a plain number as JSON writes it.
static bool is_integer(const char *text, int64_t *value)
{
    char *end, again[24];
    errno = 0;
    *value = strtoll(text, &end, 10);
    snprintf(again, sizeof again, "%lld", (long long)*value);
    return !errno && !*end && !strcmp(again, text);
}

static int write_value(struct writing *w, const char *key, const struct model_value *value, size_t tables)
{
    int64_t number;
    if (!value->text && !value->table) return 0;
    if (value->text && !strcmp(value->text, "0")) return 0;
    json_key(w->json, key);
    if (!value->text) return write_numbers(w, value->table, tables);
    if (is_integer(value->text, &number)) {
        json_signed(w->json, number);
    } else {
        json_text(w->json, value->text);
    }
    return 0;
}

// --- operations

static void write_steps(struct writing *w, const struct op_kind *kind, const struct model_item *item)
{
    static const struct loops_step none;
    unsigned steps = item->steps;
    while (steps && !memcmp(&item->step[steps - 1], &none, sizeof none)) steps--;
    if (!steps) return;
    key_array(w->json, "steps");
    for (unsigned s = 0; s < steps; s++) {
        json_object(w->json);
        for (unsigned c = 0; c < AT_COUNT; c++) {
            if (!item->step[s].at[c]) continue;
            json_key(w->json, model_coordinate_name(kind, c));
            json_signed(w->json, item->step[s].at[c]);
        }
        json_close(w->json);
    }
    json_close(w->json);
}

static int write_op(struct writing *w, const struct model_item *item, size_t tables)
{
    const struct op_kind *kind = &w->model->kind[item->kind];
    json_object(w->json);
    write_text(w, "op", w->kinds.text[item->kind]);
    for (unsigned c = 0; c < AT_COUNT; c++) {
        FORWARD(write_value(w, model_coordinate_name(kind, c), &item->at[c], tables));
    }
    // One that is 0 everywhere is told from one that is not there.
    if (item->logical.text && !strcmp(item->logical.text, "0")) {
        write_unsigned(w, "logical", 0);
    } else {
        FORWARD(write_value(w, "logical", &item->logical, tables));
    }
    write_steps(w, kind, item);
    json_close(w->json);
    return 0;
}

// --- items

// A loop over one operation goes on a line, so does a loop over that.
static bool fits_line(const struct model_item *item)
{
    while (item->type == LOOPS_LOOP && item->body.count == 1) item = item->body.item;
    return item->type == LOOPS_OP;
}

static int write_each(struct writing *w, const struct model_items *items, size_t tables)
{
    struct json_out *json = w->json;
    for (size_t i = 0; i < items->count; i++) {
        const struct model_item *item = &items->item[i];
        if (fits_line(item)) json_fold(json);
        if (item->type == LOOPS_OP) FORWARD(write_op(w, item, tables));
        if (item->type == LOOPS_LIST) FORWARD(write_list(w, item, tables));
        if (item->type != LOOPS_LOOP) continue;
        json_object(json);
        write_unsigned(w, "loop", item->count);
        key_array(json, "body");
        FORWARD(write_each(w, &item->body, tables));
        json_close(json);
        json_close(json);
    }
    return 0;
}

int write_items(struct writing *w, const struct model_part *part)
{
    return write_each(w, &part->items, part->phs * part->ranks);
}
