// NetCDF: each function once, with its variable, offset and size. Variables have doubles in the file; those of text
// have characters, those of strings have pointers.
#include <errno.h>
#include <netcdf.h>
#include <netcdf_mem.h>
#include <netcdf_meta.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if NC_HAS_PARALLEL4
#include <mpi.h>
#include <netcdf_par.h>
#endif

#include "fixture.h"
#include "netcdf_cases.h" // made from the table: TRANSFERS

enum { ROWS = 8, COLUMNS = 4, VALUES = ROWS * COLUMNS };

static int file, numbers, texts, strings, records;
static int dims[2], grows[2];
static double values[VALUES];
static const char *names[VALUES];
static const size_t start[2] = {2, 1}, count[2] = {3, 2};
static const ptrdiff_t stride[2] = {2, 1}, map[2] = {2, 1};

static const char *path(void) { return case_path("data.nc"); }

// What the recorder calls a variable: the file's name, a colon, its own.
static const char *named(const char *name) {
    static char text[4][PATH_ROOM];
    static unsigned turn;
    char *out = text[turn++ % 4];
    snprintf(out, PATH_ROOM, "%s:%s", path(), name);
    return out;
}

static const char *object(int variable) {
    return named(variable == texts     ? "texts"
                 : variable == strings ? "strings"
                 : variable == records ? "records"
                                       : "numbers");
}

static void define(int mode) {
    nc_create(path(), NC_CLOBBER | mode, &file);
    nc_def_dim(file, "rows", ROWS, &dims[0]);
    nc_def_dim(file, "columns", COLUMNS, &dims[1]);
    nc_def_dim(file, "time", NC_UNLIMITED, &grows[0]);
    grows[1] = dims[1];
    nc_def_var(file, "numbers", NC_DOUBLE, 2, dims, &numbers);
    nc_def_var(file, "texts", NC_CHAR, 2, dims, &texts);
    nc_def_var(file, "records", NC_SHORT, 2, grows, &records);
    strings = -1;
    if (mode & NC_NETCDF4) nc_def_var(file, "strings", NC_STRING, 2, dims, &strings);
}

static void begin(void) {
    define(NC_NETCDF4);
    nc_enddef(file);
    for (int i = 0; i < VALUES; i++) names[i] = "name";
    memset(values, 0, sizeof values);
    nc_put_var_double(file, numbers, values);
}

static void begin_classic(void) {
    define(0);
    nc_enddef(file);
}

static void end(void) { nc_close(file); }

// After `before`, one call of the function that the case is named after.
#define CASE_AFTER(before, name, call, ...)                                                                            \
    static void case_##name(void) {                                                                                    \
        if (!case_symbol()) return;                                                                                    \
        before;                                                                                                        \
        case_start();                                                                                                  \
        int result = call;                                                                                             \
        case_stop(result);                                                                                             \
        CHECK(result == NC_NOERR);                                                                                     \
        __VA_ARGS__;                                                                                                   \
    }
#define CASE(name, call, ...) CASE_AFTER(begin(), name, call, __VA_ARGS__; end())
#define OF_FILE(op) expect(op, path(), NONE, NONE, 0)

CASE_AFTER((begin(), end()), nc_open, nc_open(path(), NC_NOWRITE, &file), OF_FILE("nc_open"), end())
CASE_AFTER((begin_classic(), end()), nc__open, nc__open(path(), NC_NOWRITE, &(size_t){0}, &file), OF_FILE("nc_open"),
           end())
CASE_AFTER((begin_classic(), end()), nc__open_mp, nc__open_mp(path(), NC_NOWRITE, 0, &(size_t){0}, &file),
           OF_FILE("nc_open"), end())
CASE_AFTER(, nc_create, nc_create(path(), NC_CLOBBER, &file), OF_FILE("nc_create"), end())
CASE_AFTER(, nc__create, nc__create(path(), NC_CLOBBER, 0, &(size_t){0}, &file), OF_FILE("nc_create"), end())
CASE_AFTER(, nc__create_mp, nc__create_mp(path(), NC_CLOBBER, 0, 0, &(size_t){0}, &file), OF_FILE("nc_create"), end())
CASE_AFTER(define(0), nc_enddef, nc_enddef(file), OF_FILE("nc_enddef"), end())
CASE_AFTER(define(0), nc__enddef, nc__enddef(file, 0, 64, 0, 4), OF_FILE("nc_enddef"), end())
CASE(nc_redef, nc_redef(file), OF_FILE("nc_redef"))
CASE(nc_sync, nc_sync(file), OF_FILE("nc_sync"))
CASE_AFTER(begin(), nc_close, nc_close(file), OF_FILE("nc_close"))
CASE_AFTER(begin(), nc_abort, nc_abort(file), OF_FILE("nc_abort"))
CASE_AFTER(define(0), nc_def_var, nc_def_var(file, "more", NC_INT, 0, NULL, &(int){0}),
           expect("nc_def_var", named("more"), NONE, NONE, 0), end())

// The old name is forgotten.
CASE_AFTER((begin_classic(), nc_redef(file)), nc_rename_var,
           nc_rename_var(file, numbers, "other") | nc_enddef(file) | nc_put_var1_double(file, numbers, start, values),
           OF_FILE("nc_enddef"), expect("nc_put_var1", named("other"), 72, 8, 8), end())

#if NC_HAS_PARALLEL4
CASE_AFTER(, nc_create_par, nc_create_par(path(), NC_NETCDF4, MPI_COMM_WORLD, MPI_INFO_NULL, &file),
           OF_FILE("nc_create_par"), end())
CASE_AFTER((begin(), end()), nc_open_par, nc_open_par(path(), NC_NOWRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &file),
           OF_FILE("nc_open_par"), end())
int nc_create_par_fortran(const char *path, int mode, int comm, int info, int *id);
int nc_open_par_fortran(const char *path, int mode, int comm, int info, int *id);
CASE_AFTER(, nc_create_par_fortran,
           nc_create_par_fortran(path(), NC_NETCDF4, MPI_Comm_c2f(MPI_COMM_WORLD), MPI_Info_c2f(MPI_INFO_NULL), &file),
           OF_FILE("nc_create_par"), end())
CASE_AFTER((begin(), end()), nc_open_par_fortran,
           nc_open_par_fortran(path(), NC_NOWRITE, MPI_Comm_c2f(MPI_COMM_WORLD), MPI_Info_c2f(MPI_INFO_NULL), &file),
           OF_FILE("nc_open_par"), end())
CASE_AFTER((nc_create_par(path(), NC_NETCDF4, MPI_COMM_WORLD, MPI_INFO_NULL, &file),
            nc_def_var(file, "numbers", NC_DOUBLE, 0, NULL, &numbers)),
           nc_var_par_access,
           nc_var_par_access(file, numbers, NC_COLLECTIVE) | nc_put_var_double(file, numbers, values),
           expect("nc_put_var", named("numbers"), 0, 8, 8), end())
#else
#define WITHOUT(name)                                                                                                  \
    static void case_##name(void) { case_skip("NetCDF without MPI"); }
WITHOUT(nc_create_par)
WITHOUT(nc_open_par)
WITHOUT(nc_create_par_fortran)
WITHOUT(nc_open_par_fortran)
WITHOUT(nc_var_par_access)
#endif

// --- files in memory

static size_t read_file(char **data) {
    static char room[1 << 16];
    begin_classic();
    end();
    FILE *stream = fopen(path(), "r");
    size_t bytes = fread(room, 1, sizeof room, stream);
    fclose(stream);
    *data = room;
    return bytes;
}

static char *data;
static size_t data_bytes;

CASE_AFTER(data_bytes = read_file(&data), nc_open_mem, nc_open_mem(path(), 0, data_bytes, data, &file),
           OF_FILE("nc_open_mem"), end())
CASE_AFTER(data_bytes = read_file(&data), nc_open_memio,
           nc_open_memio(path(), 0, (&(NC_memio){data_bytes, data, NC_MEMIO_LOCKED}), &file), OF_FILE("nc_open_mem"),
           end())
CASE_AFTER(, nc_create_mem, nc_create_mem(path(), 0, 0, &file), OF_FILE("nc_create_mem"), end())

static void case_nc_close_memio(void) {
    NC_memio memory;
    if (!case_symbol()) return;
    nc_create_mem(path(), 0, 0, &file);
    case_start();
    int result = nc_close_memio(file, &memory);
    case_stop(result);
    CHECK(result == NC_NOERR);
    OF_FILE("nc_close");
    free(memory.memory);
}

// --- transfers: where the elements of each form begin, and how many there are

enum {
    FIRST_var = 0,
    COUNT_var = VALUES,
    FIRST_var1 = 2 * COLUMNS + 1,
    COUNT_var1 = 1,
    FIRST_vara = FIRST_var1,
    COUNT_vara = 6,
    FIRST_vars = FIRST_var1,
    COUNT_vars = 6,
    FIRST_varm = FIRST_var1,
    COUNT_varm = 6,
};

#define TRANSFER(name, op, mode, variable, form, call)                                                                 \
    CASE_AFTER(begin(), name, call, moved(op, variable, FIRST_##form, COUNT_##form), end())
#define ROW(name)                                                                                                      \
    { #name, case_##name }
#define TRANSFER_ROW(name, ...) ROW(name),

static void moved(const char *op, int variable, int64_t before, int64_t elements) {
    int64_t bytes = variable == texts ? 1 : 8;
    expect(op, object(variable), before * bytes, elements * bytes, elements * bytes);
}

TRANSFERS(TRANSFER)

// --- other forms

static void grows_in(void (*begins)(void)) {
    begins();
    case_start();
    int result = nc_put_vara_short(file, records, (size_t[]){0, 0}, (size_t[]){3, COLUMNS}, (short *)values);
    result |= nc_get_var_short(file, records, (short *)values);
    result |= nc_get_vara_short(file, records, (size_t[]){2, 1}, (size_t[]){1, 2}, (short *)values);
    case_stop(result);
    CHECK(result == NC_NOERR);
    expect("nc_put_vara", object(records), 0, 24, 24);
    expect("nc_get_var", object(records), 0, 24, 24);
    expect("nc_get_vara", object(records), 18, 4, 4);
    end();
}

static void grows_classic(void) { grows_in(begin_classic); }
static void grows_netcdf4(void) { grows_in(begin); }

// Both dimensions can grow, and belong to the group around; the type is the program's own.
static void in_group(void) {
    struct pair {
        double a;
        int b;
    } pairs[6] = {{0, 0}};
    int group, inner, type, variable, both[2];
    define(NC_NETCDF4);
    both[0] = grows[0];
    nc_def_dim(file, "more", NC_UNLIMITED, &both[1]);
    nc_def_grp(file, "group", &group);
    nc_def_grp(group, "inner", &inner);
    nc_def_compound(file, sizeof *pairs, "pair", &type);
    nc_insert_compound(file, type, "a", offsetof(struct pair, a), NC_DOUBLE);
    case_start();
    int result = nc_def_var(inner, "pairs", type, 2, both, &variable);
    result |= nc_put_vara(inner, variable, (size_t[]){0, 0}, (size_t[]){1, 2}, pairs);
    result |= nc_put_vara(inner, variable, (size_t[]){1, 1}, (size_t[]){2, 3}, pairs);
    result |= nc_get_vara(inner, variable, (size_t[]){1, 1}, (size_t[]){2, 3}, pairs);
    result |= nc_sync(group);
    case_stop(result);
    CHECK(result == NC_NOERR);
    expect("nc_def_var", named("group/inner/pairs"), NONE, NONE, 0);
    expect("nc_put_vara", named("group/inner/pairs"), 0, 32, 32);
    expect("nc_put_vara", named("group/inner/pairs"), 80, 96, 96);
    expect("nc_get_vara", named("group/inner/pairs"), 80, 96, 96);
    OF_FILE("nc_sync");
    end();
}

static void no_count(void) {
    begin();
    case_start();
    int result = nc_get_vara_double(file, numbers, (size_t[]){0, 0}, NULL, values);
    result |= nc_get_vars_double(file, numbers, start, count, NULL, values);
    case_stop(result);
    CHECK(result == NC_NOERR);
    expect("nc_get_vara", object(numbers), 0, 256, 256);
    expect("nc_get_vars", object(numbers), 72, 48, 48);
    end();
}

static void fails(void) {
    begin();
    case_start();
    int result = nc_put_vara_double(file, numbers, start, (size_t[]){ROWS, 1}, values);
    case_stop(result);
    CHECK(result == NC_EEDGE);
    expect_error("nc_put_vara", object(numbers), NONE, 0, NC_EEDGE, EIO);
    end();
}

static void missing(void) {
    case_start();
    int result = nc_open(case_path("nothing.nc"), NC_NOWRITE, &file);
    case_stop(result);
    CHECK(result == ENOENT);
    expect_error("nc_open", case_path("nothing.nc"), NONE, NONE, ENOENT, EIO);
}

// The number of a file is used again; its variables are others.
static void again(void) {
    begin();
    end();
    int old = file, dim, variable;
    nc_create(path(), NC_CLOBBER, &file);
    CHECK(file == old);
    nc_def_dim(file, "rows", 2, &dim);
    nc_def_var(file, "numbers", NC_SHORT, 1, &dim, &variable);
    nc_enddef(file);
    case_start();
    case_stop(nc_put_var_int(file, variable, (int[]){1, 2}));
    expect("nc_put_var", named("numbers"), 0, 4, 4);
    end();
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {
        ROW(nc_open),
        ROW(nc__open),
        ROW(nc__open_mp),
        ROW(nc_create),
        ROW(nc__create),
        ROW(nc__create_mp),
        ROW(nc_create_par),
        ROW(nc_open_par),
        ROW(nc_create_par_fortran),
        ROW(nc_open_par_fortran),
        ROW(nc_var_par_access),
        ROW(nc_open_mem),
        ROW(nc_open_memio),
        ROW(nc_create_mem),
        ROW(nc_close_memio),
        ROW(nc_enddef),
        ROW(nc__enddef),
        ROW(nc_redef),
        ROW(nc_sync),
        ROW(nc_close),
        ROW(nc_abort),
        ROW(nc_def_var),
        ROW(nc_rename_var),
        TRANSFERS(TRANSFER_ROW){"a variable of NetCDF that grows", grows_classic},
        {"a variable of NetCDF-4 that grows", grows_netcdf4},
        {"a variable of NetCDF in a group", in_group},
        {"a part of a variable of NetCDF without a count", no_count},
        {"a transfer of NetCDF that fails", fails},
        {"a file that is missing, NetCDF", missing},
        {"a file of NetCDF, opened again", again},
        {NULL, NULL},
    };
#if NC_HAS_PARALLEL4
    MPI_Init(&argc, &argv);
#endif
    int status = case_main(argc, argv, cases);
#if NC_HAS_PARALLEL4
    MPI_Finalize();
#endif
    return status;
}
