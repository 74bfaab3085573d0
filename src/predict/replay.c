// The prediction is the time of a replay.
#include <stdlib.h>

#include "base/err.h"
#include "predict/predictor.h"
#include "predict/sample.h"

static int replay(const struct predicting *p, const struct predict_target *target, const char *phases, double *value) {
    struct replay_result result;
    struct replay_job job = {.program = p->program, .np = p->np, .think = true, .phases = phases};
    int code = predictor_run_model(p, target, p->model, job, &result);
    for (size_t i = 0; i < p->phases && !code; i++) value[i] = result.phase[p->first + i].time;
    free(result.phase);
    return code;
}

static int run(const struct predictor *self, const struct predicting *p, const struct predict_target *target,
               double *value) {
    (void)self;
    struct predict_sample *sample = target->sample;
    bool done = false;
    if (sample && sample->phases) {
        FORWARD(replay(p, target, sample->phases, value));
        FORWARD(sample_complete(p, sample, value, &done));
    }
    if (done) return 0;
    FORWARD(replay(p, target, NULL, value));
    if (!sample) return 0;
    sample->complete++;
    free(sample->phases); // they did not stand for the others
    sample->phases = NULL;
    if (sample->first) return 0;
    sample->first = value;
    return sample_choose(p, sample);
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
