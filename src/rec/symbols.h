// Functions of the objects that are loaded, by name.
//
// dlsym cannot be used: it allocates if it does not find a name, and the caller may be the program's malloc. It also
// does not search libraries that were opened with RTLD_LOCAL.
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

// The tables of an object.
struct symbols {
    ElfW(Addr) base;
    const ElfW(Sym) * symbol;
    const char *text;
    const uint32_t *hash; // DT_GNU_HASH
    const ElfW(Half) * version;
};

// Only l_addr and l_ld are used.
struct symbols symbols_of(const struct link_map *map);
uint32_t symbols_hash(const char *name);
// The default version of a function; NULL if the object has none.
void *symbols_find(const struct symbols *in, const char *name, uint32_t hash);

// Lists of names are one text, in which each ends with a zero byte and the last one is empty: an array of addresses
// would have to be relocated in every process.
#define SYMBOLS_NAME(name) #name "\0"
static inline const char *symbols_next_name(const char *name) {
    while (*name) name++;
    return name + 1;
}

// strcmp cannot be used: that of a sanitizer may not be called before it has found libc's.
static inline bool symbols_same(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}
