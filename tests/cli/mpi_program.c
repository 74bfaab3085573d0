// Some of every kind of MPI-IO, for the tests of counters: a shared file, one file per rank, a file of rank 0 only,
// stdio, and communication between them. Arguments: a directory, and what to do at the end: "rounds" of a barrier and a
// write at an irregular offset, "missing" for files that cannot be opened, or "killed" after some barriers.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 1000, ROUNDS = 4000, LAST_BARRIERS = 100 };

static char name[4096];
static int buffer[NUMBERS];

static const char *path(const char *directory, const char *file, int rank) {
    snprintf(name, sizeof name, "%s/%s%d", directory, file, rank);
    return name;
}

static void use_shared(const char *directory, int rank, int size) {
    MPI_File file;
    MPI_Request request;
    MPI_Datatype strided;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "1048576");
    MPI_File_open(MPI_COMM_WORLD, path(directory, "shared", 0), MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
    for (int i = 0; i < 3 + rank; i++) {
        MPI_Barrier(i < 3 ? MPI_COMM_WORLD : MPI_COMM_SELF);
        MPI_File_write_at(file, (MPI_Offset)(i * size + rank) * 4000, buffer, NUMBERS, MPI_INT, MPI_STATUS_IGNORE);
    }
    MPI_File_sync(file);
    MPI_Type_vector(10, 10, 10 * size, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    MPI_File_set_view(file, rank * 40, MPI_INT, strided, "native", MPI_INFO_NULL);
    MPI_File_write_all(file, buffer, 100, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_write_all(file, buffer, 50, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    MPI_File_iread(file, buffer, 100, MPI_INT, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_read_at_all_begin(file, 0, buffer, 50, MPI_INT);
    MPI_File_read_at_all_end(file, buffer, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Type_free(&strided);
    MPI_Info_free(&info);
}

static void use_own(const char *directory, int rank) {
    MPI_File file;
    MPI_File_open(MPI_COMM_SELF, path(directory, "own", rank), MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    MPI_File_write(file, buffer, 10 + rank, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    FILE *text = fopen(path(directory, "text", rank), "w");
    if (!text) exit(1);
    for (int i = 0; i <= rank; i++) fprintf(text, "line %d\n", i);
    fclose(text);
}

static void use_rounds(const char *directory, int rank) {
    MPI_File file;
    MPI_File_open(MPI_COMM_SELF, path(directory, "rounds", rank), MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                  &file);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Barrier(MPI_COMM_SELF);
        MPI_File_write_at(file, i * 7919 % ROUNDS * 100 + i % 89, buffer, 1 + i % 10, MPI_INT, MPI_STATUS_IGNORE);
    }
    MPI_File_close(&file);
}

static void use_missing(const char *directory) {
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, path(directory, "missing", 0), MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    MPI_File_open(MPI_COMM_SELF, path(directory, "shared", 0), MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR,
                  MPI_INFO_NULL, &file);
}

int main(int argc, char **argv) {
    int rank, size, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    use_shared(argv[1], rank, size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    use_own(argv[1], rank);
    if (rank == 0) {
        FILE *text = fopen(path(argv[1], "zero", 0), "w");
        if (!text) exit(1);
        fprintf(text, "%d\n", sum);
        fclose(text);
    }
    for (int i = 0; i < 5; i++) MPI_Barrier(MPI_COMM_WORLD);
    if (argc > 2 && strcmp(argv[2], "rounds") == 0) use_rounds(argv[1], rank);
    if (argc > 2 && strcmp(argv[2], "missing") == 0) use_missing(argv[1]);
    if (argc > 2 && strcmp(argv[2], "killed") == 0) {
        for (int i = 0; i < LAST_BARRIERS; i++) MPI_Barrier(MPI_COMM_SELF);
        raise(SIGKILL);
    }
    MPI_Finalize();
    return 0;
}
