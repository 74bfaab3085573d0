// Lists of phases as people write them: 1,3-5.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Parses the next number or range of the list and moves on. Returns 1, 0 at the end, or ERR_USAGE.
int phase_list_next(const char **list, size_t *first, size_t *last);

// True if the phase is in the list; NULL stands for all phases. The list must be valid.
bool phase_list_has(const char *list, size_t id);
