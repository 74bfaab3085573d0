// Limits that the kernel can set: the bandwidth of a block device, its dirty pages, and the memory (with the page
// cache) of a cgroup.
//
// Bandwidth is limited in the root group of the blkio controller (cgroup version 1), where it applies to every user of
// the device, and to delayed writes. Version 2 has no limits for the root group: there it applies to the processes of
// one group only, as the memory limit always does.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct limits {
    const char *system;   // "/sys"
    char blkio[PATH_MAX]; // controllers of version 1, empty if there is none
    char memory[PATH_MAX];
    char unified[PATH_MAX]; // version 2, if it has the io controller
};

// Looks for the controllers in a file like /proc/self/mounts.
void limits_find(struct limits *limits, const char *mounts, const char *system);
// Whether bandwidth is limited only for processes in the group.
bool limits_are_of_group(const struct limits *limits);

// These return 0 or a negative code; ERR_NOTHING if the kernel has no such limit. A limit of 0 means none.
int limits_bandwidth(const struct limits *limits, const char *group, dev_t device, uint64_t read, uint64_t write);
int limits_dirty(const struct limits *limits, dev_t device, uint64_t bytes);
// Makes the group if memory or bandwidth needs one.
int limits_make_group(const struct limits *limits, const char *group, uint64_t memory);
// Puts this process, and so all that it will start, into the group. ERR_NOTHING if there is no such group.
int limits_enter_group(const struct limits *limits, const char *group);
// Moves its processes back to the root group and removes it.
int limits_drop_group(const struct limits *limits, const char *group);
