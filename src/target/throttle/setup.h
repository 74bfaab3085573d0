// Makes and removes the parts of a throttled target: image file, loop device, file system, limits, mount.
#pragma once

#include "target/throttle/state_file.h"
#include "target/throttle/throttle.h"

// Makes all parts and keeps the existing state file up to date. On failure `outcome` has the code and the reason.
// Returns a descriptor that holds the loop device until it is closed, -1: none. Without it another process could get
// the device while it still has this target's limits.
int throttle_set_up(const struct throttle_options *options, struct throttle_state *state,
                    struct target_outcome *outcome);

// Removes the parts that exist; may be called twice. The mount is detached, so the rest goes with its last user.
void throttle_tear_down(const struct throttle_state *state);

// Whether the target's loop device is mounted at its place.
bool throttle_is_mounted(const struct throttle_state *state);
