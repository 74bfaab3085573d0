// What a reader must know to redo the sums of a table of phases.
#pragma once

#include <stdio.h>

#include "model/model.h"

// Prints lines that begin with `indent`.
int phases_note(const struct model *model, FILE *out, const char *indent);
