// Long rows of numbers as text for JSON: differences as varints, compressed with zstd, in base64.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

// Appends a column: each number as its difference from the previous one. The numbers are `stride` bytes apart in
// memory.
int packed_add(struct bytes *columns, const void *first, size_t stride, size_t count);
// Reads a column from [*at, end) and moves *at to its end. ERR_FORMAT if there are not enough numbers.
int packed_get(const uint8_t **at, const uint8_t *end, void *first, size_t stride, size_t count);

// Columns as text with a zero at the end, for the key "zstd"; or for "base64", not compressed, if they would shrink
// more than a reader accepts. A reader has that limit so that a small file cannot fill its memory.
int packed_text(const struct bytes *columns, struct bytes *text, const char **key);
// The reverse.
int packed_columns(const char *text, size_t len, const char *key, struct bytes *columns);
