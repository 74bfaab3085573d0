#include "pack/intern.h"

#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"

int intern_add(struct intern *strings, const void *data, size_t len, uint32_t *number) {
    uint64_t key = hash_bytes(0, data, len);
    // Two strings may share a hash; the second then has the next free key.
    for (; (*number = lookup_find(&strings->by_hash, key)) != LOOKUP_NONE; key++) {
        if (intern_len(strings, *number) == len && !memcmp(intern_data(strings, *number), data, len)) return 0;
    }
    RETURN_IF(strings->count >= UINT32_MAX - 1, ERR_LIMIT);
    struct intern_span span = {.at = strings->bytes.len, .len = len};
    *number = (uint32_t)strings->count + 1;
    FORWARD(bytes_append(&strings->bytes, data, len));
    FORWARD(lookup_set(&strings->by_hash, key, *number));
    return array_push(strings->span, strings->count, span);
}

void intern_free(struct intern *strings) {
    free(strings->span);
    bytes_free(&strings->bytes);
    lookup_free(&strings->by_hash);
    *strings = (struct intern){0};
}
