// Long rows of numbers as text for JSON: differences as varints, zstd, base64.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

// Appends a column: each number as its difference from the one before, `stride` bytes apart in memory.
int packed_add(struct bytes *columns, const void *first, size_t stride, size_t count);
// Reads one from [*at, end) and moves *at behind it. ERR_FORMAT where it does not hold so many numbers.
int packed_get(const uint8_t **at, const uint8_t *end, void *first, size_t stride, size_t count);

// Columns as text, with a zero at its end: under the key "zstd", or "base64" where they are not compressed. That is so
// where they would shrink more than a reader, who must not be made to fill its memory by a small file, goes along with.
int packed_text(const struct bytes *columns, struct bytes *text, const char **key);
// The other way.
int packed_columns(const char *text, size_t len, const char *key, struct bytes *columns);
