// Repeats one call of HDF5, for counting instructions.
//
//     repeat PATTERN CALLS FOLDER
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    char path[4096];
    int calls = atoi(argv[2]);
    const hsize_t dims[2] = {64, 8}, count[2] = {4, 8};
    double values[512] = {0};
    snprintf(path, sizeof path, "%s/data.h5", argv[3]);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, dims, NULL), memory = H5Screate_simple(2, count, NULL),
          one = H5Screate(H5S_SCALAR);
    hid_t data = H5Dcreate2(file, "data", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t attribute = H5Acreate2(data, "units", H5T_NATIVE_INT, one, H5P_DEFAULT, H5P_DEFAULT);
    for (int i = 0; i < calls; i++) {
        if (!strcmp(argv[1], "all")) {
            H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
        } else if (!strcmp(argv[1], "slab")) {
            const hsize_t start[2] = {(hsize_t)(i % 16 * 4), 0};
            H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
            H5Dwrite(data, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values);
        } else if (!strcmp(argv[1], "select")) {
            H5Sselect_hyperslab(space, H5S_SELECT_SET, (const hsize_t[2]){0, 0}, NULL, count, NULL);
        } else if (!strcmp(argv[1], "attribute")) {
            H5Awrite(attribute, H5T_NATIVE_INT, &i);
        }
    }
    H5Fclose(file);
    return 0;
}
