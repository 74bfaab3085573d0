// What many events refer to and is written down once: datatypes, hints. Equal descriptions have one number.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { INTERNED_MAX_FIELDS = 40 << 10 }; // bytes of one description

// The process's number of a description (RECORD_DATATYPE …), which is tagged fields without the number; its record is
// written where it is new. 0 where there is no trace that could refer to it, or no room.
uint32_t interned_number(unsigned kind, const uint8_t *fields, size_t len);
