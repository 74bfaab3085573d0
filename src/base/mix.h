// Hashes of a sequence of numbers, one after the other.
#pragma once

#include <stdint.h>

static inline uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static inline uint64_t mix_text(uint64_t hash, const char *text)
{
    for (; *text; text++) hash = mix(hash, (unsigned char)*text);
    return mix(hash, 0x100);
}
