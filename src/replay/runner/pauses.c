// Pauses between operations, as long as those of the program.
#include <math.h>
#include <unistd.h>

#include "base/clock.h"
#include "replay/runner/runner.h"

#define LEAST_SLEEP 0.002 // seconds
#define LONG_PAUSE 1.0    // seconds

// How steeply the last quarter of a distribution rises to its largest value. Chosen so that the mean is right: one long
// pause among many short ones must not become many long ones.
static double steepness(const struct model_pause *pause) {
    const int64_t *quantile = pause->quantile_ns;
    double mean = (double)pause->total_ns / (double)pause->count, rise = (double)(quantile[4] - quantile[3]);
    double others = (double)quantile[0] / 2 + (double)quantile[1] + (double)quantile[2] + (double)quantile[3] / 2;
    double last = 4 * mean - others - (double)quantile[3];
    if (last <= 0 || rise <= 0) return INFINITY;
    return rise > last ? rise / last - 1 : 0;
}

// Returns a value of the distribution. Successive numbers give values spread evenly over it.
static double value_at(const struct model_pause *pause, uint64_t number) {
    double place = (double)number * 0.6180339887498949 + 0.5;
    place = (place - (double)(uint64_t)place) * 4;
    unsigned below = place < 3 ? (unsigned)place : 3;
    const int64_t *quantile = pause->quantile_ns;
    double from = (double)quantile[below], to = (double)quantile[below + 1], part = place - below;
    if (below == 3) part = pow(part, steepness(pause));
    return (from + (to - from) * part) / 1e9;
}

// How often the thread has used it so far.
static uint32_t count_use(struct replay_thread *thread, const void *used) {
    uint32_t before = lookup_find(&thread->used, (uintptr_t)used);
    if (before == LOOKUP_NONE) before = 0;
    return lookup_set(&thread->used, (uintptr_t)used, before + 1) < 0 ? 0 : before;
}

static double next_pause(struct replay_thread *thread, const struct model_pause *pause) {
    if (!pause || !pause->count) return 0;
    return value_at(pause, (uint64_t)count_use(thread, pause) * thread->runner->np + thread->runner->rank);
}

struct model_overlap pauses_overlap(struct replay_thread *thread, const struct model_step *step) {
    if (!step->async) return (struct model_overlap){0};
    return step->async->turn[count_use(thread, step->async) % step->async->turns];
}

// Spins until the pause before this operation is over, because the program worked. The pause begins at the end of the
// last operation. With more threads than processors not all can have worked: they sleep through most of the pause.
void pauses_wait(struct replay_thread *thread, const struct model_step *step) {
    if (!thread->runner->job->think) return;
    double until = thread->free_at + next_pause(thread, step->think), left = until - clock_seconds();
    thread->place.pauses = left > LONG_PAUSE;
    if (left > LONG_PAUSE) waits_pause(thread, until);
    if (thread->runner->sleeps && left > LEAST_SLEEP) usleep((useconds_t)((left - LEAST_SLEEP / 2) * 1e6));
    while (clock_seconds() < until) continue;
    thread->place.pauses = false;
}
