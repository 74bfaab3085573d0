// How a run is ended: all that descends from its `record` gets a SIGTERM, and what still runs a little later is killed.
// Nothing escapes, because `record` is the parent of what its descendants leave behind. `record` itself gets no signal:
// it makes the log when nothing runs any more.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct lab_ending {
    pid_t record;
    uint64_t start_ticks; // of that process
    int64_t begun_ns;     // CLOCK_MONOTONIC; 0: not yet
};

// Does what is to be done now. To be called again until `record` has ended.
void lab_ending_step(struct lab_ending *ending);

// A guard is a process that cleans up if this one dies before: it ends the run, and removes the lab's own directory.
struct lab_guard {
    int fd;        // -1: there is none
    char work[64]; // an empty directory, for mounts
};

// To be called before any thread starts. Returns twice: true in the guard, when its work is done.
bool lab_guard_start(struct lab_guard *guard);
// The process that the guard has to end; 0: none.
void lab_guard_tell(const struct lab_guard *guard, pid_t record);
