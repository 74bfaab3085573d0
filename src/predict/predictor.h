// A method of prediction is a file with one struct predictor, and a row in the table of predict.c.
#pragma once

#include "predict/classes.h"
#include "predict/predict.h"
#include "replay/replay.h"

enum { PREDICTOR_COUNT = 4 };

// Phases that stand for the others of their families, on one target: sample.h.
struct predict_sample {
    const double *first; // seconds of the first run, by phase; NULL before it
    char *phases;        // list of the phases that the runs after it replay; NULL: all
    bool *chosen;        // the same, by phase
    double error;        // of the total of the first run, if it had replayed only these; as a fraction
    unsigned complete;   // runs that replayed all phases
};

// A directory to run on, or a profile to calculate with.
struct predict_target {
    const char *name; // as the user gave it
    bool is_directory;
    struct system system;           // of a profile
    double *value[PREDICTOR_COUNT]; // what runs of the method found, run after run, predicting.values for each
    unsigned runs[PREDICTOR_COUNT];
    struct predict_sample *sample; // NULL: each run replays all phases
    double seconds;                // that all its runs took, with all that is around the replayed operations
    unsigned rounds;               // of runs
};

struct predicting {
    const struct predict_settings *settings;
    struct problem *problem;
    const struct model *model;
    uint32_t program;
    uint32_t np;               // processes to predict for
    size_t first, phases;      // of the program
    struct io_classes classes; // of its transfers, with `np` processes
    size_t values;             // of one run: as many as there are phases, or classes if these are more
    struct predict_target *target;
    size_t targets;
    struct predict_target *reference; // where the program was recorded; NULL: not given
    bool method[PREDICTOR_COUNT];     // which are asked for
    struct predict_watch *watch;      // NULL: nobody looks on
};

// One run on a directory, or a profile.
struct predict_run {
    const struct predict_target *target;
    const double *value; // NULL for a profile
};

struct predictor {
    const char *name;
    double systematic; // systematic error of the method, as a fraction: see doc/accuracy.md
    bool is_default;   // the default for its kind of target
    bool for_profiles;
    bool needs_reference;   // and recorded times
    bool needs_bytes;       // it cannot predict a phase whose transfers move nothing,
    bool with_names;        // except for metadata, if the profile has its rates
    uint64_t most_requests; // of a process in a benchmark (class_times.h)
    // Runs once on a directory; value[] has room for predicting.values. NULL: the method is not for directories.
    int (*run)(const struct predictor *self, const struct predicting *p, const struct predict_target *target,
               double *value);
    // Seconds that a phase takes by a run here and one on the reference (needs_reference).
    double (*phase_seconds)(const struct predicting *p, struct predict_run here, struct predict_run there,
                            size_t phase);
    // Fills times and reasons itself, instead of the statistics of phase_seconds over all runs; or NULL.
    int (*conclude)(const struct predicting *p, const struct predict_target *target, struct predicted_target *to);
};

extern const struct predictor predict_replay, predict_analytic, predict_mendez, predict_meswani;

// Runs a model once on a directory. The caller frees the phases of the result.
int predictor_run_model(const struct predicting *p, const struct predict_target *target, const struct model *model,
                        struct replay_job job, struct replay_result *result);
// Sets why a target is not predictable, or a remark.
int predictor_reason(struct predicted_target *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline uint32_t predictor_family(const struct predicting *p, size_t phase) {
    return p->model->phase[p->first + phase].family;
}
