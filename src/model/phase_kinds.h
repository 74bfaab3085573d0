// The kinds of operations in some phases of a program.
#pragma once

#include "model/model.h"

// Calls back with every kind of operation in the phases of the list (phase_list.h), once or more.
typedef void phase_kinds_callback(const struct op_kind *kind, void *context);
int phase_kinds(const struct model *model, uint32_t program, const char *phases, phase_kinds_callback *callback,
                void *context);
