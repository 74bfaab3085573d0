// The bytes of a file that were accessed so far: a sorted list of extents with gaps between them. A list that gets too
// long is dropped, because it would be incomplete.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXTENTS_MOST = 4096 };

struct extent {
    uint64_t start;
    uint64_t end;
};

struct extents { // all zero is empty
    struct extent *extent;
    size_t count;
    bool given_up;
};

// Adds bytes. *before is the number of them that were there already. Returns 0 or -ENOMEM.
int extents_add(struct extents *extents, uint64_t start, uint64_t bytes, uint64_t *before);
// Removes bytes. Returns 0 or -ENOMEM.
int extents_remove(struct extents *extents, uint64_t start, uint64_t bytes);
// The number of these bytes that are in the list.
uint64_t extents_overlap(const struct extents *extents, uint64_t start, uint64_t bytes);
void extents_free(struct extents *extents);
