#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 64 << 10 };

struct arena_block {
    struct arena_block *older;
    size_t used;
    size_t bytes;
    alignas(max_align_t) unsigned char data[];
};

void *arena_alloc(struct arena *arena, size_t bytes) {
    size_t align = alignof(max_align_t);
    if (bytes > SIZE_MAX / 2) return NULL;
    bytes = (bytes + align - 1) / align * align;
    struct arena_block *block = arena->block;
    if (!block || block->bytes - block->used < bytes) {
        size_t room = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        block = calloc(1, sizeof *block + room);
        if (!block) return NULL;
        block->bytes = room;
        block->older = arena->block;
        arena->block = block;
    }
    void *piece = block->data + block->used;
    block->used += bytes;
    return piece;
}

void *arena_copy(struct arena *arena, const void *data, size_t bytes) {
    void *copy = arena_alloc(arena, bytes);
    if (copy && bytes) memcpy(copy, data, bytes);
    return copy;
}

char *arena_text(struct arena *arena, const char *text) { return arena_copy(arena, text, strlen(text) + 1); }

void arena_free(struct arena *arena) {
    for (struct arena_block *block = arena->block, *older; block; block = older) {
        older = block->older;
        free(block);
    }
    arena->block = NULL;
}
