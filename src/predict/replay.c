// The prediction is the time of a replay.
#include <stdlib.h>

#include "predict/predictor.h"

static int run(const struct predictor *self, const struct predicting *p, const struct predict_target *target,
               double *value) {
    (void)self;
    struct replay_result result;
    struct replay_job job = {.program = p->program, .np = p->np, .think = true};
    int code = predictor_run_model(p, target, p->model, job, &result);
    for (size_t i = 0; i < p->phases && !code; i++) value[i] = result.phase[p->first + i].time;
    free(result.phase);
    return code;
}

static double phase_seconds(const struct predicting *p, struct predict_run here, struct predict_run there,
                            size_t phase) {
    (void)p, (void)there;
    return here.value[phase];
}

const struct predictor predict_replay = {
    .name = "replay",
    .systematic = 0.05,
    .is_default = true,
    .run = run,
    .phase_seconds = phase_seconds,
};
