// Watches the machine's block devices from a background thread.
#pragma once

#include "base/bytes.h"

struct monitor;

// Files of the kernel to read; NULL means the usual one.
struct monitor_places {
    const char *diskstats;
    const char *sys; // as in underlying.h
    const char *mountinfo;
};

// Makes the first reading and starts the thread. Fails if the kernel has no such counters.
int monitor_start(struct monitor **monitor, const struct monitor_places *places);

// Makes the last reading and appends a RECORD_DEVICE for each device that did something. Always frees the monitor.
int monitor_stop(struct monitor *monitor, const char *host, struct bytes *records);
