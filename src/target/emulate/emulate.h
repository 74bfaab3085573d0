// Storage of given speed: a directory mounted a second time (FUSE), where every request takes as long as the device
// that is emulated would need. Everything else is as in the directory itself.
//
// A guard (guard.h) stands behind each mount. Where it and its server were killed at once a dead mount stays, which
// emulate_stop() removes, and the next emulate_serve() at that place.
#pragma once

#include <stdbool.h>

#include "target/emulate/speed.h"
#include "target/guard.h"

struct emulate_options {
    const char *backing; // absolute, as is `mount`
    const char *mount;
    struct device_settings device;
    bool kernel_cache; // the page cache lies above the emulated device; else every request reaches it
};

// Makes this process the guard of a mount, see guard_run().
int emulate_serve(const struct emulate_options *options, target_ready *ready, void *context);

enum emulate_state { EMULATE_NONE, EMULATE_SERVED, EMULATE_DEAD };
// What of ioseer's is mounted at this place.
enum emulate_state emulate_state_of(const char *mount);

// Unmounts, and waits until all is gone. -EBUSY where it is in use; with `force` its users get errors instead.
// ERR_NOTHING where `mount` is not a mount of ours, -ETIMEDOUT where its processes do not end.
int emulate_stop(const char *mount, bool force);
