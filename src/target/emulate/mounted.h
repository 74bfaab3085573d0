// How a mount of ours is known in the list of mounts: the guard's process id is part of its source.
#pragma once

#include <sys/types.h>

struct emulate_source {
    char text[32];
};
struct emulate_source emulate_source(pid_t guard);

// The guard of the mount at this place, 0 where the uppermost one there is not ours.
pid_t emulate_guard_of(const char *mount);
