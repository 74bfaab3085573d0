#include "target/emulate/overhead.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/order.h"

enum {
    REQUESTS = 15,
    FASTER = 2,             // the third fastest request counts
    COST_MOST_NS = 200000,  // a larger cost has another cause
    LATE_MOST_NS = 1000000, // a client that comes later was held up
    OWN_MOST_NS = 500000,   // a client that computes for longer tells too little about the overhead
    BLAME_MOST_NS = 100000, // for waits for a processor
    STEP_SHARE = 256,       // one request corrects by 1/256 of its wait
    STEP_MOST_NS = 10000,
};

static const int64_t waits_ns[OVERHEAD_POINTS] = {100000, 300000, 1000000, 6000000};

struct cost {
    int64_t all_ns;
    int64_t run_ns; // of it, by the client itself
};

struct overhead *overhead_new(void) {
    struct overhead *overhead = mmap(NULL, sizeof *overhead, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (overhead == MAP_FAILED) return NULL;
    for (unsigned i = 0; i < OVERHEAD_POINTS; i++) overhead->point[i].wait_ns = waits_ns[i];
    return overhead;
}

void overhead_free(struct overhead *overhead) { munmap(overhead, sizeof *overhead); }

static int64_t within(int64_t low, int64_t value, int64_t high) {
    return value < low ? low : value > high ? high : value;
}

// --- measuring

static int64_t ranked(int64_t needed_ns[REQUESTS], unsigned faster) {
    qsort(needed_ns, REQUESTS, sizeof *needed_ns, order_int64);
    return within(0, needed_ns[faster], COST_MOST_NS);
}

// One of the fastest requests counts. On a busy machine the slower ones waited for a processor; subtracting their time
// would make the storage too fast as soon as a processor is free. For the time that the client runs, the median counts,
// because it does not depend on that.
static int measure_point(int64_t wait_ns, overhead_request *request, void *context, struct cost *cost) {
    int64_t needed_ns[REQUESTS], ran_ns[REQUESTS];
    for (unsigned i = 0; i < REQUESTS; i++) {
        int64_t began_ns = clock_now_ns(), ran_before_ns = (int64_t)clock_ns(CLOCK_THREAD_CPUTIME_ID);
        int code = request(context);
        if (code < 0) return code;
        needed_ns[i] = clock_now_ns() - began_ns - wait_ns;
        ran_ns[i] = (int64_t)clock_ns(CLOCK_THREAD_CPUTIME_ID) - ran_before_ns;
    }
    *cost = (struct cost){ranked(needed_ns, FASTER), ranked(ran_ns, REQUESTS / 2)};
    return 0;
}

void overhead_measure(struct overhead *overhead, overhead_request *request, void *context) {
    struct cost cost[OVERHEAD_POINTS];
    int code = 0;
    for (unsigned i = 0; i < OVERHEAD_POINTS && code == 0; i++) {
        overhead->asked_wait_ns = overhead->point[i].wait_ns;
        code = measure_point(overhead->point[i].wait_ns, request, context, &cost[i]);
    }
    for (unsigned i = 0; i < OVERHEAD_POINTS && code == 0; i++) {
        overhead->point[i].cost_ns = cost[i].all_ns;
        overhead->point[i].run_ns = cost[i].run_ns;
    }
    overhead->asked_wait_ns = 0;
}

static int64_t between(int64_t low, int64_t high, double share) {
    return low + (int64_t)((double)(high - low) * share);
}

// Finds the two points around a wait: the index of the upper one, and how near it is (0 … 1).
static unsigned point_above(const struct overhead *overhead, int64_t wait_ns, double *share) {
    unsigned i = 1;
    while (i < OVERHEAD_POINTS - 1 && wait_ns > overhead->point[i].wait_ns) i++;
    int64_t low_ns = overhead->point[i - 1].wait_ns, high_ns = overhead->point[i].wait_ns;
    *share = (double)(within(low_ns, wait_ns, high_ns) - low_ns) / (double)(high_ns - low_ns);
    return i;
}

static struct cost cost_of(const struct overhead *overhead, int64_t wait_ns) {
    double share;
    unsigned i = point_above(overhead, wait_ns, &share);
    return (struct cost){between(overhead->point[i - 1].cost_ns + overhead->point[i - 1].learned_ns,
                                 overhead->point[i].cost_ns + overhead->point[i].learned_ns, share),
                         between(overhead->point[i - 1].run_ns, overhead->point[i].run_ns, share)};
}

int64_t overhead_cost_ns(const struct overhead *overhead, int64_t wait_ns) {
    return within(0, cost_of(overhead, wait_ns).all_ns, COST_MOST_NS);
}

// --- learning

static int64_t above(int64_t a_ns, int64_t b_ns) { return a_ns > b_ns ? a_ns - b_ns : 0; }

static int64_t least(int64_t a_ns, int64_t b_ns) { return a_ns < b_ns ? a_ns : b_ns; }

// How late FUSE itself made a client. While it waited for a processor the server may have had that processor, for as
// long as the server ran. If the client computes, its own processes compete for the processors, and the server is not
// blamed.
static int64_t lateness_ns(const struct client_interval *interval, int64_t own_ns) {
    int64_t blame_ns = above(least(least(interval->waited_ns, interval->server_ns), BLAME_MOST_NS), own_ns);
    return interval->late_ns - own_ns - (interval->waited_ns - blame_ns);
}

static void step(struct overhead *overhead, int64_t wait_ns, double ns) {
    double share;
    unsigned i = point_above(overhead, wait_ns, &share);
    overhead->point[i - 1].learned_ns += (int64_t)(ns * (1 - share));
    overhead->point[i].learned_ns += (int64_t)(ns * share);
}

// Each client moves the cost by a small step in the right direction, so that as many replies come early as late,
// however late a few of them are. The step is smaller if many requests are under way. The cost never exceeds the wait.
//
// A client that ran for longer than the measuring one did computed something of its own. A client whose run time and
// waiting time exceed its lateness was running before the reply, so it did not sleep for this request and tells nothing
// about the overhead.
void overhead_learn(struct overhead *overhead, const struct client_interval *interval) {
    struct cost cost = cost_of(overhead, interval->left_ns);
    int64_t own_ns = above(interval->ran_ns, cost.run_ns);
    int64_t late_ns = lateness_ns(interval, own_ns);
    bool slept = interval->ran_ns + interval->waited_ns <= interval->late_ns + COST_MOST_NS;
    if (!slept || own_ns > OWN_MOST_NS || late_ns > LATE_MOST_NS || interval->left_ns <= 0) return;
    double step_ns =
        (double)least(interval->left_ns / STEP_SHARE, STEP_MOST_NS) / (interval->under_way ? interval->under_way : 1);
    if (late_ns > 0 && cost.all_ns < least(interval->left_ns, COST_MOST_NS)) step(overhead, interval->left_ns, step_ns);
    if (late_ns < 0 && cost.all_ns > 0) step(overhead, interval->left_ns, -step_ns);
}
