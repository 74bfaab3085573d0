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

static void *find_in(const struct link_map *object, const char *name, uint32_t hash) {
    const struct symbols in = symbols_of(object);
    return symbols_find(&in, name, hash);
}

void *real_in(const struct link_map *object, const char *name) { return find_in(object, name, symbols_hash(name)); }

void *real_own(const char *name) {
    const struct link_map *own = own_map();
    return own ? real_in(own, name) : NULL;
}

// Looks up a function in the objects that were loaded after `before`.
static void *lookup_behind(const struct link_map *before, const char *name, uint32_t hash,
                           const struct link_map **object) {
    void *found = NULL;
    for (const struct link_map *map = before ? before->l_next : NULL; map && !found; map = map->l_next) {
        found = find_in(map, name, hash);
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

// The names of `real`, in its order. Those of libraries that may come later begin with a minus.
enum { FUNCTIONS = sizeof real / sizeof(void *), LATE = '-' };
#define LATE_NAME(name) "-" SYMBOLS_NAME(name)
static const char names[] = REAL_FUNCTIONS(SYMBOLS_NAME, LATE_NAME);
_Static_assert(sizeof names <= UINT16_MAX, "`wanted` has places in it");

static const struct {
    uint16_t name; // place in `names`
    uint32_t hash;
} wanted[] = {REAL_WANTED};
_Static_assert(sizeof wanted / sizeof *wanted == FUNCTIONS, "one for each");

static void resolve_in(const struct link_map *object) {
    const struct symbols in = symbols_of(object);
    void **slot = (void **)&real;
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        const char *name = names + wanted[i].name;
        if (!slot[i] && *name != LATE) slot[i] = symbols_find(&in, name, wanted[i].hash);
    }
}

bool real_resolve(void) {
    const struct link_map *own = own_map();
    for (const struct link_map *map = own ? own->l_next : NULL; map; map = map->l_next) resolve_in(map);
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
    void **slot = (void **)&real;
    for (const char *at = names; *at; at = symbols_next_name(at), slot++) {
        if (!symbols_same(at + (*at == LATE), name)) continue;
        if (*at == LATE && !*slot) real_find_late(slot, name);
        return *slot == function;
    }
    return false;
}
