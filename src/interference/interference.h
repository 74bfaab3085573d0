// Programs that ran at once on one stack: which server they got in each other's way at, what each lost by it, and what
// keeping one of them off that server would give.
//
// A request is *shared* if its server had requests of another program at the same time. What it would have taken alone
// is the mean of like requests: of the program's run alone if there is one, else of its own requests that nobody
// disturbed; on the same server if there are any, else on all.
#pragma once

#include <stdbool.h>

#include "base/problem.h"
#include "interference/load.h"

struct interference_job {
    const char *name; // set by the caller, like the next three
    struct log *log;
    struct log *alone; // NULL: its undisturbed requests stand for it
    const char *alone_name;
    struct load load, alone_load;
    double run_time;     // seconds, like all times here
    double alone_time;   // NAN without a run alone
    double lost_seconds; // against the run alone; without it, the estimate of the process that lost the most. NAN: most
                         // shared requests have no undisturbed ones like them
    double slowdown;     // run time over what it would have been; NAN likewise
    double gain_low, gain_high; // if the job that interference.mover names keeps off the overloaded server; or NAN
};

struct interference_server {
    bool used;
    double shared_seconds; // in which requests of several programs were there at once
    double first, last;    // when that began and ended, since the start of the first program
    double overload;       // how many times as long shared requests of `victim` took as they would have alone
    size_t victim;         // the job that this is the most for; with nothing shared the overload is 1
    double lost_seconds;   // that the programs lost there together, by the estimates
    double *share;         // by job: of the bytes; of the requests if nobody moved bytes
};

struct interference {
    struct interference_job *job;
    size_t jobs;
    struct interference_server *server;
    size_t servers;
    int overloaded;  // number of the server; -1: none stands out
    int mover;       // index of the job that should keep off it; -1: none
    bool by_pinning; // the mover uses no other server: its files belong on another one
    int target;      // then this one
    char advice[2048];
};

// Fills everything else. ERR_NOTHING if the jobs were not on one stack or not at the same time; `problem` says which.
int interference_find(struct interference *interference, struct problem *problem);
void interference_free(struct interference *interference); // not the logs
