// Writes a model as a MODEL file: JSON, specified in doc/model.md.
#pragma once

#include <stdio.h>

#include "model/model.h"

// 0, a negative code, or the first error of the output as -errno.
int model_write(const struct model *model, FILE *out);
