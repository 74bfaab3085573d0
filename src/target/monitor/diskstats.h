// The kernel's counters of all block devices, from /proc/diskstats.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "fmt/device_samples.h"

struct diskstats_row {
    uint64_t device; // as in st_dev
    char name[32];
    uint64_t count[DEVICE_COUNTERS]; // since the device exists
};

struct diskstats {
    struct diskstats_row *row;
    size_t count;
};

// Reads a file in the format of /proc/diskstats in place of what `stats` held. Skips lines that it cannot parse.
int diskstats_read(struct diskstats *stats, const char *path);
void diskstats_free(struct diskstats *stats);
