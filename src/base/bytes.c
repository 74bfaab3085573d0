#include "base/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/varint.h"

uint8_t *bytes_reserve(struct bytes *b, size_t more) {
    if (more > SIZE_MAX / 2 - b->len) return NULL;
    if (!b->data || b->len + more > b->capacity) {
        size_t capacity = b->capacity ? b->capacity : 256;
        while (capacity < b->len + more) capacity *= 2;
        uint8_t *data = realloc(b->data, capacity);
        if (!data) return NULL;
        b->data = data;
        b->capacity = capacity;
    }
    return b->data + b->len;
}

int bytes_append(struct bytes *b, const void *data, size_t len) {
    uint8_t *out = bytes_reserve(b, len);
    RETURN_IF(!out, -ENOMEM);
    if (len) memcpy(out, data, len);
    b->len += len;
    return 0;
}

int bytes_append_varint(struct bytes *b, uint64_t value) {
    uint8_t *out = bytes_reserve(b, VARINT_MAX_BYTES);
    RETURN_IF(!out, -ENOMEM);
    b->len += (size_t)(varint_put(out, value) - out);
    return 0;
}

void bytes_free(struct bytes *b) {
    free(b->data);
    *b = (struct bytes){0};
}
