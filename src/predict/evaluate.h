// Compares a prediction for a target with logs of the program there.
#pragma once

#include "base/problem.h"
#include "model/model.h"
#include "predict/prediction.h"
#include "target/system/system.h"

struct evaluated_phase {
    uint64_t id;
    double predicted; // seconds
    double measured;  // seconds: median of the logs
    double usage_pct; // of the peak bandwidth of the target; NAN if that is not known
    // Used while logs are added:
    double *seconds; // by log
    double read_bytes, write_bytes;
};

struct evaluation {
    const struct predicted_target *target;
    struct evaluated_phase *phase;
    size_t phases;
    double measured;                    // seconds of all phases: median of the logs, not the sum of the phases' medians
    double sum_predicted, sum_measured; // sums of the phases' medians
    double variation;                   // of the logs
    double *total;                      // by log
    size_t logs;
    size_t inside; // logs whose total is inside the predicted interval
};

// The first target of the prediction with this name and method, either NULL for any. ERR_NOTHING: there is none.
int evaluate_start(struct evaluation *e, const struct prediction *prediction, const char *target, const char *method,
                   size_t most_logs);
// Adds a run of the program on the target, as a model. `name` is for messages.
int evaluate_add(struct evaluation *e, const struct model *model, const char *name, struct problem *problem);
// After the last one: `system` is the profile of the target, or NULL.
void evaluate_finish(struct evaluation *e, const struct system *system);
void evaluate_free(struct evaluation *e);

// Signed error of a predicted time; NAN if nothing was measured.
double evaluate_error_pct(double predicted, double measured);
