// Prints the stack of errors that HDF5 leaves behind failed calls: nobody may have cleared it, or added to it.
#include <hdf5.h>
#include <stdio.h>

static herr_t print(unsigned number, const H5E_error2_t *error, void *data) {
    (void)data;
    printf("%u %s: %.20s\n", number, error->func_name, error->desc); // the rest may be the time of day
    return 0;
}

static void show(const char *what, hid_t result) {
    printf("%s: %s, %d errors\n", what, result < 0 ? "failed" : "done", (int)H5Eget_num(H5E_DEFAULT));
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, print, NULL);
}

int main(int argc, char **argv) {
    hsize_t dims[1] = {8}, start[1] = {6}, count[1] = {4};
    int values[8] = {0};
    hid_t file = H5Fcreate(argv[argc > 1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(1, dims, NULL);
    hid_t data = H5Dcreate2(file, "data", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    show("a dataset that is not there", H5Dopen2(file, "nothing", H5P_DEFAULT));
    show("a file that is not there", H5Fopen("/nothing/at/all.h5", H5F_ACC_RDONLY, H5P_DEFAULT));
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    show("beyond the end", H5Dwrite(data, H5T_NATIVE_INT, space, space, H5P_DEFAULT, values));
    show("after a success", H5Dread(data, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    show("a wrong id", H5Dread(file, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    show("no id", H5Dwrite(-1, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    show("a wrong list", H5Fopen(argv[argc > 1], H5F_ACC_RDONLY, space));
    show("an attribute that is not there", H5Aopen(data, "nothing", H5P_DEFAULT));
    show("no space", H5Sclose(data));
    show("closed", H5Dclose(data));
    show("closed twice", H5Dclose(data));
    H5Fclose(file);
    return 0;
}
