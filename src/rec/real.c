#include "rec/real.h"

#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>

struct real_functions real;

// dlsym cannot be used: it allocates if it does not find a name, and the caller may be the program's malloc. It also
// does not search libraries that were opened with RTLD_LOCAL.

// strcmp cannot be used: that of a sanitizer may not be called before it has found libc's.
static bool is_same(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}

struct symbols {
    const ElfW(Sym) * symbol;
    const char *text;
    const uint32_t *hash; // DT_GNU_HASH
    const ElfW(Half) * version;
};

static struct symbols symbols_of(const struct link_map *map) {
    struct symbols found = {0};
    for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
        // The vdso's addresses are not relocated; it has no functions of interest.
        if (entry->d_un.d_ptr < map->l_addr) continue;
        const void *address = (const void *)entry->d_un.d_ptr;
        if (entry->d_tag == DT_SYMTAB) found.symbol = address;
        if (entry->d_tag == DT_STRTAB) found.text = address;
        if (entry->d_tag == DT_GNU_HASH) found.hash = address;
        if (entry->d_tag == DT_VERSYM) found.version = address;
    }
    return found;
}

// Looks up the default version of a function in an object's hash table.
static void *lookup_in(const struct link_map *map, const char *name, uint32_t hash) {
    const uint32_t hidden_version = 0x8000;
    struct symbols in = symbols_of(map);
    if (!in.symbol || !in.text || !in.hash || !in.hash[0]) return NULL;
    const uint32_t *bucket = in.hash + 4 + in.hash[2] * (sizeof(ElfW(Addr)) / 4);
    const uint32_t *chain = bucket + in.hash[0];
    uint32_t index = bucket[hash % in.hash[0]];
    if (index < in.hash[1]) return NULL;
    for (;; index++) {
        uint32_t entry = chain[index - in.hash[1]];
        const ElfW(Sym) *symbol = &in.symbol[index];
        bool same = (entry | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF &&
                    ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && is_same(in.text + symbol->st_name, name);
        if (same && !(in.version && in.version[index] & hidden_version))
            return (void *)(map->l_addr + symbol->st_value);
        if (entry & 1) return NULL;
    }
}

static uint32_t hash_of(const char *name) {
    uint32_t hash = 5381;
    for (; *name; name++) hash = hash * 33 + (unsigned char)*name;
    return hash;
}

// The object that contains this code.
static const struct link_map *own_map(void) {
    uintptr_t here = (uintptr_t)&real;
    const struct link_map *own = NULL;
    for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
        if (map->l_addr <= here && (!own || map->l_addr > own->l_addr)) own = map;
    }
    return own;
}

void *real_in(const struct link_map *object, const char *name) { return lookup_in(object, name, hash_of(name)); }

void *real_own(const char *name) {
    const struct link_map *own = own_map();
    return own ? lookup_in(own, name, hash_of(name)) : NULL;
}

// Looks up a function in the objects that were loaded after `before`.
static void *lookup_behind(const struct link_map *before, const char *name, uint32_t hash,
                           const struct link_map **object) {
    void *found = NULL;
    for (const struct link_map *map = before ? before->l_next : NULL; map && !found; map = map->l_next) {
        found = lookup_in(map, name, hash);
        if (found && object) *object = map;
    }
    return found;
}

void *real_next(const char *name, const struct link_map **object) {
    return lookup_behind(own_map(), name, hash_of(name), object);
}

void *real_only(const char *name) {
    const struct link_map *object = NULL;
    uint32_t hash = hash_of(name);
    void *found = lookup_behind(own_map(), name, hash, &object);
    return found && !lookup_behind(object, name, hash, NULL) ? found : NULL;
}

void real_resolve(void) {
    const struct link_map *own = own_map();
#define FIND(name) *(void **)&real.name = lookup_behind(own, #name, hash_of(#name), NULL);
#define SKIP(name)
    REAL_FUNCTIONS(FIND, SKIP)
#undef FIND
#undef SKIP
}

static int missing(void) { return -ENOSYS; }

void *real_find_late(void **slot, const char *name) {
    void *found = real_next(name, NULL);
    if (!found) return (void *)missing;
    *slot = found;
    return found;
}

bool real_is(const char *name, const void *function) {
    static const struct {
        const char *name;
        void **slot;
        bool late;
    } rows[] = {
#define ROW(name) {#name, (void **)&real.name, false},
#define LATE_ROW(name) {#name, (void **)&real.name, true},
        REAL_FUNCTIONS(ROW, LATE_ROW)
#undef ROW
#undef LATE_ROW
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!is_same(rows[i].name, name)) continue;
        if (rows[i].late && !*rows[i].slot) real_find_late(rows[i].slot, name);
        return *rows[i].slot == function;
    }
    return false;
}
