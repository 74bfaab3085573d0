// Records that are written once and that many events refer to: datatypes, hints. Equal descriptions have the same
// number.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { INTERNED_MAX_FIELDS = 40 << 10 }; // bytes of one description

// The process's number of a description (RECORD_DATATYPE …), given as tagged fields without the number. Writes its
// record if it is new. Returns 0 if there is no trace that could refer to it, or no room.
uint32_t interned_number(unsigned kind, const uint8_t *fields, size_t len);
