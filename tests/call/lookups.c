// Functions that a program asks for by name, and libraries that it opens late. LIBRARY is lookups_library.c.
#include <dlfcn.h>
#include <stdint.h>
#include <unistd.h>

#include "base/cpu.h"
#include "fixture.h"

typedef ssize_t pwrite_function(int, const void *, size_t, off_t);
typedef void *next_function(const char *);

int MPI_Init(int *argc, char ***argv) __attribute__((weak));
int H5Fclose(int64_t file) __attribute__((weak));

static void *libc(void) { return dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD); }

static void write_with(pwrite_function *function) {
    CHECK(function != NULL);
    if (!function) return;
    fixture_begin();
    case_start();
    case_stop(function(f.fd, f.buf, LENGTH, OFFSET));
    expect("pwrite", f.path, OFFSET, LENGTH, LENGTH);
    fixture_end();
}

static void by_name(void) {
    if (case_symbol()) write_with((pwrite_function *)dlsym(libc(), "pwrite"));
}

static void by_version(void) {
    if (case_symbol()) write_with((pwrite_function *)dlvsym(libc(), "pwrite", CPU_OLDEST_LIBC));
}

static void from_everywhere(void) { write_with((pwrite_function *)dlsym(RTLD_DEFAULT, "pwrite")); }

static void from_the_program(void) { write_with((pwrite_function *)dlsym(dlopen(NULL, RTLD_LAZY), "pwrite")); }

static void from_what_follows(void) { write_with((pwrite_function *)dlsym(RTLD_NEXT, "pwrite")); }

static void with_library(int flags) {
    void *library = dlopen(LIBRARY, flags);
    pwrite_function *late_write = library ? (pwrite_function *)dlsym(library, "late_write") : NULL;
    CHECK(late_write != NULL);
    if (!late_write) return;
    fixture_begin();
    case_start();
    case_stop(late_write(f.fd, f.buf, LENGTH, OFFSET));
    expect("pwrite", f.path, OFFSET, LENGTH, LENGTH);
    expect("pwrite", f.path, OFFSET + LENGTH, LENGTH, LENGTH);
    fixture_end();
    dlclose(library);
}

static void late(void) { with_library(RTLD_LAZY); }

static void deeply_bound(void) {
    if (case_symbol()) with_library(RTLD_LAZY | RTLD_DEEPBIND);
}

static void deeply_bound_at_once(void) { with_library(RTLD_NOW | RTLD_DEEPBIND); }

// A function of the library that has the name of a libc function.
static void own_function(void) {
    void *library = dlopen(LIBRARY, RTLD_LAZY | RTLD_DEEPBIND);
    int (*own)(int) = library ? (int (*)(int))dlsym(library, "fdatasync") : NULL;
    int (*calls_own)(int) = library ? (int (*)(int))dlsym(library, "late_own") : NULL;
    CHECK(own && calls_own);
    if (!own || !calls_own) return;
    case_start();
    case_stop(own(1) + calls_own(2));
    dlclose(library);
}

// dlsym looks at its caller: after the library comes libc, whatever else is loaded.
static void next_of_library(void) {
    Dl_info found, expected;
    void *library = dlopen(LIBRARY, RTLD_LAZY);
    next_function *next = library ? (next_function *)dlsym(library, "late_next") : NULL;
    CHECK(next && dladdr(next("strlen"), &found) && dladdr(dlsym(libc(), "strlen"), &expected));
    CHECK(next && found.dli_fbase == expected.dli_fbase);
    if (library) dlclose(library);
}

static void closed(void) {
    void *library = dlopen(LIBRARY, RTLD_LAZY);
    if (!case_symbol() || !library) return;
    case_start();
    int code = dlclose(library);
    case_stop(code);
    CHECK(code == 0);
}

static int64_t sum_of(const char *text) {
    int64_t sum = 0;
    for (; text && *text; text++) sum = sum * 31 + *text;
    return sum;
}

static void nowhere(void) {
    case_start();
    void *found = dlsym(libc(), "no_such_function");
    case_stop(sum_of(dlerror()));
    CHECK(!found);
}

// The same for a program that looks for HDF5, or has a weak reference to it.
static void no_hdf5(void) {
    case_start();
    void *found = dlsym(RTLD_DEFAULT, "H5Dwrite");
    case_stop(found != NULL);
    CHECK(dlerror() != NULL);
    CHECK(!H5Fclose || H5Fclose(1) < 0);
}

// A program that looks for MPI must learn that there is none.
static void no_mpi(void) {
    case_start();
    void *found = dlsym(RTLD_DEFAULT, "MPI_Init");
    void *in_program = dlsym(dlopen(NULL, RTLD_LAZY), "MPI_File_open");
    case_stop(found || in_program);
    CHECK(dlerror() != NULL);
    CHECK(!MPI_Init || MPI_Init(NULL, NULL) != 0);
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {
        {"dlsym", by_name},
        {"dlvsym", by_version},
        {"dlsym in everybody's scope", from_everywhere},
        {"dlsym in the program's scope", from_the_program},
        {"dlsym behind the program", from_what_follows},
        {"dlsym behind a library", next_of_library},
        {"dlsym of a name that does not exist", nowhere},
        {"dlsym of MPI without MPI", no_mpi},
        {"dlsym of HDF5 without HDF5", no_hdf5},
        {"dlclose", closed},
        {"a library that is opened late", late},
        {"dlopen", deeply_bound},
        {"dlopen with everything bound at once", deeply_bound_at_once},
        {"a late library's own function", own_function},
        {NULL, NULL},
    };
    return case_main(argc, argv, cases);
}
