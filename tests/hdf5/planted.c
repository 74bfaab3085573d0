// Programs with one fault in their use of HDF5, and programs that look alike but have none.
//
//     planted WHAT FOLDER
#include <hdf5.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../call/hdf5_later.h"

#define CHECK(code)                                                                                                    \
    if ((code) < 0) {                                                                                                  \
        fprintf(stderr, "line %d failed\n", __LINE__);                                                                 \
        exit(1);                                                                                                       \
    }

enum { SIDE = 512, CHUNK = 64, OBJECTS = 150, STEPS = 64 };

static double *values;

static hid_t make_named(const char *folder, const char *name, hid_t access) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.h5", folder, name);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    CHECK(file);
    return file;
}

static hid_t make_file(const char *folder, hid_t access) { return make_named(folder, "planted", access); }

static hid_t make_data(hid_t file, const char *name, hid_t list, hid_t how) {
    const hsize_t dims[2] = {SIDE, SIDE};
    hid_t space = H5Screate_simple(2, dims, NULL);
    hid_t data = H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, list, how);
    CHECK(data);
    H5Sclose(space);
    return data;
}

// Moves a block of the dataset.
static void move(hid_t data, bool write, hsize_t row, hsize_t column, hsize_t rows, hsize_t columns) {
    const hsize_t start[2] = {row, column}, count[2] = {rows, columns};
    hid_t space = H5Dget_space(data), memory = H5Screate_simple(2, count, NULL);
    CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL));
    CHECK(write ? H5Dwrite(data, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values)
                : H5Dread(data, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values));
    H5Sclose(memory);
    H5Sclose(space);
}

static void write_all(hid_t data, hsize_t rows, hsize_t columns) {
    for (hsize_t row = 0; row < SIDE; row += rows)
        for (hsize_t column = 0; column < SIDE; column += columns) move(data, true, row, column, rows, columns);
}

static void write_whole(hid_t data) { CHECK(H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values)); }

// --- fill values: written early and replaced; never written; not written because nobody asked for them. And columns,
// for which HDF5 reads and writes what lies between them, too

static void fill_columns(const char *folder) {
    hid_t file = make_file(folder, H5P_DEFAULT), data = make_data(file, "columns", H5P_DEFAULT, H5P_DEFAULT);
    write_whole(data);
    for (hsize_t column = 0; column < SIDE; column += CHUNK) move(data, true, 0, column, SIDE, CHUNK);
    H5Dclose(data);
    H5Fclose(file);
}

static void fill(const char *what, const char *folder) {
    const double value = 7;
    hid_t list = H5Pcreate(H5P_DATASET_CREATE), file = make_file(folder, H5P_DEFAULT);
    CHECK(H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY));
    if (strcmp(what, "fill-default")) CHECK(H5Pset_fill_value(list, H5T_NATIVE_DOUBLE, &value));
    if (!strcmp(what, "fill-never")) CHECK(H5Pset_fill_time(list, H5D_FILL_TIME_NEVER));
    hid_t data = make_data(file, "filled", list, H5P_DEFAULT);
    write_all(data, SIDE / 4, SIDE);
    H5Dclose(data);
    H5Fclose(file);
    if (strcmp(what, "fill-again")) return;
    file = make_named(folder, "again", H5P_DEFAULT);
    data = make_data(file, "again", H5P_DEFAULT, H5P_DEFAULT);
    for (int i = 0; i < 8; i++) write_whole(data);
    H5Dclose(data);
    H5Fclose(file);
}

// --- chunks: parts of them, with and without a cache and filters

static hid_t chunk_list(bool compressed) {
    const hsize_t chunk[2] = {CHUNK, CHUNK};
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    CHECK(H5Pset_chunk(list, 2, chunk));
    if (compressed) CHECK(H5Pset_deflate(list, 1));
    return list;
}

static void parts(const char *what, const char *folder) {
    bool filters = !strncmp(what, "filters", 7), is_cached = strstr(what, "cached"), whole = strstr(what, "whole");
    hid_t how = H5Pcreate(H5P_DATASET_ACCESS), file = make_file(folder, H5P_DEFAULT);
    // Without a larger cache it holds four chunks; a row of them has eight. A filtered one is never kept.
    CHECK(H5Pset_chunk_cache(how, 521, is_cached ? 8 << 20 : filters ? 0 : 4 * CHUNK * CHUNK * sizeof *values, 0.75));
    hid_t list = chunk_list(filters), data = make_data(file, "chunked", list, how);
    // More is written than read, but only the reads lose.
    bool is_replaced = strstr(what, "replaced");
    for (int i = 0; is_replaced && i < 3; i++) write_whole(data);
    if (filters && !whole) {
        for (hsize_t row = 0; row < 16; row++) move(data, true, row, 0, 1, SIDE);
    } else if (!is_replaced) {
        write_all(data, CHUNK, CHUNK);
    }
    H5Dclose(data);
    data = H5Dopen2(file, "chunked", how);
    for (hsize_t i = 0; !filters && i < (is_replaced ? STEPS / 4 : STEPS); i++) {
        if (whole)
            move(data, false, i / 8 * CHUNK, i % 8 * CHUNK, CHUNK, CHUNK);
        else
            move(data, false, 0, i, SIDE, 1);
    }
    H5Dclose(data);
    H5Fclose(file);
}

// --- metadata: of many objects, or of few

#ifndef H5_HAVE_PARALLEL
// Rows of two datasets in each call.
static void objects_multi(const char *folder) {
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    CHECK(H5Pset_sieve_buf_size(access, 1));
    hid_t file = make_file(folder, access), space = H5Screate_simple(2, (hsize_t[2]){SIDE, SIDE}, NULL);
    hid_t memory = H5Screate_simple(2, (hsize_t[2]){1, CHUNK}, NULL);
    hid_t data[] = {make_data(file, "one", H5P_DEFAULT, H5P_DEFAULT), make_data(file, "two", H5P_DEFAULT, H5P_DEFAULT)};
    hid_t types[] = {H5T_NATIVE_DOUBLE, H5T_NATIVE_DOUBLE}, memories[] = {memory, memory}, spaces[] = {space, space};
    const void *buffers[] = {values, values};
    for (hsize_t i = 0; i < STEPS; i++) {
        CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, (hsize_t[2]){i, 0}, NULL, (hsize_t[2]){1, CHUNK}, NULL));
        CHECK(H5Dwrite_multi(2, data, types, memories, spaces, H5P_DEFAULT, buffers));
    }
    H5Dclose(data[0]);
    H5Dclose(data[1]);
    H5Fclose(file);
}
#endif

// A copy moves the data in pieces of its own size.
static void objects_copied(const char *folder) {
    const hsize_t chunk[2] = {8, 16};
    hid_t list = H5Pcreate(H5P_DATASET_CREATE), file = make_file(folder, H5P_DEFAULT);
    CHECK(H5Pset_chunk(list, 2, chunk));
    hid_t data = make_data(file, "from", list, H5P_DEFAULT);
    move(data, true, 0, 0, CHUNK, CHUNK);
    H5Dclose(data);
    CHECK(H5Ocopy(file, "from", file, "to", H5P_DEFAULT, H5P_DEFAULT));
    H5Fclose(file);
}

static void objects(const char *what, const char *folder) {
    const hsize_t dims[1] = {16};
    bool few = strstr(what, "few"), kept = strstr(what, "kept");
    hid_t file = make_file(folder, H5P_DEFAULT), space = H5Screate_simple(1, dims, NULL);
    for (int i = 0; i < (few || kept ? 2 : OBJECTS); i++) {
        char name[32];
        snprintf(name, sizeof name, "data%d", i);
        hid_t data = H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        CHECK(data);
        CHECK(H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
        H5Dclose(data);
        CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    }
    // Compressed chunks that stay in memory until the close are small writes, but no metadata.
    for (int i = 0; kept && i < 4; i++) {
        char name[32];
        snprintf(name, sizeof name, "kept%d", i);
        hid_t data = make_data(file, name, chunk_list(true), H5P_DEFAULT);
        write_all(data, CHUNK, CHUNK);
        H5Dclose(data);
    }
    H5Fclose(file);
}

// --- rows of datasets that begin at a block of the file system, and of others that do not

static void align(const char *what, const char *folder) {
    for (int aligned = 0; aligned < 2; aligned++) {
        char path[4096];
        hid_t access = H5Pcreate(H5P_FILE_ACCESS);
        CHECK(H5Pset_sieve_buf_size(access, 1));
        if (aligned || strstr(what, "all")) CHECK(H5Pset_alignment(access, 4096, 4096));
        snprintf(path, sizeof path, "%s/%s.h5", folder, aligned ? "aligned" : "plain");
        bool makes = strstr(what, "make");
        hid_t file = makes ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access) : H5Fopen(path, H5F_ACC_RDWR, access);
        CHECK(file);
        hid_t data = makes ? make_data(file, "rows", H5P_DEFAULT, H5P_DEFAULT) : H5Dopen2(file, "rows", H5P_DEFAULT);
        if (makes) write_all(data, SIDE, SIDE);
        for (hsize_t i = 0; !makes && i < 100; i++) move(data, true, i * 4, 0, 1, SIDE);
        H5Dclose(data);
        H5Fclose(file);
    }
}

#ifdef H5_HAVE_PARALLEL
static int rank, ranks;

// --- ranks that read the same metadata, each by itself or one for all

static void shared(const char *what, const char *folder) {
    const hsize_t dims[1] = {16};
    char path[4096], name[32];
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), space = H5Screate_simple(1, dims, NULL);
    snprintf(path, sizeof path, "%s/planted.h5", folder);
    if (!rank) {
        hid_t file = make_file(folder, H5P_DEFAULT);
        for (int i = 0; i < OBJECTS / 3; i++) {
            snprintf(name, sizeof name, "data%d", i);
            H5Dclose(H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        }
        H5Fclose(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    bool is_alone = strstr(what, "alone");
    CHECK(H5Pset_fapl_mpio(access, is_alone ? MPI_COMM_SELF : MPI_COMM_WORLD, MPI_INFO_NULL));
    if (strstr(what, "together")) CHECK(H5Pset_all_coll_metadata_ops(access, 1));
    if (!is_alone || !rank) {
        hid_t file = H5Fopen(path, H5F_ACC_RDONLY, access);
        CHECK(file);
        for (int i = 0; i < OBJECTS / 3; i++) {
            snprintf(name, sizeof name, "data%d", i);
            hid_t data = H5Dopen2(file, name, H5P_DEFAULT);
            CHECK(data);
            H5Dclose(data);
        }
        H5Fclose(file);
    }
}

// --- ranks that write columns of a dataset, independently or together

static void columns(const char *what, const char *folder) {
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER);
    CHECK(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
    if (strstr(what, "together")) CHECK(H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE));
    bool by_rows = strstr(what, "rows");
    hid_t file = make_file(folder, access), data = make_data(file, "columns", H5P_DEFAULT, H5P_DEFAULT);
    const hsize_t part = (hsize_t)(SIDE / 8 / ranks), rows = by_rows ? part : SIDE / 8, width = by_rows ? SIDE : part;
    const hsize_t start[2] = {by_rows ? (hsize_t)rank * part : 0, by_rows ? 0 : (hsize_t)rank * part};
    const hsize_t count[2] = {rows, width};
    hid_t space = H5Dget_space(data), memory = H5Screate_simple(2, count, NULL);
    CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL));
    for (int i = 0; i < 4; i++) CHECK(H5Dwrite(data, H5T_NATIVE_DOUBLE, memory, space, transfer, values));
    H5Dclose(data);
    H5Fclose(file);
}
#endif

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    const char *what = argv[1];
#ifdef H5_HAVE_PARALLEL
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
#endif
    values = calloc(SIDE * SIDE, sizeof *values);
    for (size_t i = 0; i < SIDE * SIDE; i++) values[i] = (double)(i * 2654435761u % 65521); // it does not compress well
    if (!strcmp(what, "fill-columns"))
        fill_columns(argv[2]);
    else if (!strncmp(what, "fill", 4))
        fill(what, argv[2]);
    if (!strncmp(what, "filters", 7) || !strncmp(what, "chunks", 6)) parts(what, argv[2]);
#ifndef H5_HAVE_PARALLEL
    if (!strcmp(what, "objects-multi")) objects_multi(argv[2]);
#endif
    if (!strcmp(what, "objects-copied")) objects_copied(argv[2]);
    if (!strncmp(what, "objects", 7) && strcmp(what, "objects-multi") && strcmp(what, "objects-copied"))
        objects(what, argv[2]);
    if (!strncmp(what, "align", 5)) align(what, argv[2]);
#ifdef H5_HAVE_PARALLEL
    if (!strncmp(what, "shared", 6)) shared(what, argv[2]);
    if (!strncmp(what, "columns", 7)) columns(what, argv[2]);
    MPI_Finalize();
#endif
    return 0;
}
