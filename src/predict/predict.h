// Predicts how long the I/O of a program takes on other storage.
#pragma once

#include "base/problem.h"
#include "model/model.h"
#include "predict/prediction.h"

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
    unsigned repeat;       // runs on each directory, in turns
    // Called before each run, which counts from 1; or NULL.
    void (*progress)(unsigned run, const char *target, const char *method);
};

// Predicts for the program of the model that moved the most bytes. `name` is the model's name, for messages. Free the
// prediction in any case, also after an error.
int predict(const struct model *model, const char *name, const struct predict_settings *settings,
            struct prediction *prediction, struct problem *problem);
