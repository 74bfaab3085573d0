#include "findings/extents.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"

// The first extent that ends at `start` or later.
static size_t find(const struct extents *extents, uint64_t start) {
    size_t low = 0, high = extents->count;
    // Most files are written and read from the front to the back.
    if (high && extents->extent[high - 1].end < start) return high;
    if (high == 1) return 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (extents->extent[middle].end < start) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static uint64_t common(const struct extent *extent, uint64_t start, uint64_t end) {
    uint64_t low = extent->start > start ? extent->start : start, high = extent->end < end ? extent->end : end;
    return high > low ? high - low : 0;
}

uint64_t extents_overlap(const struct extents *extents, uint64_t start, uint64_t bytes) {
    uint64_t end = bytes > UINT64_MAX - start ? UINT64_MAX : start + bytes, sum = 0;
    for (size_t i = find(extents, start); i < extents->count && extents->extent[i].start < end; i++)
        sum += common(&extents->extent[i], start, end);
    return sum;
}

static int insert(struct extents *extents, size_t at, struct extent extent) {
    if (extents->count >= EXTENTS_MOST) {
        extents->given_up = true;
        extents->count = 0;
        return 0;
    }
    FORWARD(array_room(extents->extent, extents->count));
    memmove(&extents->extent[at + 1], &extents->extent[at], (extents->count - at) * sizeof extent);
    extents->extent[at] = extent;
    extents->count++;
    return 0;
}

int extents_add(struct extents *extents, uint64_t start, uint64_t bytes, uint64_t *before) {
    struct extent new = {start, bytes > UINT64_MAX - start ? UINT64_MAX : start + bytes};
    *before = 0;
    if (extents->given_up || new.end == new.start) return 0;
    size_t first = find(extents, start), last = first;
    for (; last < extents->count && extents->extent[last].start <= new.end; last++) {
        *before += common(&extents->extent[last], start, start + bytes);
        if (extents->extent[last].start < new.start) new.start = extents->extent[last].start;
        if (extents->extent[last].end > new.end) new.end = extents->extent[last].end;
    }
    if (first == last) return insert(extents, first, new);
    extents->extent[first] = new;
    memmove(&extents->extent[first + 1], &extents->extent[last], (extents->count - last) * sizeof new);
    extents->count -= last - first - 1;
    return 0;
}

int extents_remove(struct extents *extents, uint64_t start, uint64_t bytes) {
    uint64_t end = bytes > UINT64_MAX - start ? UINT64_MAX : start + bytes;
    size_t at = find(extents, start);
    if (at < extents->count && extents->extent[at].end == start) at++;
    if (at == extents->count || extents->extent[at].start >= end) return 0;
    struct extent *first = &extents->extent[at];
    if (first->start < start && first->end > end) { // in the middle: two remain
        struct extent rest = {end, first->end};
        first->end = start;
        return insert(extents, at + 1, rest);
    }
    if (first->start < start) {
        first->end = start;
        at++;
    }
    size_t last = at;
    while (last < extents->count && extents->extent[last].end <= end) last++;
    if (last < extents->count && extents->extent[last].start < end) extents->extent[last].start = end;
    memmove(&extents->extent[at], &extents->extent[last], (extents->count - last) * sizeof *first);
    extents->count -= last - at;
    return 0;
}

void extents_free(struct extents *extents) {
    free(extents->extent);
    *extents = (struct extents){0};
}
