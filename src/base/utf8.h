// UTF-8 in texts that can be anything, such as file names.
#pragma once

#include <stdio.h>

#include "base/bytes.h"

// Length of the well-formed UTF-8 sequence of two to four bytes at `at`, or 0. Overlong forms, surrogates and
// characters above U+10FFFF are not well-formed.
size_t utf8_sequence(const uint8_t *at, const uint8_t *end);
// Bytes before the first one that is not part of UTF-8.
size_t utf8_plain(const char *text, size_t len);
// Appends the text; other bytes become \xff and the like.
int utf8_append(struct bytes *out, const char *text, size_t len);

// Length of the character at `at`, in a text that ends with a 0, and the columns that a terminal gives it. A byte that
// is not part of UTF-8 is a character.
size_t utf8_character(const char *at, unsigned *columns);
unsigned utf8_columns(const char *text);
// The bytes of the first characters that fit into `most` columns.
size_t utf8_fitting(const char *text, unsigned most);
// Prints a text that is too long for `most` columns without its middle. Returns the columns used.
unsigned utf8_print_short(FILE *out, const char *text, unsigned most);
