#include "sql/document.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json_in.h"
#include "base/json_keys.h"

struct document {
    struct sql_value *cell; // rows x columns
    size_t cells;
    struct arena texts;
};

static void write_value(struct json_out *json, const struct json_value *value) {
    switch (json_in_type(value)) {
    case JSON_BOOL: json_bool(json, value->boolean); break;
    case JSON_INTEGER: json_signed(json, value->integer); break;
    case JSON_UNSIGNED: json_unsigned(json, value->natural); break;
    case JSON_DOUBLE: json_double(json, value->real); break;
    case JSON_STRING: json_bytes(json, value->text, value->count); break;
    case JSON_NULL: json_null(json); break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        value->type == JSON_ARRAY ? json_array(json) : json_object(json);
        for (size_t i = 0; i < json_in_length(value); i++) {
            if (value->type == JSON_OBJECT) json_key_text(json, json_in_key(value, i));
            write_value(json, json_in_at(value, i));
        }
        json_close(json);
        break;
    }
}

static int write_one(void *value, struct json_out *json) {
    write_value(json, value);
    return 0;
}

static int put_json(struct document *document, const struct json_value *value, struct sql_value *cell) {
    char *text;
    size_t len;
    FORWARD(json_out_memory(&text, &len, write_one, (void *)value));
    if (len && text[len - 1] == '\n') text[len - 1] = '\0';
    *cell = sql_text(arena_text(&document->texts, text));
    free(text);
    return cell->kind == SQL_IS_TEXT ? 0 : -ENOMEM;
}

static int put_cell(struct document *document, const struct json_value *value, enum sql_type type,
                    struct sql_value *cell) {
    *cell = SQL_NULL_VALUE;
    switch (json_in_type(value)) {
    case JSON_NULL: return 0;
    case JSON_BOOL: *cell = sql_integer(value->boolean); return 0;
    case JSON_INTEGER:
        *cell = type == SQL_REAL ? sql_real((double)value->integer) : sql_integer(value->integer);
        return 0;
    case JSON_UNSIGNED: *cell = sql_number(value->natural); return 0;
    case JSON_DOUBLE: *cell = sql_real(value->real); return 0;
    case JSON_STRING:
        *cell = sql_text(arena_text(&document->texts, value->text));
        return cell->kind == SQL_IS_TEXT ? 0 : -ENOMEM;
    default: return put_json(document, value, cell);
    }
}

static int add_row(struct sql_bound *bound, const char *owner, const struct json_value *row,
                   const struct json_value *of) {
    struct document *document = bound->data;
    for (const struct sql_column *column = bound->table->about.column; column->name; column++) {
        bool is_owner = owner && !strcmp(column->name, owner);
        const struct json_value *value = json_in_member(is_owner ? of : row, is_owner ? "id" : column->name);
        struct sql_value cell;
        FORWARD(put_cell(document, value, column->type, &cell));
        FORWARD(array_push(document->cell, document->cells, cell));
    }
    bound->count++;
    return 0;
}

static int add_rows(struct sql_bound *bound, const struct document_rows *rows, const struct json_value *list) {
    for (size_t i = 0; i < json_in_length(list); i++) {
        const struct json_value *item = json_in_at(list, i);
        const struct json_value *inside = rows->inside ? json_in_member(item, rows->inside) : NULL;
        if (!rows->inside) FORWARD(add_row(bound, NULL, item, NULL));
        for (size_t k = 0; k < json_in_length(inside); k++)
            FORWARD(add_row(bound, rows->owner, json_in_at(inside, k), item));
    }
    return 0;
}

int document_gather(struct sql_bound *bound, const struct document_rows *rows, json_write *write, void *context) {
    struct json_in_error error;
    struct json_in in;
    char *text;
    size_t len;
    if (bound->data) return 0;
    FORWARD(json_out_memory(&text, &len, write, context));
    int code = json_in_parse(&in, text, len, &error);
    free(text);
    FORWARD(code);
    bound->data = calloc(1, sizeof(struct document));
    code = bound->data ? add_rows(bound, rows, json_in_member(in.root, rows->list)) : -ENOMEM;
    json_in_free(&in);
    if (code < 0) document_free(bound);
    return code;
}

void document_value(const struct sql_bound *bound, size_t row, unsigned column, struct sql_value *value) {
    const struct document *document = bound->data;
    *value = document->cell[document->cells / bound->count * row + column];
}

void document_free(struct sql_bound *bound) {
    struct document *document = bound->data;
    if (!document) return;
    free(document->cell);
    arena_free(&document->texts);
    free(document);
    bound->data = NULL;
    bound->count = 0;
}
