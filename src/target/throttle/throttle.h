// A throttled target: a real file system (xfs or ext4) on a loop device whose bandwidth and dirty pages are limited,
// and a cgroup whose memory, and so its page cache, is limited. For root.
//
// A guard (guard.h) watches over each target. A state file in /run/ioseer says what a target consists of, and is
// written before the parts are made. If guard and keeper were killed together, throttle_stop() and
// throttle_remove_dead() read it and remove what is left.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "target/guard.h"

struct throttle_options {
    const char *folder; // holds the device's data, in an unnamed file
    const char *mount;  // absolute
    uint64_t size_bytes;
    const char *type;        // "xfs" or "ext4"
    uint64_t read_bandwidth; // bytes per second, 0: no limit
    uint64_t write_bandwidth;
    uint64_t dirty_bytes;  // 0: no limit
    uint64_t memory_bytes; // of the cgroup for programs that use the target, 0: no cgroup
};

// Makes this process the guard of a target, see guard_run().
int throttle_serve(const struct throttle_options *options, target_ready *ready, void *context);

// Removes what is left of every target whose guard and keeper were killed.
void throttle_remove_dead(void);

// Whether a throttled target, or what is left of one, is at this place.
bool throttle_is_at(const char *mount);

// Removes it and waits until everything is gone. -EBUSY if it is in use; with `force` it goes when its last user ends.
// ERR_NOTHING if there is none, -ETIMEDOUT if its processes do not end.
int throttle_stop(const char *mount, bool force);

// Whether bandwidth is limited only for processes that called throttle_enter() (cgroup version 2).
bool throttle_limits_runs_only(void);

// Puts this process into the target's cgroup; ERR_NOTHING if it has none.
int throttle_enter(const char *mount);
