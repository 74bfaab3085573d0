// Watches the machine's block devices in the background, in a thread of its own.
#pragma once

#include "base/bytes.h"

struct monitor;

// Where the kernel tells what; NULL is the usual place.
struct monitor_places {
    const char *diskstats;
    const char *sys; // beneath.h
    const char *mountinfo;
};

// Takes the first look. Fails where the kernel does not tell.
int monitor_start(struct monitor **monitor, const struct monitor_places *places);

// Takes the last look and puts a RECORD_DEVICE for each device that did something. Frees the monitor in any case.
int monitor_stop(struct monitor *monitor, const char *host, struct bytes *records);
