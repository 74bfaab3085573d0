#include "pack/file_table.h"

#include "base/err.h"
#include "base/hash.h"
#include "fmt/records.h"
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_KEYS = FILE_TYPE + 1, FILE_ROOM = 128, MAX_NAME_BYTES = 1 << 16 };

struct span { // of file_table.text
    size_t at;
    size_t len;
};

struct file_row {
    struct span name;
    struct span mount;
    struct span fs_name;
    uint64_t number[FILE_KEYS]; // by key; 0 is not known
};

// A file as one process stated it.
struct statement {
    const uint8_t *name;
    size_t name_len;
    const uint8_t *mount;
    size_t mount_len;
    uint64_t number[FILE_KEYS];
};

static int read_statement(struct fields_in body, struct statement *statement)
{
    *statement = (struct statement){0};
    struct field field;
    int more;
    while ((more = fields_next(&body, &field)) > 0) {
        if (field.is_bytes && field.key == FILE_NAME) {
            statement->name = field.data;
            statement->name_len = field.len;
        } else if (field.is_bytes && field.key == FILE_MOUNT) {
            statement->mount = field.data;
            statement->mount_len = field.len;
        } else if (!field.is_bytes && field.key < FILE_KEYS) {
            statement->number[field.key] = field.number;
        }
    }
    FORWARD(more);
    RETURN_IF(statement->name_len == 0 || statement->number[FILE_ID] == 0, ERR_FORMAT);
    RETURN_IF(statement->name_len > MAX_NAME_BYTES || statement->mount_len > MAX_NAME_BYTES, ERR_FORMAT);
    return 0;
}

static int keep_text(struct file_table *table, const uint8_t *text, size_t len, struct span *span)
{
    *span = (struct span){.at = table->text.len, .len = len};
    return bytes_append(&table->text, text, len);
}

static int add_row(struct file_table *table, const struct statement *statement, uint64_t key, uint32_t *global)
{
    RETURN_IF(table->count >= UINT32_MAX - 1, ERR_LIMIT);
    if (table->count == table->capacity) {
        size_t capacity = table->capacity ? table->capacity * 2 : 64;
        struct file_row *grown = realloc(table->row, capacity * sizeof *grown);
        RETURN_IF(!grown, -ENOMEM);
        table->row = grown;
        table->capacity = capacity;
    }
    struct file_row *row = &table->row[table->count];
    *row = (struct file_row){0};
    FORWARD(keep_text(table, statement->name, statement->name_len, &row->name));
    *global = (uint32_t)table->count + 1;
    FORWARD(lookup_set(&table->by_name, key, *global));
    table->count++;
    return 0;
}

static bool has_name(const struct file_table *table, uint32_t global, const struct statement *statement)
{
    const struct span *name = &table->row[global - 1].name;
    return name->len == statement->name_len && !memcmp(table->text.data + name->at, statement->name, name->len);
}

// Two names may share a hash; the second then lives under the next free key.
static int find_or_add(struct file_table *table, const struct statement *statement, uint32_t *global)
{
    uint64_t key = hash_bytes(0, statement->name, statement->name_len);
    while ((*global = lookup_find(&table->by_name, key)) != LOOKUP_NONE) {
        if (has_name(table, *global, statement)) return 0;
        key++;
    }
    return add_row(table, statement, key, global);
}

int file_table_add(struct file_table *table, struct fields_in body, uint64_t *local, uint32_t *global)
{
    struct statement statement;
    FORWARD(read_statement(body, &statement));
    FORWARD(find_or_add(table, &statement, global));
    *local = statement.number[FILE_ID];

    struct file_row *row = &table->row[*global - 1];
    for (unsigned key = FILE_DEVICE; key < FILE_KEYS; key++) {
        if (row->number[key] == 0) row->number[key] = statement.number[key];
    }
    if (statement.mount && row->mount.len == 0) {
        FORWARD(keep_text(table, statement.mount, statement.mount_len, &row->mount));
    }
    return 0;
}

int file_table_set_mounts(struct file_table *table, const struct mounts *mounts)
{
    for (size_t i = 0; i < table->count; i++) {
        struct file_row *row = &table->row[i];
        if (row->mount.len || !row->number[FILE_DEVICE]) continue;
        const char *name = (const char *)table->text.data + row->name.at;
        const struct mount *mount = mounts_find(mounts, row->number[FILE_DEVICE], name, row->name.len);
        if (!mount) continue;
        FORWARD(keep_text(table, (const uint8_t *)mount->point, strlen(mount->point), &row->mount));
        FORWARD(keep_text(table, (const uint8_t *)mount->type, strlen(mount->type), &row->fs_name));
    }
    return 0;
}

bool file_table_has_device(const struct file_table *table, uint64_t device)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->row[i].number[FILE_DEVICE] == device) return true;
    }
    return false;
}

int file_table_write(const struct file_table *table, struct log_writer *w)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct file_row *row = &table->row[i];
        struct fields_out out;
        FORWARD(log_writer_begin(w, &out, RECORD_FILE, FILE_ROOM + row->name.len + row->mount.len + row->fs_name.len));
        fields_number(&out, FILE_ID, i + 1);
        fields_bytes(&out, FILE_NAME, table->text.data + row->name.at, row->name.len);
        for (unsigned key = FILE_DEVICE; key < FILE_KEYS; key++) {
            if (row->number[key]) fields_number(&out, key, row->number[key]);
        }
        if (row->mount.len) fields_bytes(&out, FILE_MOUNT, table->text.data + row->mount.at, row->mount.len);
        if (row->fs_name.len) fields_bytes(&out, FILE_FS_NAME, table->text.data + row->fs_name.at, row->fs_name.len);
        FORWARD(log_writer_end(w, &out));
    }
    return 0;
}

void file_table_free(struct file_table *table)
{
    free(table->row);
    bytes_free(&table->text);
    lookup_free(&table->by_name);
    *table = (struct file_table){0};
}
