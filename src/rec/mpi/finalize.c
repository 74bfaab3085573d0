// Adds up the counters of all ranks before they part (reduce/run.h). Whatever fails, the spill files have everything.
#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "rec/mpi/bounded.h"
#include "rec/mpi/roll.h"
#include "reduce/run.h"

enum { MOST_BYTES = 1 << 30 }; // of a message: counts are int

// Both MPIs wait in MPI_Finalize until all ranks have come, so waiting for them here costs nothing. Not so for a rank
// that is gone though its launcher lets the others live: so each rank looks now and then whether those of its host are
// there, and tells the other hosts. The limit is for a whole host that is gone. Giving up earlier would leave a
// collective call unfinished, which MPICH's network layer complains about at its end.
#define LOOK_NS INT64_C(1000000000)
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

// Whether all ranks will come, as far as can be known: if not, they must not wait for each other.
static enum roll_state await_state(const struct bounded *all) {
    const struct timespec pause = {0, 1000000};
    enum roll_state state = roll_state();
    for (; state == ROLL_PENDING && clock_now_ns() < all->deadline_ns; state = roll_state()) nanosleep(&pause, NULL);
    return state;
}

static bool meet(struct bounded *all, enum roll_state state) {
    MPI_Request request;
    int64_t end_ns = state == ROLL_UNKNOWN   ? all->deadline_ns
                     : roll_is_of_one_host() ? INT64_MAX
                                             : clock_now_ns() + MEETING_NS;
    if (!bounded_start_meeting(&request)) return false;
    for (;;) {
        int64_t now_ns = clock_now_ns();
        all->deadline_ns = end_ns - now_ns > LOOK_NS ? now_ns + LOOK_NS : end_ns;
        if (bounded_wait(all, &request, NULL)) break;
        bool is_error = clock_now_ns() < all->deadline_ns;
        if (is_error || all->deadline_ns == end_ns || roll_is_given_up() || roll_has_gap()) return false;
    }
    roll_note_met();
    return true;
}

// Moments are by rank 0's clock.
static void align(struct reduce_job *job) {
    struct clock_line line = roll_line();
    clock_line_move(&line, &job->epoch_ns, &job->clock);
}

static bool reduce(struct bounded *all, struct hand_over *job, int rank, int size) {
    const struct reducer *reducer = plugin.core->reducer();
    const struct reduce_link link = {all, rank, size, send_to, receive_from, swap};
    struct reduce_costs costs;
    enum roll_state state = await_state(all);
    bool will_come = state == ROLL_COMPLETE || state == ROLL_UNKNOWN;
    if (!will_come || roll_is_given_up() || !meet(all, state) || !reducer) return false;
    all->deadline_ns = clock_now_ns() + (int64_t)job->patience_ns;
    align(&job->job);
    return !roll_is_given_up() && reducer->run(&job->job, &link, &costs) == 0;
}

static bool add_up(int rank, int size) {
    struct hand_over job;
    struct bounded *all = plugin.core->memory_alloc(sizeof *all);
    if (!all || !plugin.core->hand_over_begin(&job)) return false;
    bounded_begin(all, (int64_t)job.patience_ns);
    bool is_done = reduce(all, &job, rank, size);
    bounded_end(all);
    plugin.core->hand_over_end(&job);
    return is_done;
}

// Ranks of a world that another one has spawned may belong to a job that goes on.
static bool is_main_world(void) {
    MPI_Comm parent = plugin.no_comm;
    return plugin.mpi.Comm_get_parent(&parent) == MPI_SUCCESS && parent == plugin.no_comm;
}

void mpi_add_up(void) {
    int rank = 0, size = 0;
    if (!roll_is_signed() || plugin.mpi.Comm_size(plugin.world, &size) != MPI_SUCCESS || size < 2) return;
    plugin.mpi.Comm_rank(plugin.world, &rank);
    // Whatever the reason is, the others need not wait for this rank in vain.
    if (is_main_world() && !add_up(rank, size)) roll_give_up();
}
