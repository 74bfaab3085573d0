// The kernel's counters of all block devices.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "fmt/device_samples.h"

struct diskstats_row {
    uint64_t device; // as st_dev has it
    char name[32];
    uint64_t count[DEVICE_COUNTERS]; // since the device is there
};

struct diskstats {
    struct diskstats_row *row;
    size_t count;
    size_t capacity;
};

// Reads a list in the form of /proc/diskstats over the one before; lines that make no sense are passed over.
int diskstats_read(struct diskstats *stats, const char *path);
void diskstats_free(struct diskstats *stats);
