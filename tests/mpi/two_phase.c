// All ranks come together. In each round of a write, every rank hands a part of its data to an aggregator, which writes
// it, and all wait until that is done; at the end they take a moment to agree. In a read the aggregators read first.
// The data of a round lies in the order of the ranks. Ranks meet in shared memory and sleep there: MPI's own barriers
// spin, and on a machine with few processors that disturbs the timers.
#include "two_phase.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { EXCHANGE_US = 20000, AGREEMENT_US = 15000 }; // per rank: many ranks on few processors take longer to wake up

struct two_phase_times two_phase_times;

struct shared {
    pthread_barrier_t barrier;
    char data[]; // of a round, by rank
};

static struct two_phase_setup setup;
static int rank, ranks;
static MPI_Win window;
static struct shared *shared;

void two_phase_begin(const struct two_phase_setup *wanted) {
    MPI_Aint size;
    int unit;
    pthread_barrierattr_t attributes;
    setup = *wanted;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    size = rank ? 0 : (MPI_Aint)sizeof *shared + (MPI_Aint)ranks * setup.bytes;
    PMPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &shared, &window);
    PMPI_Win_shared_query(window, 0, &size, &unit, &shared);
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    if (!rank) pthread_barrier_init(&shared->barrier, &attributes, (unsigned)ranks);
    PMPI_Barrier(MPI_COMM_WORLD);
}

void two_phase_end(void) {
    PMPI_Barrier(MPI_COMM_WORLD);
    PMPI_Win_free(&window);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

// Adds the time since the last stop to a timer.
static void stop(double *timer, double *since) {
    double at = now();
    *timer += at - *since;
    *since = at;
}

// A network would take its time.
static void exchange(char *own, bool is_write) {
    char *place = shared->data + (size_t)rank * (size_t)setup.bytes;
    memcpy(is_write ? place : own, is_write ? own : place, (size_t)setup.bytes);
    usleep((useconds_t)(EXCHANGE_US * ranks));
    pthread_barrier_wait(&shared->barrier);
}

static bool access_file(off_t start, bool is_write, struct two_phase_round *times, double *since) {
    int members = ranks / setup.aggregators;
    size_t bytes = (size_t)members * (size_t)setup.bytes, at = (size_t)rank * (size_t)setup.bytes;
    bool is_ok = true;
    if (rank % members == 0) {
        ssize_t moved = is_write ? pwrite(setup.fd, shared->data + at, bytes, start + (off_t)at)
                                 : pread(setup.fd, shared->data + at, bytes, start + (off_t)at);
        is_ok = moved == (ssize_t)bytes;
        stop(&times->io, since);
    }
    pthread_barrier_wait(&shared->barrier);
    stop(&times->wait, since);
    return is_ok;
}

static int run(MPI_Offset offset, char *data, bool is_write) {
    double start = now(), since = start;
    off_t place = offset - (off_t)rank * setup.bytes;
    bool is_ok = true;
    struct two_phase_round *times = two_phase_times.round;
    two_phase_times = (struct two_phase_times){0};
    pthread_barrier_wait(&shared->barrier);
    stop(&times->wait, &since);
    for (int i = 0; i < setup.rounds; i++, times++, data += setup.bytes, place += (off_t)ranks * setup.bytes) {
        if (!is_write) is_ok = access_file(place, false, times, &since) && is_ok;
        exchange(data, is_write);
        stop(&times->exchange, &since);
        if (is_write) is_ok = access_file(place, true, times, &since) && is_ok;
    }
    if (is_write) usleep((useconds_t)(AGREEMENT_US * ranks));
    stop(is_write ? &two_phase_times.rest : &times[-1].exchange, &since);
    two_phase_times.all = since - start;
    return is_ok ? MPI_SUCCESS : MPI_ERR_IO;
}

// The recorder asks the status for the bytes.
static void set_status(MPI_Status *status, int count) {
    if (status != MPI_STATUS_IGNORE) PMPI_Status_set_elements(status, MPI_BYTE, count);
}

int MPI_File_write_at_all(MPI_File file, MPI_Offset offset, const void *data, int count, MPI_Datatype type,
                          MPI_Status *status) {
    (void)file, (void)type;
    set_status(status, count);
    return run(offset, (char *)data, true);
}

int MPI_File_read_at_all(MPI_File file, MPI_Offset offset, void *data, int count, MPI_Datatype type,
                         MPI_Status *status) {
    (void)file, (void)type;
    set_status(status, count);
    return run(offset, data, false);
}
