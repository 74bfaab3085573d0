// Times of phases from a benchmark of each class of their transfers, or from the points of a profile.
#pragma once

#include "predict/predictor.h"

// Runs a benchmark of each class, with at most self->most_requests requests; value[i] is the time of one request of
// class i, in seconds.
int class_times_run(const struct predictor *self, const struct predicting *p, const struct predict_target *target,
                    double *value);

// Seconds of all transfers of a phase.
double class_times_of_phase(const struct predicting *p, struct predict_run run, size_t phase);
