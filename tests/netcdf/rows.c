// Writes the rows of a variable with NetCDF, one by one, and a record of another variable with each; reads every second
// row of the first.
//
//     rows classic|netcdf4 FILE ROWS
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(code)                                                                                                    \
    if ((code) != NC_NOERR) {                                                                                          \
        fprintf(stderr, "line %d failed\n", __LINE__);                                                                 \
        exit(1);                                                                                                       \
    }

enum { COLUMNS = 512 };

int main(int argc, char **argv) {
    int file, dims[2], records[2], fixed, grows;
    static double values[COLUMNS];
    if (argc != 4) return 2;
    size_t rows = strtoul(argv[3], NULL, 10);
    CHECK(nc_create(argv[2], strcmp(argv[1], "classic") ? NC_NETCDF4 : 0, &file));
    CHECK(nc_def_dim(file, "rows", rows, &dims[0]));
    CHECK(nc_def_dim(file, "columns", COLUMNS, &dims[1]));
    CHECK(nc_def_dim(file, "time", NC_UNLIMITED, &records[0]));
    records[1] = dims[1];
    CHECK(nc_def_var(file, "fixed", NC_DOUBLE, 2, dims, &fixed));
    CHECK(nc_def_var(file, "grows", NC_FLOAT, 2, records, &grows));
    CHECK(nc_enddef(file));
    for (size_t i = 0; i < rows; i++) {
        for (int j = 0; j < COLUMNS; j++) values[j] = (double)(i + (size_t)j);
        CHECK(nc_put_vara_double(file, fixed, (size_t[]){i, 0}, (size_t[]){1, COLUMNS}, values));
        CHECK(nc_put_vara_double(file, grows, (size_t[]){i, 0}, (size_t[]){1, COLUMNS}, values));
    }
    CHECK(nc_close(file));
    CHECK(nc_open(argv[2], NC_NOWRITE, &file));
    double *every = malloc(rows / 2 * COLUMNS * sizeof *every);
    CHECK(nc_get_vars_double(file, fixed, (size_t[]){0, 0}, (size_t[]){rows / 2, COLUMNS}, (ptrdiff_t[]){2, 1}, every));
    printf("%g\n", every[rows / 2 * COLUMNS - 1]);
    CHECK(nc_close(file));
    free(every);
    return 0;
}
