// Phases that a replay is asked to do.
#pragma once

#include "model/model.h"

// Whether the program has the phases of the list (NULL: all), and they can be done without the others; prints why not.
// Returns an exit status.
int replay_check_phases(const struct model *model, uint32_t program, const char *phases);
