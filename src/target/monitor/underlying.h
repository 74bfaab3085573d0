// The block devices that a file system's data lies on: its device, the disk of a partition, the devices of a logical
// volume, those under the file behind a loop device. They come from the kernel's lists alone. Nothing accesses the file
// system, because one that hangs would block the caller.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mounts.h"

#define UNDERLYING_SYS "/sys/dev/block"

enum { UNDERLYING_MOST = 64 }; // devices listed for one file system

struct underlying {
    uint64_t device[UNDERLYING_MOST];
    size_t count;
};

// `device` is as in st_dev; `sys` is UNDERLYING_SYS or a directory like it. The list starts with `device` itself.
void underlying_list(struct underlying *underlying, uint64_t device, const struct mounts *mounts, const char *sys);

bool underlying_has(const struct underlying *underlying, uint64_t device);
