// Each rank writes 4 blocks of 4096 bytes by itself and one together with the others.
#include <mpi.h>

int main(int argc, char **argv) {
    enum { BYTES = 4096, BLOCKS = 4 };
    static char block[BYTES];
    int rank, size;
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_File_open(MPI_COMM_WORLD, "shared", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    for (int i = 0; i < BLOCKS; i++)
        MPI_File_write_at(file, (MPI_Offset)(i * size + rank) * BYTES, block, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_write_at_all(file, (MPI_Offset)(BLOCKS * size + rank) * BYTES, block, BYTES, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
