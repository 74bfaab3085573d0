// What the kernel can be told to limit: the bandwidth of a block device, its dirty pages, the memory (and with it the
// page cache) of a group of processes.
//
// Bandwidth is limited in the root group of the blkio controller (cgroup version 1), where it holds for all that use
// the device, delayed writes included. Version 2 knows no limits for the root group: there it holds for the processes
// of a group only, as the memory limit does everywhere.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct limits {
    const char *system;   // "/sys"
    char blkio[PATH_MAX]; // controllers of version 1, empty where there is none
    char memory[PATH_MAX];
    char unified[PATH_MAX]; // version 2, where it has the controller for I/O
};

// Looks for the controllers in a list like /proc/self/mounts.
void limits_find(struct limits *bounds, const char *mounts, const char *system);
// Whether bandwidth is limited for those in the group only.
bool limits_are_of_group(const struct limits *bounds);

// All give 0 or a negative code; ERR_NOTHING where the kernel has no such limit. A limit of 0 is none.
int limits_bandwidth(const struct limits *bounds, const char *group, dev_t device, uint64_t read, uint64_t write);
int limits_dirty(const struct limits *bounds, dev_t device, uint64_t bytes);
// Makes the group where it is needed: for a limit of its memory, or for bandwidth.
int limits_make_group(const struct limits *bounds, const char *group, uint64_t memory);
// Puts this process into the group; all that it starts will be in it, too. ERR_NOTHING where there is no such group.
int limits_enter_group(const struct limits *bounds, const char *group);
// Puts its processes back and removes it.
int limits_drop_group(const struct limits *bounds, const char *group);
