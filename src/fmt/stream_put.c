#include "fmt/stream_put.h"

uint8_t *stream_put_moved(struct stream_put_slot *s, unsigned slot, uint8_t *at, uint64_t offset, uint64_t size)
{
    int64_t moved = (int64_t)(offset - s->expected + (uint64_t)s->displacement);
    if (size == s->size) {
        *at++ = (uint8_t)(slot << 2 | FORM_MOVE);
        at = varint_put(at, varint_fold(moved));
    } else {
        *at++ = (uint8_t)(slot << 2 | FORM_RESIZE);
        at = varint_put(at, varint_fold(moved));
        at = varint_put(at, size);
        s->size = size;
        moved = (int64_t)size;
    }
    s->displacement = moved;
    s->expected = offset + (uint64_t)moved;
    return at;
}
