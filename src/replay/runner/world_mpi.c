#include <mpi.h>

#include "base/err.h"
#include "replay/runner/world.h"

struct world world;

int world_start(int *argc, char ***argv, int np, int threads) {
    int provided;
    (void)np;
    MPI_Init_thread(argc, argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world.size);
    return threads > 1 && provided < MPI_THREAD_MULTIPLE ? ERR_LIMIT : 0;
}

void world_barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }

void world_communicate(void) {
    char mine = 0, all;
    MPI_Allreduce(&mine, &all, 1, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD);
}

void world_gather(const void *mine, size_t bytes, void *all) {
    MPI_Gather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

bool world_exchange(void *data, size_t bytes) {
    int rank = world.rank;
    if (world.size < 2) return false;
    if (rank == 0) MPI_Send(data, (int)bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    if (rank < 2) MPI_Recv(data, (int)bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(data, (int)bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    return true;
}

int world_end(int status) {
    if (status) MPI_Abort(MPI_COMM_WORLD, status);
    MPI_Finalize();
    return status;
}
