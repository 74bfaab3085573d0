// The runs behind `ioseer predict`: replays and benchmarks on targets, one target after the other, again and again.
#pragma once

#include "predict/classes.h"
#include "predict/prediction.h"
#include "replay/replay.h"

enum predict_method { METHOD_REPLAY, METHOD_ANALYTIC, METHOD_MENDEZ, METHOD_MESWANI, METHOD_COUNT };
extern const char *const predict_method_names[METHOD_COUNT];

// A directory to run on, or a profile to calculate with.
struct predict_target {
    const char *name; // as it was given
    bool is_directory;
    struct system system;      // of a profile
    double *run[METHOD_COUNT]; // seconds of phases, run after run, where the method runs something: [run * phases + i]
    double *request[METHOD_COUNT]; // seconds of a benchmark's request by class, likewise: [run * classes + i]
    unsigned runs[METHOD_COUNT];
};

// A class of transfers, and the families that have it.
struct predict_class {
    struct io_class io;
    uint32_t family;
};

struct predicting {
    struct model *model;
    uint32_t program;
    uint32_t np;          // processes to predict for
    size_t first, phases; // of the program
    struct predict_class *class;
    size_t classes;
    struct predict_target *target;
    size_t targets;
    struct predict_target *reference; // for METHOD_MESWANI, or NULL
    const char *launcher;
    const char *cache;
    bool method[METHOD_COUNT];
    unsigned repeat;
    bool progress;
};

// Prints what is wrong; returns an exit status.
int predict_find_classes(struct predicting *p, const struct model *model); // which may be scaled
int predict_run_all(struct predicting *p);

// What the runs and profiles say, in the order of targets and methods; to be freed.
int predict_conclude(const struct predicting *p, struct prediction *prediction);

void predict_free(struct predicting *p);
