// Nodes and messages, and the frame of TASK_EXCHANGE.
#include "replay/runner/exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/order.h"
#include "base/scoped.h"
#include "replay/runner/runner.h"
#include "replay/runner/world.h"

enum { LARGEST_MESSAGE = 4 << 20, SLEEP_US = 200 };
static const double MESSAGES_SHARE = 0.15; // of the time
static const uint64_t message_bytes[] = {8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 1 << 20, LARGEST_MESSAGE};
enum { MESSAGES = sizeof message_bytes / sizeof *message_bytes };

// --- what all timings need

unsigned exchange_add(struct exchange *x, struct replay_timing timing) {
    x->timing[x->timings] = timing;
    return x->timings++;
}

void exchange_note(struct exchange *x, unsigned place, double seconds, double memory) {
    unsigned number = x->repeats[place];
    if (number == EXCHANGE_REPEATS) return;
    x->seconds[place][number] = seconds;
    x->memory[place][number] = memory;
    x->repeats[place]++;
}

void exchange_step(struct exchange *x, const char *what) { watch_tell(x->job, what, ++x->steps, 0); }

void exchange_wait(void) {
    MPI_Request request;
    int done = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (;;) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (done) return;
        usleep(SLEEP_US);
    }
}

bool exchange_goes_on(double until) {
    int goes_on = clock_seconds() < until;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return goes_on;
}

// --- messages

// Finds the nodes, and the first rank that shares rank 0's node, and that does not; -1: there is none.
static int find_nodes(struct exchange *x, int partner[2]) {
    SCOPED_FREE int *leaders = malloc((size_t)world.size * sizeof *leaders);
    RETURN_IF(!leaders, -ENOMEM);
    MPI_Comm node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, world.rank, MPI_INFO_NULL, &node);
    x->leader = world.rank;
    MPI_Bcast(&x->leader, 1, MPI_INT, 0, node);
    MPI_Comm_free(&node);
    MPI_Allgather(&x->leader, 1, MPI_INT, leaders, 1, MPI_INT, MPI_COMM_WORLD);
    partner[0] = partner[1] = -1;
    for (int rank = world.size - 1; rank >= 0; rank--) {
        x->nodes += leaders[rank] == rank;
        if (rank) partner[leaders[rank] != leaders[0]] = rank;
    }
    return 0;
}

// Seconds of one message: half of a round trip.
static double time_message(void *data, int bytes, int partner) {
    int rounds = bytes <= 4096 ? 100 : bytes <= 256 << 10 ? 20 : 4;
    int other = world.rank ? 0 : partner;
    double start = 0;
    for (int i = -1; i < rounds; i++) { // the first one also sets up the connection
        if (i == 0) start = clock_seconds();
        if (!world.rank) MPI_Send(data, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
        MPI_Recv(data, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (world.rank) MPI_Send(data, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
    }
    return (clock_seconds() - start) / rounds / 2;
}

static int time_messages(struct exchange *x, int partner, enum replay_timing_kind kind, double until) {
    SCOPED_FREE void *data = calloc(1, LARGEST_MESSAGE);
    RETURN_IF(!data, -ENOMEM);
    unsigned first = x->timings;
    for (unsigned i = 0; i < MESSAGES; i++)
        exchange_add(x, (struct replay_timing){.kind = kind, .bytes = message_bytes[i]});
    for (unsigned repeat = 0; repeat < EXCHANGE_REPEATS && (!repeat || exchange_goes_on(until)); repeat++) {
        for (unsigned i = 0; i < MESSAGES; i++) {
            exchange_step(x, "messages");
            if (!world.rank || world.rank == partner)
                exchange_note(x, first + i, time_message(data, (int)message_bytes[i], partner), 0);
        }
        exchange_wait();
    }
    return 0;
}

// --- the whole

static double median(double *value, unsigned count) {
    if (!count) return 0;
    qsort(value, count, sizeof *value, order_double);
    return count % 2 ? value[count / 2] : (value[count / 2 - 1] + value[count / 2]) / 2;
}

static int report(struct exchange *x) {
    struct replay_result result = {.timing = x->timing, .nodes = (uint64_t)x->nodes};
    snprintf(result.library, sizeof result.library, "%s", x->library);
    for (unsigned i = 0; i < x->timings; i++) {
        if (!x->repeats[i]) continue; // no time was left for it
        struct replay_timing *timing = &x->timing[result.timings++];
        *timing = x->timing[i];
        timing->seconds = median(x->seconds[i], x->repeats[i]);
        timing->memory = median(x->memory[i], x->repeats[i]);
    }
    return contract_write_result(&result, x->job->result);
}

int exchange_run(const struct replay_job *job) {
    SCOPED_FREE struct exchange *x = calloc(1, sizeof *x);
    RETURN_IF(!x, -ENOMEM);
    double start = clock_seconds();
    int partner[2];
    x->job = job;
    FORWARD(find_nodes(x, partner));
    for (unsigned i = 0; i < 2; i++) {
        double until = start + MESSAGES_SHARE * (i + 1) * job->seconds;
        if (partner[i] > 0) FORWARD(time_messages(x, partner[i], i ? TIMING_BETWEEN : TIMING_WITHIN, until));
    }
    FORWARD(exchange_calls(x, start + job->seconds));
    return world.rank ? 0 : report(x);
}
