// Each rank writes its rows of a dataset in slabs, once independently and once collectively, then reads a part of them.
// Without MPI there is one rank. Prints where the datasets are in the file.
//
//     slabs FILE SLABS
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(code)                                                                                                    \
    if ((code) < 0) {                                                                                                  \
        fprintf(stderr, "line %d failed\n", __LINE__);                                                                 \
        exit(1);                                                                                                       \
    }

enum { ROWS = 4, COLUMNS = 256 }; // of a slab

static void write_slabs(hid_t file, const char *name, int slabs, int rank, int size, hid_t transfer) {
    hsize_t dims[2] = {(hsize_t)(ROWS * slabs * size), COLUMNS}, count[2] = {ROWS, COLUMNS};
    hsize_t start[2] = {(hsize_t)(ROWS * slabs * rank), 0};
    double *values = calloc(ROWS * COLUMNS, sizeof *values);
    hid_t space = H5Screate_simple(2, dims, NULL), memory = H5Screate_simple(2, count, NULL);
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    CHECK(H5Pset_obj_track_times(list, 0)); // two runs make the same file
    hid_t data = H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    CHECK(data);
    CHECK(H5Pclose(list));
    for (int i = 0; i < slabs; i++, start[0] += ROWS) {
        CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL));
        CHECK(H5Dwrite(data, H5T_NATIVE_DOUBLE, memory, space, transfer, values));
    }
    CHECK(H5Dread(data, H5T_NATIVE_DOUBLE, memory, space, transfer, values));
    if (rank == 0) printf("/%s %lld\n", name, (long long)H5Dget_offset(data));
    CHECK(H5Dclose(data));
    CHECK(H5Sclose(space));
    CHECK(H5Sclose(memory));
    free(values);
}

int main(int argc, char **argv) {
    int rank = 0, size = 1, slabs = argc > 2 ? atoi(argv[2]) : 4;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER);
#ifdef H5_HAVE_PARALLEL
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
    CHECK(H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE));
#endif
    CHECK(H5Pset_alignment(access, 4096, 65536));
    hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
    CHECK(file);
    write_slabs(file, "alone", slabs, rank, size, H5P_DEFAULT);
    write_slabs(file, "together", slabs, rank, size, transfer);
    CHECK(H5Fclose(file));
    CHECK(H5Pclose(access));
    CHECK(H5Pclose(transfer));
#ifdef H5_HAVE_PARALLEL
    MPI_Finalize();
#endif
    return 0;
}
