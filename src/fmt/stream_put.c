#include "fmt/stream_put.h"

uint8_t *stream_put_long_time(uint8_t *at, uint64_t units) { return varint_put_wide(at, units); }

static __attribute__((noinline)) uint8_t *put_resized(struct stream_put_slot *s, unsigned slot, uint8_t *at,
                                                      uint64_t offset, uint64_t size) {
    int64_t moved = (int64_t)(offset - s->expected + (uint64_t)s->displacement);
    *at++ = (uint8_t)(slot << 2 | FORM_RESIZE);
    at = varint_put_wide(at, varint_fold(moved));
    at = varint_put(at, size);
    s->size = size;
    s->displacement = (int64_t)size;
    s->expected = offset + size;
    return at;
}

// Every call at a random offset comes here, so each instruction matters. put_resized is a separate function, so that
// this one need not save registers for it.
// varint_put_wide(), with fewer steps for what fits four bytes.
static inline uint8_t *put_distance(uint8_t *at, uint64_t value) {
    if (value >> 28) return varint_put_wide(at, value);
    uint32_t spread = (uint32_t)value;
    spread += (spread & 0x0fffc000) * 3;
    spread += spread & 0x3f803f80;
    unsigned unused = (unsigned)__builtin_clz(spread | 1) & ~7u;
    spread = htole32(spread | UINT32_C(0x00808080) >> unused);
    memcpy(at, &spread, sizeof spread);
    return at + sizeof spread - unused / 8;
}

uint8_t *stream_put_moved(struct stream_put_slot *s, unsigned slot, uint8_t *at, uint64_t offset, uint64_t size) {
    if (__builtin_expect(size != s->size, 0)) return put_resized(s, slot, at, offset, size);
    int64_t moved = (int64_t)(offset - s->expected + (uint64_t)s->displacement);
    *at = (uint8_t)(slot << 2 | FORM_MOVE);
    s->displacement = moved;
    s->expected = offset + (uint64_t)moved;
    return put_distance(at + 1, varint_fold(moved));
}

uint8_t *stream_put_any_times(uint8_t *at, uint64_t gap, uint64_t duration) {
    return stream_put_time(stream_put_time(at, gap), duration);
}
