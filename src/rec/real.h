// The functions that the shims stand in front of: `real.pwrite(fd, …)` is the next pwrite in line, usually libc's.
#pragma once

#include <link.h>
#include <stdbool.h>

#include "real_functions.h"

extern struct real_functions real __attribute__((visibility("hidden")));

// Once, before the first call of any. Functions of libraries that may come later (`late` in the table) are looked up
// when they are first called.
void real_resolve(void);
void *real_find_late(void **slot, const char *name);

#define REAL_LATE(name) (real.name ? real.name : (__typeof__(real.name))real_find_late((void **)&real.name, #name))

// For programs that ask for functions by name, and for MPI:
// The recorder's own function of that name; NULL where it has none.
void *real_own(const char *name);
// Whether the shim of that name calls this function; MPI's functions apart (rec/mpi_core.h).
bool real_is(const char *name, const void *function);
// The next function of that name behind ours in the order in which the objects were loaded, and the object that it is
// in.
void *real_next(const char *name, const struct link_map **object);
// The same where only one object has such a function; else NULL.
void *real_only(const char *name);
