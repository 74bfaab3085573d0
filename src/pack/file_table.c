#include "pack/file_table.h"

#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/err.h"
#include "fmt/records.h"

enum { FILE_KEYS = FILE_TYPE + 1, FILE_FIELDS = FILE_OBJECT + 1, FILE_ROOM = 128, MAX_NAME_BYTES = 1 << 16 };

struct file_row {
    uint32_t mount;             // of file_table.texts; 0 is not known
    uint32_t fs_name;           // the same
    uint32_t stripes;           // the same: each with its length before it
    uint32_t id;                // in the log; 0: that of the row
    bool is_known;              // the log has it already
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
        if (!mount) mount = mounts_of_device(mounts, row->number[FILE_DEVICE]); // through a symbolic link
        if (!mount) continue;
        FORWARD(intern_add(&table->texts, mount->point, strlen(mount->point), &row->mount));
        FORWARD(intern_add(&table->texts, mount->type, strlen(mount->type), &row->fs_name));
    }
    return 0;
}

static bool is_text(const struct file_table *table, uint32_t number, const char *text) {
    size_t len = strlen(text);
    return number && intern_len(&table->texts, number) == len && !memcmp(intern_data(&table->texts, number), text, len);
}

static bool is_object(const struct file_table *table, uint32_t file) {
    return memchr(intern_data(&table->names, file), 0, intern_len(&table->names, file));
}

uint32_t file_table_mount(const struct file_table *table, uint32_t file, const char *type) {
    const struct file_row *row = &table->row[file - 1];
    bool matches = S_ISREG(row->number[FILE_TYPE]) && is_text(table, row->fs_name, type) && !is_object(table, file);
    return matches ? row->mount : 0;
}

int file_table_set_stripes(struct file_table *table, uint32_t file, const struct stripe *stripes, size_t count) {
    struct bytes all = {0};
    int code = 0;
    for (size_t i = 0; i < count && code == 0; i++) {
        uint8_t room[STRIPE_MAX_BYTES];
        size_t len = (size_t)(stripe_put(room, &stripes[i]) - room);
        code = bytes_append_varint(&all, len);
        if (code == 0) code = bytes_append(&all, room, len);
    }
    if (code == 0) code = intern_add(&table->texts, all.data, all.len, &table->row[file - 1].stripes);
    bytes_free(&all);
    return code;
}

bool file_table_uses_mount(const struct file_table *table, uint64_t device, const char *point) {
    size_t point_len = strlen(point);
    for (uint32_t file = 1; file <= table->count; file++) {
        const struct file_row *row = &table->row[file - 1];
        if (row->number[FILE_DEVICE] != device) continue;
        const char *name = (const char *)intern_data(&table->names, file);
        if (row->mount ? is_text(table, row->mount, point)
                       : mounts_lies_under(name, intern_len(&table->names, file), point, point_len))
            return true;
    }
    return false;
}

uint64_t file_table_inode(const struct file_table *table, uint32_t id) { return table->row[id - 1].number[FILE_INODE]; }

uint64_t file_table_device(const struct file_table *table, uint32_t id) {
    return table->row[id - 1].number[FILE_DEVICE];
}

bool file_table_is_under(const struct file_table *table, uint32_t id, const uint8_t *mount, size_t len) {
    uint32_t known = table->row[id - 1].mount; // of a link, not where its name is
    const struct intern *texts = known ? &table->texts : &table->names;
    const uint8_t *text = intern_data(texts, known ? known : id);
    size_t text_len = intern_len(texts, known ? known : id);
    return mounts_lies_under((const char *)text, text_len, (const char *)mount, len);
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

static void put_stripes(struct fields_out *out, const struct intern *texts, uint32_t number) {
    if (!number) return;
    const uint8_t *at = intern_data(texts, number), *end = at + intern_len(texts, number);
    for (uint64_t len; at < end && (at = varint_get(at, end, &len)); at += len) fields_bytes(out, FILE_STRIPE, at, len);
}

static void put_name(struct fields_out *out, const struct intern *names, uint32_t number) {
    const uint8_t *name = intern_data(names, number);
    size_t len = intern_len(names, number), name_len = strnlen((const char *)name, len);
    fields_bytes(out, FILE_NAME, name, name_len);
    if (name_len < len) fields_bytes(out, FILE_OBJECT, name + name_len + 1, len - name_len - 1);
}

void file_table_number(struct file_table *table, uint32_t first, file_table_known *known, const struct pack *pack) {
    for (uint32_t id = 1; id <= table->count; id++) {
        struct file_row *row = &table->row[id - 1];
        uint32_t there = known(pack, intern_data(&table->names, id), intern_len(&table->names, id));
        row->is_known = there;
        row->id = there ? there : first + id;
    }
}

uint32_t file_table_id(const struct file_table *table, uint32_t file) {
    uint32_t id = table->row[file - 1].id;
    return id ? id : file;
}

void file_table_write(const struct file_table *table, struct log_writer *w) {
    for (uint32_t id = 1; id <= table->count; id++) {
        const struct file_row *row = &table->row[id - 1];
        if (row->is_known) continue;
        size_t room = intern_len(&table->names, id) + intern_len(&table->texts, row->mount) +
                      intern_len(&table->texts, row->fs_name) + 2 * intern_len(&table->texts, row->stripes) + FILE_ROOM;
        struct fields_out *out = log_writer_begin(w, RECORD_FILE, room);
        fields_number(out, FILE_ID, file_table_id(table, id));
        put_name(out, &table->names, id);
        for (unsigned key = FILE_DEVICE; key < FILE_KEYS; key++) {
            if (row->number[key]) fields_number(out, key, row->number[key]);
        }
        put_text(out, FILE_MOUNT, &table->texts, row->mount);
        put_text(out, FILE_FS_NAME, &table->texts, row->fs_name);
        put_stripes(out, &table->texts, row->stripes);
        log_writer_end(w);
    }
}

void file_table_free(struct file_table *table) {
    intern_free(&table->names);
    intern_free(&table->texts);
    free(table->row);
    *table = (struct file_table){0};
}
