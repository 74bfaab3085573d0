// Storage of given speed: a directory mounted a second time (FUSE), where every request takes as long as the device
// that is emulated would need. Everything else is as in the directory itself.
#ifndef IOSEER_TARGET_EMULATE_H
#define IOSEER_TARGET_EMULATE_H

#include <stdbool.h>

#include "target/device.h"

struct emulate_options {
    const char *backing;
    const char *mount;
    struct device_settings device;
    bool kernel_cache; // the page cache lies above the emulated device; else every request reaches it
};

// Called once the mount is there (code 0), or with what prevented it.
typedef void emulate_ready(int code, void *context);

// Serves the mount until it is unmounted or the process gets SIGINT, SIGTERM or SIGHUP; the mount is gone afterwards,
// also where the process is killed.
int emulate_serve(const struct emulate_options *options, emulate_ready *ready, void *context);

// Unmounts. -EBUSY where it is in use (unless lazy), ERR_NOTHING where `mount` is not a mount of ours.
int emulate_stop(const char *mount, bool lazy);

#endif
