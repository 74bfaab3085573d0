// An MPI program with one fault, or none: ranks FAULT DIRECTORY [SLOW-DIRECTORY]. Each fault is one function.
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { RECORD = 1 << 16, ROUNDS = 40, PIECE = 64, PIECES = 64, MOST_RANKS = 16 };

static int rank, ranks;
static char own[RECORD * MOST_RANKS], name[4096];

static int file_in(const char *folder, const char *what, int number) {
    snprintf(name, sizeof name, "%s/%s.%d", folder, what, number);
    int fd = open(name, O_CREAT | O_RDWR, 0600);
    if (fd < 0) MPI_Abort(MPI_COMM_WORLD, 1);
    return fd;
}

static void put(int fd, size_t bytes, long long offset) {
    if (pwrite(fd, own, bytes, offset) != (ssize_t)bytes) MPI_Abort(MPI_COMM_WORLD, 1);
}

// Rank 0 collects the data of all ranks and writes it.
static void one(const char *folder) {
    static char all[RECORD * MOST_RANKS];
    int fd = rank == 0 ? file_in(folder, "one", 0) : -1;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Gather(own, RECORD, MPI_CHAR, all, RECORD, MPI_CHAR, 0, MPI_COMM_WORLD);
        if (rank == 0) put(fd, (size_t)ranks * RECORD, (long long)i * ranks * RECORD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

// All ranks write as much; the last one on slower storage, if there is one.
static void slow(const char *folder, const char *slow_folder) {
    int fd = file_in(rank == ranks - 1 && slow_folder ? slow_folder : folder, "own", rank);
    for (int i = 0; i < ROUNDS; i++) put(fd, RECORD, (long long)i * RECORD);
    MPI_Barrier(MPI_COMM_WORLD);
}

// Rank 0 writes several times as much as the others, which wait for it after each round.
static void uneven(const char *folder, int times) {
    int fd = file_in(folder, "uneven", rank);
    for (int i = 0; i < ROUNDS / 4; i++) {
        for (int k = 0; k < (rank ? 1 : times); k++) put(fd, RECORD, lseek(fd, 0, SEEK_END));
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

// The barriers end before the I/O of rank 0 begins.
static void before(const char *folder) {
    for (int i = 0; i < 200; i++) MPI_Barrier(MPI_COMM_WORLD);
    int fd = file_in(folder, "before", rank);
    for (int i = 0; i < (rank ? 1 : ROUNDS / 2); i++) put(fd, RECORD, (long long)i * RECORD);
}

// Pieces of all ranks alternate; collective calls exchange them first, through a buffer so small that they need many
// rounds: independent calls are faster on any machine. With MPI_COMM_SELF each rank has its own file.
static void pieces(const char *folder, MPI_Comm comm, int calls) {
    MPI_File file;
    MPI_Datatype type;
    MPI_Info hints;
    enum { PARTS = 2, PART = PIECE * PIECES / PARTS };
    snprintf(name, sizeof name, "%s/pieces.%d", folder, comm == MPI_COMM_SELF ? rank : 0);
    MPI_Type_vector(PARTS, PART, PART * ranks, MPI_CHAR, &type);
    MPI_Type_commit(&type);
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "cb_buffer_size", "128");
    if (MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, hints, &file)) exit(1);
    MPI_File_set_view(file, (MPI_Offset)rank * PART, MPI_CHAR, type, "native", MPI_INFO_NULL);
    for (int i = 0; i < calls; i++) MPI_File_write_all(file, own, PARTS * PART, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

// The same with independent calls: MPI-IO may read what lies between the pieces in order to write all at once.
static void sieve(const char *folder) {
    MPI_File file;
    MPI_Datatype type;
    snprintf(name, sizeof name, "%s/sieve", folder);
    MPI_Type_vector(PIECES, PIECE, PIECE * 2, MPI_CHAR, &type);
    MPI_Type_commit(&type);
    if (MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file)) exit(1);
    MPI_File_set_size(file, ROUNDS * 2 * PIECE * PIECES); // there is something to read
    MPI_File_set_view(file, 0, MPI_CHAR, type, "native", MPI_INFO_NULL);
    for (int i = 0; i < ROUNDS; i++) MPI_File_write(file, own, PIECE * PIECES, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

// Pauses of a busy machine: now and then a call takes much longer.
static void pause_often(int signal_number) {
    static int left = 20;
    static const struct itimerval soon = {.it_value = {0, 300}};
    if (signal_number) usleep(30000);
    if (left-- > 0) setitimer(ITIMER_REAL, &soon, NULL);
}

// Each rank's rows alternate with those of the others, and no call reads what lies between them.
static void rows(const char *folder, bool collective, bool paused) {
    MPI_File file;
    MPI_Datatype type;
    MPI_Info info;
    snprintf(name, sizeof name, "%s/rows", folder);
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_ds_write", "disable");
    MPI_Type_vector(PIECES, PIECE, PIECE * ranks, MPI_CHAR, &type);
    MPI_Type_commit(&type);
    if (MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file)) exit(1);
    MPI_File_set_view(file, (MPI_Offset)rank * PIECE, MPI_CHAR, type, "native", info);
    if (paused) {
        signal(SIGALRM, pause_often);
        pause_often(0);
    }
    for (int i = 0; i < (paused ? 200 : 4); i++) {
        if (collective)
            MPI_File_write_all(file, own, PIECE * PIECES, MPI_CHAR, MPI_STATUS_IGNORE);
        else
            MPI_File_write(file, own, PIECE * PIECES, MPI_CHAR, MPI_STATUS_IGNORE);
    }
    MPI_File_close(&file);
}

// The ranks write their parts of a file, or their own files: one after the other, then all in the same rounds.
static void together(const char *folder, bool one_file) {
    int fd = file_in(folder, "together", one_file ? 0 : rank);
    long long at = (long long)rank << 24;
    for (int who = 0; who < ranks; who++) {
        for (int i = 0; i < ROUNDS && who == rank; i++, at += RECORD) put(fd, RECORD, at);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int i = 0; i < ROUNDS; i++, at += RECORD) {
        put(fd, RECORD, at);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

// Large parts, one after the other: nothing to exchange.
static void large(const char *folder) {
    MPI_File file;
    enum { BYTES = 16 << 20 };
    char *data = calloc(1, BYTES);
    snprintf(name, sizeof name, "%s/large", folder);
    if (MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file)) exit(1);
    for (int i = 0; i < 6; i++) {
        MPI_Offset offset = ((MPI_Offset)i * ranks + rank) * BYTES;
        MPI_File_write_at_all(file, offset, data, BYTES, MPI_CHAR, MPI_STATUS_IGNORE);
    }
    MPI_File_close(&file);
    free(data);
}

// A shared file is opened again and again; nothing moves.
static void reopened(const char *folder) {
    MPI_File file;
    snprintf(name, sizeof name, "%s/reopened", folder);
    for (int i = 0; i < 10 * ROUNDS; i++) {
        if (MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file)) exit(1);
        MPI_File_close(&file);
    }
}

// One rank comes late to each collective call.
static void late(const char *folder) {
    MPI_File file;
    snprintf(name, sizeof name, "%s/late", folder);
    if (MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file)) exit(1);
    for (int i = 0; i < ROUNDS; i++) {
        if (rank == 0) usleep(10000);
        MPI_File_write_at_all(file, ((MPI_Offset)i * ranks + rank) * RECORD, own, RECORD, MPI_CHAR, MPI_STATUS_IGNORE);
    }
    MPI_File_close(&file);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc < 3 || ranks > MOST_RANKS) return 2;
    const char *fault = argv[1], *folder = argv[2];
    if (!strcmp(fault, "one")) one(folder);
    if (!strcmp(fault, "slow")) slow(folder, argc > 3 ? argv[3] : NULL);
    if (!strcmp(fault, "uneven")) uneven(folder, 8);
    if (!strcmp(fault, "even")) uneven(folder, 1);
    if (!strcmp(fault, "before")) before(folder);
    if (!strcmp(fault, "pieces")) pieces(folder, MPI_COMM_WORLD, 1000);
    if (!strcmp(fault, "sieve") && rank == 0) sieve(folder);
    if (!strcmp(fault, "rows")) rows(folder, false, false);
    if (!strcmp(fault, "rows-together")) rows(folder, true, false);
    if (!strcmp(fault, "rows-paused")) rows(folder, false, true);
    if (!strcmp(fault, "together")) together(folder, true);
    if (!strcmp(fault, "apart")) together(folder, false);
    if (!strcmp(fault, "large")) large(folder);
    if (!strcmp(fault, "late")) late(folder);
    if (!strcmp(fault, "reopened")) reopened(folder);
    if (!strcmp(fault, "alone")) pieces(folder, MPI_COMM_SELF, 4000);
    MPI_Finalize();
    return 0;
}
