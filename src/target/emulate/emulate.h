// Storage of a given speed: a directory mounted a second time through FUSE, where every request takes as long as the
// emulated storage would need. Everything else is as in the directory itself.
//
// A guard (guard.h) watches over each mount. If it and the server were killed at once, a dead mount stays behind.
// emulate_stop() removes it, and so does the next emulate_serve() at that place.
#pragma once

#include <stdbool.h>

#include "target/emulate/speed.h"
#include "target/guard.h"

struct emulate_options {
    const char *backing; // absolute, like `mount`
    const char *mount;
    struct speed_settings speed;
    bool kernel_cache; // the page cache lies above the emulated storage; otherwise every request reaches the storage
};

// Makes this process the guard of a mount, see guard_run().
int emulate_serve(const struct emulate_options *options, target_ready *ready, void *context);

// Such mounts are recognised in the list of mounts: the guard's process id is part of their source.
struct emulate_source {
    char text[32];
};
struct emulate_source emulate_source(pid_t guard);
// The guard of the mount at this place, 0 if the uppermost mount there is not ioseer's.
pid_t emulate_guard_of(const char *mount);

enum emulate_state { EMULATE_NONE, EMULATE_SERVED, EMULATE_DEAD };
// Whether one of ioseer's mounts is at this place.
enum emulate_state emulate_state_of(const char *mount);

// Unmounts and waits until everything is gone. -EBUSY if it is in use; with `force` its users get errors instead.
// ERR_NOTHING if `mount` is none of ioseer's mounts, -ETIMEDOUT if its processes do not end.
int emulate_stop(const char *mount, bool force);
