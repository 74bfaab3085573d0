// Numbers byte strings: equal strings have the same number. The first one is 1, the next 2 and so on.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/lookup.h"

struct intern_span { // of `bytes`
    size_t at;
    size_t len;
};

struct intern {
    struct bytes bytes;       // of all strings
    struct intern_span *span; // by number, less one
    size_t count;
    struct lookup by_hash; // hash of a string -> its number
};

int intern_add(struct intern *strings, const void *data, size_t len, uint32_t *number);

static inline const uint8_t *intern_data(const struct intern *strings, uint32_t number) {
    return strings->bytes.data + strings->span[number - 1].at;
}

// 0 for the number 0.
static inline size_t intern_len(const struct intern *strings, uint32_t number) {
    return number ? strings->span[number - 1].len : 0;
}

void intern_free(struct intern *strings);
