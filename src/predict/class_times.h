// Times of phases from a benchmark of each class of its transfers, or from the points of a profile.
#pragma once

#include "predict/predictor.h"

// Runs a benchmark of each class, of self->most_requests at most; value[i] is what one request of class i takes, in
// seconds.
int class_times_run(const struct predictor *self, const struct predicting *p, const struct predict_target *target,
                    double *value);

// Seconds of all transfers of a phase.
double class_times_of_phase(const struct predicting *p, struct predict_run run, size_t phase);
