// Messages of Protocol Buffers, as bytes. A failure (there is only lack of memory) stays in `error`.
#pragma once

#include "base/bytes.h"

struct proto {
    struct bytes bytes;
    int error;
};

void proto_number(struct proto *p, unsigned field, uint64_t value);
void proto_fixed(struct proto *p, unsigned field, uint64_t value);
void proto_double(struct proto *p, unsigned field, double value);
void proto_text(struct proto *p, unsigned field, const char *text); // bytes that are not UTF-8 become escapes
// A message of two numbers, with the fields `first` and `second`.
void proto_pair(struct proto *p, unsigned field, unsigned first, uint64_t one, unsigned second, uint64_t two);

// A message inside: what is written between the two calls. Returns its place, for proto_close.
size_t proto_open(struct proto *p, unsigned field);
void proto_close(struct proto *p, size_t place);
// Makes a closed message longer by what follows elsewhere.
void proto_lengthen(struct proto *p, size_t place, size_t more);
