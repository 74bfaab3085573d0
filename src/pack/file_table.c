#include "pack/file_table.h"

#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "fmt/records.h"

enum { FILE_KEYS = FILE_TYPE + 1, FILE_FIELDS = FILE_OBJECT + 1, FILE_ROOM = 128, MAX_NAME_BYTES = 1 << 16 };

struct file_row {
    uint32_t mount;             // of file_table.texts; 0 is not known
    uint32_t fs_name;           // the same
    uint64_t number[FILE_KEYS]; // by key; 0 is not known
};

// An object has the name of its file, a zero byte, its path.
static int add_name(struct file_table *table, const struct field *name, const struct field *object, uint32_t *global) {
    if (!object->len) return intern_add(&table->names, name->data, name->len, global);
    struct bytes both = {0};
    int code = bytes_append(&both, name->data, name->len);
    if (!code) code = bytes_append(&both, "", 1);
    if (!code) code = bytes_append(&both, object->data, object->len);
    if (!code) code = intern_add(&table->names, both.data, both.len, global);
    bytes_free(&both);
    return code;
}

int file_table_add(struct file_table *table, struct fields_in body, uint32_t *local, uint32_t *global) {
    struct field f[FILE_FIELDS];
    const struct field *name = &f[FILE_NAME], *mount = &f[FILE_MOUNT], *object = &f[FILE_OBJECT];
    FORWARD(fields_by_key(body, f, FILE_FIELDS));
    RETURN_IF(name->len == 0 || f[FILE_ID].number == 0 || f[FILE_ID].number > UINT32_MAX, ERR_FORMAT);
    RETURN_IF(name->len > MAX_NAME_BYTES || mount->len > MAX_NAME_BYTES || object->len > MAX_NAME_BYTES, ERR_FORMAT);
    FORWARD(add_name(table, name, object, global));
    if (*global > table->count) FORWARD(array_push(table->row, table->count, (struct file_row){0}));
    *local = (uint32_t)f[FILE_ID].number;
    struct file_row *row = &table->row[*global - 1];
    for (unsigned key = FILE_DEVICE; key < FILE_KEYS; key++) {
        if (row->number[key] == 0) row->number[key] = f[key].number;
    }
    if (!mount->len || row->mount) return 0;
    return intern_add(&table->texts, mount->data, mount->len, &row->mount);
}

int file_table_set_mounts(struct file_table *table, const struct mounts *mounts) {
    for (size_t i = 0; i < table->count; i++) {
        struct file_row *row = &table->row[i];
        if (row->mount || !row->number[FILE_DEVICE]) continue;
        const char *name = (const char *)intern_data(&table->names, (uint32_t)i + 1);
        size_t len = intern_len(&table->names, (uint32_t)i + 1);
        const struct mount *mount = mounts_find(mounts, row->number[FILE_DEVICE], name, len);
        if (!mount) continue;
        FORWARD(intern_add(&table->texts, mount->point, strlen(mount->point), &row->mount));
        FORWARD(intern_add(&table->texts, mount->type, strlen(mount->type), &row->fs_name));
    }
    return 0;
}

bool file_table_has_device(const struct file_table *table, uint64_t device) {
    for (size_t i = 0; i < table->count; i++) {
        if (table->row[i].number[FILE_DEVICE] == device) return true;
    }
    return false;
}

static void put_text(struct fields_out *out, unsigned key, const struct intern *texts, uint32_t number) {
    if (number) fields_bytes(out, key, intern_data(texts, number), intern_len(texts, number));
}

static void put_name(struct fields_out *out, const struct intern *names, uint32_t number) {
    const uint8_t *name = intern_data(names, number);
    size_t len = intern_len(names, number), name_len = strnlen((const char *)name, len);
    fields_bytes(out, FILE_NAME, name, name_len);
    if (name_len < len) fields_bytes(out, FILE_OBJECT, name + name_len + 1, len - name_len - 1);
}

void file_table_write(const struct file_table *table, struct log_writer *w) {
    for (uint32_t id = 1; id <= table->count; id++) {
        const struct file_row *row = &table->row[id - 1];
        size_t room = intern_len(&table->names, id) + intern_len(&table->texts, row->mount) +
                      intern_len(&table->texts, row->fs_name) + FILE_ROOM;
        struct fields_out *out = log_writer_begin(w, RECORD_FILE, room);
        fields_number(out, FILE_ID, id);
        put_name(out, &table->names, id);
        for (unsigned key = FILE_DEVICE; key < FILE_KEYS; key++) {
            if (row->number[key]) fields_number(out, key, row->number[key]);
        }
        put_text(out, FILE_MOUNT, &table->texts, row->mount);
        put_text(out, FILE_FS_NAME, &table->texts, row->fs_name);
        log_writer_end(w);
    }
}

void file_table_free(struct file_table *table) {
    intern_free(&table->names);
    intern_free(&table->texts);
    free(table->row);
    *table = (struct file_table){0};
}
