#include "reduce/part.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "fmt/block.h"
#include "fmt/records.h"

enum { BLOCK_BYTES = 256 << 10, FILE_ROOM = 128 };

// --- records

static int put_file(struct bytes *raw, struct fields_in fields, uint64_t number, const struct mounts *mounts) {
    struct field f[FILE_OBJECT + 1];
    const struct mount *mount = NULL;
    size_t room = (size_t)(fields.end - fields.at) + FILE_ROOM;
    FORWARD(fields_by_key(fields, f, FILE_OBJECT + 1));
    if (f[FILE_DEVICE].number) {
        mount = mounts_find(mounts, f[FILE_DEVICE].number, (const char *)f[FILE_NAME].data, f[FILE_NAME].len);
        if (!mount) mount = mounts_of_device(mounts, f[FILE_DEVICE].number); // through a symbolic link
    }
    if (mount) room += strlen(mount->point) + strlen(mount->type);
    uint8_t *at = bytes_reserve(raw, room);
    RETURN_IF(!at, -ENOMEM);
    struct fields_out out = {.at = at, .end = at + room};
    fields_begin(&out, RECORD_FILE);
    if (!raw->len) fields_number(&out, FILE_ID, number); // others follow each other
    fields_copy(&out, fields);
    if (mount) fields_string(&out, FILE_MOUNT, mount->point);
    if (mount) fields_string(&out, FILE_FS_NAME, mount->type);
    fields_end(&out);
    RETURN_IF(out.overflow, ERR_LIMIT);
    raw->len += (size_t)(out.at - at);
    return 0;
}

// What the next call of one rank would be compared with says nothing about several.
static void drop_state(uint64_t *value) {
    memset(&value[COUNTER_LAST_BYTE_READ], 0, (COUNTER_INDEP_OPENS - COUNTER_LAST_BYTE_READ) * sizeof *value);
}

// Their file is the one of the record before them.
static int put_counters(struct bytes *raw, struct fields_in fields) {
    struct spill_counters entry;
    struct counters_ranks ranks;
    uint32_t process;
    FORWARD(counters_get(fields, &process, &entry));
    FORWARD(counters_get_ranks(fields, &entry.counters, &ranks));
    uint8_t *at = bytes_reserve(raw, COUNTERS_MAX_RECORD);
    RETURN_IF(!at, -ENOMEM);
    struct fields_out out = {.at = at, .end = at + COUNTERS_MAX_RECORD};
    drop_state(entry.counters.value);
    counters_put_reduced(&out, &entry, &ranks);
    RETURN_IF(out.overflow, ERR_LIMIT);
    raw->len += (size_t)(out.at - at);
    return 0;
}

static int put_entry(struct bytes *raw, struct fields_in body, uint64_t number, const struct mounts *mounts) {
    struct fields_in fields;
    unsigned kind;
    int more;
    while ((more = fields_next_record(&body, &kind, &fields)) > 0) {
        if (kind == RECORD_FILE) FORWARD(put_file(raw, fields, number, mounts));
        if (kind == RECORD_COUNTERS) FORWARD(put_counters(raw, fields));
    }
    return more;
}

// --- blocks

static int end_block(struct reduce_blocks *blocks, struct bytes *raw) {
    struct log_block block = {.type = BLOCK_RECORDS};
    uint64_t offset = blocks->stored.len;
    if (!raw->len) return 0;
    FORWARD(log_block_append(&block, raw->data, raw->len, &blocks->stored));
    raw->len = 0;
    return array_push(blocks->entry, blocks->count, (struct part_entry){offset, block.stored_len});
}

int reduce_blocks_make(struct reduce_blocks *blocks, const struct reduce_set *set, uint64_t first,
                       const struct mounts *mounts) {
    struct fields_in in = fields_of(&set->data);
    struct reduce_entry entry;
    struct bytes raw = {0};
    int code = 0, more;
    while (code == 0 && (more = reduce_entry_next(&in, &entry)) > 0) {
        code = first > UINT32_MAX ? ERR_LIMIT : put_entry(&raw, entry.body, first++, mounts);
        if (code == 0 && raw.len >= BLOCK_BYTES) code = end_block(blocks, &raw);
    }
    if (code == 0) code = more < 0 ? more : end_block(blocks, &raw);
    bytes_free(&raw);
    return code;
}

void reduce_blocks_free(struct reduce_blocks *blocks) {
    bytes_free(&blocks->stored);
    free(blocks->entry);
}

// --- files

static int name_file(const struct part_place *place, const char *name, char path[PATH_MAX]) {
    char numbered[PART_NAME_ROOM];
    part_file_name(numbered, name, place->number);
    return snprintf(path, PATH_MAX, "%s/%s", place->folder, numbered) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int open_file(const struct part_place *place, const char *name, int flags) {
    char path[PATH_MAX];
    FORWARD(name_file(place, name, path));
    int fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
    return fd < 0 ? -errno : fd;
}

// Network file systems report a full disk only when a file is closed.
static int close_file(int fd, int code) {
    if (fd >= 0 && close(fd) && code == 0) code = -errno;
    return code;
}

static int write_at(int fd, const uint8_t *data, size_t len, uint64_t offset) {
    while (len) {
        ssize_t done = pwrite(fd, data, len, (off_t)offset);
        if (done < 0 && errno == EINTR) continue;
        RETURN_IF(done <= 0, done ? -errno : -EIO);
        data += done;
        len -= (size_t)done;
        offset += (uint64_t)done;
    }
    return 0;
}

static int write_file(const struct part_place *place, const char *name, const uint8_t *data, size_t len,
                      uint64_t offset) {
    int fd = open_file(place, name, 0);
    RETURN_IF(fd < 0, fd);
    return close_file(fd, write_at(fd, data, len, offset));
}

int reduce_part_create(struct part_place *place) {
    int fd = -EEXIST;
    for (place->number = 0; place->number < PART_MOST; place->number++) {
        fd = open_file(place, PART_BLOCKS, O_CREAT | O_EXCL);
        if (fd != -EEXIST) break;
    }
    RETURN_IF(fd < 0, fd);
    FORWARD(close_file(fd, 0));
    fd = open_file(place, PART_INDEX_NEW, O_CREAT | O_EXCL);
    return close_file(fd, fd < 0 ? fd : 0);
}

int reduce_part_write(const struct part_place *place, const struct reduce_blocks *blocks, uint64_t offset,
                      uint64_t before) {
    if (!blocks->count) return 0;
    FORWARD(write_file(place, PART_BLOCKS, blocks->stored.data, blocks->stored.len, offset));
    struct bytes entries = {0};
    uint8_t *at = bytes_reserve(&entries, blocks->count * PART_ENTRY_BYTES);
    RETURN_IF(!at, -ENOMEM);
    for (size_t i = 0; i < blocks->count; i++) {
        const struct part_entry entry = {offset + blocks->entry[i].offset, blocks->entry[i].stored_len};
        part_entry_put(at + i * PART_ENTRY_BYTES, &entry);
    }
    int code = write_file(place, PART_INDEX_NEW, at, blocks->count * PART_ENTRY_BYTES,
                          PART_HEAD_BYTES + before * PART_ENTRY_BYTES);
    bytes_free(&entries);
    return code;
}

int reduce_part_commit(const struct part_place *place, const struct part_head *head) {
    uint8_t bytes[PART_HEAD_BYTES];
    char from[PATH_MAX], to[PATH_MAX];
    part_head_put(bytes, head);
    FORWARD(write_file(place, PART_INDEX_NEW, bytes, sizeof bytes, 0));
    FORWARD(name_file(place, PART_INDEX_NEW, from));
    FORWARD(name_file(place, PART_INDEX, to));
    return rename(from, to) ? -errno : 0;
}
