// Which block devices the files of a file system lie on: its device, the disk of a partition, the devices that a
// logical volume is made of, those under the file behind a loop device. By the kernel's lists alone: no file system is
// asked, so one that hangs cannot hold anybody up.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mounts.h"

#define BENEATH_SYS "/sys/dev/block"

enum { BENEATH_MOST = 64 }; // devices under one file system that are looked for

struct underlying {
    uint64_t device[BENEATH_MOST];
    size_t count;
};

// `device` as st_dev has it; `sys` is BENEATH_SYS or a folder like it. Files without a block device have none.
void underlying_find(struct underlying *beneath, uint64_t device, const struct mounts *mounts, const char *sys);

bool underlying_has(const struct underlying *beneath, uint64_t device);
