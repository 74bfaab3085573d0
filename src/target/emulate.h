// Storage of given speed: a directory mounted a second time (FUSE), where every request takes as long as the device
// that is emulated would need. Everything else is as in the directory itself.
//
// Two processes stand behind a mount: a server, and a guard that takes the mount away when the server is gone, however
// that came. The server ends when the guard does. Only where both are killed at once does a dead mount stay;
// emulate_stop() removes it, and so does the next emulate_serve() at that place.
#ifndef IOSEER_TARGET_EMULATE_H
#define IOSEER_TARGET_EMULATE_H

#include <stdbool.h>

#include "target/device.h"

struct emulate_options {
    const char *backing; // absolute, as is `mount`
    const char *mount;
    struct device_settings device;
    bool kernel_cache; // the page cache lies above the emulated device; else every request reaches it
};

struct emulate_outcome {
    int code;      // 0: mounted
    char why[200]; // more about the code, in words; may be empty
};

// Called once it is known whether the mount is there. A negative result ends it again.
typedef int emulate_ready(const struct emulate_outcome *outcome, void *context);

// Makes this process the guard, mounts, and returns when the mount is gone: it was unmounted, or this process got
// SIGINT, SIGTERM or SIGHUP. This process must have no other children and no other threads.
int emulate_serve(const struct emulate_options *options, emulate_ready *ready, void *context);

enum emulate_state { EMULATE_NONE, EMULATE_SERVED, EMULATE_DEAD };
// What of ioseer's is mounted at this place.
enum emulate_state emulate_state_of(const char *mount);

// Unmounts, and waits until all is gone. -EBUSY where it is in use; with `force` its users get errors instead.
// ERR_NOTHING where `mount` is not a mount of ours, -ETIMEDOUT where its processes do not end.
int emulate_stop(const char *mount, bool force);

#endif
