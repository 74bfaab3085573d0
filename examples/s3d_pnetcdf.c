// The same checkpoints as s3d.c, written by PnetCDF: a file with four variables, each with a component, z, y and x
// axis, by collective calls.
#include "common.h"

#include <pnetcdf.h>
#include <stdlib.h>

enum { ARRAYS = 4, AXES = 4 };
static const struct {
    const char *name;
    int components;
} arrays[ARRAYS] = {{"mass", 11}, {"pressure", 1}, {"temperature", 1}, {"velocity", 3}};

struct run {
    struct example example;
    long long edge, checkpoints;
    bool no_read;
    int processes[3], place[3]; // along z, y, x
    double *values;
};

static void good(int code, const char *what) { must(code == NC_NOERR, what); }
#define GOOD(call) good(call, #call)

static long long points(const struct run *run) { return run->edge * run->edge * run->edge; }

static void define(const struct run *run, int file, int variable[ARRAYS]) {
    static const char *const axis[] = {"z", "y", "x"};
    int space[3];
    for (int i = 0; i < 3; i++) GOOD(ncmpi_def_dim(file, axis[i], run->edge * run->processes[i], &space[i]));
    for (int i = 0; i < ARRAYS; i++) {
        int dims[AXES] = {0, space[0], space[1], space[2]}, first = arrays[i].components == 1;
        if (!first) GOOD(ncmpi_def_dim(file, arrays[i].name, arrays[i].components, &dims[0]));
        GOOD(ncmpi_def_var(file, arrays[i].name, NC_DOUBLE, AXES - first, dims + first, &variable[i]));
    }
    GOOD(ncmpi_enddef(file));
}

static void checkpoint(struct run *run, int number, bool writes) {
    char *path = example_path(&run->example, "s3d", number);
    int file, variable[ARRAYS];
    if (writes) {
        GOOD(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file));
        define(run, file, variable);
    } else {
        GOOD(ncmpi_open(MPI_COMM_WORLD, path, NC_NOWRITE, MPI_INFO_NULL, &file));
    }
    for (int i = 0; i < ARRAYS; i++) {
        int first = arrays[i].components == 1;
        MPI_Offset start[AXES] = {0}, count[AXES] = {arrays[i].components, run->edge, run->edge, run->edge};
        uint64_t seed = (uint64_t)((number * run->example.ranks + run->example.rank) * ARRAYS + i);
        size_t bytes = (size_t)(arrays[i].components * points(run)) * sizeof(double);
        for (int axis = 0; axis < 3; axis++) start[axis + 1] = run->edge * run->place[axis];
        if (writes) {
            pattern_fill(run->values, bytes, seed);
            GOOD(ncmpi_put_vara_double_all(file, variable[i], start + first, count + first, run->values));
        } else {
            GOOD(ncmpi_inq_varid(file, arrays[i].name, &variable[i]));
            GOOD(ncmpi_get_vara_double_all(file, variable[i], start + first, count + first, run->values));
            if (!pattern_matches(run->values, bytes, seed)) run->example.wrong = true;
        }
    }
    GOOD(ncmpi_close(file));
    free(path);
}

int main(int argc, char **argv) {
    struct run run = {.edge = 16, .checkpoints = 3};
    const struct example_option options[] = {
        {"edge", OPTION_COUNT, &run.edge, "points along an edge of a process's block", NULL},
        {"checkpoints", OPTION_COUNT, &run.checkpoints, "checkpoints, a file each", NULL},
        {"no-read", OPTION_FLAG, &run.no_read, "write only", NULL},
        {0}};
    example_start(&run.example, &argc, &argv, "Writes checkpoints of a grid with PnetCDF, then reads them.", options);
    if (run.edge < 1 || run.edge > 256) example_refuse(&run.example, "an edge of 1 to 256 points");
    example_grid(&run.example, run.processes, run.place);
    run.values = example_memory((size_t)points(&run) * (size_t)arrays[0].components * sizeof *run.values);
    for (int number = 0; number < run.checkpoints; number++) checkpoint(&run, number, true);
    for (int number = 0; number < run.checkpoints && !run.no_read; number++) checkpoint(&run, number, false);
    free(run.values);
    return example_end(&run.example);
}
