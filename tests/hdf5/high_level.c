// Writes a dataset with HDF5's high-level interface, and reads it.
#include <hdf5.h>
#include <hdf5_hl.h>
#include <stdio.h>

int main(int argc, char **argv) {
    const hsize_t dims[2] = {6, 8};
    double values[48] = {1}, all[48];
    hid_t file = H5Fcreate(argv[argc > 1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (H5LTmake_dataset_double(file, "/data", 2, dims, values) < 0) return 1;
    if (H5LTset_attribute_int(file, "/data", "count", &(int){48}, 1) < 0) return 1;
    if (H5LTread_dataset_double(file, "/data", all) < 0) return 1;
    printf("%g\n", all[0]);
    return H5Fclose(file) < 0;
}
