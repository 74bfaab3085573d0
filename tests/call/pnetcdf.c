// PnetCDF: each function once, with its variable, offset and size. Variables have doubles in the file, and the names of
// text have characters.
#include <errno.h>
#include <mpi.h>
#include <pnetcdf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "pnetcdf_cases.h" // made from the table: TRANSFERS

enum { ROWS = 8, COLUMNS = 4, VALUES = ROWS * COLUMNS };

static int file, numbers, texts, records, more_numbers, more_texts;
static long long values[VALUES];
static MPI_Datatype type_of_file;
static int request;
static bool has_waited;
static const MPI_Offset start[2] = {2, 1}, count[2] = {3, 2}, stride[2] = {2, 1}, map[2] = {2, 1};
static MPI_Offset first[2] = {1, 1}, last[2] = {6, 0}, one[2] = {1, 3}, two[2] = {2, 2};
static MPI_Offset *const starts[2] = {first, last}, *const counts[2] = {one, two};

static const char *path(void) { return case_path("data.nc"); }

// What the recorder calls a variable: the file's name, a colon, its own.
static const char *object(int variable) {
    static char text[4][PATH_ROOM];
    static unsigned turn;
    char *out = text[turn++ % 4];
    snprintf(out, PATH_ROOM, "%s:%s", path(),
             variable == texts          ? "texts"
             : variable == records      ? "records"
             : variable == more_numbers ? "more numbers"
             : variable == more_texts   ? "more texts"
                                        : "numbers");
    return out;
}

static void define(void) {
    int dims[2], grows[2];
    ncmpi_create(MPI_COMM_WORLD, path(), NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file);
    ncmpi_def_dim(file, "rows", ROWS, &dims[0]);
    ncmpi_def_dim(file, "columns", COLUMNS, &dims[1]);
    ncmpi_def_dim(file, "time", NC_UNLIMITED, &grows[0]);
    grows[1] = dims[1];
    ncmpi_def_var(file, "numbers", NC_DOUBLE, 2, dims, &numbers);
    ncmpi_def_var(file, "texts", NC_CHAR, 2, dims, &texts);
    ncmpi_def_var(file, "records", NC_SHORT, 2, grows, &records);
    ncmpi_def_var(file, "more numbers", NC_DOUBLE, 2, dims, &more_numbers);
    ncmpi_def_var(file, "more texts", NC_CHAR, 2, dims, &more_texts);
}

static void begin(void) {
    define();
    ncmpi_enddef(file);
    memset(values, 0, sizeof values);
    ncmpi_put_var_text_all(file, more_texts, (char *)values);
    ncmpi_put_var_double_all(file, more_numbers, (double *)values);
    ncmpi_put_vara_text_all(file, texts, (MPI_Offset[]){0, 0}, (MPI_Offset[]){ROWS, COLUMNS}, (char *)values);
    ncmpi_put_vara_double_all(file, numbers, (MPI_Offset[]){0, 0}, (MPI_Offset[]){ROWS, COLUMNS}, (double *)values);
}

static void end(void) { ncmpi_close(file); }

// Between `begin` and `end` one call of the function that the case is named after.
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

CASE(ncmpi_open, ncmpi_open(MPI_COMM_WORLD, path(), NC_NOWRITE, MPI_INFO_NULL, &(int){0}), OF_FILE("ncmpi_open"))
CASE_AFTER(, ncmpi_create, ncmpi_create(MPI_COMM_WORLD, path(), NC_CLOBBER, MPI_INFO_NULL, &file),
           OF_FILE("ncmpi_create"), end())
CASE_AFTER(define(), ncmpi_enddef, ncmpi_enddef(file), OF_FILE("ncmpi_enddef"), end())
CASE_AFTER(define(), ncmpi__enddef, ncmpi__enddef(file, 0, 64, 0, 4), OF_FILE("ncmpi__enddef"), end())
CASE(ncmpi_redef, ncmpi_redef(file), OF_FILE("ncmpi_redef"))
CASE(ncmpi_begin_indep_data, ncmpi_begin_indep_data(file), OF_FILE("ncmpi_begin_indep_data"))
CASE_AFTER((begin(), ncmpi_begin_indep_data(file)), ncmpi_end_indep_data, ncmpi_end_indep_data(file),
           OF_FILE("ncmpi_end_indep_data"), end())
CASE(ncmpi_sync, ncmpi_sync(file), OF_FILE("ncmpi_sync"))
CASE(ncmpi_flush, ncmpi_flush(file), OF_FILE("ncmpi_flush"))
CASE_AFTER(begin(), ncmpi_close, ncmpi_close(file), OF_FILE("ncmpi_close"))
CASE_AFTER(begin(), ncmpi_abort, ncmpi_abort(file), OF_FILE("ncmpi_abort"))
CASE_AFTER(define(), ncmpi_def_var, ncmpi_def_var(file, "more", NC_INT, 0, NULL, &(int){0}),
           expect("ncmpi_def_var", strcat(case_path("data.nc"), ":more"), NONE, NONE, 0), end())
// The old name is forgotten.
CASE_AFTER((begin(), ncmpi_redef(file)), ncmpi_rename_var,
           ncmpi_rename_var(file, numbers, "other") | ncmpi_enddef(file) |
               ncmpi_put_var1_double_all(file, numbers, start, (double *)values),
           OF_FILE("ncmpi_enddef"), expect("ncmpi_put_var1_all", strcat(case_path("data.nc"), ":other"), 72, 8, 8),
           end())
CASE(ncmpi_inq_varid, ncmpi_inq_varid(file, "numbers", &(int){0}),
     expect("ncmpi_inq_varid", object(numbers), NONE, NONE, 0))

// Where the elements of each form begin, and how many there are.
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
    FIRST_varn = COLUMNS, // the first corner of the box around both parts
    COUNT_varn = 7,
    FIRST_vard = -1, // unknown
    COUNT_vard = 5,
};

#define BEFORE_independent ncmpi_begin_indep_data(file)
#define BEFORE_collective (void)0
#define BEFORE_posted ncmpi_buffer_attach(file, sizeof values)
#define CALL_independent(call) call
#define CALL_collective(call) call
#define CALL_posted(call) waited(call)

#define TRANSFER(name, op, mode, variable, form, call)                                                                 \
    CASE_AFTER((begin(), BEFORE_##mode), name, CALL_##mode(call), moved(op, variable, FIRST_##form, COUNT_##form),     \
               end())
#define ROW(name)                                                                                                      \
    { #name, case_##name }
#define TRANSFER_ROW(name, ...) ROW(name),

static int waited(int result) {
    int status = NC_NOERR, code = ncmpi_wait_all(file, 1, &request, &status);
    has_waited = true;
    return result | code | status;
}

// A datatype of the file says which bytes, so the recorder knows only how many.
static void moved(const char *op, int variable, int64_t before, int64_t elements) {
    int64_t bytes = variable == texts ? 1 : sizeof(double);
    expect(op, object(variable), before < 0 ? NONE : before * bytes, elements * bytes, elements * bytes);
    if (has_waited) OF_FILE("ncmpi_wait_all");
    has_waited = false;
}

TRANSFERS(TRANSFER)

// --- several variables at once

static MPI_Offset every[2] = {1, 1}, gaps[2] = {1, 2}, three[2] = {3, 1}, pairs[2] = {2, 1};
static MPI_Offset *const strides[2] = {every, gaps}, *const maps[2] = {three, pairs};
static long long others[VALUES];
static void *const buffers[2] = {values, others};
static const MPI_Offset sizes_of[][2] = {{VALUES, VALUES}, {1, 1}, {3, 4}};
static const MPI_Offset *sizes;
static const MPI_Datatype datatypes[2] = {MPI_DOUBLE, MPI_DOUBLE};
static int ids[2];

static void prepare_several(int variable, int64_t elements) {
    ids[0] = variable;
    ids[1] = variable == texts ? more_texts : more_numbers;
    sizes = sizes_of[elements == COUNT_var ? 0 : elements == COUNT_var1 ? 1 : 2];
}

// The first part begins at 1,1, the second at 6,0.
static void moved_several(const char *op, int variable, int64_t elements) {
    int64_t bytes = variable == texts ? 1 : sizeof(double);
    bool is_all = elements == COUNT_var, is_one = elements == COUNT_var1;
    int64_t sizes_in_file[2] = {(is_all || is_one ? elements : 3) * bytes, (is_all || is_one ? elements : 4) * bytes};
    char each[64];
    snprintf(each, sizeof each, "ncmpi_%s", op + strlen("ncmpi_m"));
    int parent = OF_FILE(op);
    expect_child(parent, each, object(variable), is_all ? 0 : 5 * bytes, sizes_in_file[0], sizes_in_file[0]);
    expect_child(parent, each, object(ids[1]), is_all ? 0 : 24 * bytes, sizes_in_file[1], sizes_in_file[1]);
}

#define SEVERAL_CASE(name, op, mode, variable, form, call)                                                             \
    CASE_AFTER((begin(), BEFORE_##mode, prepare_several(variable, COUNT_##form)), name, call,                          \
               moved_several(op, variable, COUNT_##form), end())

SEVERAL(SEVERAL_CASE)

// --- waiting

static void post(int *requests) {
    CHECK(ncmpi_iput_vara_double(file, numbers, start, count, (double *)values, &requests[0]) == NC_NOERR);
    CHECK(ncmpi_iget_var_text(file, texts, (char *)values, &requests[1]) == NC_NOERR);
}

static void case_ncmpi_wait(void) {
    int requests[2], statuses[2];
    if (!case_symbol()) return;
    begin();
    ncmpi_begin_indep_data(file);
    case_start();
    post(requests);
    int result = ncmpi_wait(file, 2, requests, statuses);
    case_stop(result);
    CHECK(result == NC_NOERR);
    expect_lasting(expect("ncmpi_iput_vara", object(numbers), 72, 48, 48), 1);
    expect("ncmpi_iget_var", object(texts), 0, VALUES, VALUES);
    OF_FILE("ncmpi_wait");
    end();
}

static void case_ncmpi_wait_all(void) {
    int requests[2];
    if (!case_symbol()) return;
    begin();
    case_start();
    post(requests);
    int result = ncmpi_wait_all(file, NC_GET_REQ_ALL, NULL, NULL);
    result |= ncmpi_iput_var1_double(file, numbers, start, (double *)values, NULL);
    result |= ncmpi_wait_all(file, NC_REQ_ALL, NULL, NULL);
    case_stop(result);
    CHECK(result == NC_NOERR);
    expect("ncmpi_iput_vara", object(numbers), 72, 48, 48);
    expect("ncmpi_iput_var1", object(numbers), 72, 8, 8);
    expect("ncmpi_iget_var", object(texts), 0, VALUES, VALUES);
    OF_FILE("ncmpi_wait_all");
    OF_FILE("ncmpi_wait_all");
    end();
}

static void case_ncmpi_cancel(void) {
    int requests[2], statuses[2];
    if (!case_symbol()) return;
    begin();
    case_start();
    post(requests);
    int result = ncmpi_cancel(file, 1, requests, statuses);
    result |= ncmpi_wait_all(file, 1, &requests[1], statuses);
    case_stop(result);
    CHECK(result == NC_NOERR);
    expect_error("ncmpi_iput_vara", object(numbers), 72, 48, -1, EIO);
    expect("ncmpi_iget_var", object(texts), 0, VALUES, VALUES);
    OF_FILE("ncmpi_wait_all");
    end();
}

static void nobody_waits(void) {
    int requests[2];
    begin();
    case_start();
    post(requests);
    int result = ncmpi_close(file);
    case_stop(result);
    CHECK(result == NC_EPENDING);
    expect_error("ncmpi_close", path(), NONE, NONE, NC_EPENDING, EIO);
    expect_error("ncmpi_iput_vara", object(numbers), 72, 48, -1, EIO);
    expect_error("ncmpi_iget_var", object(texts), 0, VALUES, -1, EIO);
}

static void post_fails(void) {
    begin();
    case_start();
    int result = ncmpi_iput_vara_double(file, numbers, start, (MPI_Offset[]){ROWS, 1}, (double *)values, &request);
    int other = ncmpi_iput_vara_double(file, numbers, start, (MPI_Offset[]){0, 1}, (double *)values, &request);
    case_stop(result);
    CHECK(result == NC_EEDGE);
    CHECK(other == NC_NOERR);
    expect_error("ncmpi_iput_vara", object(numbers), NONE, 0, -1, EIO);
    expect("ncmpi_iput_vara", object(numbers), NONE, 0, 0);
    end();
}

// --- other forms

static void grows(void) {
    begin();
    case_start();
    int result =
        ncmpi_put_vara_short_all(file, records, (MPI_Offset[]){0, 0}, (MPI_Offset[]){3, COLUMNS}, (short *)values);
    result |= ncmpi_put_var_short_all(file, records, (short *)values);
    result |= ncmpi_get_vara_short_all(file, records, (MPI_Offset[]){2, 1}, (MPI_Offset[]){1, 2}, (short *)values);
    case_stop(result);
    CHECK(result == NC_NOERR);
    expect("ncmpi_put_vara_all", object(records), 0, 24, 24);
    expect("ncmpi_put_var_all", object(records), 0, 24, 24);
    expect("ncmpi_get_vara_all", object(records), 18, 4, 4);
    end();
}

static void elements(void) {
    MPI_Offset *const *anything = (MPI_Offset *const *)8;
    begin();
    case_start();
    int result = ncmpi_put_varn_double_all(file, numbers, 2, starts, NULL, (double *)values);
    result |= ncmpi_put_varn_double_all(file, numbers, 1, starts, counts, (double *)values);
    result |= ncmpi_put_varn_double_all(file, numbers, 0, NULL, NULL, (double *)values);
    result |= ncmpi_put_varn_double_all(file, numbers, 0, anything, anything, (double *)values);
    result |= ncmpi_put_vara_double_all(file, numbers, start, (MPI_Offset[]){0, 2}, (double *)values);
    case_stop(result);
    CHECK(result == NC_NOERR);
    expect("ncmpi_put_varn_all", object(numbers), 32, 16, 16);
    expect("ncmpi_put_varn_all", object(numbers), 40, 24, 24);
    expect("ncmpi_put_varn_all", object(numbers), NONE, 0, 0);
    expect("ncmpi_put_varn_all", object(numbers), NONE, 0, 0);
    expect("ncmpi_put_vara_all", object(numbers), NONE, 0, 0);
    end();
}

static void no_values(void) {
    begin();
    case_start();
    int result = ncmpi_iput_vara(file, numbers, start, count, values, 0, MPI_DOUBLE, &request);
    result |= ncmpi_wait_all(file, 1, &request, NULL);
    case_stop(result);
    CHECK(result == NC_NOERR);
    expect("ncmpi_iput_vara", object(numbers), NONE, 0, 0);
    OF_FILE("ncmpi_wait_all");
    end();
}

static void no_datatype(void) {
    begin();
    case_start();
    int result = ncmpi_put_vard_all(file, numbers, MPI_DATATYPE_NULL, values, 0, MPI_DOUBLE);
    case_stop(result);
    CHECK(result == NC_NOERR);
    expect("ncmpi_put_vard_all", object(numbers), NONE, 0, 0);
    end();
}

static void fails(void) {
    begin();
    case_start();
    int result = ncmpi_put_vara_double_all(file, numbers, start, (MPI_Offset[]){ROWS, 1}, (double *)values);
    case_stop(result);
    CHECK(result == NC_EEDGE);
    expect_error("ncmpi_put_vara_all", object(numbers), NONE, 0, NC_EEDGE, EIO);
    end();
}

static void not_defining(void) {
    begin();
    case_start();
    int result = ncmpi_enddef(file);
    case_stop(result);
    CHECK(result == NC_ENOTINDEFINE);
    expect_error("ncmpi_enddef", path(), NONE, NONE, NC_ENOTINDEFINE, EIO);
    end();
}

static void missing(void) {
    case_start();
    int result = ncmpi_open(MPI_COMM_WORLD, case_path("nothing.nc"), NC_NOWRITE, MPI_INFO_NULL, &file);
    case_stop(result);
    CHECK(result == NC_ENOENT);
    expect_error("ncmpi_open", case_path("nothing.nc"), NONE, NONE, NC_ENOENT, EIO);
}

// The number of a file is used again; its variables are others.
static void again(void) {
    begin();
    end();
    int old = file, dim, variable;
    ncmpi_create(MPI_COMM_WORLD, case_path("data.nc"), NC_CLOBBER, MPI_INFO_NULL, &file);
    CHECK(file == old);
    ncmpi_def_dim(file, "rows", 2, &dim);
    ncmpi_def_var(file, "numbers", NC_SHORT, 1, &dim, &variable);
    ncmpi_enddef(file);
    case_start();
    case_stop(ncmpi_put_var_int_all(file, variable, (int *)values));
    expect("ncmpi_put_var_all", object(numbers), 0, 4, 4);
    end();
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {
        ROW(ncmpi_open),
        ROW(ncmpi_create),
        ROW(ncmpi_enddef),
        ROW(ncmpi__enddef),
        ROW(ncmpi_redef),
        ROW(ncmpi_begin_indep_data),
        ROW(ncmpi_end_indep_data),
        ROW(ncmpi_sync),
        ROW(ncmpi_flush),
        ROW(ncmpi_close),
        ROW(ncmpi_abort),
        ROW(ncmpi_def_var),
        ROW(ncmpi_inq_varid),
        ROW(ncmpi_rename_var),
        ROW(ncmpi_wait),
        ROW(ncmpi_wait_all),
        ROW(ncmpi_cancel),
        {"transfers of PnetCDF that nobody waits for", nobody_waits},
        {"a nonblocking transfer of PnetCDF that fails", post_fails},
        TRANSFERS(TRANSFER_ROW) SEVERAL(TRANSFER_ROW){"a variable of PnetCDF that grows", grows},
        {"elements and nothing, PnetCDF", elements},
        {"a buffer of no values, PnetCDF", no_values},
        {"no datatype, PnetCDF", no_datatype},
        {"a transfer of PnetCDF that fails", fails},
        {"a call of PnetCDF that is out of order", not_defining},
        {"a file that is missing, PnetCDF", missing},
        {"a file of PnetCDF, opened again", again},
        {NULL, NULL},
    };
    MPI_Init(&argc, &argv);
    MPI_Type_contiguous(COUNT_vard, MPI_DOUBLE, &type_of_file);
    MPI_Type_commit(&type_of_file);
    int status = case_main(argc, argv, cases);
    MPI_Finalize();
    return status;
}
