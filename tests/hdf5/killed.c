// Is killed inside a read of a dataset, by a filter, after HDF5 has read from the file.
//
//     killed FILE
#include <hdf5.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

static bool is_deadly;

static size_t filter(unsigned flags, size_t count, const unsigned values[], size_t bytes, size_t *room, void **buf) {
    (void)count, (void)values, (void)room, (void)buf;
    if (is_deadly && flags & H5Z_FLAG_REVERSE) kill(getpid(), SIGKILL);
    return bytes;
}

int main(int argc, char **argv) {
    enum { NUMBER = 300, VALUES = 1024 };
    const H5Z_class2_t class = {H5Z_CLASS_T_VERS, NUMBER, 1, 1, "deadly", NULL, NULL, filter};
    const hsize_t dims[1] = {VALUES}, chunk[1] = {VALUES / 2};
    static double values[VALUES];
    const char *path = argv[argc > 1];
    H5Zregister(&class);
    hid_t list = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, dims, NULL);
    H5Pset_chunk(list, 1, chunk);
    H5Pset_filter(list, NUMBER, 0, 0, NULL);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t data = H5Dcreate2(file, "data", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(data);
    H5Fclose(file);
    file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    data = H5Dopen2(file, "data", H5P_DEFAULT);
    is_deadly = true;
    H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    return 0;
}
