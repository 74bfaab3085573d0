// Lists of phases as people write them: 1,3-5.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Takes the next number or range of the list, and moves on. Returns 1, 0 at its end, or ERR_USAGE.
int phase_list_next(const char **list, size_t *first, size_t *last);

// Whether the phase is in a list that can be read; NULL has all.
bool phase_list_has(const char *list, size_t id);
