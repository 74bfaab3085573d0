// The I/O of a combustion code, after S3D-IO: a grid in blocks, one per process, and four arrays over it with 11, 3, 1
// and 1 values per point. Each checkpoint is a file with the arrays one after the other, each array component by
// component in the order of the grid, so that the part of a process is many short rows. It is written and read
// collectively, or by each process independently: row by row, or with data sieving, where MPI also reads and writes
// the bytes between the rows.
#include "common.h"

#include <stdlib.h>
#include <string.h>

enum { ARRAYS = 4 };
static const int components[ARRAYS] = {11, 3, 1, 1};

struct run {
    struct example example;
    long long edge, checkpoints;
    const char *mode;
    int processes[3], place[3]; // along z, y, x
    double *values;
};

static long long points(const struct run *run) { return run->edge * run->edge * run->edge; }

static MPI_Datatype block_type(const struct run *run, int array) {
    int edge = (int)run->edge;
    int sizes[4] = {components[array]}, part[4] = {components[array], edge, edge, edge}, start[4] = {0};
    MPI_Datatype type;
    for (int axis = 0; axis < 3; axis++) {
        sizes[axis + 1] = edge * run->processes[axis];
        start[axis + 1] = edge * run->place[axis];
    }
    MUST(MPI_Type_create_subarray(4, sizes, part, start, MPI_ORDER_C, MPI_DOUBLE, &type));
    MUST(MPI_Type_commit(&type));
    return type;
}

static void transfer(struct run *run, MPI_File file, bool writes, int array) {
    bool collective = strcmp(run->mode, "collective") == 0;
    int count = components[array] * (int)points(run);
    MPI_Status status;
    int result;
    if (writes && collective) result = MPI_File_write_all(file, run->values, count, MPI_DOUBLE, &status);
    if (writes && !collective) result = MPI_File_write(file, run->values, count, MPI_DOUBLE, &status);
    if (!writes && collective) result = MPI_File_read_all(file, run->values, count, MPI_DOUBLE, &status);
    if (!writes && !collective) result = MPI_File_read(file, run->values, count, MPI_DOUBLE, &status);
    must_mpi(result, "transfer");
    must_move(&status, MPI_DOUBLE, count, "transfer");
}

static MPI_Info hints(const struct run *run) {
    const char *sieving = strcmp(run->mode, "sieving") == 0 ? "enable" : "disable";
    MPI_Info info;
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "romio_ds_write", sieving));
    MUST(MPI_Info_set(info, "romio_ds_read", sieving));
    return info;
}

static void checkpoint(struct run *run, int number, bool writes) {
    char *path = example_path(&run->example, "s3d", number);
    int mode = writes ? MPI_MODE_CREATE | MPI_MODE_RDWR : MPI_MODE_RDONLY; // sieving reads the file it writes
    long long displacement = 0;
    MPI_Info info = hints(run);
    MPI_File file;
    MUST(MPI_File_open(MPI_COMM_WORLD, path, mode, info, &file));
    for (int array = 0; array < ARRAYS; array++) {
        size_t bytes = (size_t)(components[array] * points(run)) * sizeof(double);
        uint64_t seed = (uint64_t)((number * run->example.ranks + run->example.rank) * ARRAYS + array);
        MPI_Datatype type = block_type(run, array);
        MUST(MPI_File_set_view(file, displacement, MPI_DOUBLE, type, "native", info));
        MUST(MPI_Type_free(&type));
        if (writes) pattern_fill(run->values, bytes, seed);
        transfer(run, file, writes, array);
        if (!writes && !pattern_matches(run->values, bytes, seed)) run->example.wrong = true;
        displacement += (long long)bytes * run->example.ranks;
    }
    MUST(MPI_File_close(&file));
    MUST(MPI_Info_free(&info));
    free(path);
}

int main(int argc, char **argv) {
    struct run run = {.edge = 16, .checkpoints = 2, .mode = "collective"};
    static const char *const modes[] = {"collective", "independent", "sieving", NULL};
    const struct example_option options[] = {
        {"edge", OPTION_COUNT, &run.edge, "points along an edge of a process's block", NULL},
        {"checkpoints", OPTION_COUNT, &run.checkpoints, "checkpoints, a file each", NULL},
        {"mode", OPTION_WORD, &run.mode, "how", modes},
        {0}};
    example_start(&run.example, &argc, &argv, "Writes checkpoints of a grid in blocks, then reads them.", options);
    if (run.edge < 1 || run.edge > 256) example_refuse(&run.example, "an edge of 1 to 256 points");
    example_grid(&run.example, run.processes, run.place);
    run.values = example_memory((size_t)points(&run) * (size_t)components[0] * sizeof *run.values);
    for (int number = 0; number < run.checkpoints; number++) {
        checkpoint(&run, number, true);
        MUST(MPI_Barrier(MPI_COMM_WORLD));
    }
    for (int number = 0; number < run.checkpoints; number++) checkpoint(&run, number, false);
    free(run.values);
    return example_end(&run.example);
}
