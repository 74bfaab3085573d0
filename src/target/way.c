#include "target/way.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "target/clock.h"

enum {
    REQUESTS = 15,
    FASTER = 2,             // than the one that counts
    COST_MOST_NS = 200000,  // more than this is not the way but something in it
    LATE_MOST_NS = 1000000, // who comes later was held up
    STEP_SHARE = 256,       // of a wait is learned from it
    STEP_MOST_NS = 10000,
};

static const int64_t waits_ns[WAY_POINTS] = {100000, 300000, 1000000, 6000000};

struct cost {
    int64_t all_ns;
    int64_t run_ns; // of it, by the client itself
};

struct way *way_make(void)
{
    struct way *way = mmap(NULL, sizeof *way, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (way == MAP_FAILED) return NULL;
    for (unsigned i = 0; i < WAY_POINTS; i++) way->point[i].wait_ns = waits_ns[i];
    return way;
}

void way_drop(struct way *way)
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

// A fast one of several counts. On a busy machine the others have waited for a processor, and what they needed, taken
// off, would make the storage faster than was asked for whenever a processor is free.
static int64_t one_of(int64_t needed_ns[REQUESTS], unsigned faster)
{
    qsort(needed_ns, REQUESTS, sizeof *needed_ns, compare);
    return within(0, needed_ns[faster], COST_MOST_NS);
}

static int measure_point(int64_t wait_ns, way_request *request, void *context, struct cost *cost)
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

void way_measure(struct way *way, way_request *request, void *context)
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

// For a wait of any length, from those that were measured.
static struct cost cost_of(const struct way *way, int64_t wait_ns)
{
    unsigned i = 1;
    while (i < WAY_POINTS - 1 && wait_ns > way->point[i].wait_ns) i++;
    int64_t low_ns = way->point[i - 1].wait_ns, high_ns = way->point[i].wait_ns;
    double share = (double)(within(low_ns, wait_ns, high_ns) - low_ns) / (double)(high_ns - low_ns);
    return (struct cost){between(way->point[i - 1].cost_ns, way->point[i].cost_ns, share),
                         between(way->point[i - 1].run_ns, way->point[i].run_ns, share)};
}

int64_t way_cost_ns(const struct way *way, int64_t wait_ns)
{
    return within(0, cost_of(way, wait_ns).all_ns + way->learned_ns, COST_MOST_NS);
}

// --- learned

static int64_t above(int64_t a_ns, int64_t b_ns)
{
    return a_ns > b_ns ? a_ns - b_ns : 0;
}

// How late the way itself made a client. What a client ran for more than those who measured it did something of its
// own. If it waited for a processor, the server may have had it, as long as that ran; unless the clients compute, and
// are in each other's way.
static int64_t lateness_ns(const struct client_round *round, const struct cost *cost)
{
    int64_t own_ns = above(round->ran_ns, cost->run_ns);
    int64_t shared_ns = round->waited_ns < round->served_ns ? round->waited_ns : round->served_ns;
    return round->late_ns - own_ns - (round->waited_ns - above(shared_ns, own_ns));
}

// A small step in the right direction for each, so that as many are early as late, however late a few of them are.
// Nothing is learned where no more can be taken off.
void way_learn(struct way *way, const struct client_round *round)
{
    struct cost cost = cost_of(way, round->asked_ns);
    int64_t step_ns = within(0, round->asked_ns / STEP_SHARE, STEP_MOST_NS);
    int64_t late_ns = lateness_ns(round, &cost), off_ns = cost.all_ns + way->learned_ns;
    if (late_ns > LATE_MOST_NS) return;
    if (late_ns > 0 && off_ns < round->asked_ns && off_ns < COST_MOST_NS) way->learned_ns += step_ns;
    if (late_ns < 0 && off_ns > 0) way->learned_ns -= step_ns;
}
