// Steps of a simulation in one HDF5 file: each step is a group with an attribute and two datasets, in which each rank
// has rows. Metadata is read and written by all ranks together, or by each for itself, which is HDF5's default.
#include "common.h"

#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DATASETS = 2 };
static const char *const names[DATASETS] = {"density", "velocity"};

struct run {
    struct example example;
    const char *metadata, *data;
    long long steps, rows, columns;
    double *values;
};

static hid_t good(hid_t id, const char *what) {
    must(id >= 0, what);
    return id;
}
#define GOOD(call) good(call, #call)

static uint64_t seed_of(const struct run *run, int step, int dataset) {
    return (uint64_t)((step * run->example.ranks + run->example.rank) * DATASETS + dataset);
}

static size_t bytes_of(const struct run *run) { return (size_t)(run->rows * run->columns) * sizeof(double); }

static hid_t open_file(const struct run *run, bool create) {
    char *path = example_path(&run->example, "hdf5", -1);
    hid_t access = GOOD(H5Pcreate(H5P_FILE_ACCESS));
    bool together = strcmp(run->metadata, "collective") == 0;
    GOOD(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
    GOOD(H5Pset_coll_metadata_write(access, together));
    GOOD(H5Pset_all_coll_metadata_ops(access, together));
    hid_t file = create ? GOOD(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access))
                        : GOOD(H5Fopen(path, H5F_ACC_RDONLY, access));
    H5Pclose(access);
    free(path);
    return file;
}

static void write_attribute(hid_t group, int step) {
    hid_t space = GOOD(H5Screate(H5S_SCALAR));
    hid_t attribute = GOOD(H5Acreate2(group, "step", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT));
    GOOD(H5Awrite(attribute, H5T_NATIVE_INT, &step));
    H5Aclose(attribute);
    H5Sclose(space);
}

// The rows of this rank in a dataset, moved to or from its memory.
static void transfer(struct run *run, hid_t dataset, bool writes) {
    hsize_t start[2] = {(hsize_t)(run->example.rank * run->rows), 0};
    hsize_t count[2] = {(hsize_t)run->rows, (hsize_t)run->columns};
    hid_t memory = GOOD(H5Screate_simple(2, count, NULL)), space = GOOD(H5Dget_space(dataset));
    hid_t how = GOOD(H5Pcreate(H5P_DATASET_XFER));
    bool together = strcmp(run->data, "collective") == 0;
    GOOD(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL));
    GOOD(H5Pset_dxpl_mpio(how, together ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT));
    if (writes) GOOD(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, how, run->values));
    if (!writes) GOOD(H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, how, run->values));
    H5Pclose(how);
    H5Sclose(space);
    H5Sclose(memory);
}

static void write_step(struct run *run, hid_t file, int step) {
    hsize_t sizes[2] = {(hsize_t)(run->example.ranks * run->rows), (hsize_t)run->columns};
    hid_t space = GOOD(H5Screate_simple(2, sizes, NULL));
    char name[32];
    snprintf(name, sizeof name, "step %d", step);
    hid_t group = GOOD(H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    write_attribute(group, step);
    for (int i = 0; i < DATASETS; i++) {
        hid_t dataset =
            GOOD(H5Dcreate2(group, names[i], H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        pattern_fill(run->values, bytes_of(run), seed_of(run, step, i));
        transfer(run, dataset, true);
        H5Dclose(dataset);
    }
    H5Gclose(group);
    H5Sclose(space);
    GOOD(H5Fflush(file, H5F_SCOPE_GLOBAL));
}

static void read_step(struct run *run, hid_t file, int step) {
    char name[64];
    for (int i = 0; i < DATASETS; i++) {
        snprintf(name, sizeof name, "step %d/%s", step, names[i]);
        hid_t dataset = GOOD(H5Dopen2(file, name, H5P_DEFAULT));
        transfer(run, dataset, false);
        if (!pattern_matches(run->values, bytes_of(run), seed_of(run, step, i))) run->example.wrong = true;
        H5Dclose(dataset);
    }
}

int main(int argc, char **argv) {
    struct run run = {.metadata = "collective", .data = "collective", .steps = 2, .rows = 64, .columns = 64};
    static const char *const ways[] = {"collective", "independent", NULL};
    const struct example_option options[] = {{"metadata", OPTION_WORD, &run.metadata, "who moves metadata", ways},
                                             {"data", OPTION_WORD, &run.data, "how data is moved", ways},
                                             {"steps", OPTION_COUNT, &run.steps, "steps, a group each", NULL},
                                             {"rows", OPTION_COUNT, &run.rows, "rows of a rank", NULL},
                                             {"columns", OPTION_COUNT, &run.columns, "numbers in a row", NULL},
                                             {0}};
    example_start(&run.example, &argc, &argv, "Writes steps to an HDF5 file, then reads them.", options);
    if (run.rows < 1 || run.columns < 1 || run.rows > 65536 || run.columns > 4096)
        example_refuse(&run.example, "1 to 65536 rows of 1 to 4096 numbers");
    run.values = example_memory(bytes_of(&run));
    hid_t file = open_file(&run, true);
    for (int step = 0; step < run.steps; step++) write_step(&run, file, step);
    GOOD(H5Fclose(file));
    file = open_file(&run, false);
    for (int step = 0; step < run.steps; step++) read_step(&run, file, step);
    GOOD(H5Fclose(file));
    free(run.values);
    return example_end(&run.example);
}
