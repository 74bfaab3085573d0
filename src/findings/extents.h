// Which bytes of a file were touched so far: a sorted list of extents that do not meet. A list that gets too long is
// given up, because what it would say then is wrong.
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

// Adds bytes; *before says how many of them were there already. 0 or -ENOMEM.
int extents_add(struct extents *extents, uint64_t start, uint64_t bytes, uint64_t *before);
// How many of these bytes are there.
uint64_t extents_overlap(const struct extents *extents, uint64_t start, uint64_t bytes);
void extents_free(struct extents *extents);
