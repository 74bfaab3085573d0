// Libraries above MPI-IO whose functions the recorder exports: HDF5, NetCDF, PnetCDF. A process may have several builds
// of one, each bound to a part of the program (Python modules with their own). A shim must call the library that its
// caller is bound to, because the ids of one mean nothing to another.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rec/recorder.h"

enum library_kind { LIBRARY_HDF5, LIBRARY_NETCDF, LIBRARY_PNETCDF, LIBRARY_KINDS };

struct link_map;

struct library {
    struct library *next;       // of the same kind
    unsigned layer;             // of its calls
    const struct link_map *map; // NULL: no such library is loaded; its functions all fail
    void *symbols;              // for library_symbol()
    void *_Atomic state; // of the probes; NULL: calls pass through unrecorded. Set after others may see the library
    void *function[];    // in the order of the table: struct hdf5_functions …
};

// A part of memory with code, and the library that it calls.
struct library_caller {
    const struct library_caller *next;
    uintptr_t start;
    uintptr_t bytes;
    struct library *library;
};

extern const struct library_caller *_Atomic library_callers[LIBRARY_KINDS] __attribute__((visibility("hidden")));

// The slow path of library_of. `name` is the function that the caller has called. Never NULL: without memory the calls
// pass through.
struct library *library_find(enum library_kind kind, uintptr_t caller, const char *name);

static inline struct library *library_of(enum library_kind kind, uintptr_t caller, const char *name) {
    const struct library_caller *known = atomic_load_explicit(&library_callers[kind], memory_order_acquire);
    while (known && caller - known->start >= known->bytes) known = known->next;
    return LIKELY(known) ? known->library : library_find(kind, caller, name);
}

// Another function or variable of the library; NULL if it has none of that name.
void *library_symbol(const struct library *library, const char *name);

// For dlsym: whether the name belongs to such a library, whether the process has one, and whether a shim called from
// anywhere would call this function.
// The first runs before sanitizers have started, so it calls nothing.
static inline bool library_has_name(const char *name) {
    return (name[0] == 'H' && name[1] == '5') || (name[0] == 'n' && name[1] == 'c');
}
bool library_is_here(const char *name);
bool library_is_real(const char *name, const void *function);

// After dlclose: other code may get the addresses of a caller.
void library_forget_callers(void);
