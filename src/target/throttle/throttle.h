// A throttled target: a real file system (xfs or ext4) on a loop device with limited bandwidth and bounded dirty pages,
// and a group of processes with limited memory, and so with a small page cache. For root.
//
// A guard (guard.h) stands behind each. What it is made of is noted in a file in /run/ioseer before it is made, so that
// block_stop() and block_remove_dead() can remove what is left where guard and keeper were killed at once.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "target/guard.h"

struct block_options {
    const char *folder; // where the device's data lies, in a file without a name
    const char *mount;  // absolute
    uint64_t size_bytes;
    const char *type;        // "xfs" or "ext4"
    uint64_t read_bandwidth; // bytes per second, 0: no limit
    uint64_t write_bandwidth;
    uint64_t dirty_bytes;  // 0: no bound
    uint64_t memory_bytes; // of a group for the programs that use it, 0: no group
};

// Makes this process the guard of a target, see guard_run().
int block_serve(const struct block_options *options, target_ready *ready, void *context);

// Removes what is left of all targets whose guards and keepers were killed.
void block_remove_dead(void);

// Whether such a target, or what is left of one, is at this place.
bool block_is_at(const char *mount);

// Removes it and waits until all is gone. -EBUSY where it is in use; with `force` it goes when its last user has.
// ERR_NOTHING where there is none, -ETIMEDOUT where its processes do not end.
int block_stop(const char *mount, bool force);

// Whether bandwidths hold for processes that called block_enter() only (cgroups of version 2).
bool block_limits_runs_only(void);

// Puts this process into the group whose limits hold for the target; ERR_NOTHING where it has none.
int block_enter(const char *mount);
