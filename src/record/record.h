// Records a command and all its descendants: runs it with the recorder loaded, then packs what the processes left into
// a log. If preparing fails, the caller reports that and runs the command all the same.
#pragma once

#include "base/problem.h"
#include "record/environment.h"

struct record_result {
    int exec_error;         // errno if the command could not be started
    int status;             // of the command, as waitpid gives it
    bool is_guard;          // this process took over from a killed one (record/guard.h) and has no command
    bool packed;            // this process made the log; the members below are then valid
    int pack_code;          // 0, or why there is no log; the spill files are still there
    int remove_code;        // 0, or why the spill directory is still there
    struct pack_result log; // what is in it
    bool stack_failed;      // what the stack recorded could not be collected; the problem says why
    struct problem stack;
};

// "PROGRAM-YYYYmmdd-HHMMSS-PID.ioseer"
void record_default_name(const char *command, char name[256]);

// Whether the options make sense and the log's name is free; completes them. Before the command runs: afterwards it is
// too late to choose another name.
int record_check(struct record_options *options, struct problem *problem);

// Lets the stack's probes record, if the options name a stack. The log has their layers unless this fails.
int record_begin_stack(const struct record_job *job, struct problem *problem);

// Runs the command, recorded unless record_job_prepare failed. Returns a negative code if it could not be run or
// waited for. Returns twice, like fork, if a launcher kills this process: the second time in its guard.
int record_command(struct record_job *job, struct record_result *result);
