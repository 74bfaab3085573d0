// Descriptions and values as JSON.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "sql/sql.h"

void sql_tables_json(struct json_out *json) {
    json_array(json);
    for (size_t i = 0; sql_description(i); i++) {
        const struct sql_description *about = sql_description(i);
        json_object(json);
        json_members(json, m_text("name", about->name), m_text("meaning", about->meaning));
        key_array(json, "columns");
        for (const struct sql_column *column = about->column; column->name; column++)
            json_object_of(json, m_text("name", column->name), m_text("type", sql_type_name(column->type)),
                           m_text("meaning", column->meaning));
        json_close(json);
        json_close(json);
    }
    json_close(json);
}

char *sql_blob_text(const struct sql_value *value) {
    char *text = malloc(value->len * 2 + 4), *at = text;
    if (!text) return NULL;
    at = stpcpy(at, "x'");
    for (size_t i = 0; i < value->len; i++) at += sprintf(at, "%02x", (unsigned char)value->text[i]);
    strcpy(at, "'");
    return text;
}

int sql_value_json(struct json_out *json, const struct sql_value *value) {
    char *blob = NULL;
    switch (value->kind) {
    case SQL_IS_NULL: json_null(json); break;
    case SQL_IS_INTEGER: json_signed(json, value->integer); break;
    case SQL_IS_REAL: json_double(json, value->real); break;
    case SQL_IS_TEXT: json_bytes(json, value->text, value->len); break;
    case SQL_IS_BLOB:
        blob = sql_blob_text(value);
        RETURN_IF(!blob, -ENOMEM);
        json_text(json, blob);
        free(blob);
        break;
    }
    return 0;
}
