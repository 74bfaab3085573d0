// Records column by column, as short blocks hold them: what many records have in common is together and comes once.
// The same records, in the same order, come back.
//
//   columns := varint records, plan, column*
//   plan    := for each record: varint group, and at the first of a group its shape
//   shape   := varint kind, varint fields, for each field: varint (folded step of the key << 2 | form)
//   column  := the values of one field of a group: numbers, or lengths and then bytes
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

// Both append to `out`, and take records as in fmt/fields.h.
int columns_from_records(const uint8_t *records, size_t len, struct bytes *out);
// ERR_FORMAT if it is damaged, or makes more than `most` bytes of records.
int columns_to_records(const uint8_t *data, size_t len, size_t most, struct bytes *out);
