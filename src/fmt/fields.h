// Records of tagged fields: everything in spills and logs that is not an event stream.
//
//   record := varint kind, varint length of the body, body
//   body   := field*
//   field  := varint (key << 1), varint value                      a number
//           | varint (key << 1 | 1), varint length, bytes          a string of bytes
//
// Readers skip kinds and keys that they do not know, so that the format can grow. Signed numbers are folded (varint.h).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

// Writes into a buffer of fixed size, so that the recorder needs no allocator. `overflow` stays set.
struct fields_out {
    uint8_t *at;
    uint8_t *end;
    uint8_t *body; // of the record under way
    bool overflow;
    uint8_t *record; // start of the record under way: one that does not fit is removed
};

void fields_begin(struct fields_out *out, unsigned kind);
void fields_number(struct fields_out *out, unsigned key, uint64_t value);
void fields_signed(struct fields_out *out, unsigned key, int64_t value);
// One number per value that is not 0, with its index below 16 in the low four bits.
void fields_indexed(struct fields_out *out, unsigned key, const uint64_t *values, unsigned count);
void fields_bytes(struct fields_out *out, unsigned key, const void *data, size_t len);
// Room for bytes that the caller fills at once; NULL if there is not so much.
uint8_t *fields_open_bytes(struct fields_out *out, unsigned key, size_t len);
void fields_string(struct fields_out *out, unsigned key, const char *text);
void fields_end(struct fields_out *out);

struct fields_in {
    const uint8_t *at;
    const uint8_t *end;
};

// A reader of all bytes. If there are none, `data` may be NULL, which C does not allow in arithmetic.
static inline struct fields_in fields_of(const struct bytes *bytes) {
    return (struct fields_in){.at = bytes->data, .end = bytes->len ? bytes->data + bytes->len : bytes->data};
}

struct field {
    unsigned key;
    bool is_bytes;
    uint64_t number;     // of a number; 0 for bytes
    const uint8_t *data; // of bytes; points into the input
    size_t len;
};

// Return 1 with the next one, 0 at the end, a negative code on damage.
int fields_next_record(struct fields_in *in, unsigned *kind, struct fields_in *body);
int fields_next(struct fields_in *body, struct field *field);

// The last field of each key below `keys`, by key. Fields that the body does not have are all zero, including `key`.
int fields_by_key(struct fields_in body, struct field *by_key, unsigned keys);

// Copies all fields of a body up to the first damage. Numbers get their shortest form.
void fields_copy(struct fields_out *out, struct fields_in body);
