// Rounds of communication and writing, each with the time of the one clock that all hosts of the test really have.
//
//   rounds LOCAL SHARED ROUNDS [SLOW RANK SECONDS]
//
// Every rank writes to LOCAL/data.RANK once in each round and sends rank 0 a message, which that receives from anybody
// with any tag. Then it writes SHARED/truth.RANK: the times before and after each write, and a byte of SHARED/ranks.
// RANK comes to MPI_Finalize SECONDS after the others.
#include <mpi.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { TAG = 7, BYTES = 64, ROUNDS_MOST = 100000 };

static long long truth[ROUNDS_MOST][2];

// Time namespaces do not move it, nor does skew.c.
static long long now_ns(void) {
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static void fail(const char *why) {
    fprintf(stderr, "rounds: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static void exchange(int rank, int size, int round) {
    MPI_Status status;
    int got = 0;
    if (rank) MPI_Send(&round, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
    for (int i = 1; rank == 0 && i < size; i++) {
        MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG != TAG || got != round) fail("a message that nobody sent");
    }
}

// Nobody sends anything in the meantime.
static void wait_for_nothing(double seconds) {
    const struct timespec pause = {0, 5000000};
    for (long long end = now_ns() + (long long)(seconds * 1e9); now_ns() < end; nanosleep(&pause, NULL)) {
        int is_there = 0;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
        if (is_there) fail("a message that nobody sent");
    }
}

// A file of all ranks.
static void check_in(const char *folder, int rank) {
    char path[4096];
    snprintf(path, sizeof path, "%s/ranks", folder);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    if (fd < 0 || pwrite(fd, "x", 1, rank) != 1) fail(path);
    close(fd);
}

static void write_truth(const char *folder, int rank, int rounds) {
    char path[4096];
    snprintf(path, sizeof path, "%s/truth.%d", folder, rank);
    FILE *file = fopen(path, "w");
    if (!file) fail(path);
    for (int i = 0; i < rounds; i++) fprintf(file, "%lld %lld\n", truth[i][0], truth[i][1]);
    fclose(file);
}

int main(int argc, char **argv) {
    char path[4096], text[BYTES] = "";
    int rank, size, rounds = argc > 3 ? atoi(argv[3]) : 0;
    const struct timespec pause = {0, 1000000};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rounds < 1 || rounds > ROUNDS_MOST) fail("wrong number of rounds");
    snprintf(path, sizeof path, "%s/data.%d", argv[1], rank);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (int i = 0; i < rounds; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        truth[i][0] = now_ns();
        if (pwrite(fd, text, BYTES, (off_t)i * BYTES) != BYTES) fail(path);
        truth[i][1] = now_ns();
        exchange(rank, size, i);
        nanosleep(&pause, NULL);
    }
    close(fd);
    write_truth(argv[2], rank, rounds);
    check_in(argv[2], rank);
    if (argc > 5 && atoi(argv[4]) == rank) wait_for_nothing(atof(argv[5]));
    MPI_Finalize();
    return 0;
}
