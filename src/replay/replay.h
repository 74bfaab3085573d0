// Replays a model: the runner does the operations of one of its programs again, in a folder on the target.
#pragma once

#include "base/problem.h"
#include "model/compare/similarity.h"
#include "model/model.h"
#include "replay/contract.h"

enum { REPLAY_MOST_RUNS = 1000 };

struct replay_settings {
    const char *target;    // directory in which the replay makes its folder
    const char *launcher;  // with {np}; NULL: that of the MPI that was recorded
    const char *group;     // cgroup that the runner is to run in, as process_enter_group takes it; or NULL
    double stall;          // seconds without the end of an operation after which it stops; 0: never
    struct replay_job job; // for the runner; replay.c fills in files and task
    // Called several times per second, or NULL. The phase counts from 1, and is 0 while files are made.
    void (*progress)(size_t run, unsigned phase, size_t phases, void *context);
    void *context;
    // Only for replay_repeat:
    size_t repeat;   // runs
    bool compare;    // record the first run and compare it with the model, unless that is done in a variant
    const char *log; // record the first run and keep its log there; or NULL
    bool keep;       // leave the files of the last run
};

// Seconds that `stall` is by default.
#define REPLAY_STALL_SECONDS 30

// The program that moved the most bytes.
uint32_t replay_main_program(const struct model *model);
// Whether there is something to replay or predict.
int replay_check_model(const struct model *model, const char *name, const char *verb, struct problem *problem);
// Parses the option --cache ("cold", "warm" or "as-recorded") and checks --repeat and --np. ERR_USAGE if one is wrong.
int replay_check_options(const char *cache_text, uint64_t repeat, uint64_t np, uint32_t *cache,
                         struct problem *problem);

// Runs once, in a folder that it makes and removes. Free the phases of the result in any case, also after an error.
int replay_once(const struct replay_settings *settings, const struct model *model, struct replay_result *result,
                struct problem *problem);

struct replay_outcome {
    uint32_t program; // the one that moved the most bytes
    struct replay_result *run;
    size_t runs;
    bool compared;
    struct similarity similarity;
    char *kept; // folder with the files that were left, or NULL
};

// Runs settings->repeat times and compares. Chooses the program; job.np is 0 for as many processes as were recorded,
// and the model is scaled to them. `name` is the model's name, for messages. Free the outcome in any case, also after
// an error.
int replay_repeat(struct replay_settings settings, struct model *model, const char *name,
                  struct replay_outcome *outcome, struct problem *problem);
void replay_outcome_free(struct replay_outcome *outcome);
