// The two folders of a replay: one on the storage for the files of the program, one in TMPDIR for the model, the
// result and the log. A guard cleans up when this process is killed: it ends the runner and removes the folders.
#pragma once

#include <stdbool.h>

enum workspace_file {
    WORKSPACE_MODEL,
    WORKSPACE_JOB,
    WORKSPACE_RESULT,
    WORKSPACE_LOG,   // of a recorded run
    WORKSPACE_ERROR, // standard error of the runner
    WORKSPACE_PHASE, // number of the phase that it is in
    WORKSPACE_SLOTS, // what its processes do
    WORKSPACE_FILES
};

struct workspace {
    char *folder; // on the storage
    char *work;   // in TMPDIR
    char *file[WORKSPACE_FILES];
    int folder_lock, work_lock; // descriptors
    int guard;                  // the pipe to it; -1: there is none
};

// Removes folders in both places that a killed ioseer left behind. The log of a recorded run stays at `log` unless that
// is NULL. Remove the workspace in any case, also after an error.
int workspace_make(struct workspace *workspace, const char *target, const char *log);
void workspace_remove(struct workspace *workspace, bool keep_files);
// Ends the processes with the work folder in their command line or environment and waits, five seconds at most, until
// they are gone.
void workspace_end_processes(const struct workspace *workspace);
// Removes the files of the run before.
void workspace_empty(const struct workspace *workspace);
