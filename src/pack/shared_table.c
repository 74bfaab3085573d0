#include "pack/shared_table.h"

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_ID = 1, ID_ROOM = 16 };

struct shared_row { // of shared_table.fields
    size_t at;
    size_t len;
};

// Everything but the number goes to the end of the table's fields; `row` says where.
static int keep_fields(struct shared_table *table, struct fields_in body, uint32_t *local, struct shared_row *row)
{
    struct field field;
    const uint8_t *from = body.at;
    int more;
    *local = 0;
    row->at = table->fields.len;
    while ((more = fields_next(&body, &field)) > 0) {
        if (field.key != KEY_ID) {
            FORWARD(bytes_append(&table->fields, from, (size_t)(body.at - from)));
        } else if (!field.is_bytes && field.number <= UINT32_MAX) {
            *local = (uint32_t)field.number;
        }
        from = body.at;
    }
    FORWARD(more);
    row->len = table->fields.len - row->at;
    return *local && row->len ? 0 : ERR_FORMAT;
}

static bool are_equal(const struct shared_table *table, const struct shared_row *one, const struct shared_row *other)
{
    const uint8_t *fields = table->fields.data;
    return one->len == other->len && !memcmp(fields + one->at, fields + other->at, one->len);
}

static int add_row(struct shared_table *table, const struct shared_row *row, uint64_t key, uint32_t *global)
{
    RETURN_IF(table->count >= UINT32_MAX - 1, ERR_LIMIT);
    FORWARD(array_room(table->row, table->count));
    *global = (uint32_t)table->count + 1;
    FORWARD(lookup_set(&table->by_fields, key, *global));
    table->row[table->count++] = *row;
    return 0;
}

// Two descriptions may share a hash; the second then lives under the next free key.
static int find_or_add(struct shared_table *table, const struct shared_row *row, uint32_t *global)
{
    uint64_t key = hash_bytes(0, table->fields.data + row->at, row->len);
    while ((*global = lookup_find(&table->by_fields, key)) != LOOKUP_NONE) {
        if (are_equal(table, &table->row[*global - 1], row)) return 0;
        key++;
    }
    return add_row(table, row, key, global);
}

int shared_table_add(struct shared_table *table, struct fields_in body, uint32_t *local, uint32_t *global)
{
    size_t before = table->fields.len, rows = table->count;
    struct shared_row row;
    int code = keep_fields(table, body, local, &row);
    if (code == 0) code = find_or_add(table, &row, global);
    if (table->count == rows) table->fields.len = before; // known already, or no good
    return code;
}

int shared_table_write(const struct shared_table *table, struct log_writer *w, unsigned kind)
{
    for (size_t i = 0; i < table->count; i++) {
        const uint8_t *fields = table->fields.data + table->row[i].at;
        struct fields_out out;
        FORWARD(log_writer_begin(w, &out, kind, ID_ROOM + table->row[i].len));
        fields_number(&out, KEY_ID, i + 1);
        fields_copy(&out, (struct fields_in){.at = fields, .end = fields + table->row[i].len});
        FORWARD(log_writer_end(w, &out));
    }
    return 0;
}

void shared_table_free(struct shared_table *table)
{
    free(table->row);
    bytes_free(&table->fields);
    lookup_free(&table->by_fields);
    *table = (struct shared_table){0};
}
