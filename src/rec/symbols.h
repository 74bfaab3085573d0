// Functions of the objects that are loaded, by name.
//
// dlsym cannot be used: it allocates if it does not find a name, and the caller may be the program's malloc. It also
// does not search libraries that were opened with RTLD_LOCAL.
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

uint32_t symbols_hash(const char *name);

// The default version of a function of the object, from its hash table; NULL if it has none. Of the object only l_addr
// and l_ld are used.
void *symbols_find(const struct link_map *map, const char *name, uint32_t hash);

// strcmp cannot be used: that of a sanitizer may not be called before it has found libc's.
static inline bool symbols_same(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}
