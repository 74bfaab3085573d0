// Memory for many small pieces that are freed together.
#pragma once

#include <errno.h>
#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *block; // the latest; all zero is an empty arena
};

void *arena_alloc(struct arena *arena, size_t bytes); // zeroed, aligned for anything; NULL without memory
void *arena_copy(struct arena *arena, const void *data, size_t bytes);
char *arena_text(struct arena *arena, const char *text);
void arena_free(struct arena *arena);

// Memory for an array of `count` elements and one more: 0, or -ENOMEM.
#define arena_array(arena, array, count)                                                                               \
    ((array) = arena_alloc(arena, ((size_t)(count) + 1) * sizeof *(array)), (array) ? 0 : -ENOMEM)
