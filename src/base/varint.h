// Integers in as few bytes as they need: seven bits a byte, low bits first, the top bit says "more follows".
// Signed values are folded first so that small magnitudes stay short (0, -1, 1, -2 … become 0, 1, 2, 3 …).
#ifndef IOSEER_BASE_VARINT_H
#define IOSEER_BASE_VARINT_H

#include <stddef.h>
#include <stdint.h>

enum { VARINT_MAX_BYTES = 10 };

static inline uint64_t varint_fold(int64_t value)
{
    return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline int64_t varint_unfold(uint64_t folded)
{
    return (int64_t)(folded >> 1) ^ -(int64_t)(folded & 1);
}

// Writes at most VARINT_MAX_BYTES at `out` and returns the byte after the last one written. Short ones first: nearly all
// times take one or two bytes, and the recorder counts its instructions.
static inline uint8_t *varint_put(uint8_t *out, uint64_t value)
{
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

// Reads from [in, end). Returns the byte after the varint, or NULL where it is cut off or over 64 bits long.
static inline const uint8_t *varint_get(const uint8_t *in, const uint8_t *end, uint64_t *value)
{
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

#endif
