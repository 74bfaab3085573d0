// Meswani et al., 2011: the recorded time of a phase, times the time of its kinds of requests here, divided by the same
// time on the storage where it was recorded.
#include "predict/class_times.h"

static double phase_seconds(const struct predicting *p, struct predict_run here, struct predict_run there,
                            size_t phase) {
    double recorded = (double)p->model->phase[p->first + phase].duration_ns / 1e9;
    double on_reference = class_times_of_phase(p, there, phase);
    return on_reference > 0 ? class_times_of_phase(p, here, phase) / on_reference * recorded : 0;
}

const struct predictor predict_meswani = {
    .name = "meswani",
    .systematic = 0.25,
    .for_profiles = true,
    .needs_reference = true,
    .needs_bytes = true,
    .most_requests = 64, // a benchmark of single calls needs no more
    .run = class_times_run,
    .phase_seconds = phase_seconds,
};
