#include "rec/real.h"

#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct real_functions real;

// dlsym will not do: when it does not find a name it allocates, and the program's malloc may be what called us; and it
// does not look into libraries that were opened for one plugin only.

struct symbols {
    const ElfW(Sym) * symbol;
    const char *text;
    const uint32_t *hash; // DT_GNU_HASH
    const ElfW(Half) * version;
};

static struct symbols symbols_of(const struct link_map *map)
{
    struct symbols found = {0};
    for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
        // The vdso's addresses are not relocated, and it has nothing for us.
        if (entry->d_un.d_ptr < map->l_addr) continue;
        const void *address = (const void *)entry->d_un.d_ptr;
        if (entry->d_tag == DT_SYMTAB) found.symbol = address;
        if (entry->d_tag == DT_STRTAB) found.text = address;
        if (entry->d_tag == DT_GNU_HASH) found.hash = address;
        if (entry->d_tag == DT_VERSYM) found.version = address;
    }
    return found;
}

// The default version of a function, by the object's own hash table.
static void *find_in(const struct link_map *map, const char *name, uint32_t hash)
{
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
                    ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && strcmp(in.text + symbol->st_name, name) == 0;
        if (same && !(in.version && in.version[index] & hidden_version))
            return (void *)(map->l_addr + symbol->st_value);
        if (entry & 1) return NULL;
    }
}

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++) hash = hash * 33 + (unsigned char)*name;
    return hash;
}

// The object that this code is in.
static const struct link_map *own_map(void)
{
    uintptr_t here = (uintptr_t)&real;
    const struct link_map *own = NULL;
    for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
        if (map->l_addr <= here && (!own || map->l_addr > own->l_addr)) own = map;
    }
    return own;
}

// The next function of that name behind ours, in the order in which the objects were loaded.
static void *find_next(const struct link_map *own, const char *name)
{
    void *found = NULL;
    uint32_t hash = hash_of(name);
    for (const struct link_map *map = own ? own->l_next : NULL; map && !found; map = map->l_next) {
        found = find_in(map, name, hash);
    }
    return found;
}

void real_resolve(void)
{
    const struct link_map *own = own_map();
#define FIND(name) *(void **)&real.name = find_next(own, #name);
#define SKIP(name)
    REAL_FUNCTIONS(FIND, SKIP)
#undef FIND
#undef SKIP
}

static int missing(void)
{
    return -ENOSYS;
}

void *real_find_late(void **slot, const char *name)
{
    void *found = find_next(own_map(), name);
    if (!found) return (void *)missing;
    *slot = found;
    return found;
}
