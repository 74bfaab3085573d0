// Numbered texts; the first has number 0. They are found by their bytes. A table that is all zero except for the arena
// is empty.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/lookup.h"

struct string_table {
    struct arena *arena; // the caller's: for the texts
    const char **text;
    size_t count;
    struct lookup place; // hash of a text (or the next free one) -> its number
    struct lookup same;  // number of a text -> how often string_table_add_unique got it
};

uint32_t string_table_find(const struct string_table *table, const char *text); // or LOOKUP_NONE
int string_table_add(struct string_table *table, const char *text);             // ERR_EXISTS if it exists
int string_table_add_unique(struct string_table *table, const char *text);      // the text, or else text#2, text#3 …
void string_table_free(struct string_table *table);                             // keeps the texts
