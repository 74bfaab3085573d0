// What `predict` prints for people.
#pragma once

#include <stdio.h>

#include "model/model.h"
#include "predict/prediction.h"

int predict_print(const struct model *model, const struct prediction *prediction, FILE *out);
