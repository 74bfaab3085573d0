// Operations, loops and lists.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/lookup.h"
#include "base/order.h"
#include "model/access_order.h"
#include "model/file/keywords.h"
#include "model/file/packed.h"
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
        key_number(w->json, "count", count);
        key_signed(w->json, "smallest", smallest);
        key_signed(w->json, "largest", largest);
        key_text(w->json, key, (const char *)text.data);
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

// True if the text is a plain number as JSON writes it.
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
    key_text(w->json, "op", w->kinds.text[item->kind]);
    for (unsigned c = 0; c < AT_COUNT; c++) {
        FORWARD(write_value(w, model_coordinate_name(kind, c), &item->at[c], tables));
    }
    // A value that is 0 everywhere differs from a missing one.
    if (item->logical.text && !strcmp(item->logical.text, "0")) {
        key_number(w->json, "logical", 0);
    } else {
        FORWARD(write_value(w, "logical", &item->logical, tables));
    }
    write_steps(w, kind, item);
    json_close(w->json);
    return 0;
}

// The lists of the ranks and phases of a part; equal lists are kept once.
struct lists {
    const struct model_item *item;
    size_t tables;
    struct op **list; // the different ones
    size_t count;
    int64_t *which; // of each table
};

// --- lists: equal ones

static bool same_op(const struct op *a, const struct op *b)
{
    return a->kind == b->kind && !memcmp(a->at, b->at, sizeof a->at);
}

static bool same_list(const struct op *a, const struct op *b, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        if (!same_op(&a[i], &b[i])) return false;
    }
    return true;
}

static uint64_t hash_list(const struct op *op, uint64_t count)
{
    uint64_t hash = count;
    for (uint64_t i = 0; i < count; i++) {
        hash = hash_add(hash, op[i].kind);
        hash = hash_bytes(hash, op[i].at, sizeof op[i].at);
    }
    return hash;
}

static int share_equal(struct lists *lists)
{
    struct lookup seen = {0};
    const struct model_item *item = lists->item;
    int code = 0;
    for (size_t t = 0; t < lists->tables && !code; t++) {
        uint64_t hash = hash_list(item->list[t], item->count);
        uint32_t at;
        while ((at = lookup_find(&seen, hash)) != LOOKUP_NONE &&
               !same_list(lists->list[at], item->list[t], item->count)) {
            hash++;
        }
        if (at == LOOKUP_NONE) {
            at = (uint32_t)lists->count;
            lists->list[lists->count++] = item->list[t];
            code = lookup_set(&seen, hash, at);
        }
        lists->which[t] = at;
    }
    lookup_free(&seen);
    return code;
}

// --- lists: one by one

static void write_list_op(struct writing *w, const struct op *op)
{
    const struct op_kind *kind = &w->model->kind[op->kind];
    json_fold(w->json);
    json_object(w->json);
    key_text(w->json, "op", w->kinds.text[op->kind]);
    for (unsigned c = 0; c < AT_COUNT; c++) {
        if (!op->at[c]) continue;
        json_key(w->json, model_coordinate_name(kind, c));
        json_signed(w->json, op->at[c]);
    }
    json_close(w->json);
}

// --- lists: summary

// Summary of a list for one kind.
struct kind_summary {
    uint64_t count;
    int64_t smallest, largest; // request
    int64_t low, high;         // first byte and end, of transfers
    struct access_order order;
    bool begun; // in the list that is being looked at
};

static void summarise(struct kind_summary *of, const struct op *op)
{
    int64_t size = op->at[AT_SIZE], offset = op->at[AT_OFFSET];
    if (!of->count || size < of->smallest) of->smallest = size;
    if (!of->count || size > of->largest) of->largest = size;
    if (!of->count || offset < of->low) of->low = offset;
    if (!of->count || offset + size > of->high) of->high = offset + size;
    access_order_follow(&of->order, op, !of->begun);
    of->begun = true;
    of->count++;
}

// Uniform: the quartiles are where those of evenly spread offsets would be, within what chance explains.
static bool is_uniform(const int64_t quartile[5], uint64_t count)
{
    double range = (double)quartile[4] - (double)quartile[0], most = range * (0.05 + 1 / sqrt((double)count));
    for (unsigned q = 1; q < 4; q++) {
        if (fabs((double)quartile[q] - (double)quartile[0] - range * q / 4) > most) return false;
    }
    return true;
}

static int write_distribution(struct writing *w, const struct lists *lists, size_t kind, uint64_t count)
{
    int64_t *offset = malloc(count * sizeof *offset), quartile[5];
    size_t used = 0;
    RETURN_IF(!offset, -ENOMEM);
    for (size_t i = 0; i < lists->count; i++) {
        for (uint64_t k = 0; k < lists->item->count; k++) {
            if (lists->list[i][k].kind == kind) offset[used++] = lists->list[i][k].at[AT_OFFSET];
        }
    }
    qsort(offset, used, sizeof *offset, order_int64);
    for (unsigned q = 0; q < 5; q++) quartile[q] = offset[(used - 1) * q / 4];
    free(offset);
    key_text(w->json, "distribution", is_uniform(quartile, count) ? "uniform" : "uneven");
    key_array(w->json, "quartiles");
    for (unsigned q = 0; q < 5; q++) json_signed(w->json, quartile[q]);
    json_close(w->json);
    return 0;
}

static int write_kind_summary(struct writing *w, const struct lists *lists, size_t id, const struct kind_summary *of)
{
    const struct op_kind *kind = &w->model->kind[id];
    const char *mode = access_order_mode(&of->order);
    bool transfers = kind->class == CLASS_READ || kind->class == CLASS_WRITE;
    json_fold(w->json);
    json_object(w->json);
    key_text(w->json, "op", w->kinds.text[id]);
    key_number(w->json, "count", of->count);
    if (transfers) {
        key_array(w->json, "sizes");
        json_signed(w->json, of->smallest);
        json_signed(w->json, of->largest);
        json_close(w->json);
    }
    if (transfers && kind->has_offset) {
        key_array(w->json, "bytes");
        json_signed(w->json, of->low);
        json_signed(w->json, of->high);
        json_close(w->json);
        key_text(w->json, "mode", mode);
        if (!strcmp(mode, "random")) FORWARD(write_distribution(w, lists, id, of->count));
    }
    json_close(w->json);
    return 0;
}

static int write_summary(struct writing *w, const struct lists *lists)
{
    size_t kinds = w->model->kinds;
    struct kind_summary *of = calloc(kinds + 1, sizeof *of);
    RETURN_IF(!of, -ENOMEM);
    for (size_t i = 0; i < lists->count; i++) {
        for (size_t k = 0; k < kinds; k++) of[k].begun = false;
        for (uint64_t k = 0; k < lists->item->count; k++) summarise(&of[lists->list[i][k].kind], &lists->list[i][k]);
    }
    key_array(w->json, "summary");
    int code = 0;
    for (size_t k = 0; k < kinds && !code; k++) {
        if (of[k].count) code = write_kind_summary(w, lists, k, &of[k]);
    }
    json_close(w->json);
    free(of);
    return code;
}

// --- lists: packed

static int add_columns(const struct lists *lists, struct bytes *columns)
{
    uint64_t each = lists->item->count, count = each * lists->count;
    struct op *all = malloc(count * sizeof *all);
    int64_t *kind = malloc(count * sizeof *kind);
    int code = all && kind ? 0 : -ENOMEM;
    for (size_t i = 0; i < lists->count && !code; i++) memcpy(&all[i * each], lists->list[i], each * sizeof *all);
    for (uint64_t i = 0; i < count && !code; i++) kind[i] = all[i].kind;
    if (!code) code = packed_add(columns, kind, sizeof *kind, count);
    for (unsigned c = 0; c < AT_COUNT && !code; c++) code = packed_add(columns, &all->at[c], sizeof *all, count);
    free(all);
    free(kind);
    return code;
}

static int write_columns(struct writing *w, const struct lists *lists)
{
    struct bytes columns = {0}, text = {0};
    const char *key;
    int code = add_columns(lists, &columns);
    if (!code) code = packed_text(&columns, &text, &key);
    if (!code) key_text(w->json, key, (const char *)text.data);
    bytes_free(&columns);
    bytes_free(&text);
    return code;
}

static int write_ops(struct writing *w, const struct lists *lists)
{
    if (lists->item->count * lists->count > WRITING_INLINE) {
        FORWARD(write_summary(w, lists));
        return write_columns(w, lists);
    }
    key_array(w->json, "ops");
    for (size_t i = 0; i < lists->count; i++) {
        for (uint64_t k = 0; k < lists->item->count; k++) write_list_op(w, &lists->list[i][k]);
    }
    json_close(w->json);
    return 0;
}

static int write_found(struct writing *w, struct lists *lists)
{
    FORWARD(share_equal(lists));
    json_object(w->json);
    key_number(w->json, "list", lists->item->count);
    if (lists->count > 1) key_number(w->json, "lists", lists->count);
    if (lists->count > 1 && lists->count < lists->tables) {
        json_fold(w->json);
        json_key(w->json, "which");
        FORWARD(write_numbers(w, lists->which, lists->tables));
    }
    FORWARD(write_ops(w, lists));
    json_close(w->json);
    return 0;
}

static int write_list(struct writing *w, const struct model_item *item, size_t tables)
{
    struct lists lists = {.item = item,
                          .tables = tables,
                          .list = calloc(tables + 1, sizeof *lists.list),
                          .which = calloc(tables + 1, sizeof *lists.which)};
    int code = lists.list && lists.which ? write_found(w, &lists) : -ENOMEM;
    free(lists.list);
    free(lists.which);
    return code;
}

// --- items

// A loop over one operation fits on a line, and so does a loop over that loop.
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
        key_number(w->json, "loop", item->count);
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
