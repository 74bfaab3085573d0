// Méndez et al., 2012: the bytes of a phase at the bandwidth of a benchmark with requests of the same kind, as IOR
// makes it.
#include "predict/class_times.h"

static int run(const struct predicting *p, const struct predict_target *target, double *value)
{
    return class_times_run(p, target, UINT64_MAX, value);
}

static double phase_seconds(const struct predicting *p, struct predict_run here, struct predict_run there, size_t phase)
{
    (void)there;
    return class_times_of_phase(p, here, phase);
}

const struct predictor predict_mendez = {
    .name = "mendez",
    .systematic = 0.25,
    .for_profiles = true,
    .needs_bytes = true,
    .run = run,
    .phase_seconds = phase_seconds,
};
