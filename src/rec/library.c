#include "rec/library.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "rec/memory.h"
#include "rec/real.h"
#include "rec/shims.h"
#include "rec/symbols.h"

static const char hdf5_names[] = HDF5_FUNCTIONS(SYMBOLS_NAME);
static const char netcdf_names[] = NETCDF_FUNCTIONS(SYMBOLS_NAME);
static const char pnetcdf_names[] = PNETCDF_FUNCTIONS(SYMBOLS_NAME);

#define ONE(name) +1
enum { HDF5_COUNT = HDF5_FUNCTIONS(ONE), NETCDF_COUNT = NETCDF_FUNCTIONS(ONE), PNETCDF_COUNT = PNETCDF_FUNCTIONS(ONE) };
#undef ONE

static const struct kind {
    unsigned layer;
    const char *landmark; // every library of the kind defines it
    const char *names;
    size_t count;
    void (*start)(struct library *library); // sets the state
} kinds[LIBRARY_KINDS] = {
    [LIBRARY_HDF5] = {LAYER_HDF5, "H5get_libversion", hdf5_names, HDF5_COUNT, hdf5_start},
    [LIBRARY_NETCDF] = {LAYER_NETCDF, "nc_inq_libvers", netcdf_names, NETCDF_COUNT, nc_start},
    [LIBRARY_PNETCDF] = {LAYER_PNETCDF, "ncmpi_inq_libvers", pnetcdf_names, PNETCDF_COUNT, nc_start},
};

const struct library_caller *_Atomic library_callers[LIBRARY_KINDS];
static struct library *_Atomic libraries[LIBRARY_KINDS];
static _Atomic uint32_t lock; // never held while a library is asked for something

// --- objects

static const ElfW(Dyn) * find_entry(const struct link_map *map, ElfW(Sxword) tag) {
    for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == tag) return entry;
    }
    return NULL;
}

// An address in the object's dynamic section. The loader has relocated it.
static const void *find_table(const struct link_map *map, ElfW(Sxword) tag) {
    const ElfW(Dyn) *entry = find_entry(map, tag);
    return entry && entry->d_un.d_ptr >= map->l_addr ? (const void *)entry->d_un.d_ptr : NULL;
}

static bool has_name(const struct link_map *map, const char *file) {
    const char *text = find_table(map, DT_STRTAB);
    const ElfW(Dyn) *own = find_entry(map, DT_SONAME);
    if (text && own) return !strcmp(text + own->d_un.d_val, file);
    const char *slash = strrchr(map->l_name, '/');
    return !strcmp(slash ? slash + 1 : map->l_name, file);
}

static const struct link_map *find_object(const char *file) {
    for (const struct link_map *map = _r_debug.r_map; map; map = map->l_next) {
        if (has_name(map, file)) return map;
    }
    return NULL;
}

// The number of the symbol with this name to which the object refers; 0 if there is none.
static size_t referred_symbol(const struct link_map *map, const char *name) {
    static const struct { ElfW(Sxword) table, bytes; } lists[] = {{DT_JMPREL, DT_PLTRELSZ}, {DT_RELA, DT_RELASZ}};
    const ElfW(Sym) *symbol = find_table(map, DT_SYMTAB);
    const char *text = find_table(map, DT_STRTAB);
    for (size_t list = 0; symbol && text && list < sizeof lists / sizeof *lists; list++) {
        const ElfW(Rela) *row = find_table(map, lists[list].table);
        const ElfW(Dyn) *bytes = find_entry(map, lists[list].bytes);
        for (size_t i = 0; row && bytes && i < bytes->d_un.d_val / sizeof *row; i++) {
            size_t number = ELF64_R_SYM(row[i].r_info);
            if (number && !strcmp(text + symbol[number].st_name, name)) return number;
        }
    }
    return 0;
}

// The file from which the object wants the version of a symbol; NULL if it wants no version.
static const char *versioned_file(const struct link_map *map, size_t symbol) {
    enum { HIDDEN = 0x8000 };
    const char *text = find_table(map, DT_STRTAB);
    const ElfW(Half) *version = find_table(map, DT_VERSYM);
    const ElfW(Verneed) *file = find_table(map, DT_VERNEED);
    const ElfW(Dyn) *files = find_entry(map, DT_VERNEEDNUM);
    if (!symbol || !text || !version || !file || !files) return NULL;
    for (size_t i = 0; i < files->d_un.d_val; i++) {
        const ElfW(Vernaux) *need = (const void *)((const char *)file + file->vn_aux);
        for (size_t j = 0; j < file->vn_cnt; j++) {
            if ((need->vna_other & ~HIDDEN) == (version[symbol] & ~HIDDEN)) return text + file->vn_file;
            need = (const void *)((const char *)need + need->vna_next);
        }
        file = (const void *)((const char *)file + file->vn_next);
    }
    return NULL;
}

// --- which library a caller is bound to

static bool defines(const struct link_map *map, enum library_kind kind) {
    return map && real_in(map, kinds[kind].landmark);
}

// The first library among the objects that the caller needs, breadth first, as the loader looks for it.
static const struct link_map *find_needed(const struct link_map *caller, enum library_kind kind) {
    enum { MOST = 512 };
    const struct link_map *queue[MOST];
    size_t count = 0;
    queue[count++] = caller;
    for (size_t at = 0; at < count; at++) {
        if (defines(queue[at], kind)) return queue[at];
        const char *text = find_table(queue[at], DT_STRTAB);
        for (const ElfW(Dyn) *entry = queue[at]->l_ld; text && entry && entry->d_tag != DT_NULL; entry++) {
            const struct link_map *next = entry->d_tag == DT_NEEDED ? find_object(text + entry->d_un.d_val) : NULL;
            bool is_known = !next || count == MOST;
            for (size_t i = 0; i < count && !is_known; i++) is_known = queue[i] == next;
            if (!is_known) queue[count++] = next;
        }
    }
    return NULL;
}

// The library that is visible to all objects.
static const struct link_map *find_global(enum library_kind kind, const char *name) {
    const struct link_map *first = NULL;
    const void *function = real.dlsym ? real.dlsym(RTLD_NEXT, name) : NULL;
    dlerror();
    for (const struct link_map *map = _r_debug.r_map; function && map && !first; map = map->l_next) {
        if (defines(map, kind) && real_in(map, name) == function) first = map;
    }
    return first;
}

static const struct link_map *bound_to(enum library_kind kind, const struct link_map *caller, const char *name) {
    const struct link_map *first = NULL, *found = NULL;
    if (!real_next(kinds[kind].landmark, &first)) return NULL;
    if (real_only(kinds[kind].landmark)) return first;
    if (!caller) return first;
    const char *file = versioned_file(caller, referred_symbol(caller, name));
    if (file) found = find_object(file);
    if (!defines(found, kind)) found = find_global(kind, name);
    if (!found) found = find_needed(caller, kind);
    return found ? found : first;
}

// --- libraries

static long missing(void) { return -1; }

static struct library *make(enum library_kind kind, const struct link_map *map) {
    struct library *library = memory_alloc(sizeof *library + kinds[kind].count * sizeof library->function[0]);
    if (!library) return NULL;
    *library = (struct library){.map = map, .layer = kinds[kind].layer};
    // Another preloaded library may stand between this one and the only library.
    bool is_only = real_only(kinds[kind].landmark);
    void **function = library->function;
    for (const char *name = kinds[kind].names; *name; name = symbols_next_name(name), function++) {
        void *found = is_only ? real_next(name, NULL) : real_in(map, name);
        *function = found ? found : (void *)missing;
    }
    return library;
}

static struct library *known(enum library_kind kind, const struct link_map *map) {
    struct library *library = libraries[kind];
    while (library && library->map != map) library = library->next;
    return library;
}

// The library stays loaded: the recorder has its addresses.
static struct library *get(enum library_kind kind, const struct link_map *map) {
    struct library *library = known(kind, map);
    if (library) return library;
    void *symbols = map->l_name[0] ? dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    struct library *fresh = make(kind, map);
    if (!fresh) return NULL;
    fresh->symbols = symbols;
    spin_lock(&lock);
    library = known(kind, map);
    if (!library) {
        fresh->next = libraries[kind];
        libraries[kind] = library = fresh;
    }
    spin_unlock(&lock);
    if (library == fresh) kinds[kind].start(library);
    return library;
}

// For a program that has weak references to functions of a library which it does not load, or a library of another kind
// with functions of the same names; and for want of memory.
static struct library *get_absent(enum library_kind kind, const char *name) {
    _Static_assert(PNETCDF_COUNT >= HDF5_COUNT && PNETCDF_COUNT >= NETCDF_COUNT, "room for all names");
    static void *room[LIBRARY_KINDS][sizeof(struct library) / sizeof(void *) + PNETCDF_COUNT];
    struct library *absent = (struct library *)room[kind];
    void **function = absent->function;
    for (const char *at = kinds[kind].names; *at; at = symbols_next_name(at), function++) {
        if (strcmp(at, name)) continue;
        void *found = real_next(name, NULL);
        *function = found ? found : (void *)missing;
    }
    return absent;
}

void *library_symbol(const struct library *library, const char *name) {
    void *found = library->symbols && real.dlsym ? real.dlsym(library->symbols, name) : NULL;
    if (!found) dlerror();
    return found;
}

// --- callers

struct search {
    uintptr_t address;
    uintptr_t base, start, bytes;
};

static int visit(struct dl_phdr_info *info, size_t bytes, void *argument) {
    (void)bytes;
    struct search *search = argument;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD || search->address - start >= part->p_memsz) continue;
        *search = (struct search){search->address, info->dlpi_addr, start, part->p_memsz};
        return 1;
    }
    return 0;
}

static void remember(enum library_kind kind, const struct search *search, struct library *library) {
    struct library_caller *caller = memory_alloc(sizeof *caller);
    if (!caller) return;
    *caller = (struct library_caller){library_callers[kind], search->start, search->bytes, library};
    while (!atomic_compare_exchange_weak(&library_callers[kind], &caller->next, caller)) continue;
}

struct library *library_find(enum library_kind kind, uintptr_t address, const char *name) {
    struct search search = {.address = address};
    const struct link_map *caller = NULL;
    recorder_thread(); // sets `real`
    bool is_known = dl_iterate_phdr(visit, &search);
    for (const struct link_map *map = is_known ? _r_debug.r_map : NULL; map && !caller; map = map->l_next) {
        if (map->l_addr == search.base) caller = map;
    }
    const struct link_map *map = bound_to(kind, caller, name);
    struct library *library = map ? get(kind, map) : NULL;
    if (!library) return get_absent(kind, name);
    if (is_known) remember(kind, &search, library);
    return library;
}

void library_forget_callers(void) {
    for (unsigned kind = 0; kind < LIBRARY_KINDS; kind++) library_callers[kind] = NULL;
}

SHIM(int, dlclose, void *handle) {
    int (*next)(void *) = real.dlclose;
    if (!next) *(void **)&next = real_next("dlclose", NULL);
    int result = next(handle);
    library_forget_callers();
    return result;
}

// --- dlsym

static int kind_of(const char *name) {
    for (unsigned kind = 0; kind < LIBRARY_KINDS; kind++) {
        for (const char *at = kinds[kind].names; *at; at = symbols_next_name(at)) {
            if (!strcmp(at, name)) return (int)kind;
        }
    }
    return -1;
}

bool library_is_here(const char *name) { return real_next(name, NULL) != NULL; }

bool library_is_real(const char *name, const void *function) {
    int kind = kind_of(name);
    return kind >= 0 && real_only(kinds[kind].landmark) && real_next(name, NULL) == function;
}
