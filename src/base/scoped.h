// Memory that is freed where the scope of its variable ends.
//
//     SCOPED_FREE uint32_t *next = malloc(count * sizeof *next);
//     SCOPED(lookup_free) struct lookup seen = {0};
#pragma once

#include <stdlib.h>

static inline void free_pointer(void *pointer) { free(*(void **)pointer); }

#define SCOPED(end) __attribute__((cleanup(end)))
#define SCOPED_FREE SCOPED(free_pointer)
