// Repeats one call of PnetCDF, for counting instructions.
//
//     repeat CALLS FOLDER
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    char path[4096];
    int calls = atoi(argv[1]), file, dims[2], variable;
    const MPI_Offset count[2] = {4, 8};
    double values[32] = {0};
    MPI_Init(&argc, &argv);
    snprintf(path, sizeof path, "%s/data.nc", argv[2]);
    ncmpi_create(MPI_COMM_SELF, path, NC_CLOBBER, MPI_INFO_NULL, &file);
    ncmpi_def_dim(file, "rows", 64, &dims[0]);
    ncmpi_def_dim(file, "columns", 8, &dims[1]);
    ncmpi_def_var(file, "data", NC_DOUBLE, 2, dims, &variable);
    ncmpi_enddef(file);
    ncmpi_begin_indep_data(file);
    for (int i = 0; i < calls; i++) {
        const MPI_Offset start[2] = {i % 16 * 4, 0};
        ncmpi_put_vara_double(file, variable, start, count, values);
    }
    ncmpi_close(file);
    MPI_Finalize();
    return 0;
}
