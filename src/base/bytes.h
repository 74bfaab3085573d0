// A growable buffer of bytes.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct bytes {
    uint8_t *data;
    size_t len;
    size_t capacity;
};

// Makes room for `more` bytes and returns where they go (len is unchanged), or NULL without memory.
uint8_t *bytes_reserve(struct bytes *b, size_t more);
int bytes_append(struct bytes *b, const void *data, size_t len);
int bytes_append_varint(struct bytes *b, uint64_t value);
void bytes_free(struct bytes *b);
