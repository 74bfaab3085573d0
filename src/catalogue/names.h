// Any bytes as text of a database, which is UTF-8 without zeros: a byte that is not part of UTF-8, and the escape
// itself, become the escape and two digits.
#pragma once

#include "base/bytes.h"

enum { NAME_ESCAPE = 0x1a };

// Appends the text and a closing zero.
int name_put(struct bytes *out, const char *text);
// The bytes back, in place.
void name_get(char *text);
