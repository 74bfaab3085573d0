// One replay after the other: a folder of its own on the target, the runner under its launcher, its result.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "model/model.h"
#include "replay/guard.h"

struct replay_settings {
    const char *target;   // directory in which the replay's own is made
    const char *launcher; // with {np}; NULL: the one of the MPI that was recorded
    const char *phases;   // or NULL
    const char *null;     // settings of the back end that does nothing, or NULL
    const char *cache;    // cold, warm or as-recorded
    const char *log;      // where the log of a recorded run stays, or NULL
    uint32_t program;
    uint32_t np;
    bool verify;
    bool think;
    bool keep;    // the files
    bool latency; // of single transfers is asked for
    bool drop;    // files from the page cache before they are opened
    bool durable; // syncs belong to the transfers before them
    bool probe;   // not the model, but names and messages: place->result is the caller's to read
};

struct replay_phase {
    double time;
    double others;
    double latency_p50, latency_p99; // of single transfers, where asked for
};

struct replay_result {
    struct replay_phase *phase; // by phase of the model
    double total;
    uint64_t wrong_bytes;
    uint64_t failed;
    uint64_t skipped;
    char first_failure[256];
    char first_skipped[64]; // call
};

struct replay_place {
    char *folder;    // on the target
    char *work;      // for the model, results and logs
    char *model;     // file
    char *result;    // file
    char *log;       // of a recorded run
    char *error;     // what the runner said
    char *phase;     // file with the number of the phase that it is in
    int folder_lock; // descriptor
    int work_lock;
    struct replay_guard guard;
    int signal;                                         // that ended it; 0: none
    void (*progress)(const struct replay_place *place); // called now and then while it runs; or NULL
};

enum { REPLAY_MOST_RUNS = 1000, REPLAY_MOST_PROCESSES = 1 << 20 };

// The program that moved the most bytes.
uint32_t replay_main_program(const struct model *model);
// One line where there are others, which are not `done`: replayed, predicted.
void replay_print_program(FILE *out, const struct model *model, uint32_t program, const char *done);
// Whether the model has I/O; prints that it has none. Returns an exit status.
int replay_check_model(const char *verb, const char *name, const struct model *model);
bool replay_cache_is_known(const char *state);

// Makes the folders and writes the model; a replay's folders that a killed ioseer left there are removed first.
int replay_place_make(struct replay_place *place, const struct replay_settings *settings, const struct model *model);
void replay_place_remove(struct replay_place *place, bool keep_files);

// The launcher of an MPI that is installed and has a runner; NULL: there is none.
const char *replay_launcher_here(void);
// "MPICH", "Open MPI", or "" for none: the runner that the launcher gets.
const char *replay_mpi_name(const char *launcher);
// Prints what the runner said last.
void replay_print_error(const char *verb, const char *path);

// Runs once; recorded into place->log where asked for. The result's phases are to be freed.
int replay_run(struct replay_place *place, const struct replay_settings *settings, const struct model *model,
               bool recorded, struct replay_result *result);
