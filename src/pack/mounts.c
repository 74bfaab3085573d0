// Copies what the hosts of the job knew about the mounts of its files into the log.
#include <stdio.h>
#include <string.h>

#include "fmt/nfs_counts.h"
#include "pack/private.h"

enum { MAX_TEXT_BYTES = 1 << 16 };

static bool is_good(const struct field *field) {
    struct nfs_operation operation;
    if (field->key == MOUNT_NFS_OPERATION)
        return field->is_bytes && nfs_operation_get(&operation, field->data, field->len) == 0;
    if (field->key == MOUNT_DEVICE || field->key == MOUNT_NFS_BYTES) return !field->is_bytes;
    return field->is_bytes && field->len <= MAX_TEXT_BYTES;
}

static void put_unread(struct fields_out *out, const struct pack *pack, const char *point) {
    for (size_t i = 0; i < pack->unread_count; i++) {
        const struct pack_unread *unread = &pack->unread[i];
        const struct intern *texts = &pack->files.texts;
        if (intern_len(texts, unread->mount) != strlen(point) ||
            memcmp(intern_data(texts, unread->mount), point, strlen(point)))
            continue;
        fields_number(out, MOUNT_UNREAD, unread->files);
        fields_string(out, MOUNT_UNREAD_WHY, unread->why);
    }
}

// Copies the fields that readers know. False if the record is bad, or has no file of the job.
static bool put_mount(struct fields_out *out, const struct pack *pack, struct fields_in body) {
    struct field field, f[MOUNT_HOST + 1];
    char point[4096];
    if (fields_by_key(body, f, MOUNT_HOST + 1) < 0 || !f[MOUNT_POINT].len) return false;
    snprintf(point, sizeof point, "%.*s", (int)f[MOUNT_POINT].len, (const char *)f[MOUNT_POINT].data);
    if (!file_table_uses_mount(&pack->files, f[MOUNT_DEVICE].number, point)) return false;
    while (fields_next(&body, &field) > 0) {
        if (field.key < MOUNT_POINT || field.key > MOUNT_NFS_OPERATION || !is_good(&field)) continue;
        if (field.is_bytes) {
            fields_bytes(out, field.key, field.data, field.len);
        } else {
            fields_number(out, field.key, field.number);
        }
    }
    put_unread(out, pack, point);
    return true;
}

void pack_write_mounts(struct pack *pack) { pack_write_kind(pack, RECORD_MOUNT, put_mount); }
