// Texts with a number each: the first is 0. They are found by their bytes. All zero but for the arena is empty.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/lookup.h"

struct names {
    struct arena *arena; // of the texts: the caller's
    const char **text;
    size_t count;
    struct lookup place; // hash of a text, or one of the next where others have that: its number
    struct lookup same;  // number of a text: how often names_add_unique got it
};

uint32_t names_find(const struct names *names, const char *text); // or LOOKUP_NONE
int names_add(struct names *names, const char *text);             // ERR_EXISTS where it is there already
int names_add_unique(struct names *names, const char *text);      // the text, or else text#2, text#3 …
void names_free(struct names *names);                             // but not the texts
