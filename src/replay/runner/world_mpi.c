#include "replay/runner/world_mpi.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"

struct world world;

// By place in the model; MPI_COMM_NULL: this process is in none.
static MPI_Comm *communicator;
static MPI_Comm messages;         // for synchronisations of two processes
static struct progress *progress; // by thread of this process

int world_start(int *argc, char ***argv, int np, int threads) {
    int provided;
    (void)np;
    MPI_Init_thread(argc, argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world.size);
    progress = calloc((size_t)threads + 1, sizeof *progress);
    RETURN_IF(!progress, -ENOMEM);
    return threads > 1 && provided < MPI_THREAD_MULTIPLE ? ERR_LIMIT : 0;
}

struct progress *world_progress(uint32_t rank) {
    return rank == (uint32_t)world.rank ? progress : NULL;
}

void world_barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }

// --- communicators

int world_make_communicators(const struct model *model, uint32_t program) {
    communicator = calloc(model->communicators + 1, sizeof(MPI_Comm));
    RETURN_IF(!communicator, -ENOMEM);
    MPI_Comm_dup(MPI_COMM_WORLD, &messages);
    for (uint32_t i = 0; i < model->communicators; i++) {
        struct model_membership me;
        communicator[i] = MPI_COMM_NULL;
        if (model->communicator[i].program != program) continue;
        FORWARD(model_membership(model, i, (uint32_t)world.rank, &me));
        MPI_Comm_split(MPI_COMM_WORLD, me.color < 0 ? MPI_UNDEFINED : (int)me.color, (int)me.key, &communicator[i]);
    }
    return 0;
}

MPI_Comm world_communicator(const struct op_kind *kind) {
    return kind->communicator ? communicator[kind->communicator - 1] : MPI_COMM_WORLD;
}

static int rank_in(MPI_Comm comm, int rank) {
    MPI_Group all, some;
    int found;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Comm_group(comm, &some);
    MPI_Group_translate_ranks(all, 1, &rank, some, &found);
    MPI_Group_free(&all);
    MPI_Group_free(&some);
    return found;
}

void world_synchronise(const struct op_kind *kind, int rank) {
    MPI_Comm comm = world_communicator(kind);
    char byte = 0, all;
    bool is_rooted = kind->sync == SYNC_BCAST || kind->sync == SYNC_REDUCE;
    if (comm == MPI_COMM_NULL) return;
    if (is_rooted) rank = rank_in(comm, rank);
    if (rank == MPI_UNDEFINED) return;
    switch (kind->sync) {
    case SYNC_BCAST: MPI_Bcast(&byte, 1, MPI_CHAR, rank, comm); break;
    case SYNC_REDUCE: MPI_Reduce(&byte, &all, 1, MPI_CHAR, MPI_MAX, rank, comm); break;
    case SYNC_SEND: MPI_Send(&byte, 1, MPI_CHAR, rank, 0, messages); break;
    case SYNC_RECEIVE: MPI_Recv(&byte, 1, MPI_CHAR, rank, 0, messages, MPI_STATUS_IGNORE); break;
    default: MPI_Barrier(comm); break;
    }
}

// --- everything else

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
