// The I/O of an astrophysics code, after FLASH-IO: each process has blocks of a mesh, and each variable of all blocks
// is a dataset. A checkpoint has 24 variables, and there are two plot files with 4 variables each. All are written
// collectively; the blocks of a process follow each other in the file, so MPI may as well write them independently.
#include "common.h"

#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKPOINT_VARIABLES = 24, PLOT_VARIABLES = 4, AXES = 4 };

struct run {
    struct example example;
    const char *data;
    long long blocks, edge;
    bool no_read;
    double *values;
};

static hid_t good(hid_t id, const char *what) {
    must(id >= 0, what);
    return id;
}
#define GOOD(call) good(call, #call)

static size_t bytes_of(const struct run *run, long long edge) {
    return (size_t)(run->blocks * edge * edge * edge) * sizeof(double);
}

static hid_t open_file(const struct run *run, const char *name, bool create) {
    char *path = example_path(&run->example, name, -1);
    hid_t access = GOOD(H5Pcreate(H5P_FILE_ACCESS));
    GOOD(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
    hid_t file = create ? GOOD(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access))
                        : GOOD(H5Fopen(path, H5F_ACC_RDONLY, access));
    H5Pclose(access);
    free(path);
    return file;
}

// The blocks of this process in a dataset, moved to or from its memory.
static void transfer(struct run *run, hid_t dataset, long long edge, bool writes) {
    hsize_t side = (hsize_t)edge;
    hsize_t start[AXES] = {(hsize_t)(run->example.rank * run->blocks)};
    hsize_t count[AXES] = {(hsize_t)run->blocks, side, side, side};
    hid_t memory = GOOD(H5Screate_simple(AXES, count, NULL)), space = GOOD(H5Dget_space(dataset));
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

static void move_variable(struct run *run, hid_t file, int variable, long long edge, bool writes) {
    hsize_t side = (hsize_t)edge, sizes[AXES] = {(hsize_t)(run->example.ranks * run->blocks), side, side, side};
    uint64_t seed = (uint64_t)(run->example.rank * CHECKPOINT_VARIABLES + variable);
    char name[32];
    snprintf(name, sizeof name, "variable %d", variable);
    hid_t space = GOOD(H5Screate_simple(AXES, sizes, NULL));
    hid_t dataset = writes
                        ? GOOD(H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))
                        : GOOD(H5Dopen2(file, name, H5P_DEFAULT));
    if (writes) pattern_fill(run->values, bytes_of(run, edge), seed);
    transfer(run, dataset, edge, writes);
    if (!writes && !pattern_matches(run->values, bytes_of(run, edge), seed)) run->example.wrong = true;
    H5Dclose(dataset);
    H5Sclose(space);
}

static void move_file(struct run *run, const char *name, int variables, long long edge, bool writes) {
    hid_t file = open_file(run, name, writes);
    for (int i = 0; i < variables; i++) move_variable(run, file, i, edge, writes);
    GOOD(H5Fclose(file));
}

int main(int argc, char **argv) {
    struct run run = {.data = "collective", .blocks = 8, .edge = 8};
    static const char *const ways[] = {"collective", "independent", NULL};
    const struct example_option options[] = {{"data", OPTION_WORD, &run.data, "how data is moved", ways},
                                             {"blocks", OPTION_COUNT, &run.blocks, "blocks of a process", NULL},
                                             {"edge", OPTION_COUNT, &run.edge, "points along an edge of a block", NULL},
                                             {"no-read", OPTION_FLAG, &run.no_read, "write only", NULL},
                                             {0}};
    example_start(&run.example, &argc, &argv,
                  "Writes a checkpoint and two plot files with HDF5, then reads the former.", options);
    if (run.blocks < 1 || run.blocks > 4096 || run.edge < 1 || run.edge > 64)
        example_refuse(&run.example, "1 to 4096 blocks with an edge of 1 to 64 points");
    run.values = example_memory(bytes_of(&run, run.edge + 1));
    move_file(&run, "flash-checkpoint", CHECKPOINT_VARIABLES, run.edge, true);
    move_file(&run, "flash-centered", PLOT_VARIABLES, run.edge, true);
    move_file(&run, "flash-corners", PLOT_VARIABLES, run.edge + 1, true);
    if (!run.no_read) move_file(&run, "flash-checkpoint", CHECKPOINT_VARIABLES, run.edge, false);
    free(run.values);
    return example_end(&run.example);
}
