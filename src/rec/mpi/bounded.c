#include "rec/mpi/bounded.h"

#include <sched.h>
#include <time.h>

#include "base/clock.h"

// The first tests follow each other at once: an answer that is under way comes within microseconds, and its time is
// what the exchange of clocks measures. Then the pauses grow, so that processors are left to those who have work.
enum { QUICK_NS = 100000, FIRST_PAUSE_NS = 10000, LONGEST_PAUSE_NS = 1000000, CANCEL_TESTS = 100 };

void bounded_begin(struct bounded *all, int64_t most_ns) {
    *all = (struct bounded){.deadline_ns = clock_now_ns() + most_ns};
    all->has_handler = plugin.mpi.Comm_get_errhandler(plugin.world, &all->handler) == MPI_SUCCESS;
    plugin.mpi.Comm_set_errhandler(plugin.world, plugin.errors_return);
}

void bounded_end(struct bounded *all) {
    if (!all->has_handler) return;
    plugin.mpi.Comm_set_errhandler(plugin.world, all->handler);
    plugin.mpi.Errhandler_free(&all->handler);
}

static int tag_number(enum bounded_tag tag) {
    int *highest = NULL, found = 0;
    plugin.mpi.Comm_get_attr(plugin.world, MPI_TAG_UB, &highest, &found);
    return (found && highest ? *highest : INT16_MAX) - (int)tag;
}

bool bounded_post(int rank, enum bounded_tag tag, void *buffer, size_t bytes, MPI_Request *request) {
    return plugin.mpi.Irecv(buffer, (int)bytes, plugin.byte, rank, tag_number(tag), plugin.world, request) ==
           MPI_SUCCESS;
}

static void pause_before_test(const struct bounded *all, int64_t start, int64_t now, struct timespec *pause) {
    if (now - start < QUICK_NS) {
        if (all->yields) sched_yield();
        return;
    }
    nanosleep(pause, NULL);
    if (pause->tv_nsec < LONGEST_PAUSE_NS) pause->tv_nsec *= 2;
}

bool bounded_wait(const struct bounded *all, MPI_Request *request, int *source) {
    MPI_Status status = {0};
    struct timespec pause = {0, FIRST_PAUSE_NS};
    int is_done = 0;
    for (int64_t start = clock_now_ns(), now = start;; now = clock_now_ns()) {
        if (plugin.mpi.Test(request, &is_done, &status) != MPI_SUCCESS) return false;
        if (is_done) break;
        if (now >= all->deadline_ns) return false;
        pause_before_test(all, start, now, &pause);
    }
    if (source) *source = status.MPI_SOURCE;
    return true;
}

void bounded_leave(MPI_Request *request) {
    if (*request != plugin.no_request) plugin.mpi.Request_free(request);
}

void bounded_cancel(MPI_Request *request) {
    int is_done = 0;
    if (*request == plugin.no_request || plugin.mpi.Cancel(request) != MPI_SUCCESS) return;
    for (int i = 0; i < CANCEL_TESTS && !is_done; i++) {
        if (plugin.mpi.Test(request, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
    }
    if (!is_done) plugin.mpi.Request_free(request);
}

int64_t bounded_probe(const struct bounded *all, int rank, enum bounded_tag tag) {
    MPI_Status status = {0};
    struct timespec pause = {0, FIRST_PAUSE_NS};
    int is_there = 0, bytes = -1, number = tag_number(tag);
    for (int64_t start = clock_now_ns(), now = start;; now = clock_now_ns()) {
        if (plugin.mpi.Iprobe(rank, number, plugin.world, &is_there, &status) != MPI_SUCCESS) return -1;
        if (is_there) break;
        if (now >= all->deadline_ns) return -1;
        pause_before_test(all, start, now, &pause);
    }
    return plugin.mpi.Get_count(&status, plugin.byte, &bytes) == MPI_SUCCESS ? bytes : -1;
}

bool bounded_start_meeting(MPI_Request *request) { return plugin.mpi.Ibarrier(plugin.world, request) == MPI_SUCCESS; }

bool bounded_start(int rank, enum bounded_tag tag, const void *buffer, size_t bytes, MPI_Request *request) {
    return plugin.mpi.Isend(buffer, (int)bytes, plugin.byte, rank, tag_number(tag), plugin.world, request) ==
           MPI_SUCCESS;
}

bool bounded_send(const struct bounded *all, int rank, enum bounded_tag tag, const void *buffer, size_t bytes) {
    MPI_Request request;
    if (!bounded_start(rank, tag, buffer, bytes, &request)) return false;
    if (bounded_wait(all, &request, NULL)) return true;
    bounded_leave(&request);
    return false;
}

bool bounded_receive(const struct bounded *all, int rank, enum bounded_tag tag, void *buffer, size_t bytes) {
    MPI_Request request;
    if (!bounded_post(rank, tag, buffer, bytes, &request)) return false;
    if (bounded_wait(all, &request, NULL)) return true;
    bounded_cancel(&request);
    return false;
}
