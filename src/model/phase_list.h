// Lists of phases as people write them: 1,3-5.
#pragma once

#include "model/model.h"

// Parses the next number or range of the list and moves on. Returns 1, 0 at the end, or ERR_USAGE.
int phase_list_next(const char **list, size_t *first, size_t *last);

// True if the phase is in the list; NULL stands for all phases. The list must be valid.
bool phase_list_has(const char *list, size_t id);

// Calls back with every kind of operation that a program has in the phases of the list, once or more.
typedef void phase_kinds_callback(const struct op_kind *kind, void *context);
int phase_kinds(const struct model *model, uint32_t program, const char *phases, phase_kinds_callback *callback,
                void *context);
