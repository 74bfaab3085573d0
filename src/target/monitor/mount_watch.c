#include "target/monitor/mount_watch.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "fmt/fields.h"
#include "fmt/records.h"

enum { MOUNT_ROOM = 128 };

void mount_watch_start(struct mount_watch *watch, const char *mountinfo, const char *mountstats) {
    *watch = (struct mount_watch){.mountinfo = mountinfo, .mountstats = mountstats};
    if (mounts_read(&watch->before, mountinfo) < 0) watch->before = (struct mounts){0};
    nfs_stats_read(&watch->nfs_before, mountstats);
}

static bool is_idle(const struct nfs_operation *operation) { return !operation->count[NFS_REQUESTS]; }

static void put_nfs(struct fields_out *out, const struct nfs_mount *nfs) {
    fields_indexed(out, MOUNT_NFS_BYTES, nfs->bytes, NFS_BYTES);
    for (size_t i = 0; i < nfs->operations; i++) {
        uint8_t room[NFS_OPERATION_MAX_BYTES];
        if (is_idle(&nfs->operation[i])) continue;
        const uint8_t *end = nfs_operation_put(room, &nfs->operation[i]);
        fields_bytes(out, MOUNT_NFS_OPERATION, room, (size_t)(end - room));
    }
}

static int put_mount(struct bytes *records, const struct mount *mount, const char *host, const struct nfs_mount *nfs) {
    const char *const text[] = {
        [MOUNT_POINT] = mount->point,     [MOUNT_TYPE] = mount->type, [MOUNT_SOURCE] = mount->source,
        [MOUNT_OPTIONS] = mount->options, [MOUNT_HOST] = host,
    };
    enum { TEXTS = sizeof text / sizeof *text };
    size_t room = MOUNT_ROOM + NFS_BYTES * VARINT_MAX_BYTES;
    for (unsigned key = 0; key < TEXTS; key++) room += text[key] ? strlen(text[key]) : 0;
    if (nfs) room += nfs->operations * (NFS_OPERATION_MAX_BYTES + VARINT_MAX_BYTES);
    uint8_t *at = bytes_reserve(records, room);
    RETURN_IF(!at, -ENOMEM);
    struct fields_out out = {.at = at, .end = at + room};
    fields_begin(&out, RECORD_MOUNT);
    for (unsigned key = 0; key < TEXTS; key++) {
        if (text[key]) fields_string(&out, key, text[key]);
    }
    fields_number(&out, MOUNT_DEVICE, mount->device);
    if (nfs) put_nfs(&out, nfs);
    fields_end(&out);
    records->len += (size_t)(out.at - at);
    return 0;
}

static bool has(const struct mounts *mounts, const struct mount *mount) {
    for (size_t i = 0; i < mounts->count; i++) {
        if (mounts->item[i].device == mount->device && !strcmp(mounts->item[i].point, mount->point)) return true;
    }
    return false;
}

static int put_mounts(const struct mount_watch *watch, const struct mounts *now, const struct nfs_stats *nfs,
                      const char *host, struct bytes *records) {
    for (size_t i = 0; i < watch->before.count; i++) {
        const struct mount *mount = &watch->before.item[i];
        if (!has(now, mount)) FORWARD(put_mount(records, mount, host, NULL));
    }
    for (size_t i = 0; i < now->count; i++) {
        struct nfs_mount *counts = nfs_stats_find(nfs, now->item[i].point);
        FORWARD(put_mount(records, &now->item[i], host, counts));
    }
    return 0;
}

int mount_watch_stop(struct mount_watch *watch, const char *host, struct bytes *records) {
    struct mounts now;
    struct nfs_stats nfs;
    if (mounts_read(&now, watch->mountinfo) < 0) now = (struct mounts){0};
    nfs_stats_read(&nfs, watch->mountstats);
    for (size_t i = 0; i < nfs.count; i++)
        nfs_mount_since(&nfs.item[i], nfs_stats_find(&watch->nfs_before, nfs.item[i].point));
    int code = put_mounts(watch, &now, &nfs, host, records);
    mounts_free(&now);
    mounts_free(&watch->before);
    nfs_stats_free(&nfs);
    nfs_stats_free(&watch->nfs_before);
    return code;
}
