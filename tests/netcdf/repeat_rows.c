// Repeats one call of NetCDF on a classic file, for counting instructions.
//
//     repeat_rows CALLS FOLDER
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    char path[4096];
    int calls = atoi(argv[1]), file, dims[2], variable;
    double values[32] = {0};
    snprintf(path, sizeof path, "%s/data.nc", argv[2]);
    nc_create(path, NC_CLOBBER, &file);
    nc_def_dim(file, "rows", 64, &dims[0]);
    nc_def_dim(file, "columns", 8, &dims[1]);
    nc_def_var(file, "data", NC_DOUBLE, 2, dims, &variable);
    nc_enddef(file);
    for (int i = 0; i < calls; i++) {
        const size_t start[2] = {(size_t)(i % 16 * 4), 0}, count[2] = {4, 8};
        nc_put_vara_double(file, variable, start, count, values);
    }
    return nc_close(file);
}
