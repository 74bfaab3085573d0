// The program that `ioseer doctor` records to see whether MPI-IO is captured: writes one block with MPI-IO into the
// file that is its only argument.
#include <mpi.h>

int main(int argc, char **argv) {
    static char block[12345];
    MPI_File file;
    MPI_Init(&argc, &argv);
    int failed =
        argc != 2 || MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    if (!failed) {
        failed = MPI_File_write_at(file, 0, block, sizeof block, MPI_BYTE, MPI_STATUS_IGNORE);
        MPI_File_close(&file);
    }
    MPI_Finalize();
    return failed != 0;
}
