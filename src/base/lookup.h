// A hash table from 64-bit keys to numbers: usually positions in an array. Any key is allowed, also 0.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct lookup_entry;

struct lookup {
    struct lookup_entry *entry;
    size_t capacity; // 0 or a power of two
    size_t count;
};

#define LOOKUP_NONE UINT32_MAX

uint32_t lookup_find(const struct lookup *lookup, uint64_t key); // or LOOKUP_NONE
// A key that is there already gets the new value.
int lookup_set(struct lookup *lookup, uint64_t key, uint32_t value);
void lookup_clear(struct lookup *lookup); // keeps the memory
void lookup_free(struct lookup *lookup);

static inline uint64_t lookup_pair(uint32_t high, uint32_t low) { return (uint64_t)high << 32 | low; }
