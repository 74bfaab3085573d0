// Times from the points of a SYSTEM. What-if and the findings use this without the rest of prediction.
#include <math.h>

#include "base/err.h"
#include "predict/analytic.h"

// How much a point differs from a class; what changes the time most weighs most. Sizes do not count: they are
// interpolated.
static double distance(const struct system_point *point, const struct io_class *class) {
    double sum = fabs(log2(point->np / class->concurrency));
    if (point->mode != class->mode) sum += point->mode == MODE_RANDOM || class->mode == MODE_RANDOM ? 40 : 10;
    if (point->collective != class->collective) sum += 80;
    if (point->shared != class->shared && class->concurrency > 1 && point->np > 1) sum += 4;
    return sum + (point->warm != class->warm ? 1000 : 0);
}

static bool is_rested(const struct system_point *point) { return point->pause > 0; }

static bool is_same_series(const struct system_point *a, const struct system_point *b) {
    return a->write == b->write && a->mode == b->mode && a->np == b->np && a->shared == b->shared &&
           a->collective == b->collective && a->warm == b->warm && is_rested(a) == is_rested(b);
}

static const struct system_point *nearest_point(const struct system *system, const struct io_class *class,
                                                bool rested) {
    const struct system_point *best = NULL;
    for (size_t i = 0; i < system->points; i++) {
        const struct system_point *point = &system->point[i];
        if (point->write != class->write || is_rested(point) != rested) continue;
        if (!best || distance(point, class) < distance(best, class)) best = point;
    }
    return best;
}

static void points_around(const struct system *system, const struct system_point *like, uint64_t size,
                          const struct system_point **below, const struct system_point **above) {
    *below = *above = NULL;
    for (size_t i = 0; i < system->points; i++) {
        const struct system_point *point = &system->point[i];
        if (!is_same_series(point, like)) continue;
        if (point->size <= size && (!*below || point->size > (*below)->size)) *below = point;
        if (point->size >= size && (!*above || point->size < (*above)->size)) *above = point;
    }
}

// Seconds of one request while all processes make theirs.
static double request_seconds(const struct system_point *point, double bandwidth) {
    return (double)point->size * point->np / bandwidth;
}

// Between two sizes the time is interpolated linearly. Below the smallest the time is constant, above the largest the
// bandwidth.
static double seconds_of(const struct estimate *e, uint64_t size, double (*bandwidth)(const struct system_point *)) {
    if (!e->below) return request_seconds(e->above, bandwidth(e->above));
    if (!e->above) return request_seconds(e->below, bandwidth(e->below)) * (double)size / (double)e->below->size;
    double from = request_seconds(e->below, bandwidth(e->below)), to = request_seconds(e->above, bandwidth(e->above));
    if (e->above == e->below) return from;
    double share = (double)(size - e->below->size) / (double)(e->above->size - e->below->size);
    return from + (to - from) * share;
}

static double middle_of(const struct system_point *point) { return point->bandwidth; }

static double low_of(const struct system_point *point) { return point->low > 0 ? point->low : point->bandwidth; }

static double high_of(const struct system_point *point) { return point->high > 0 ? point->high : point->bandwidth; }

// What fraction of its time a request takes after a pause as long as the request: storage may go on writing, or read
// ahead, during the pause. 1 if there are no points with pauses.
static double share_of_rested(const struct system *system, const struct io_class *class,
                              const struct system_point **rested) {
    const struct system_point *like = *rested = nearest_point(system, class, true);
    struct estimate busy = {0}, after = {0};
    if (!like) return 1;
    points_around(system, like, class->size, &after.below, &after.above);
    struct io_class same = {.write = like->write,
                            .mode = like->mode,
                            .np = like->np,
                            .concurrency = like->np,
                            .shared = like->shared,
                            .warm = like->warm};
    const struct system_point *other = nearest_point(system, &same, false);
    if (!other) return 1;
    points_around(system, other, class->size, &busy.below, &busy.above);
    return fmin(seconds_of(&after, class->size, middle_of) / seconds_of(&busy, class->size, middle_of), 1);
}

static void say_reason(struct estimate *e, const struct system_point *like, const struct io_class *class) {
    e->reason = like->warm && !class->warm                      ? "only points of the page cache"
                : like->collective != class->collective         ? "no points of collective calls"
                : like->mode != class->mode                     ? "no points of this access mode"
                : !e->below                                     ? "smaller than any point"
                : !e->above                                     ? "larger than any point"
                : like->np != class->concurrency                ? "no points of this number of processes"
                : like->shared != class->shared && like->np > 1 ? "no points of this kind of sharing"
                                                                : NULL;
    e->extrapolated = e->reason != NULL;
}

int analytic_estimate(const struct system *system, const struct io_class *class, struct estimate *estimate) {
    *estimate = (struct estimate){0};
    const struct system_point *like = nearest_point(system, class, false);
    RETURN_IF(!like, ERR_NOTHING);
    points_around(system, like, class->size, &estimate->below, &estimate->above);
    say_reason(estimate, like, class);
    // Processes share the storage: if there are more of them than were measured, each gets less.
    double requests = (double)class->bytes / ((double)class->size * class->np);
    double times = requests * fmax(class->concurrency / like->np, 1);
    if (class->pause > 0) {
        double one = seconds_of(estimate, class->size, middle_of), rest = fmin(class->pause / one, 1);
        times *= 1 - rest * (1 - share_of_rested(system, class, &estimate->rested));
    }
    estimate->seconds = (struct interval){.middle = times * seconds_of(estimate, class->size, middle_of),
                                          .low = times * seconds_of(estimate, class->size, high_of),
                                          .high = times * seconds_of(estimate, class->size, low_of)};
    return 0;
}
