// Texts with a number each: the first is 0. They are found by their bytes. All zero but for the arena is empty.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/lookup.h"

struct string_table {
    struct arena *arena; // of the texts: the caller's
    const char **text;
    size_t count;
    struct lookup place; // hash of a text, or one of the next where others have that: its number
    struct lookup same;  // number of a text: how often string_table_add_unique got it
};

uint32_t string_table_find(const struct string_table *table, const char *text); // or LOOKUP_NONE
int string_table_add(struct string_table *table, const char *text);             // ERR_EXISTS where it is there already
int string_table_add_unique(struct string_table *table, const char *text);      // the text, or else text#2, text#3 …
void string_table_free(struct string_table *table);                             // but not the texts
