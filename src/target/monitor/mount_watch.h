// The machine's mounted file systems while a job runs, and what its NFS client counted for them. Reads only lists of
// the kernel: nothing asks a file system, which may hang.
#pragma once

#include "base/bytes.h"
#include "base/mounts.h"
#include "target/monitor/nfs_stats.h"

struct mount_watch {
    const char *mountinfo;
    const char *mountstats;
    struct mounts before;
    struct nfs_stats nfs_before;
};

// The paths are "/proc/self/mountinfo" and "/proc/self/mountstats", except in tests. What cannot be read is missing.
void mount_watch_start(struct mount_watch *watch, const char *mountinfo, const char *mountstats);

// Adds a RECORD_MOUNT for each mount that was there at the start or is there now, and releases everything.
int mount_watch_stop(struct mount_watch *watch, const char *host, struct bytes *records);
