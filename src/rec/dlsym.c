// Functions that a program looks up by name. Python's ctypes and Julia call foreign functions by dlsym(library,
// "MPI_Barrier"), which bypasses preloaded libraries. If dlsym finds the function that the shim of that name calls, the
// program gets the shim instead.
//
// For RTLD_NEXT and RTLD_DEFAULT dlsym looks at its caller. So calls that need no change jump to the real dlsym, which
// then sees the program as its caller.
#include <dlfcn.h>

#include "rec/deepbind.h"
#include "rec/library.h"
#include "rec/mpi/core_interface.h"
#include "rec/shims.h"

void *choose_dlsym(void *library, const char *name) __attribute__((used, visibility("hidden")));
void *choose_dlvsym(void *library, const char *name, const char *version) __attribute__((used, visibility("hidden")));
void *choose_dlopen(const char *path, int flags) __attribute__((used, visibility("hidden")));

// Looked up separately: the recorder may not have started yet, and a library's start may call them.
static void lookup_real(void) {
    if (!real.dlsym) *(void **)&real.dlsym = real_next("dlsym", NULL);
    if (!real.dlvsym) *(void **)&real.dlvsym = real_next("dlvsym", NULL);
    if (!real.dlopen) *(void **)&real.dlopen = real_next("dlopen", NULL);
}

// The function that the program gets instead of the one that was found.
static void *shim_or(const char *name, void *found) {
    void *own = real_own(name);
    if (!found || !own || found == own) return found;
    if (library_has_name(name)) return library_is_real(name, found) ? own : found;
    bool is_called = mpi_is_name(name) ? mpi_is_real(name, found) : real_is(name, found);
    return is_called ? own : found;
}

// The recorder's functions of MPI and HDF5 are visible to every program, but without these libraries they have nothing
// to call. Then dlsym must fail.
static bool is_missing(const char *name) {
    if (mpi_is_name(name)) return !mpi_is_here();
    return library_has_name(name) && !library_is_here(name);
}

static void *look_behind(void *library, const char *name) {
    (void)library;
    void *found = real.dlsym(RTLD_NEXT, name);
    __asm__ volatile("" ::: "memory"); // no tail call: dlsym must see this function as its caller
    return found;
}

static void *look_up(void *library, const char *name) {
    void *found = real.dlsym(library, name);
    if (found && found == real_own(name) && is_missing(name)) return look_behind(library, name);
    return shim_or(name, found);
}

static void *look_up_version(void *library, const char *name, const char *version) {
    return shim_or(name, real.dlvsym(library, name, version));
}

void *choose_dlsym(void *library, const char *name) {
    lookup_real();
    if (library != RTLD_DEFAULT && library != RTLD_NEXT) deepbind_apply();
    if (library == RTLD_NEXT || !real_own(name)) return (void *)real.dlsym;
    if (library != RTLD_DEFAULT) return (void *)look_up;
    return is_missing(name) ? (void *)look_behind : (void *)real.dlsym;
}

void *choose_dlvsym(void *library, const char *name, const char *version) {
    (void)version;
    lookup_real();
    if (library == RTLD_NEXT || library == RTLD_DEFAULT || !real_own(name)) return (void *)real.dlvsym;
    deepbind_apply();
    return (void *)look_up_version;
}

void *choose_dlopen(const char *path, int flags) {
    (void)path;
    lookup_real();
    if (flags & RTLD_DEEPBIND) deepbind_expect();
    return (void *)real.dlopen;
}

__asm__(CPU_FUNCTION(dlsym, CPU_SWITCH_TO("choose_dlsym")));
__asm__(CPU_FUNCTION(dlvsym, CPU_SWITCH_TO("choose_dlvsym")));
__asm__(CPU_FUNCTION(dlopen, CPU_SWITCH_TO("choose_dlopen")));
