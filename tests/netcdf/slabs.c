// Each rank writes its rows of a variable with PnetCDF in slabs, once independently and once collectively, and reads a
// part of them. A third variable grows by a record per slab. Prints where the variables are in the file.
//
//     slabs FILE SLABS
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(code)                                                                                                    \
    if ((code) != NC_NOERR) {                                                                                          \
        fprintf(stderr, "line %d failed\n", __LINE__);                                                                 \
        MPI_Abort(MPI_COMM_WORLD, 1);                                                                                  \
    }

enum { ROWS = 4, COLUMNS = 256 };

static int rank, ranks, slabs, file, alone, together, grows;
static float values[ROWS * COLUMNS];

static void define(const char *path) {
    int dims[2], records[2];
    CHECK(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER, MPI_INFO_NULL, &file));
    CHECK(ncmpi_def_dim(file, "rows", (MPI_Offset)ROWS * slabs * ranks, &dims[0]));
    CHECK(ncmpi_def_dim(file, "columns", COLUMNS, &dims[1]));
    CHECK(ncmpi_def_dim(file, "time", NC_UNLIMITED, &records[0]));
    CHECK(ncmpi_def_dim(file, "all", (MPI_Offset)COLUMNS * ranks, &records[1]));
    CHECK(ncmpi_def_var(file, "alone", NC_DOUBLE, 2, dims, &alone));
    CHECK(ncmpi_def_var(file, "together", NC_FLOAT, 2, dims, &together));
    CHECK(ncmpi_def_var(file, "grows", NC_INT, 2, records, &grows));
    CHECK(ncmpi_enddef(file));
}

int main(int argc, char **argv) {
    const MPI_Offset count[2] = {ROWS, COLUMNS}, record[2] = {1, COLUMNS};
    if (argc != 3) return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    slabs = atoi(argv[2]);
    for (int i = 0; i < ROWS * COLUMNS; i++) values[i] = (float)(rank + i);
    define(argv[1]);
    for (int i = 0; i < slabs; i++) {
        const MPI_Offset start[2] = {(rank * slabs + i) * ROWS, 0}, at[2] = {i, rank * COLUMNS};
        CHECK(ncmpi_put_vara_float_all(file, together, start, count, values));
        CHECK(ncmpi_put_vara_all(file, grows, at, record, values, COLUMNS, MPI_FLOAT));
        CHECK(ncmpi_begin_indep_data(file));
        CHECK(ncmpi_put_vara_float(file, alone, start, count, values));
        CHECK(ncmpi_end_indep_data(file));
    }
    const MPI_Offset first[2] = {rank * slabs * ROWS, 0}, every[2] = {2, 4}, half[2] = {2, COLUMNS / 4};
    CHECK(ncmpi_get_vars_float_all(file, together, first, half, every, values));
    MPI_Offset at[3];
    CHECK(ncmpi_inq_varoffset(file, alone, &at[0]));
    CHECK(ncmpi_inq_varoffset(file, together, &at[1]));
    CHECK(ncmpi_inq_varoffset(file, grows, &at[2]));
    if (rank == 0) printf("alone %lld\ntogether %lld\ngrows %lld\n", at[0], at[1], at[2]);
    CHECK(ncmpi_close(file));
    MPI_Finalize();
    return 0;
}
