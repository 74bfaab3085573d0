// shares WORD...: files that all ranks, some, or one use, with calls that are the same in every run. Words:
//   files=N        each rank has so many files of its own
//   late           goes on after MPI_Finalize
//   HOW=RANK       what becomes of a rank: kill, abort, sleep before MPI_Finalize, killed-in DELAY, killed-after
//   delay=US       for kill and killed-in: microseconds from the last barrier
//   nap=RANK       comes to MPI_Finalize so late: seconds=S
// Rank 0 prints how long MPI_Finalize took.
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int words;
static char **word;

// The number of a word NAME=NUMBER, or of NAME; `otherwise` without one.
static long number_of(const char *name, long otherwise) {
    for (int i = 1; i < words; i++) {
        size_t len = strlen(name);
        if (strncmp(word[i], name, len) == 0 && (word[i][len] == '=' || !word[i][len]))
            return word[i][len] ? atol(word[i] + len + 1) : 1;
    }
    return otherwise;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void use(const char *name, int rank, int times) {
    char data[1024];
    int fd = open(name, O_CREAT | O_RDWR, 0600);
    if (fd < 0) fail(name);
    memset(data, 'x', sizeof data);
    for (int i = 0; i < times; i++) {
        size_t len = sizeof data - (size_t)(i % 3) * 100;
        if (pwrite(fd, data, len, (off_t)(rank * 100 + i) * 1024) != (ssize_t)len) fail(name);
    }
    if (pread(fd, data, 64, (off_t)rank * 100 * 1024) != 64) fail(name);
    close(fd);
}

static void use_text(int rank) {
    FILE *file = fopen("text", "w");
    if (!file) fail("text");
    fprintf(file, "rank %04d\n", rank);
    fclose(file);
}

static void use_mpi(int rank) {
    MPI_File file;
    char data[512] = "data";
    MPI_File_open(MPI_COMM_WORLD, "mpi", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, rank * 512, data, 512, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

static void rename_own(int rank) {
    char from[64], to[64];
    snprintf(from, sizeof from, "own.%d.0", rank);
    snprintf(to, sizeof to, "renamed.%d", rank);
    if (rename(from, to)) fail(to);
}

static void become(int rank) {
    const struct timespec delay = {0, number_of("delay", 0) * 1000};
    pid_t self = getpid();
    if (number_of("kill", -1) == rank && nanosleep(&delay, NULL) == 0) raise(SIGKILL);
    if (number_of("abort", -1) == rank) MPI_Abort(MPI_COMM_WORLD, 3);
    while (number_of("sleep", -1) == rank) pause();
    if (number_of("nap", -1) == rank) sleep((unsigned)number_of("seconds", 1));
    if (number_of("killed-in", -1) == rank && fork() == 0) {
        nanosleep(&delay, NULL);
        kill(self, SIGKILL);
        _exit(0);
    }
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    char name[64];
    int rank;
    words = argc;
    word = argv;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    long files = number_of("files", 2);
    use("all", rank, 4 + rank % 8);
    if (rank % 2) use("odd", rank, 3);
    for (int i = 0; i < files; i++) {
        snprintf(name, sizeof name, "own.%d.%d", rank, i);
        use(name, rank, 1 + i % 4);
    }
    if (files) rename_own(rank);
    use_text(rank);
    if (!number_of("posix-only", 0)) use_mpi(rank);
    MPI_Barrier(MPI_COMM_WORLD);
    become(rank);
    double start = now();
    MPI_Finalize();
    if (rank == 0) printf("%.6f\n", now() - start);
    fflush(stdout);
    if (number_of("killed-after", -1) == rank) raise(SIGKILL);
    if (!number_of("late", 0)) return 0;
    use("all", rank, 2);
    use("late", rank, 2);
    return 0;
}
