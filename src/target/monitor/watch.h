// What all block devices of a machine did over some time: a bounded number of looks at the kernel's counters, however
// long it takes. When there are too many, every second one is forgotten; nothing is missed by that, only the moments
// get coarser.
#pragma once

#include "base/bytes.h"
#include "target/monitor/diskstats.h"

enum { WATCH_MAX_LOOKS = 2000 };

struct watch_device {
    uint64_t device;
    char name[32];
    uint64_t last[DEVICE_COUNTERS];       // what the kernel said
    uint64_t total[DEVICE_COUNTERS];      // since the first look
    uint64_t (*history)[DEVICE_COUNTERS]; // the total at each look; NULL of a device that did nothing so far
};

struct watch {
    uint64_t look_ns[WATCH_MAX_LOOKS];
    size_t looks;
    unsigned halvings; // how often every second look was forgotten
    struct watch_device *device;
    size_t devices;
    size_t capacity;
};

// Takes a look at the moment `now_ns`, later than the one before.
int watch_look(struct watch *watch, uint64_t now_ns, const struct diskstats *stats);

// Puts the samples between the looks (fmt/device.h).
int watch_put_samples(const struct watch *watch, const struct watch_device *device, struct bytes *out);

void watch_free(struct watch *watch);
