// Méndez et al., 2012: the bytes of a phase, divided by the bandwidth of a benchmark with requests of the same kind, as
// IOR makes them.
#include "predict/class_times.h"

static double phase_seconds(const struct predicting *p, struct predict_run here, struct predict_run there,
                            size_t phase) {
    (void)there;
    return class_times_of_phase(p, here, phase);
}

const struct predictor predict_mendez = {
    .name = "mendez",
    .systematic = 0.25,
    .for_profiles = true,
    .needs_bytes = true,
    .most_requests = UINT64_MAX,
    .run = class_times_run,
    .phase_seconds = phase_seconds,
};
