// Starts the runner of replays, under the launcher of an MPI if the program needs one, and waits for its end.
#pragma once

#include <signal.h>

#include "base/problem.h"
#include "model/model.h"
#include "replay/contract.h"
#include "replay/workspace.h"

struct launch {
    const struct workspace *workspace;
    const struct model *model;
    const char *launcher;            // with {np}; NULL: that of the MPI that was recorded
    const char *group;               // cgroup of the runner, as process_enter_group takes it; or NULL
    bool recorded;                   // run it under `ioseer record`
    double stall;                    // seconds without the end of an operation that are too long; 0: none are
    const char *target;              // for messages; or NULL
    void (*progress)(void *context); // called several times a second while the runner works; or NULL
    void *context;
};

// Signals that would end this process wait from here on for launch_run(), so that the end is always a clean one.
void launch_hold_signals(sigset_t *before);
// Ends that, and returns the signal that came when no runner ran, 0: none.
int launch_release_signals(const sigset_t *before);

// Writes the job, runs it, and waits. A signal to this process ends the runner: -EINTR, with the signal in `problem`.
// So does a stall.
int launch_run(const struct launch *launch, struct replay_job job, struct problem *problem);

// The launcher of an MPI that is installed and has a runner; NULL: there is none.
const char *launch_default_launcher(void);
// "MPICH", "Open MPI", or "" for NULL: the MPI whose runner the launcher gets.
const char *launch_mpi_name(const char *launcher);
