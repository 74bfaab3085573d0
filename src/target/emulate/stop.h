// How ioseer's mounts are recognised in the list of mounts: the guard's process id is part of their source.
#pragma once

#include <sys/types.h>

struct emulate_source {
    char text[32];
};
struct emulate_source emulate_source(pid_t guard);

// The guard of the mount at this place, 0 if the uppermost mount there is not ioseer's.
pid_t emulate_guard_of(const char *mount);
