// One run, from making its storage to its log.
#pragma once

#include <pthread.h>

#include "lab/child.h"
#include "lab/lab.h"
#include "lab/progress.h"

enum lab_stage { LAB_PREPARES, LAB_RUNS, LAB_PACKS, LAB_CLEANS_UP, LAB_ENDED };
extern const char *const lab_stage_names[];

struct lab_run {
    unsigned number; // from 1
    struct lab_plan plan;
    struct lab_child storage; // makes or keeps the storage
    struct lab_child record;
    struct lab_ending ending;
    // Under the lab's lock:
    enum lab_stage stage;
    uint64_t started_ns; // since the epoch
    struct lab_progress progress;
    bool is_stopping;
    int status;    // of `record`, as waitpid gives it; -1: it did not start
    int log;       // its number, -1: none
    char why[600]; // what went wrong, apart from the program itself; empty: nothing
};

struct lab {
    pthread_mutex_t lock;
    struct lab_options options;
    char logs[PATH_MAX];
    struct rlimit files; // of the programs; this process may need more
    struct lab_setup setup;
    struct lab_run **run; // the last one may be under way
    size_t runs;
    pthread_t thread; // of the last one
    bool has_thread;
};

// In its own thread: runs the last run.
void *lab_run_all(void *lab);
