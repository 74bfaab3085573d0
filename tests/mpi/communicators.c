// communicators DIRECTORY [threads|many]: four ranks make communicators in every way that MPI has, open a file with
// each of them, and talk to each other in ways that test_communicators.py knows.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 4, THREADS = 2, ROUNDS = 50, MANY = 100000 };

static const char *directory;
static int rank;
static int opened; // files so far

static void must(int result) {
    if (result == MPI_SUCCESS) return;
    fputs("communicators: a call of MPI failed\n", stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

// Every process opens the file of the same number, "NUMBER" in the directory.
static void open_with(MPI_Comm comm) {
    char path[4096];
    MPI_File file;
    snprintf(path, sizeof path, "%s/%d.%s", directory, opened++, comm == MPI_COMM_SELF ? "own" : "shared");
    if (comm == MPI_COMM_NULL) return;
    if (comm == MPI_COMM_SELF) snprintf(path, sizeof path, "%s/own.%d", directory, rank);
    must(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    must(MPI_File_close(&file));
}

static void use(MPI_Comm comm) {
    open_with(comm);
    if (comm != MPI_COMM_NULL && comm != MPI_COMM_SELF && comm != MPI_COMM_WORLD) must(MPI_Comm_free(&comm));
}

static void make_duplicates(void) {
    MPI_Comm made;
    MPI_Request request;
    must(MPI_Comm_dup(MPI_COMM_WORLD, &made));
    use(made);
    must(MPI_Comm_dup_with_info(MPI_COMM_SELF, MPI_INFO_NULL, &made));
    must(MPI_Comm_free(&made));
    must(MPI_Comm_idup(MPI_COMM_WORLD, &made, &request));
    must(MPI_Wait(&request, MPI_STATUS_IGNORE));
    use(made);
}

static void make_parts(void) {
    MPI_Comm made;
    MPI_Group world, group;
    const int some[] = {3, 1};
    must(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &made));
    use(made);
    must(MPI_Comm_split(MPI_COMM_WORLD, rank == 2 ? 0 : MPI_UNDEFINED, 0, &made));
    use(made);
    must(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made));
    use(made);
    must(MPI_Comm_group(MPI_COMM_WORLD, &world));
    must(MPI_Group_incl(world, 2, some, &group));
    must(MPI_Comm_create(MPI_COMM_WORLD, group, &made));
    use(made);
    made = MPI_COMM_NULL;
    if (rank % 2) must(MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &made));
    use(made);
    must(MPI_Group_free(&group));
    must(MPI_Group_free(&world));
}

static void make_topologies(void) {
    MPI_Comm grid, made;
    const int dims[] = {2, 2}, periods[] = {0, 0}, keep[] = {0, 1}, index[] = {1, 2, 3, 4}, edges[] = {1, 0, 3, 2};
    int next = (rank + 1) % RANKS, before = (rank + RANKS - 1) % RANKS, one = 1;
    must(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid));
    must(MPI_Cart_sub(grid, keep, &made));
    use(made);
    use(grid);
    must(MPI_Graph_create(MPI_COMM_WORLD, RANKS, index, edges, 0, &made));
    use(made);
    must(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &one, &next, &one, MPI_INFO_NULL, 0, &made));
    use(made);
    must(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, &one, 1, &next, &one, MPI_INFO_NULL, 0, &made));
    use(made);
}

static void make_pairs(void) {
    MPI_Comm half, pair, merged;
    must(MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half));
    must(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 7, &pair));
    must(MPI_Intercomm_merge(pair, rank < 2, &merged));
    use(merged);
    int value = rank;
    must(MPI_Bcast(&value, 1, MPI_INT, rank == 0 ? MPI_ROOT : rank == 1 ? MPI_PROC_NULL : 0, pair));
    open_with(MPI_COMM_SELF);
    must(MPI_Comm_free(&pair));
    must(MPI_Comm_free(&half));
}

// An open that fails: the communicator is in the log all the same.
static void fail_to_open(void) {
    char path[4096];
    MPI_File file;
    snprintf(path, sizeof path, "%s/missing/file", directory);
    if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);
#ifndef OPEN_MPI // which ends the program
    // MPI must find this mistake, and nobody else may act on it.
    if (MPI_File_open(MPI_COMM_NULL, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);
#endif
}

// Statuses are as without the recorder, whatever the program asks for.
static void check_status(const MPI_Status *status, int source, int tag) {
    int count;
    must(MPI_Get_count(status, MPI_INT, &count));
    if (status->MPI_SOURCE != source || status->MPI_TAG != tag || count != 1) MPI_Abort(MPI_COMM_WORLD, 1);
}

static void talk(void) {
    int value = rank, sum[RANKS], next = (rank + 1) % RANKS, before = (rank + RANKS - 1) % RANKS;
    MPI_Status status;
    MPI_Request request;
    MPI_Message message;
    for (int i = 0; i < 3; i++) must(MPI_Barrier(MPI_COMM_WORLD));
    must(MPI_Bcast(&value, 1, MPI_INT, 2, MPI_COMM_WORLD));
    must(MPI_Reduce(&rank, sum, 1, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD));
    must(MPI_Allgather(&rank, 1, MPI_INT, sum, 1, MPI_INT, MPI_COMM_WORLD));
    must(MPI_Isend(&rank, 1, MPI_INT, next, 5, MPI_COMM_WORLD, &request));
    must(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &status));
    check_status(&status, before, 5);
    must(MPI_Wait(&request, MPI_STATUS_IGNORE));
    must(MPI_Sendrecv(&rank, 1, MPI_INT, before, 6, &value, 1, MPI_INT, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
    must(MPI_Isend(&rank, 1, MPI_INT, next, 8, MPI_COMM_WORLD, &request));
    must(MPI_Mprobe(before, 8, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    must(MPI_Mrecv(&value, 1, MPI_INT, &message, &status));
    check_status(&status, before, 8);
    must(MPI_Wait(&request, MPI_STATUS_IGNORE));
    must(MPI_Send(&rank, 1, MPI_INT, MPI_PROC_NULL, 9, MPI_COMM_WORLD));
    must(MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 9, MPI_COMM_WORLD, &status));
    open_with(MPI_COMM_SELF);
}

static void *make_in_thread(void *parent) {
    MPI_Comm comm = *(MPI_Comm *)parent, made;
    for (int i = 0; i < ROUNDS; i++) {
        must(MPI_Comm_dup(comm, &made));
        must(MPI_Barrier(made));
        must(MPI_Comm_free(&made));
    }
    return NULL;
}

static void make_in_threads(void) {
    pthread_t thread[THREADS];
    MPI_Comm parent[THREADS];
    for (int i = 0; i < THREADS; i++) must(MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &parent[i]));
    for (int i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, make_in_thread, &parent[i]);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++) must(MPI_Comm_free(&parent[i]));
}

static void make_many(void) {
    MPI_Comm made;
    for (int i = 0; i < MANY; i++) {
        must(MPI_Comm_dup(MPI_COMM_SELF, &made));
        must(MPI_Barrier(made));
        must(MPI_Comm_free(&made));
    }
    open_with(MPI_COMM_SELF);
}

int main(int argc, char **argv) {
    int provided, size;
    const char *what = argc > 2 ? argv[2] : "";
    directory = argc > 1 ? argv[1] : ".";
    must(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    must(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    must(MPI_Comm_size(MPI_COMM_WORLD, &size));
    if (strcmp(what, "threads") == 0) {
        if (provided == MPI_THREAD_MULTIPLE) make_in_threads();
    } else if (strcmp(what, "many") == 0) {
        make_many();
    } else if (size == RANKS) {
        open_with(MPI_COMM_WORLD);
        make_duplicates();
        make_parts();
        make_topologies();
        make_pairs();
        fail_to_open();
        talk();
    }
    must(MPI_Finalize());
    return 0;
}
