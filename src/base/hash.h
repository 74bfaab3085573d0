// One hash (XXH3) for tables and comparisons. Logs use XXH64 for checksums (doc/format.md).
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static inline uint64_t hash_bytes(uint64_t hash, const void *data, size_t len) {
    return XXH3_64bits_withSeed(data, len, hash);
}

// The hash of a sequence of numbers, one after the other.
static inline uint64_t hash_add(uint64_t hash, uint64_t value) { return hash_bytes(hash, &value, sizeof value); }

static inline uint64_t hash_text(uint64_t hash, const char *text) { return hash_bytes(hash, text, strlen(text)); }
