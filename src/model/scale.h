// A model for another number of processes.
//
// Expressions hold for any number. Ranks that the recording did not have do what the rank modulo the recorded number
// did: where that is only known as a table or a list, they do it further on in the file, behind everything that the
// recorded ranks touch there, as if another copy of the program worked on another copy of the file.
#pragma once

#include "model/model.h"

int model_scale(struct model *model, uint32_t program, uint32_t np);
