// Mount points: what is mounted there, which processes use it, and how to unmount it, also without root's rights.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/problem.h"

struct mount_point_top {
    char type[64]; // of the file system, as in /proc/self/mounts
    char source[PATH_MAX];
};

// The uppermost mount at this place; false if nothing is mounted there.
bool mount_point_top(const char *mount, struct mount_point_top *top);

// 1, 0, or a negative code.
int mount_point_is_empty(const char *directory);

// Whether one directory is the other or lies in it; both names are absolute.
bool mount_point_contains(const char *outer, const char *inner);

// Writes the processes that have something under the mount open, mapped, or as their root or current directory:
// "fio (4711), bash (4712) and others". Empty if there are none; other users' processes may be hidden. The mount itself
// is not accessed, because it may hang.
void mount_point_users(const char *mount, char *text, size_t size);

// Fails with -EBUSY, and says who uses the mount; `given` is its name in the message.
int mount_point_in_use(const char *mount, const char *given, struct problem *problem);

// Also returns 0 if nothing is mounted there any more. A lazy unmount leaves the mount to its users; no other process
// sees it.
int unmount(const char *mount, bool lazily);

// Tries for a second before it returns -EBUSY: the kernel releases files a moment after they are closed.
int unmount_patiently(const char *mount);
