#include "target/emulate/overhead.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "target/clock.h"

enum {
    REQUESTS = 15,
    FASTER = 2,             // than the one that counts
    COST_MOST_NS = 200000,  // more than this is not the way but something in it
    LATE_MOST_NS = 1000000, // who comes later was held up
    OWN_MOST_NS = 500000,   // who computes for longer does not show it exactly
    BLAME_MOST_NS = 100000, // for waits for a processor
    STEP_SHARE = 256,       // one part of a wait is learned from it
    STEP_MOST_NS = 10000,
};

static const int64_t waits_ns[WAY_POINTS] = {100000, 300000, 1000000, 6000000};

struct cost {
    int64_t all_ns;
    int64_t run_ns; // of it, by the client itself
};

struct overhead *overhead_make(void)
{
    struct overhead *way = mmap(NULL, sizeof *way, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (way == MAP_FAILED) return NULL;
    for (unsigned i = 0; i < WAY_POINTS; i++) way->point[i].wait_ns = waits_ns[i];
    return way;
}

void overhead_drop(struct overhead *way)
{
    munmap(way, sizeof *way);
}

static int64_t within(int64_t low, int64_t value, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

// --- measured

static int compare(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

static int64_t one_of(int64_t needed_ns[REQUESTS], unsigned faster)
{
    qsort(needed_ns, REQUESTS, sizeof *needed_ns, compare);
    return within(0, needed_ns[faster], COST_MOST_NS);
}

// A fast one of several counts. On a busy machine the others have waited for a processor, and what they needed, taken
// off, would make the storage faster than was asked for whenever a processor is free. How long a client runs does not
// depend on that.
static int measure_point(int64_t wait_ns, overhead_request *request, void *context, struct cost *cost)
{
    int64_t needed_ns[REQUESTS], ran_ns[REQUESTS];
    for (unsigned i = 0; i < REQUESTS; i++) {
        int64_t began_ns = clock_now_ns(), ran_before_ns = (int64_t)clock_ns(CLOCK_THREAD_CPUTIME_ID);
        int code = request(context);
        if (code < 0) return code;
        needed_ns[i] = clock_now_ns() - began_ns - wait_ns;
        ran_ns[i] = (int64_t)clock_ns(CLOCK_THREAD_CPUTIME_ID) - ran_before_ns;
    }
    *cost = (struct cost){one_of(needed_ns, FASTER), one_of(ran_ns, REQUESTS / 2)};
    return 0;
}

void overhead_measure(struct overhead *way, overhead_request *request, void *context)
{
    struct cost cost[WAY_POINTS];
    int code = 0;
    for (unsigned i = 0; i < WAY_POINTS && code == 0; i++) {
        way->asked_wait_ns = way->point[i].wait_ns;
        code = measure_point(way->point[i].wait_ns, request, context, &cost[i]);
    }
    for (unsigned i = 0; i < WAY_POINTS && code == 0; i++) {
        way->point[i].cost_ns = cost[i].all_ns;
        way->point[i].run_ns = cost[i].run_ns;
    }
    way->asked_wait_ns = 0;
}

static int64_t between(int64_t low, int64_t high, double share)
{
    return low + (int64_t)((double)(high - low) * share);
}

// Between which points a wait lies: the second one, and how near to it.
static unsigned point_above(const struct overhead *way, int64_t wait_ns, double *share)
{
    unsigned i = 1;
    while (i < WAY_POINTS - 1 && wait_ns > way->point[i].wait_ns) i++;
    int64_t low_ns = way->point[i - 1].wait_ns, high_ns = way->point[i].wait_ns;
    *share = (double)(within(low_ns, wait_ns, high_ns) - low_ns) / (double)(high_ns - low_ns);
    return i;
}

static struct cost cost_of(const struct overhead *way, int64_t wait_ns)
{
    double share;
    unsigned i = point_above(way, wait_ns, &share);
    return (struct cost){between(way->point[i - 1].cost_ns + way->point[i - 1].learned_ns,
                                 way->point[i].cost_ns + way->point[i].learned_ns, share),
                         between(way->point[i - 1].run_ns, way->point[i].run_ns, share)};
}

int64_t overhead_cost_ns(const struct overhead *way, int64_t wait_ns)
{
    return within(0, cost_of(way, wait_ns).all_ns, COST_MOST_NS);
}

// --- learned

static int64_t above(int64_t a_ns, int64_t b_ns)
{
    return a_ns > b_ns ? a_ns - b_ns : 0;
}

static int64_t least(int64_t a_ns, int64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

// How late the way itself made a client. If it waited for a processor, the server may have had it, as long as that ran;
// unless the clients compute, and are in each other's way.
static int64_t lateness_ns(const struct client_round *round, int64_t own_ns)
{
    int64_t blame_ns = above(least(least(round->waited_ns, round->server_ns), BLAME_MOST_NS), own_ns);
    return round->late_ns - own_ns - (round->waited_ns - blame_ns);
}

static void step(struct overhead *way, int64_t wait_ns, double ns)
{
    double share;
    unsigned i = point_above(way, wait_ns, &share);
    way->point[i - 1].learned_ns += (int64_t)(ns * (1 - share));
    way->point[i].learned_ns += (int64_t)(ns * share);
}

// What a client ran for more than those who measured it did something of its own. Who ran and waited for a processor
// before it was told did not sleep for its request. A small step in the right direction for each, so that as many are
// early as late, however late a few of them are; a smaller one where many learn at once. Nothing is learned where no
// more can be taken off.
void overhead_learn(struct overhead *way, const struct client_round *round)
{
    struct cost cost = cost_of(way, round->left_ns);
    int64_t own_ns = above(round->ran_ns, cost.run_ns);
    int64_t late_ns = lateness_ns(round, own_ns);
    bool slept = round->ran_ns + round->waited_ns <= round->late_ns + COST_MOST_NS;
    if (!slept || own_ns > OWN_MOST_NS || late_ns > LATE_MOST_NS || round->left_ns <= 0) return;
    double step_ns =
        (double)least(round->left_ns / STEP_SHARE, STEP_MOST_NS) / (round->under_way ? round->under_way : 1);
    if (late_ns > 0 && cost.all_ns < least(round->left_ns, COST_MOST_NS)) step(way, round->left_ns, step_ns);
    if (late_ns < 0 && cost.all_ns > 0) step(way, round->left_ns, -step_ns);
}
