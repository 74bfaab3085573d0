// Memory for many small pieces that are freed together.
#pragma once

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *block; // the latest; all zero is an empty arena
};

void *arena_alloc(struct arena *arena, size_t bytes); // zeroed, aligned for anything; NULL without memory
void *arena_copy(struct arena *arena, const void *data, size_t bytes);
char *arena_text(struct arena *arena, const char *text);
void arena_free(struct arena *arena);
