// The phases that a replay is asked for.
#pragma once

#include "base/problem.h"
#include "model/model.h"

// Whether the program has the phases of the list (NULL: all), and they can run without the others. ERR_USAGE if not.
int replay_check_phases(const struct model *model, uint32_t program, const char *phases, struct problem *problem);
