// Adds up the counters of all ranks before they part (reduce/run.h). Whatever fails, the spill files have everything.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "fmt/part.h"
#include "rec/fixed_text.h"
#include "rec/mpi/bounded.h"
#include "reduce/run.h"

enum { MOST_BYTES = 1 << 30 }; // of a message: counts are int

// Both MPIs wait in MPI_Finalize until all ranks have come, so waiting for them here costs nothing. The limit is for a
// rank that is gone though the launcher has not noticed it. Giving up earlier would leave a collective call unfinished,
// which MPICH's network layer complains about at its end.
#define MEETING_NS INT64_C(600000000000)

static int send_to(void *context, int to, const void *data, size_t len) {
    RETURN_IF(len > MOST_BYTES, ERR_LIMIT);
    return bounded_send(context, to, BOUNDED_REDUCE, data, len) ? 0 : -ETIMEDOUT;
}

static int receive_from(void *context, int from, struct bytes *data) {
    int64_t len = bounded_probe(context, from, BOUNDED_REDUCE);
    RETURN_IF(len < 0, -ETIMEDOUT);
    data->len = 0;
    uint8_t *at = bytes_reserve(data, (size_t)len + 1);
    RETURN_IF(!at, -ENOMEM);
    data->len = (size_t)len;
    return bounded_receive(context, from, BOUNDED_REDUCE, at, (size_t)len) ? 0 : -ETIMEDOUT;
}

static int swap(void *context, int with, const void *data, size_t len, struct bytes *received) {
    MPI_Request request;
    RETURN_IF(len > MOST_BYTES || !bounded_start(with, BOUNDED_REDUCE, data, len, &request), ERR_LIMIT);
    int code = receive_from(context, with, received);
    if (bounded_wait(context, &request, NULL)) return code;
    bounded_leave(&request);
    return -ETIMEDOUT;
}

// A rank that comes after others have given up must not wait for them.
static void name_mark(const struct hand_over *job, char path[PATH_MAX]) {
    struct fixed_text text = {path, PATH_MAX, 0};
    fixed_text_add(&text, job->job.folder);
    fixed_text_add(&text, "/" PART_GIVEN_UP);
}

static bool has_mark(const struct hand_over *job) {
    char path[PATH_MAX];
    name_mark(job, path);
    return access(path, F_OK) == 0;
}

static void leave_mark(const struct hand_over *job) {
    char path[PATH_MAX];
    name_mark(job, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
}

static void reduce(const struct hand_over *job, int rank, int size) {
    struct bounded *all = plugin.core->memory_alloc(sizeof *all);
    const struct reducer *reducer = plugin.core->reducer();
    const struct reduce_link link = {all, rank, size, send_to, receive_from, swap};
    struct reduce_costs costs;
    if (!all) return;
    bounded_begin(all, MEETING_NS);
    // Also without the library: the others need not wait in vain.
    bool meets = bounded_meet(all);
    all->deadline_ns = clock_now_ns() + (int64_t)job->patience_ns;
    if (!meets || !reducer)
        leave_mark(job);
    else if (!has_mark(job))
        reducer->run(&job->job, &link, &costs);
    bounded_end(all);
}

// Ranks of a world that another one has spawned may belong to a job that goes on.
static bool is_main_world(void) {
    MPI_Comm parent = plugin.no_comm;
    return plugin.mpi.Comm_get_parent(&parent) == MPI_SUCCESS && parent == plugin.no_comm;
}

void mpi_add_up(void) {
    struct hand_over job;
    int rank = 0, size = 0;
    if (!plugin.core->reducer || plugin.mpi.Comm_size(plugin.world, &size) != MPI_SUCCESS || size < 2) return;
    plugin.mpi.Comm_rank(plugin.world, &rank);
    if (!is_main_world() || !plugin.core->hand_over_begin(&job)) return;
    reduce(&job, rank, size);
    plugin.core->hand_over_end(&job);
}
