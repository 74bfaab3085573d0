// Each rank writes its rows of two variables with NetCDF: of one independently, of the other collectively.
//
//     parallel FILE SLABS
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(code)                                                                                                    \
    if ((code) != NC_NOERR) {                                                                                          \
        fprintf(stderr, "line %d failed\n", __LINE__);                                                                 \
        MPI_Abort(MPI_COMM_WORLD, 1);                                                                                  \
    }

enum { ROWS = 4, COLUMNS = 256 };

int main(int argc, char **argv) {
    int rank, ranks, file, dims[2], alone, together;
    static float values[ROWS * COLUMNS];
    const size_t count[2] = {ROWS, COLUMNS};
    if (argc != 3) return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int slabs = atoi(argv[2]);
    for (int i = 0; i < ROWS * COLUMNS; i++) values[i] = (float)(rank + i);
    CHECK(nc_create_par(argv[1], NC_NETCDF4, MPI_COMM_WORLD, MPI_INFO_NULL, &file));
    CHECK(nc_def_dim(file, "rows", (size_t)(ROWS * slabs * ranks), &dims[0]));
    CHECK(nc_def_dim(file, "columns", COLUMNS, &dims[1]));
    CHECK(nc_def_var(file, "alone", NC_FLOAT, 2, dims, &alone));
    CHECK(nc_def_var(file, "together", NC_FLOAT, 2, dims, &together));
    CHECK(nc_enddef(file));
    CHECK(nc_var_par_access(file, together, NC_COLLECTIVE));
    for (int i = 0; i < slabs; i++) {
        const size_t start[2] = {(size_t)((rank * slabs + i) * ROWS), 0};
        CHECK(nc_put_vara_float(file, alone, start, count, values));
        CHECK(nc_put_vara_float(file, together, start, count, values));
    }
    CHECK(nc_close(file));
    MPI_Finalize();
    return 0;
}
