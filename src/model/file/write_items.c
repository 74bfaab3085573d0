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
#include "base/scoped.h"
#include "model/access_order.h"
#include "model/file/keywords.h"
#include "model/file/packed.h"
#include "model/file/write_private.h"

// --- numbers

static int write_packed_numbers(struct writing *w, const int64_t *numbers, uint64_t count) {
    SCOPED(bytes_free) struct bytes columns = {0}, text = {0};
    const char *key;
    int64_t smallest = numbers[0], largest = numbers[0];
    for (uint64_t i = 1; i < count; i++) {
        if (numbers[i] < smallest) smallest = numbers[i];
        if (numbers[i] > largest) largest = numbers[i];
    }
    FORWARD(packed_add(&columns, numbers, sizeof *numbers, count));
    FORWARD(packed_text(&columns, &text, &key));
    json_object_of(w->json, m_number("count", count), m_signed("smallest", smallest), m_signed("largest", largest),
                   m_text(key, (const char *)text.data));
    return 0;
}

int write_numbers(struct writing *w, const int64_t *numbers, uint64_t count) {
    if (count > WRITING_INLINE) return write_packed_numbers(w, numbers, count);
    json_array(w->json);
    for (uint64_t i = 0; i < count; i++) json_signed(w->json, numbers[i]);
    json_close(w->json);
    return 0;
}

// True if the text is a plain number as JSON writes it.
static bool is_integer(const char *text, int64_t *value) {
    char *end, again[24];
    errno = 0;
    *value = strtoll(text, &end, 10);
    snprintf(again, sizeof again, "%lld", (long long)*value);
    return !errno && !*end && !strcmp(again, text);
}

int write_value(struct writing *w, const char *key, const struct model_value *value, size_t tables) {
    int64_t number;
    if (!value->text && !value->table) return 0;
    if (value->text && !strcmp(value->text, "0")) return 0;
    if (value->text) {
        bool is_number = is_integer(value->text, &number);
        json_members(w->json, is_number ? m_signed(key, number) : m_text(key, value->text));
        return 0;
    }
    json_key(w->json, key);
    return write_numbers(w, value->table, tables);
}

// --- operations

// Writes the coordinates that are not 0.
static void write_coordinates(struct writing *w, const struct op_kind *kind, const int64_t at[AT_COUNT]) {
    for (unsigned c = 0; c < AT_COUNT; c++) {
        if (at[c]) key_signed(w->json, model_coordinate_name(kind, c), at[c]);
    }
}

static void write_steps(struct writing *w, const struct op_kind *kind, const struct model_item *item) {
    static const struct loops_step none;
    unsigned steps = item->steps;
    while (steps && !memcmp(&item->step[steps - 1], &none, sizeof none)) steps--;
    if (!steps) return;
    key_array(w->json, "steps");
    for (unsigned s = 0; s < steps; s++) {
        json_object(w->json);
        write_coordinates(w, kind, item->step[s].at);
        json_close(w->json);
    }
    json_close(w->json);
}

static int write_op(struct writing *w, const struct model_item *item, size_t tables) {
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

static bool same_list(const struct op *a, const struct op *b, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        if (a[i].kind != b[i].kind || memcmp(a[i].at, b[i].at, sizeof a[i].at)) return false;
    }
    return true;
}

static uint64_t hash_list(const struct op *op, uint64_t count) {
    uint64_t hash = count;
    for (uint64_t i = 0; i < count; i++) {
        hash = hash_add(hash, op[i].kind);
        hash = hash_bytes(hash, op[i].at, sizeof op[i].at);
    }
    return hash;
}

static int share_equal(struct lists *lists) {
    SCOPED(lookup_free) struct lookup seen = {0};
    const struct model_item *item = lists->item;
    for (size_t t = 0; t < lists->tables; t++) {
        uint64_t hash = hash_list(item->list[t], item->count);
        uint32_t at;
        while ((at = lookup_find(&seen, hash)) != LOOKUP_NONE &&
               !same_list(lists->list[at], item->list[t], item->count)) {
            hash++;
        }
        if (at == LOOKUP_NONE) {
            at = (uint32_t)lists->count;
            lists->list[lists->count++] = item->list[t];
            FORWARD(lookup_set(&seen, hash, at));
        }
        lists->which[t] = at;
    }
    return 0;
}

// --- lists: one by one

static void write_list_op(struct writing *w, const struct op *op) {
    json_fold(w->json);
    json_object(w->json);
    key_text(w->json, "op", w->kinds.text[op->kind]);
    write_coordinates(w, &w->model->kind[op->kind], op->at);
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

static void summarise(struct kind_summary *of, const struct op *op) {
    int64_t size = op->at[AT_SIZE], offset = op->at[AT_OFFSET];
    if (!of->count || size < of->smallest) of->smallest = size;
    if (!of->count || size > of->largest) of->largest = size;
    if (!of->count || offset < of->low) of->low = offset;
    if (!of->count || offset + size > of->high) of->high = offset + size;
    access_order_follow(&of->order, op, !of->begun);
    of->begun = true;
    of->count++;
}

// Uniform: the quartiles are those of evenly spread offsets, within the limits of chance.
static bool is_uniform(const int64_t quartile[5], uint64_t count) {
    double range = (double)quartile[4] - (double)quartile[0], most = range * (0.05 + 1 / sqrt((double)count));
    for (unsigned q = 1; q < 4; q++) {
        if (fabs((double)quartile[q] - (double)quartile[0] - range * q / 4) > most) return false;
    }
    return true;
}

static int write_distribution(struct writing *w, const struct lists *lists, size_t kind, uint64_t count) {
    SCOPED_FREE int64_t *offset = malloc(count * sizeof *offset);
    int64_t quartile[5];
    size_t used = 0;
    RETURN_IF(!offset, -ENOMEM);
    for (size_t i = 0; i < lists->count; i++) {
        for (uint64_t k = 0; k < lists->item->count; k++) {
            if (lists->list[i][k].kind == kind) offset[used++] = lists->list[i][k].at[AT_OFFSET];
        }
    }
    qsort(offset, used, sizeof *offset, order_int64);
    for (unsigned q = 0; q < 5; q++) quartile[q] = offset[(used - 1) * q / 4];
    key_text(w->json, "distribution", is_uniform(quartile, count) ? "uniform" : "uneven");
    json_key(w->json, "quartiles");
    return write_numbers(w, quartile, 5);
}

static int write_kind_summary(struct writing *w, const struct lists *lists, size_t id, const struct kind_summary *of) {
    const struct op_kind *kind = &w->model->kind[id];
    const char *mode = access_order_mode(&of->order);
    bool transfers = op_kind_moves(kind);
    json_fold(w->json);
    json_object(w->json);
    json_members(w->json, m_text("op", w->kinds.text[id]), m_number("count", of->count));
    if (transfers) {
        json_key(w->json, "sizes");
        json_array_of(w->json, m_signed(NULL, of->smallest), m_signed(NULL, of->largest));
    }
    if (transfers && kind->has_offset) {
        json_key(w->json, "bytes");
        json_array_of(w->json, m_signed(NULL, of->low), m_signed(NULL, of->high));
        key_text(w->json, "mode", mode);
        if (!strcmp(mode, "random")) FORWARD(write_distribution(w, lists, id, of->count));
    }
    json_close(w->json);
    return 0;
}

static int write_summary(struct writing *w, const struct lists *lists) {
    size_t kinds = w->model->kinds;
    SCOPED_FREE struct kind_summary *of = calloc(kinds + 1, sizeof *of);
    RETURN_IF(!of, -ENOMEM);
    for (size_t i = 0; i < lists->count; i++) {
        for (size_t k = 0; k < kinds; k++) of[k].begun = false;
        for (uint64_t k = 0; k < lists->item->count; k++) summarise(&of[lists->list[i][k].kind], &lists->list[i][k]);
    }
    key_array(w->json, "summary");
    for (size_t k = 0; k < kinds; k++) {
        if (of[k].count) FORWARD(write_kind_summary(w, lists, k, &of[k]));
    }
    json_close(w->json);
    return 0;
}

// --- lists: packed

static int add_columns(const struct lists *lists, struct bytes *columns) {
    uint64_t each = lists->item->count, count = each * lists->count;
    SCOPED_FREE struct op *all = malloc(count * sizeof *all);
    SCOPED_FREE int64_t *kind = malloc(count * sizeof *kind);
    RETURN_IF(!all || !kind, -ENOMEM);
    for (size_t i = 0; i < lists->count; i++) memcpy(&all[i * each], lists->list[i], each * sizeof *all);
    for (uint64_t i = 0; i < count; i++) kind[i] = all[i].kind;
    FORWARD(packed_add(columns, kind, sizeof *kind, count));
    for (unsigned c = 0; c < AT_COUNT; c++) FORWARD(packed_add(columns, &all->at[c], sizeof *all, count));
    return 0;
}

static int write_columns(struct writing *w, const struct lists *lists) {
    SCOPED(bytes_free) struct bytes columns = {0}, text = {0};
    const char *key;
    FORWARD(add_columns(lists, &columns));
    FORWARD(packed_text(&columns, &text, &key));
    key_text(w->json, key, (const char *)text.data);
    return 0;
}

static int write_ops(struct writing *w, const struct lists *lists) {
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

static int write_list(struct writing *w, const struct model_item *item, size_t tables) {
    SCOPED_FREE struct op **list = calloc(tables + 1, sizeof *list);
    SCOPED_FREE int64_t *which = calloc(tables + 1, sizeof *which);
    struct lists lists = {.item = item, .tables = tables, .list = list, .which = which};
    RETURN_IF(!list || !which, -ENOMEM);
    FORWARD(share_equal(&lists));
    json_object(w->json);
    key_number(w->json, "list", item->count);
    if (lists.count > 1) key_number(w->json, "lists", lists.count);
    if (lists.count > 1 && lists.count < tables) {
        json_fold(w->json);
        json_key(w->json, "which");
        FORWARD(write_numbers(w, which, tables));
    }
    FORWARD(write_ops(w, &lists));
    json_close(w->json);
    return 0;
}

// --- items

// A loop over one operation fits on a line, and so does a loop over that loop.
static bool fits_line(const struct model_item *item) {
    while (item->type == LOOPS_LOOP && item->body.count == 1) item = item->body.item;
    return item->type == LOOPS_OP;
}

static int write_each(struct writing *w, const struct model_items *items, size_t tables) {
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

int write_items(struct writing *w, const struct model_part *part) {
    return write_each(w, &part->items, part->phs * part->ranks);
}
