#include "base/lookup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"

struct lookup_entry {
    uint64_t key;
    uint32_t value;
    uint32_t used;
};

static size_t home_of(uint64_t key, size_t capacity) { return (size_t)hash_add(0, key) & (capacity - 1); }

static struct lookup_entry *find_entry(const struct lookup *lookup, uint64_t key) {
    size_t at = home_of(key, lookup->capacity);
    while (lookup->entry[at].used && lookup->entry[at].key != key) at = (at + 1) & (lookup->capacity - 1);
    return &lookup->entry[at];
}

uint32_t lookup_find(const struct lookup *lookup, uint64_t key) {
    if (lookup->count == 0) return LOOKUP_NONE;
    const struct lookup_entry *entry = find_entry(lookup, key);
    return entry->used ? entry->value : LOOKUP_NONE;
}

static int grow(struct lookup *lookup) {
    struct lookup bigger = {.capacity = lookup->capacity ? lookup->capacity * 2 : 16, .count = lookup->count};
    bigger.entry = calloc(bigger.capacity, sizeof *bigger.entry);
    RETURN_IF(!bigger.entry, -ENOMEM);
    for (size_t i = 0; i < lookup->capacity; i++) {
        if (lookup->entry[i].used) *find_entry(&bigger, lookup->entry[i].key) = lookup->entry[i];
    }
    free(lookup->entry);
    *lookup = bigger;
    return 0;
}

int lookup_set(struct lookup *lookup, uint64_t key, uint32_t value) {
    if (lookup->count >= lookup->capacity / 2) FORWARD(grow(lookup));
    struct lookup_entry *entry = find_entry(lookup, key);
    lookup->count += !entry->used;
    *entry = (struct lookup_entry){.key = key, .value = value, .used = 1};
    return 0;
}

void lookup_clear(struct lookup *lookup) {
    if (lookup->count) memset(lookup->entry, 0, lookup->capacity * sizeof *lookup->entry);
    lookup->count = 0;
}

void lookup_free(struct lookup *lookup) {
    free(lookup->entry);
    *lookup = (struct lookup){0};
}
