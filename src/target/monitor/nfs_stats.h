// What this machine's NFS client has counted for each mount, from /proc/self/mountstats. Reading it asks no server.
#pragma once

#include <stddef.h>

#include "fmt/nfs_counts.h"

struct nfs_mount {
    char *point;
    uint64_t bytes[NFS_BYTES];
    struct nfs_operation *operation;
    size_t operations;
};

struct nfs_stats {
    struct nfs_mount *item; // in the order of the file
    size_t count;
};

// Skips what makes no sense. Without a file there are no mounts, which is no error.
int nfs_stats_read(struct nfs_stats *stats, const char *path);
void nfs_stats_free(struct nfs_stats *stats);

// The innermost mount at this point is the last one; NULL if there is none.
struct nfs_mount *nfs_stats_find(const struct nfs_stats *stats, const char *point);

// What was counted since `before`, which may be NULL. A counter that went back has restarted from 0.
void nfs_mount_since(struct nfs_mount *mount, const struct nfs_mount *before);
