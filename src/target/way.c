#include "target/way.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "target/clock.h"

enum {
    REQUESTS = 15,
    FASTER = 2,            // than the one that counts
    COST_MOST_NS = 200000, // more than this is not the way but something in it
};

static const int64_t waits_ns[WAY_POINTS] = {100000, 1000000, 6000000};

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

static int compare(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

// A fast one of several counts. On a busy machine the others have waited for a processor, and what they needed, taken
// off, would make the storage faster than was asked for whenever a processor is free.
static int measure_point(int64_t wait_ns, way_request *request, void *context, int64_t *cost_ns)
{
    int64_t needed_ns[REQUESTS];
    for (unsigned i = 0; i < REQUESTS; i++) {
        int64_t began_ns = clock_now_ns();
        int code = request(context);
        if (code < 0) return code;
        needed_ns[i] = clock_now_ns() - began_ns - wait_ns;
    }
    qsort(needed_ns, REQUESTS, sizeof *needed_ns, compare);
    int64_t fast_ns = needed_ns[FASTER];
    *cost_ns = fast_ns < 0 ? 0 : fast_ns > COST_MOST_NS ? COST_MOST_NS : fast_ns;
    return 0;
}

void way_measure(struct way *way, way_request *request, void *context)
{
    int64_t cost_ns[WAY_POINTS] = {0};
    int code = 0;
    for (unsigned i = 0; i < WAY_POINTS && code == 0; i++) {
        way->asked_wait_ns = way->point[i].wait_ns;
        code = measure_point(way->point[i].wait_ns, request, context, &cost_ns[i]);
    }
    for (unsigned i = 0; i < WAY_POINTS && code == 0; i++) way->point[i].cost_ns = cost_ns[i];
    way->asked_wait_ns = 0;
}

int64_t way_cost_ns(const struct way *way, int64_t wait_ns)
{
    unsigned i = 1;
    if (wait_ns <= way->point[0].wait_ns) return way->point[0].cost_ns;
    while (i < WAY_POINTS && wait_ns > way->point[i].wait_ns) i++;
    if (i == WAY_POINTS) return way->point[WAY_POINTS - 1].cost_ns;
    int64_t low_ns = way->point[i - 1].wait_ns, low_cost_ns = way->point[i - 1].cost_ns;
    int64_t step_ns = way->point[i].wait_ns - low_ns;
    return low_cost_ns + (way->point[i].cost_ns - low_cost_ns) * (wait_ns - low_ns) / step_ns;
}
