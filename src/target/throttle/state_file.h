// State files of throttled targets in /run/ioseer, one per target: what it consists of. Such a file is complete or does
// not exist, whenever its writer is killed.
#pragma once

#include <limits.h>
#include <sys/types.h>

enum { THROTTLE_NAME_BYTES = 32 };

struct throttle_state {
    char name[THROTTLE_NAME_BYTES]; // of the file, and of the cgroup
    pid_t guard, keeper;
    int loop; // number of the loop device, -1: none yet
    char mount[PATH_MAX];
};

// The state of a new target at this place, guarded by this process; not written yet.
struct throttle_state throttle_state_for(const char *mount);

int throttle_state_create(const struct throttle_state *state); // -EEXIST if the place has one
int throttle_state_set_loop(struct throttle_state *state, int loop);
int throttle_state_read(struct throttle_state *state, const char *mount);

// Several processes may find a dead target; one at a time may remove it. Returns a descriptor to close after that, or
// ERR_NOTHING: another process has removed it, or does so for longer than the timeout.
int throttle_state_claim(const struct throttle_state *state, int timeout_ms);
void throttle_state_remove(const struct throttle_state *state);

// Calls `visit` for every state file.
void throttle_state_each(void (*visit)(const struct throttle_state *state));
