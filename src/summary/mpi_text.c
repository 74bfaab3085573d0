#include "summary/mpi_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/json_keys.h"

enum {
    TEXT_ITEMS = 8, // of a datatype that are printed
    JSON_ITEMS = 64,
};

static __attribute__((format(printf, 2, 3))) void add(struct mpi_words *words, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int len = vsnprintf(words->text + words->len, sizeof words->text - words->len, format, list);
    va_end(list);
    words->len += len > 0 ? (size_t)len : 0;
    if (words->len >= sizeof words->text) words->len = sizeof words->text - 1;
}

struct mpi_words mpi_text_amode(uint64_t amode) {
    static const char *const names[] = {"CREATE",      "RDONLY", "WRONLY", "RDWR",      "DELETE_ON_CLOSE",
                                        "UNIQUE_OPEN", "EXCL",   "APPEND", "SEQUENTIAL"};
    struct mpi_words words = {0};
    for (unsigned bit = 0; bit < sizeof names / sizeof *names; bit++) {
        if (amode >> bit & 1) add(&words, "%sMPI_MODE_%s", words.len ? "|" : "", names[bit]);
    }
    uint64_t rest = amode >> (sizeof names / sizeof *names) << (sizeof names / sizeof *names);
    if (rest || !amode) add(&words, "%s0x%" PRIx64, words.len ? "|" : "", rest);
    return words;
}

// --- datatypes

static void add_items(struct mpi_words *words, const struct datatype_item *item, uint32_t items, unsigned *left) {
    for (uint32_t i = 0; i < items; i += item[i].span) {
        if (i) add(words, " + ");
        if (*left == 0) {
            add(words, "...");
            return;
        }
        (*left)--;
        if (datatype_is_loop(&item[i])) {
            bool is_simple = item[i].span == 2 && item[i + 1].offset == 0;
            add(words, "%" PRIu64 " x %s", item[i].count, is_simple ? "" : "(");
            add_items(words, &item[i + 1], item[i].span - 1, left);
            add(words, "%s every %" PRId64, is_simple ? "" : ")", item[i].stride);
        } else {
            add(words, "%" PRIu64 " bytes", item[i].bytes);
        }
        if (item[i].offset) add(words, " at %" PRId64, item[i].offset);
    }
}

struct mpi_words mpi_text_datatype(struct log *log, const struct log_datatype *type) {
    struct mpi_words words = {0};
    const struct datatype *flat;
    unsigned left = TEXT_ITEMS;
    if (!type || log_datatype_flat(log, type, &flat) < 0) {
        add(&words, "unknown");
    } else if (type->combiner == DATATYPE_NAMED && type->name) {
        add(&words, "%s", type->name);
    } else {
        add(&words, "%s ", datatype_combiner_name(type->combiner));
        add_items(&words, flat->item, flat->items, &left);
        if (type->cut) add(&words, "%s of %" PRIu64 " bytes", flat->items && left ? " + ..." : "", type->bytes);
        if (!type->cut && !flat->items) add(&words, "0 bytes");
        add(&words, ", extent %" PRId64, type->extent);
    }
    return words;
}

// Nested loops. An item that does not fit with everything inside it is left out.
static void json_items(struct json_out *json, const struct datatype_item *item, uint32_t items) {
    uint32_t left = JSON_ITEMS;
    json_array(json);
    for (uint32_t i = 0; i < items && item[i].span <= left; i += item[i].span) {
        left -= item[i].span;
        json_object(json);
        key_signed(json, "offset", item[i].offset);
        if (datatype_is_loop(&item[i])) {
            json_members(json, m_number("count", item[i].count), m_signed("stride", item[i].stride));
            json_key(json, "pieces");
            json_items(json, &item[i + 1], item[i].span - 1);
        } else {
            key_number(json, "length", item[i].bytes);
        }
        json_close(json);
    }
    json_close(json);
}

void mpi_json_datatype(struct json_out *json, struct log *log, const struct log_datatype *type) {
    const struct datatype *flat;
    if (!type || log_datatype_flat(log, type, &flat) < 0) {
        json_null(json);
        return;
    }
    json_object(json);
    json_members(json, m_text("name", type->name), m_text("combiner", datatype_combiner_name(type->combiner)),
                 m_number("bytes", type->bytes), m_signed("lower_bound", type->lower_bound),
                 m_signed("extent", type->extent), m_text("text", mpi_text_datatype(log, type).text));
    json_key(json, "pieces");
    json_items(json, flat->item, flat->items);
    key_bool(json, "complete", !type->cut && flat->items <= JSON_ITEMS);
    json_close(json);
}

void mpi_json_view(struct json_out *json, struct log *log, uint64_t displacement, const struct log_datatype *etype,
                   const struct log_datatype *filetype) {
    json_object(json);
    key_number(json, "displacement", displacement);
    json_key(json, "etype");
    mpi_json_datatype(json, log, etype);
    json_key(json, "filetype");
    mpi_json_datatype(json, log, filetype);
    json_close(json);
}

// --- hints

static void key_hints(struct json_out *json, const char *key, const struct log_hint_list *list) {
    key_object(json, key);
    for (size_t i = 0; list && i < list->count; i++) {
        json_key_text(json, list->hint[i].name);
        json_text(json, list->hint[i].value);
    }
    json_close(json);
}

void mpi_json_hints(struct json_out *json, const struct log_hints *hints, bool asked) {
    json_object(json);
    if (asked) {
        key_hints(json, "asked", hints ? &hints->asked : NULL);
    } else {
        key_null(json, "asked");
    }
    key_hints(json, "in_force", hints ? &hints->in_force : NULL);
    json_close(json);
}
