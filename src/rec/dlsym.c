// Functions that a program asks for by name. dlsym(library, "MPI_Barrier"), which is how Python's ctypes and Julia call
// foreign functions, leads past everything that is preloaded. Where it finds the very function that our shim of that
// name calls, the program gets the shim; everything else it gets as it is.
//
// Where dlsym is asked for the next function, or for one in the caller's scope, it looks at who called it. So all calls
// that need no answer of ours jump on to it, and it sees the program as its caller.
#include <dlfcn.h>

#include "rec/deepbind.h"
#include "rec/mpi/core_interface.h"
#include "rec/shims.h"

void *choose_dlsym(void *library, const char *name) __attribute__((used, visibility("hidden")));
void *choose_dlvsym(void *library, const char *name, const char *version) __attribute__((used, visibility("hidden")));
void *choose_dlopen(const char *path, int flags) __attribute__((used, visibility("hidden")));

// Looked up by themselves: the recorder need not be started for them, and somebody else's start may be what asks.
static void find_real(void)
{
    if (!real.dlsym) *(void **)&real.dlsym = real_next("dlsym", NULL);
    if (!real.dlvsym) *(void **)&real.dlvsym = real_next("dlvsym", NULL);
    if (!real.dlopen) *(void **)&real.dlopen = real_next("dlopen", NULL);
}

// What the program gets instead of what was found.
static void *answer(const char *name, void *found)
{
    void *own = real_own(name);
    if (!found || !own || found == own) return found;
    bool is_called = mpi_is_name(name) ? mpi_is_real(name, found) : real_is(name, found);
    return is_called ? own : found;
}

// Ours are in everybody's scope, but without an MPI there is nothing behind them. Fails as dlsym does.
static void *look_behind(void *library, const char *name)
{
    (void)library;
    void *found = real.dlsym(RTLD_NEXT, name);
    __asm__ volatile("" ::: "memory"); // no jump: this function must be the one that asks
    return found;
}

static void *look_up(void *library, const char *name)
{
    void *found = real.dlsym(library, name);
    if (found && found == real_own(name) && mpi_is_name(name) && !mpi_is_here()) return look_behind(library, name);
    return answer(name, found);
}

static void *look_up_version(void *library, const char *name, const char *version)
{
    return answer(name, real.dlvsym(library, name, version));
}

void *choose_dlsym(void *library, const char *name)
{
    find_real();
    if (library != RTLD_DEFAULT && library != RTLD_NEXT) deepbind_apply();
    if (library == RTLD_NEXT || !real_own(name)) return (void *)real.dlsym;
    if (library != RTLD_DEFAULT) return (void *)look_up;
    return mpi_is_name(name) && !mpi_is_here() ? (void *)look_behind : (void *)real.dlsym;
}

void *choose_dlvsym(void *library, const char *name, const char *version)
{
    (void)version;
    find_real();
    if (library == RTLD_NEXT || library == RTLD_DEFAULT || !real_own(name)) return (void *)real.dlvsym;
    deepbind_apply();
    return (void *)look_up_version;
}

void *choose_dlopen(const char *path, int flags)
{
    (void)path;
    find_real();
    if (flags & RTLD_DEEPBIND) deepbind_expect();
    return (void *)real.dlopen;
}

CPU_SWITCH(dlsym, choose_dlsym);
CPU_SWITCH(dlvsym, choose_dlvsym);
CPU_SWITCH(dlopen, choose_dlopen);
