#include "rec/real.h"

#include <errno.h>
#include <stddef.h>
#include <sys/auxv.h>

#include "rec/symbols.h"

struct real_functions real;
const enum process_via real_via = VIA_PRELOAD;

// The object that contains this code.
static const struct link_map *own_map(void) {
    uintptr_t here = (uintptr_t)&real;
    const struct link_map *own = NULL;
    for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
        if (map->l_addr <= here && (!own || map->l_addr > own->l_addr)) own = map;
    }
    return own;
}

void *real_in(const struct link_map *object, const char *name) {
    return symbols_find(object, name, symbols_hash(name));
}

void *real_own(const char *name) {
    const struct link_map *own = own_map();
    return own ? symbols_find(own, name, symbols_hash(name)) : NULL;
}

// Looks up a function in the objects that were loaded after `before`.
static void *lookup_behind(const struct link_map *before, const char *name, uint32_t hash,
                           const struct link_map **object) {
    void *found = NULL;
    for (const struct link_map *map = before ? before->l_next : NULL; map && !found; map = map->l_next) {
        found = symbols_find(map, name, hash);
        if (found && object) *object = map;
    }
    return found;
}

void *real_next(const char *name, const struct link_map **object) {
    return lookup_behind(own_map(), name, symbols_hash(name), object);
}

void *real_only(const char *name) {
    const struct link_map *object = NULL;
    uint32_t hash = symbols_hash(name);
    void *found = lookup_behind(own_map(), name, hash, &object);
    return found && !lookup_behind(object, name, hash, NULL) ? found : NULL;
}

bool real_resolve(void) {
    const struct link_map *own = own_map();
#define FIND(name) *(void **)&real.name = lookup_behind(own, #name, symbols_hash(#name), NULL);
#define SKIP(name)
    REAL_FUNCTIONS(FIND, SKIP)
#undef FIND
#undef SKIP
    // /etc/ld.so.preload reaches programs that gain rights by their start, and these must not do what variables say.
    return !getauxval(AT_SECURE);
}

const char *real_path(void) {
    const struct link_map *own = own_map();
    return own && own->l_name && own->l_name[0] == '/' ? own->l_name : NULL;
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
        if (!symbols_same(rows[i].name, name)) continue;
        if (rows[i].late && !*rows[i].slot) real_find_late(rows[i].slot, name);
        return *rows[i].slot == function;
    }
    return false;
}
