// Predicts how long the I/O of a program takes on other storage.
#pragma once

#include "base/problem.h"
#include "model/model.h"
#include "predict/prediction.h"

// What is known while it runs.
struct predict_progress {
    const char *target, *method;
    unsigned run;   // on this target, from 1
    unsigned phase; // from 1; 0: before the first
    size_t phases;
    double most_left; // seconds until the end, at most; 0: not known
};

struct predict_settings {
    const char **directory; // targets to run on
    size_t directories;
    const char **profile; // targets to calculate with: SYSTEM files
    size_t profiles;
    const char *reference; // directory or profile of the storage on which the program was recorded; or NULL
    const char *methods;   // names with commas; NULL: the default for each target
    const char *launcher;  // as in replay/replay.h
    double stall;          // the same
    uint32_t cache;        // enum replay_cache
    uint32_t np;           // processes; 0: as recorded
    // Runs on each directory, in turns. If these differ, runs end when all totals are known with `precision` (half of
    // the mean's 95 % interval, as a fraction), or when one target is the fastest for sure; and runs after the first
    // one may replay only some of the phases of a family.
    unsigned least_runs, most_runs;
    double precision;
    void (*progress)(const struct predict_progress *progress); // called several times per second; or NULL
};

// Predicts for the program of the model that moved the most bytes. `name` is the model's name, for messages. Free the
// prediction in any case, also after an error.
int predict(const struct model *model, const char *name, const struct predict_settings *settings,
            struct prediction *prediction, struct problem *problem);
