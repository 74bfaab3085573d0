// Numbers in the byte order of the machine that wrote a Darshan log.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t words_u64(const uint8_t *at, bool is_swapped) {
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return is_swapped ? __builtin_bswap64(value) : value;
}

static inline uint32_t words_u32(const uint8_t *at, bool is_swapped) {
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return is_swapped ? __builtin_bswap32(value) : value;
}

static inline double words_f64(const uint8_t *at, bool is_swapped) {
    uint64_t bits = words_u64(at, is_swapped);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
