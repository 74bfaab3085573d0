// The real functions behind the shims: `real.pwrite(fd, …)` calls the next pwrite in the search order, usually libc's.
#pragma once

#include <link.h>
#include <stdbool.h>

#include "fmt/records.h"
#include "real_functions.h"

extern struct real_functions real __attribute__((visibility("hidden")));

// How this copy of the recorder gets to see calls: real.c is for the preload library, link/real.c for one that is
// linked into a program.
extern const enum process_via real_via __attribute__((visibility("hidden")));

// Fills `real`; called once, before the first real call. Functions of libraries that may be loaded later (`late` in the
// table) are looked up at their first call. Returns false if another copy of the recorder sees the calls.
bool real_resolve(void);
void *real_find_late(void **slot, const char *name);

#define REAL_LATE(name) (real.name ? real.name : (__typeof__(real.name))real_find_late((void **)&real.name, #name))

// The path of the preload library that this is; NULL if it is not one.
const char *real_path(void);

// For dlsym and MPI:
// The recorder's own function of that name; NULL if it has none.
void *real_own(const char *name);
// Whether the shim of that name calls this function. For MPI's functions see mpi_is_real().
bool real_is(const char *name, const void *function);
// The next function of that name after the recorder's, in the order in which objects were loaded; and its object.
void *real_next(const char *name, const struct link_map **object);
// The function of that name in one object; NULL if it has none.
void *real_in(const struct link_map *object, const char *name);
// The same as real_next if only one object has such a function; else NULL.
void *real_only(const char *name);
