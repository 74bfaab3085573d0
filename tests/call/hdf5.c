// HDF5: each function once, with its object, offset and size.
#include <errno.h>
#include <hdf5.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"
#include "hdf5_later.h"

enum { ROWS = 8, COLUMNS = 4, FLOATS = ROWS * COLUMNS, DOUBLE = sizeof(double) };

static hid_t file, group, data, space, attribute;
static double values[FLOATS];
static const hsize_t dims[2] = {ROWS, COLUMNS}, most[2] = {H5S_UNLIMITED, COLUMNS}, chunk[2] = {2, COLUMNS};

static const char *path(void) { return case_path("data.h5"); }

// What the recorder calls an object: the file's name, a colon, the path.
static const char *object(const char *name) {
    static char text[4][PATH_ROOM];
    static unsigned turn;
    char *out = text[turn++ % 4];
    snprintf(out, PATH_ROOM, "%s:%s", path(), name);
    return out;
}

static void begin(void) {
    hid_t list = H5Pcreate(H5P_DATASET_CREATE), one = H5Screate(H5S_SCALAR);
    file = H5Fcreate(path(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    group = H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    space = H5Screate_simple(2, dims, most);
    H5Pset_chunk(list, 2, chunk);
    data = H5Dcreate2(group, "data", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    attribute = H5Acreate2(data, "units", H5T_NATIVE_INT, one, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, H5T_NATIVE_INT, &(int){7});
    H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Pclose(list);
    H5Sclose(one);
}

// H5close ends everything that a case may have left open.
static void end(void) { H5close(); }

// Between `begin` and `end` one call of the function that the case is named after.
#define CASE(name, call, ...)                                                                                          \
    static void case_##name(void) {                                                                                    \
        if (!case_symbol()) return;                                                                                    \
        begin();                                                                                                       \
        case_start();                                                                                                  \
        hid_t result = (hid_t)(call);                                                                                  \
        case_stop(result >= 0);                                                                                        \
        CHECK(result >= 0);                                                                                            \
        __VA_ARGS__;                                                                                                   \
        end();                                                                                                         \
    }

// What an object is opened as makes an event; its result is 0.
#define EVENT(op, name) expect(op, object(name), NONE, NONE, 0)

CASE(H5Fcreate, H5Fcreate(case_path("other.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
     expect("H5Fcreate", case_path("other.h5"), NONE, NONE, 0))
CASE(H5Fopen, H5Fopen(path(), H5F_ACC_RDWR, H5P_DEFAULT), expect("H5Fopen", path(), NONE, NONE, 0))
CASE(H5Freopen, H5Freopen(file), expect("H5Freopen", path(), NONE, NONE, 0))
CASE(H5Fclose, H5Fclose(file), expect("H5Fclose", path(), NONE, NONE, 0))
CASE(H5Fflush, H5Fflush(file, H5F_SCOPE_LOCAL), expect("H5Fflush", path(), NONE, NONE, 0))
CASE(H5Gcreate1, H5Gcreate1(group, "new", 0), EVENT("H5Gcreate", "/group/new"))
CASE(H5Gcreate2, H5Gcreate2(file, "/new/", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), EVENT("H5Gcreate", "/new"))
CASE(H5Gopen1, H5Gopen1(file, "./group"), EVENT("H5Gopen", "/group"))
CASE(H5Gopen2, H5Gopen2(file, "/", H5P_DEFAULT), EVENT("H5Gopen", "/"))
CASE(H5Gclose, H5Gclose(group), EVENT("H5Gclose", "/group"))
CASE(H5Oopen, H5Oopen(file, "group//data", H5P_DEFAULT), EVENT("H5Oopen", "/group/data"))
CASE(H5Oclose, H5Oclose(data), EVENT("H5Oclose", "/group/data"))
CASE(H5Idec_ref, H5Idec_ref(data), EVENT("H5Idec_ref", "/group/data"))
CASE(H5Ocopy, H5Ocopy(group, "data", file, "group/copy", H5P_DEFAULT, H5P_DEFAULT), EVENT("H5Ocopy", "/group/copy"))
CASE(H5Ldelete, H5Ldelete(group, "data", H5P_DEFAULT), EVENT("H5Ldelete", "/group/data"))
CASE(H5Dcreate1, H5Dcreate1(group, "new", H5T_NATIVE_INT, H5Screate_simple(2, dims, NULL), H5P_DEFAULT),
     EVENT("H5Dcreate", "/group/new"))
CASE(H5Dcreate2, H5Dcreate2(group, "/new", H5T_NATIVE_INT, H5Screate_simple(2, dims, NULL), 0, 0, 0),
     EVENT("H5Dcreate", "/new"))
CASE(H5Dcreate_anon, H5Dcreate_anon(file, H5T_NATIVE_INT, H5Screate_simple(2, dims, NULL), 0, 0),
     EVENT("H5Dcreate_anon", "/(anonymous)"))
CASE(H5Dopen1, H5Dopen1(file, "group/data"), EVENT("H5Dopen", "/group/data"))
CASE(H5Dopen2, H5Dopen2(group, "data", H5P_DEFAULT), EVENT("H5Dopen", "/group/data"))
CASE(H5Dclose, H5Dclose(data), EVENT("H5Dclose", "/group/data"))
CASE(H5Dread, H5Dread(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values),
     expect("H5Dread", object("/group/data"), 0, FLOATS *DOUBLE, FLOATS *DOUBLE))
CASE(H5Dwrite, H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values),
     expect("H5Dwrite", object("/group/data"), 0, FLOATS *DOUBLE, FLOATS *DOUBLE))
CASE(H5Dread_chunk, H5Dread_chunk(data, H5P_DEFAULT, (hsize_t[2]){2, 0}, &(uint32_t){0}, values),
     expect("H5Dread_chunk", object("/group/data"), 2 * COLUMNS * DOUBLE, 64, 64))
CASE(H5Dwrite_chunk, H5Dwrite_chunk(data, H5P_DEFAULT, 0, (hsize_t[2]){4, 0}, 64, values),
     expect("H5Dwrite_chunk", object("/group/data"), 4 * COLUMNS * DOUBLE, 64, 64))
CASE(H5Dset_extent, H5Dset_extent(data, (hsize_t[2]){2 * ROWS, COLUMNS}), EVENT("H5Dset_extent", "/group/data"))
CASE(H5Dextend, H5Dextend(data, (hsize_t[2]){2 * ROWS, COLUMNS}), EVENT("H5Dextend", "/group/data"))
CASE(H5Dflush, H5Dflush(data), EVENT("H5Dflush", "/group/data"))
CASE(H5Drefresh, H5Drefresh(data), EVENT("H5Drefresh", "/group/data"))
CASE(H5Acreate1, H5Acreate1(group, "a", H5T_NATIVE_INT, H5Screate(H5S_SCALAR), 0), EVENT("H5Acreate", "/group@a"))
CASE(H5Acreate2, H5Acreate2(file, "a", H5T_NATIVE_INT, H5Screate(H5S_SCALAR), 0, 0), EVENT("H5Acreate", "/@a"))
CASE(H5Acreate_by_name,
     H5Acreate_by_name(file, "group/data", "a", H5T_NATIVE_INT, H5Screate(H5S_SCALAR), 0, 0, H5P_DEFAULT),
     EVENT("H5Acreate_by_name", "/group/data@a"))
CASE(H5Aopen, H5Aopen(data, "units", H5P_DEFAULT), EVENT("H5Aopen", "/group/data@units"))
CASE(H5Aopen_name, H5Aopen_name(data, "units"), EVENT("H5Aopen_name", "/group/data@units"))
CASE(H5Aopen_by_name, H5Aopen_by_name(group, "data", "units", H5P_DEFAULT, H5P_DEFAULT),
     EVENT("H5Aopen_by_name", "/group/data@units"))
CASE(H5Aopen_idx, H5Aopen_idx(data, 0), EVENT("H5Aopen_idx", "/group/data@units"))
CASE(H5Aopen_by_idx, H5Aopen_by_idx(file, "group/data", H5_INDEX_NAME, H5_ITER_INC, 0, H5P_DEFAULT, H5P_DEFAULT),
     EVENT("H5Aopen_by_idx", "/group/data@units"))
CASE(H5Aread, H5Aread(attribute, H5T_NATIVE_DOUBLE, values),
     expect("H5Aread", object("/group/data@units"), NONE, sizeof(int), sizeof(int)))
CASE(H5Awrite, H5Awrite(attribute, H5T_NATIVE_INT, &(int){8}),
     expect("H5Awrite", object("/group/data@units"), NONE, sizeof(int), sizeof(int)))
CASE(H5Aclose, H5Aclose(attribute), EVENT("H5Aclose", "/group/data@units"))
CASE(H5Adelete, H5Adelete(data, "units"), EVENT("H5Adelete", "/group/data@units"))
CASE(H5Adelete_by_name, H5Adelete_by_name(file, "group/data", "units", H5P_DEFAULT),
     EVENT("H5Adelete_by_name", "/group/data@units"))

// --- since 1.14

static hid_t both[2], types[2], all[2], rows[2];
static void *buffers[2] = {values, values + COLUMNS};

static void prepare_multi(void) {
    both[0] = data;
    both[1] = H5Dcreate2(file, "other", H5T_NATIVE_FLOAT, space, 0, H5Dget_create_plist(data), 0);
    types[0] = types[1] = H5T_NATIVE_DOUBLE;
    all[0] = rows[0] = all[1] = rows[1] = H5Dget_space(data);
    H5Sselect_hyperslab(rows[1], H5S_SELECT_SET, (hsize_t[2]){1, 0}, NULL, (hsize_t[2]){2, COLUMNS}, NULL);
}

// The call contains a transfer of each dataset.
#define MULTI(name, op, each, call)                                                                                    \
    static void case_##name(void) {                                                                                    \
        if (!case_symbol()) return;                                                                                    \
        begin();                                                                                                       \
        prepare_multi();                                                                                               \
        case_start();                                                                                                  \
        herr_t result = call;                                                                                          \
        case_stop(result);                                                                                             \
        CHECK(result >= 0);                                                                                            \
        int parent = expect(op, path(), NONE, NONE, 0);                                                                \
        expect_child(parent, each, object("/group/data"), 32, 64, 64);                                                 \
        expect_child(parent, each, object("/other"), 16, 32, 32);                                                      \
        end();                                                                                                         \
    }
MULTI(H5Dread_multi, "H5Dread_multi", "H5Dread", H5Dread_multi(2, both, types, all, rows, 0, buffers))
MULTI(H5Dwrite_multi, "H5Dwrite_multi", "H5Dwrite",
      H5Dwrite_multi(2, both, types, all, rows, 0, (const void **)buffers))
MULTI(H5Dread_multi_async, "H5Dread_multi", "H5Dread", H5Dread_multi_async(2, both, types, all, rows, 0, buffers, 0))
MULTI(H5Dwrite_multi_async, "H5Dwrite_multi", "H5Dwrite",
      H5Dwrite_multi_async(2, both, types, all, rows, 0, (const void **)buffers, 0))

CASE(H5Fcreate_async, H5Fcreate_async(case_path("other.h5"), H5F_ACC_TRUNC, 0, 0, 0),
     expect("H5Fcreate", case_path("other.h5"), NONE, NONE, 0))
CASE(H5Fopen_async, H5Fopen_async(path(), H5F_ACC_RDWR, 0, 0), expect("H5Fopen", path(), NONE, NONE, 0))
CASE(H5Freopen_async, H5Freopen_async(file, 0), expect("H5Freopen", path(), NONE, NONE, 0))
CASE(H5Fclose_async, H5Fclose_async(file, 0), expect("H5Fclose", path(), NONE, NONE, 0))
CASE(H5Fflush_async, H5Fflush_async(file, H5F_SCOPE_LOCAL, 0), expect("H5Fflush", path(), NONE, NONE, 0))
CASE(H5Gcreate_async, H5Gcreate_async(group, "new", 0, 0, 0, 0), EVENT("H5Gcreate", "/group/new"))
CASE(H5Gopen_async, H5Gopen_async(file, "group", 0, 0), EVENT("H5Gopen", "/group"))
CASE(H5Gclose_async, H5Gclose_async(group, 0), EVENT("H5Gclose", "/group"))
CASE(H5Oopen_async, H5Oopen_async(file, "group", 0, 0), EVENT("H5Oopen", "/group"))
CASE(H5Oclose_async, H5Oclose_async(data, 0), EVENT("H5Oclose", "/group/data"))
CASE(H5Ocopy_async, H5Ocopy_async(file, "group/data", group, "copy", 0, 0, 0), EVENT("H5Ocopy", "/group/copy"))
CASE(H5Ldelete_async, H5Ldelete_async(group, "data", 0, 0), EVENT("H5Ldelete", "/group/data"))
CASE(H5Dcreate_async, H5Dcreate_async(group, "new", H5T_NATIVE_INT, H5Screate_simple(2, dims, NULL), 0, 0, 0, 0),
     EVENT("H5Dcreate", "/group/new"))
CASE(H5Dopen_async, H5Dopen_async(file, "group/data", 0, 0), EVENT("H5Dopen", "/group/data"))
CASE(H5Dclose_async, H5Dclose_async(data, 0), EVENT("H5Dclose", "/group/data"))
CASE(H5Dget_space_async, H5Dget_space_async(data, 0), )
CASE(H5Dread_async, H5Dread_async(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, 0, values, 0),
     expect("H5Dread", object("/group/data"), 0, FLOATS *DOUBLE, FLOATS *DOUBLE))
CASE(H5Dwrite_async, H5Dwrite_async(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, 0, values, 0),
     expect("H5Dwrite", object("/group/data"), 0, FLOATS *DOUBLE, FLOATS *DOUBLE))
CASE(H5Dset_extent_async, H5Dset_extent_async(data, ((hsize_t[2]){2 * ROWS, COLUMNS}), 0),
     EVENT("H5Dset_extent", "/group/data"))
CASE(H5Acreate_async, H5Acreate_async(group, "a", H5T_NATIVE_INT, H5Screate(H5S_SCALAR), 0, 0, 0),
     EVENT("H5Acreate", "/group@a"))
CASE(H5Acreate_by_name_async,
     H5Acreate_by_name_async(file, "group/data", "a", H5T_NATIVE_INT, H5Screate(H5S_SCALAR), 0, 0, 0, 0),
     EVENT("H5Acreate_by_name", "/group/data@a"))
CASE(H5Aopen_async, H5Aopen_async(data, "units", 0, 0), EVENT("H5Aopen", "/group/data@units"))
CASE(H5Aopen_by_name_async, H5Aopen_by_name_async(group, "data", "units", 0, 0, 0),
     EVENT("H5Aopen_by_name", "/group/data@units"))
CASE(H5Aopen_by_idx_async, H5Aopen_by_idx_async(file, "group/data", H5_INDEX_NAME, H5_ITER_INC, 0, 0, 0, 0),
     EVENT("H5Aopen_by_idx", "/group/data@units"))
CASE(H5Aread_async, H5Aread_async(attribute, H5T_NATIVE_DOUBLE, values, 0),
     expect("H5Aread", object("/group/data@units"), NONE, sizeof(int), sizeof(int)))
CASE(H5Awrite_async, H5Awrite_async(attribute, H5T_NATIVE_INT, &(int){8}, 0),
     expect("H5Awrite", object("/group/data@units"), NONE, sizeof(int), sizeof(int)))
CASE(H5Aclose_async, H5Aclose_async(attribute, 0), EVENT("H5Aclose", "/group/data@units"))

// --- selections: the function must be seen, so that the transfer after it has the right place and size

static void read_selected(hid_t selected, int64_t offset, int64_t elements) {
    hsize_t points = (hsize_t)H5Sget_select_npoints(selected);
    hid_t memory = H5Screate_simple(1, &points, NULL);
    herr_t code = H5Dread(data, H5T_NATIVE_DOUBLE, memory, selected, H5P_DEFAULT, values);
    CHECK(code >= 0);
    expect("H5Dread", object("/group/data"), offset * DOUBLE, elements * DOUBLE, elements * DOUBLE);
}

// `prepare` comes before the call, and `selected` is what the call has changed.
#define SELECTION(name, prepare, call, selected, offset, elements)                                                     \
    static void case_##name(void) {                                                                                    \
        if (!case_symbol()) return;                                                                                    \
        begin();                                                                                                       \
        prepare;                                                                                                       \
        case_start();                                                                                                  \
        hid_t result = (hid_t)(call);                                                                                  \
        read_selected(selected, offset, elements);                                                                     \
        case_stop(result >= 0);                                                                                        \
        CHECK(result >= 0);                                                                                            \
        end();                                                                                                         \
    }

static const hsize_t start[2] = {2, 1}, stride[2] = {3, 2}, count[2] = {2, 1}, block[2] = {1, 2}, one[2] = {1, 1};
static void select_some(void) { H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL); }
static hid_t other_space(void) {
    hid_t other = H5Scopy(space);
    H5Sselect_hyperslab(other, H5S_SELECT_SET, one, NULL, one, NULL);
    return other;
}

SELECTION(H5Screate_simple, , space = H5Screate_simple(2, dims, NULL), space, 0, FLOATS)
SELECTION(H5Scopy, select_some(), space = H5Scopy(space), space, 9, 2)
SELECTION(H5Dget_space, , space = H5Dget_space(data), space, 0, FLOATS)
SELECTION(H5Sselect_hyperslab, , H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, block), space, 9, 4)
SELECTION(H5Sselect_all, select_some(), H5Sselect_all(space), space, 0, FLOATS)
SELECTION(H5Sselect_elements, select_some(), H5Sselect_elements(space, H5S_SELECT_SET, 2, (hsize_t[4]){1, 1, 3, 2}),
          space, 5, 2)
SELECTION(H5Soffset_simple, select_some(), H5Soffset_simple(space, (hssize_t[2]){1, 1}), space, 14, 2)
SELECTION(H5Sset_extent_simple, select_some(), H5Sset_extent_simple(space, 2, dims, NULL), space, 9, 2)
SELECTION(H5Sextent_copy, space = H5Screate_simple(1, one, NULL),
          H5Sextent_copy(space, H5Screate_simple(2, dims, NULL)), space, 0, FLOATS)
SELECTION(H5Sclose, select_some(), H5Sclose(space), H5Dget_space(data), 0, FLOATS)

// A second part makes it irregular: the place is the corner of the box around both.
static void case_irregular(void) {
    begin();
    select_some();
    case_start();
    H5Sselect_hyperslab(space, H5S_SELECT_OR, one, NULL, one, NULL);
    read_selected(space, 5, 3);
    case_stop(0);
    end();
}

static void case_H5Sselect_none(void) {
    if (!case_symbol()) return;
    begin();
    select_some();
    case_start();
    H5Sselect_none(space);
    herr_t code = H5Dread(data, H5T_NATIVE_DOUBLE, space, space, H5P_DEFAULT, values);
    case_stop(code);
    expect("H5Dread", object("/group/data"), NONE, 0, 0);
    end();
}

// The functions of later versions of HDF5 are tested only where the library has them.
#define LATER(name, elements, arguments, ...)                                                                          \
    static void case_##name(void) {                                                                                    \
        herr_t(*function) arguments = case_symbol();                                                                   \
        if (!function) return;                                                                                         \
        begin();                                                                                                       \
        select_some();                                                                                                 \
        hid_t other = other_space();                                                                                   \
        (void)other;                                                                                                   \
        case_start();                                                                                                  \
        herr_t code = function __VA_ARGS__;                                                                            \
        read_selected(space, 5, elements);                                                                             \
        case_stop(code);                                                                                               \
        end();                                                                                                         \
    }

LATER(H5Sselect_copy, 1, (hid_t, hid_t), (space, other))
LATER(H5Sselect_adjust, 2, (hid_t, const hssize_t *), (space, (const hssize_t[2]){1, 0}))
LATER(H5Smodify_select, 3, (hid_t, H5S_seloper_t, hid_t), (space, H5S_SELECT_OR, other))

static void case_H5Sset_extent_none(void) {
    if (!case_symbol()) return;
    begin();
    case_start();
    herr_t code = H5Sset_extent_none(space);
    case_stop(code);
    end();
}

// --- property lists

static void case_H5Pclose(void) {
    if (!case_symbol()) return;
    begin();
    hid_t list = H5Pcreate(H5P_DATASET_XFER);
    case_start();
    herr_t code = H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, list, values);
    H5Pclose(list);
    case_stop(code);
    expect("H5Dread", object("/group/data"), 0, FLOATS * DOUBLE, FLOATS * DOUBLE);
    end();
}

// tests/mpi/hdf5.c has it in use.
static void case_H5Pset_dxpl_mpio(void) {
    herr_t (*set)(hid_t, int) = case_symbol();
    if (!set) return;
    begin();
    case_start();
    case_stop(set(H5Pcreate(H5P_DATASET_XFER), 1));
    end();
}

// Ids begin again: what an id stood for must be forgotten.
static void case_H5close(void) {
    if (!case_symbol()) return;
    begin();
    H5close();
    case_start();
    begin();
    case_stop(data >= 0);
    expect("H5Fcreate", path(), NONE, NONE, 0);
    EVENT("H5Gcreate", "/group");
    EVENT("H5Dcreate", "/group/data");
    EVENT("H5Acreate", "/group/data@units");
    expect("H5Awrite", object("/group/data@units"), NONE, sizeof(int), sizeof(int));
    expect("H5Dwrite", object("/group/data"), 0, FLOATS * DOUBLE, FLOATS * DOUBLE);
    end();
}

// --- what goes wrong

static void case_failures(void) {
    begin();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    case_start();
    hid_t missing = H5Dopen2(file, "nothing", H5P_DEFAULT);
    ssize_t errors = H5Eget_num(H5E_DEFAULT); // nobody may clear the stack before the program has read it
    herr_t code = H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, -1, H5P_DEFAULT, values);
    ssize_t more = H5Eget_num(H5E_DEFAULT);
    herr_t closed = H5Dclose(group);
    hid_t no_file = H5Fopen(case_path("nothing.h5"), H5F_ACC_RDONLY, H5P_DEFAULT);
    herr_t no_id = H5Dread(-1, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    case_stop(errors * 100 + more);
    CHECK(missing < 0 && code < 0 && closed < 0 && no_file < 0 && no_id < 0 && errors > 0 && more > 0);
    expect_error("H5Dopen", object("/nothing"), NONE, NONE, -1, EIO);
    expect_error("H5Dwrite", object("/group/data"), ANY, ANY, -1, EIO);
    expect_error("H5Dclose", object("/group"), NONE, NONE, -1, EIO);
    expect_error("H5Fopen", case_path("nothing.h5"), NONE, NONE, -1, EIO);
    expect_error("H5Dread", NULL, NONE, 0, -1, EIO);
    end();
}

// Of an object that was opened without a path, the file is known.
static void read_unnamed(hid_t again) {
    case_start();
    herr_t code = H5Dread(again, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    case_stop(code);
    expect("H5Dread", object("(unnamed)"), 0, FLOATS * DOUBLE, FLOATS * DOUBLE);
    end();
}

static hobj_ref_t reference_to_data(void) {
    hobj_ref_t reference;
    H5Rcreate(&reference, file, "group/data", H5R_OBJECT, -1);
    return reference;
}

static void case_H5Rdereference1(void) {
    begin();
    hobj_ref_t reference = reference_to_data();
    read_unnamed(H5Rdereference1(file, H5R_OBJECT, &reference));
}

static void case_H5Rdereference2(void) {
    begin();
    hobj_ref_t reference = reference_to_data();
    read_unnamed(H5Rdereference2(file, H5P_DEFAULT, H5R_OBJECT, &reference));
}

static void case_H5Oopen_by_addr(void) {
    H5O_info_t info;
    begin();
    H5Oget_info_by_name(file, "group/data", &info, H5P_DEFAULT);
    read_unnamed(H5Oopen_by_addr(file, info.addr));
}

// An object that was opened by a function that is not captured has a name, too.
static void case_unseen_open(void) {
    begin();
    hid_t again = H5Oopen_by_idx(file, "group", H5_INDEX_NAME, H5_ITER_INC, 0, H5P_DEFAULT);
    case_start();
    herr_t code = H5Dread(again, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    case_stop(code);
    expect("H5Dread", object("/group/data"), 0, FLOATS * DOUBLE, FLOATS * DOUBLE);
    end();
}

// One id changes the extent, another one reads.
static void case_other_extent(void) {
    begin();
    hid_t again = H5Dopen2(file, "group/data", H5P_DEFAULT);
    H5Dset_extent(again, (hsize_t[2]){2, COLUMNS});
    case_start();
    herr_t code = H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    hid_t whole = H5Dget_space(data);
    code |= H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, whole, H5P_DEFAULT, values);
    case_stop(code);
    expect("H5Dread", object("/group/data"), 0, 2 * COLUMNS * DOUBLE, 2 * COLUMNS * DOUBLE);
    expect("H5Dread", object("/group/data"), 0, 2 * COLUMNS * DOUBLE, 2 * COLUMNS * DOUBLE);
    end();
}

#define ROW(name)                                                                                                      \
    { #name, case_##name }
static const struct test_case cases[] = {
    ROW(H5Fcreate),
    ROW(H5Fopen),
    ROW(H5Freopen),
    ROW(H5Fclose),
    ROW(H5Fflush),
    ROW(H5Gcreate1),
    ROW(H5Gcreate2),
    ROW(H5Gopen1),
    ROW(H5Gopen2),
    ROW(H5Gclose),
    ROW(H5Oopen),
    ROW(H5Oclose),
    ROW(H5Idec_ref),
    ROW(H5Ocopy),
    ROW(H5Ldelete),
    ROW(H5Dcreate1),
    ROW(H5Dcreate2),
    ROW(H5Dcreate_anon),
    ROW(H5Dopen1),
    ROW(H5Dopen2),
    ROW(H5Dclose),
    ROW(H5Dread),
    ROW(H5Dwrite),
    ROW(H5Dread_chunk),
    ROW(H5Dwrite_chunk),
    ROW(H5Dset_extent),
    ROW(H5Dextend),
    ROW(H5Dflush),
    ROW(H5Drefresh),
    ROW(H5Acreate1),
    ROW(H5Acreate2),
    ROW(H5Acreate_by_name),
    ROW(H5Aopen),
    ROW(H5Aopen_name),
    ROW(H5Aopen_by_name),
    ROW(H5Aopen_idx),
    ROW(H5Aopen_by_idx),
    ROW(H5Aread),
    ROW(H5Awrite),
    ROW(H5Aclose),
    ROW(H5Adelete),
    ROW(H5Adelete_by_name),
    ROW(H5Fcreate_async),
    ROW(H5Fopen_async),
    ROW(H5Freopen_async),
    ROW(H5Fflush_async),
    ROW(H5Fclose_async),
    ROW(H5Gcreate_async),
    ROW(H5Gopen_async),
    ROW(H5Gclose_async),
    ROW(H5Oopen_async),
    ROW(H5Oclose_async),
    ROW(H5Ocopy_async),
    ROW(H5Ldelete_async),
    ROW(H5Dcreate_async),
    ROW(H5Dopen_async),
    ROW(H5Dclose_async),
    ROW(H5Dget_space_async),
    ROW(H5Dread_async),
    ROW(H5Dwrite_async),
    ROW(H5Dread_multi_async),
    ROW(H5Dwrite_multi_async),
    ROW(H5Dset_extent_async),
    ROW(H5Acreate_async),
    ROW(H5Acreate_by_name_async),
    ROW(H5Aopen_async),
    ROW(H5Aopen_by_name_async),
    ROW(H5Aopen_by_idx_async),
    ROW(H5Aread_async),
    ROW(H5Awrite_async),
    ROW(H5Aclose_async),
    ROW(H5Dread_multi),
    ROW(H5Dwrite_multi),
    ROW(H5Screate_simple),
    ROW(H5Scopy),
    ROW(H5Dget_space),
    ROW(H5Sselect_hyperslab),
    ROW(H5Sselect_all),
    ROW(H5Sselect_none),
    ROW(H5Sselect_elements),
    ROW(H5Sselect_copy),
    ROW(H5Sselect_adjust),
    ROW(H5Smodify_select),
    ROW(H5Soffset_simple),
    ROW(H5Sset_extent_simple),
    ROW(H5Sset_extent_none),
    ROW(H5Sextent_copy),
    ROW(H5Sclose),
    ROW(H5Pclose),
    ROW(H5Pset_dxpl_mpio),
    ROW(H5close),
    ROW(irregular),
    ROW(failures),
    ROW(H5Rdereference1),
    ROW(H5Rdereference2),
    ROW(H5Oopen_by_addr),
    ROW(unseen_open),
    ROW(other_extent),
    {NULL, NULL},
};

int main(int argc, char **argv) { return case_main(argc, argv, cases); }
