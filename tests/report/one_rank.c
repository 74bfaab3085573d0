// Rank 0 collects the data of all ranks and writes it to a file in the given directory, one write per round.
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { BYTES = 1 << 16, ROUNDS = 40, MOST_RANKS = 16 };

static char own[BYTES], all[BYTES * MOST_RANKS];

int main(int argc, char **argv) {
    int rank, size, fd = -1;
    char name[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 2 || size > MOST_RANKS) return 2;
    snprintf(name, sizeof name, "%s/all", argv[1]);
    if (rank == 0) fd = open(name, O_CREAT | O_WRONLY, 0600);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Gather(own, BYTES, MPI_CHAR, all, BYTES, MPI_CHAR, 0, MPI_COMM_WORLD);
        if (rank == 0 && write(fd, all, (size_t)size * BYTES) < 0) return 1;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
