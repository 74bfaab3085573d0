// Integers in as few bytes as they need: seven bits per byte, low bits first, the top bit says "more follows".
// Signed values are folded first so that small magnitudes stay short (0, -1, 1, -2 … become 0, 1, 2, 3 …).
#pragma once

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { VARINT_MAX_BYTES = 10 };

static inline uint64_t varint_fold(int64_t value) { return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63); }

static inline int64_t varint_unfold(uint64_t folded) { return (int64_t)(folded >> 1) ^ -(int64_t)(folded & 1); }

// Writes at most VARINT_MAX_BYTES at `out` and returns the byte after the last one. Short values are tested first:
// nearly all times take one or two bytes, and the recorder saves instructions.
static inline uint8_t *varint_put(uint8_t *out, uint64_t value) {
    if (value < 0x80) {
        *out = (uint8_t)value;
        return out + 1;
    }
    if (value < 0x4000) {
        out[0] = (uint8_t)(value | 0x80);
        out[1] = (uint8_t)(value >> 7);
        return out + 2;
    }
    while (value >= 0x80) {
        *out++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *out++ = (uint8_t)value;
    return out;
}

// The same for values that are mostly long: always stores eight bytes, so the buffer must have room for them.
static inline uint8_t *varint_put_wide(uint8_t *out, uint64_t value) {
    if (value >> 56) return varint_put(out, value);
    uint64_t spread = value + (value & 0xfffffff0000000) * 15;     // the upper half moves by 4: two parts of 28 bits
    spread += (spread & 0x0fffc0000fffc000) * 3;                   // four of 14
    spread += spread & 0x3f803f803f803f80;                         // eight of 7
    unsigned unused = (unsigned)__builtin_clzll(spread | 1) & ~7u; // bits of the bytes that are not needed
    spread = htole64(spread | 0x0080808080808080 >> unused);       // sets "more follows" in all bytes but the last
    memcpy(out, &spread, sizeof spread);
    return out + sizeof spread - unused / 8;
}

// Reads from [in, end). Returns the byte after the varint, or NULL if it is cut off or has more than 64 bits.
static inline const uint8_t *varint_get(const uint8_t *in, const uint8_t *end, uint64_t *value) {
    if (in < end && *in < 0x80) {
        *value = *in;
        return in + 1;
    }
    uint64_t sum = 0;
    for (unsigned shift = 0; shift < 64 && in < end; shift += 7) {
        uint8_t byte = *in++;
        if (shift == 63 && byte > 1) return NULL;
        sum |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = sum;
            return in;
        }
    }
    return NULL;
}

// The same if at least VARINT_MAX_BYTES can be read, which saves comparisons.
static inline const uint8_t *varint_get_inside(const uint8_t *in, uint64_t *value) {
    uint64_t sum = in[0];
    if (sum < 0x80) {
        *value = sum;
        return in + 1;
    }
    sum += ((uint64_t)in[1] << 7) - 0x80;
    if (in[1] < 0x80) {
        *value = sum;
        return in + 2;
    }
    sum += ((uint64_t)in[2] << 14) - 0x4000;
    if (in[2] < 0x80) {
        *value = sum;
        return in + 3;
    }
    return varint_get(in, in + VARINT_MAX_BYTES, value);
}
