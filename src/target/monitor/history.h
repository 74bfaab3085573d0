// What every block device of the machine did over time: readings of the kernel's counters, in bounded memory. When
// there are too many, every second reading is dropped. The totals stay exact; only the timing gets coarser.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "fmt/device_samples.h"

enum { HISTORY_MAX_READINGS = 2000 };

// The kernel's counters of all block devices, from /proc/diskstats.
struct diskstats_row {
    uint64_t device; // as in st_dev
    char name[32];
    uint64_t count[DEVICE_COUNTERS]; // since the device exists
};

struct diskstats {
    struct diskstats_row *row;
    size_t count;
};

// Replaces the contents of `stats` by those of a file in the format of /proc/diskstats. Skips lines that it cannot
// parse.
int diskstats_read(struct diskstats *stats, const char *path);
void diskstats_free(struct diskstats *stats);

struct history_device {
    uint64_t device;
    char name[32];
    uint64_t last[DEVICE_COUNTERS];      // as the kernel gave them
    uint64_t total[DEVICE_COUNTERS];     // since the first reading
    uint64_t (*totals)[DEVICE_COUNTERS]; // `total` at each reading; NULL while the device has done nothing
};

struct history {
    uint64_t read_ns[HISTORY_MAX_READINGS];
    size_t readings;
    unsigned halvings; // how often every second reading was dropped
    struct history_device *device;
    size_t devices;
};

// Adds a reading made at `now_ns`, which must be later than the one before.
int history_add(struct history *history, uint64_t now_ns, const struct diskstats *stats);

// Appends the samples between the readings (fmt/device_samples.h). The device must have done something.
int history_put_samples(const struct history *history, const struct history_device *device, struct bytes *out);

void history_free(struct history *history);
