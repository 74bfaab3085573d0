// Where emulated storage of either kind (emulate/, throttle/) is mounted: its name, starting it and ending it.
// `given` is the name that the user gave, for messages.
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "base/problem.h"
#include "target/guard.h"

// The name of a mount as in the list of mounts. A path to a mount with a dead or hanging server cannot be resolved, so
// its last component stays as it is if one of ioseer's mounts has that name.
int place_name(const char *given, char name[PATH_MAX]);

// emulate_serve, throttle_serve or the like with their options in `what`.
typedef int place_serve(const void *what, target_ready *ready, void *context);

// Runs `serve` in a process that survives this one, and returns when that has called `ready`.
int place_in_background(place_serve *serve, const void *what, struct target_outcome *outcome);

// Runs `serve` for an empty directory: in a process that survives this one or, in the foreground, in this process.
int place_start(const char *given, const char *mount, place_serve *serve, const void *what, bool in_foreground,
                struct problem *problem);

// Removes what is mounted there; with `force` even while it is in use.
int place_stop(const char *given, bool force, struct problem *problem);
