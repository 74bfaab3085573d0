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
uint8_t *stream_put_moved(struct stream_put_slot *s, unsigned slot, uint8_t *at, uint64_t offset, uint64_t size) {
    if (__builtin_expect(size != s->size, 0)) return put_resized(s, slot, at, offset, size);
    int64_t moved = (int64_t)(offset - s->expected + (uint64_t)s->displacement);
    *at = (uint8_t)(slot << 2 | FORM_MOVE);
    s->displacement = moved;
    s->expected = offset + (uint64_t)moved;
    return varint_put_wide(at + 1, varint_fold(moved));
}
