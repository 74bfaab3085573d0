#include "rec/symbols.h"

#include <stddef.h>

struct symbols symbols_of(const struct link_map *map) {
    struct symbols found = {.base = map->l_addr};
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

// The filter in front of a hash table: most objects do not have most names.
static bool may_have(const uint32_t *table, uint32_t hash) {
    const unsigned word_bits = sizeof(ElfW(Addr)) * 8;
    const ElfW(Addr) *filter = (const ElfW(Addr) *)(table + 4);
    ElfW(Addr) word = filter[hash / word_bits & (table[2] - 1)];
    return word >> hash % word_bits & word >> (hash >> table[3]) % word_bits & 1;
}

void *symbols_find(const struct symbols *in, const char *name, uint32_t hash) {
    const uint32_t hidden_version = 0x8000;
    if (!in->symbol || !in->text || !in->hash || !in->hash[0] || !may_have(in->hash, hash)) return NULL;
    const uint32_t *bucket = in->hash + 4 + in->hash[2] * (sizeof(ElfW(Addr)) / 4);
    const uint32_t *chain = bucket + in->hash[0];
    uint32_t index = bucket[hash % in->hash[0]];
    if (index < in->hash[1]) return NULL;
    for (;; index++) {
        uint32_t entry = chain[index - in->hash[1]];
        const ElfW(Sym) *symbol = &in->symbol[index];
        bool same = (entry | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF &&
                    ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbols_same(in->text + symbol->st_name, name);
        if (same && !(in->version && in->version[index] & hidden_version)) return (void *)(in->base + symbol->st_value);
        if (entry & 1) return NULL;
    }
}

uint32_t symbols_hash(const char *name) {
    uint32_t hash = 5381;
    for (; *name; name++) hash = hash * 33 + (unsigned char)*name;
    return hash;
}
