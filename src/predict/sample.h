// Phases that stand for the others of their families. The first run on a directory replays all phases. If a few of each
// family would have been enough to know its total, the runs after it replay only these.
#pragma once

#include "predict/predictor.h"

// After the first run, whose seconds by phase are sample->first. Sets sample->phases if a sample is good enough.
int sample_choose(const struct predicting *p, struct predict_sample *sample);

// `value` has the seconds of the sample's phases. Fills in those of the others, as many times longer than in the first
// run as the phases of the sample of their family are. Does the sample stand for them? Not if it took a time that is
// very different from that in the first run.
int sample_complete(const struct predicting *p, const struct predict_sample *sample, double *value, bool *stands);

void sample_free(struct predict_sample *sample); // or NULL
