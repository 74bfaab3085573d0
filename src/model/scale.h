// Changes a model to another number of processes.
//
// Expressions hold for any number of processes. A rank that was not recorded does what the rank modulo the recorded
// number did. Where that is known only as a table or a list, the rank does it further on in the file, after everything
// that the recorded ranks touch there, as if another copy of the program worked on another copy of the file.
#pragma once

#include "model/model.h"

int model_scale(struct model *model, uint32_t program, uint32_t np);
