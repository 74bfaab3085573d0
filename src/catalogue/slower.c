#include "catalogue/slower.h"

#include <string.h>

#include "base/err.h"
#include "catalogue/rank_test.h"
#include "catalogue/write.h"

enum { MOST_RUNS = RANK_TEST_MOST, LEAST_RECENT = 5, MOST_RECENT = 20, LEAST_EARLIER = 8 };

static const double least_factor = 1.2, least_ns = 10e6, least_io_part = 0.01;
static const double likely = 0.0004, unlikely = 0.0001, spreads_apart = 3;

static double value_of(const struct run *run, enum slower_measure measure) {
    return (double)(measure == SLOWER_IO ? run->io_ns : run->run_ns);
}

static double median_bytes(const struct run *run, size_t runs) {
    double value[MOST_RUNS];
    for (size_t i = 0; i < runs; i++) value[i] = (double)run[i].bytes;
    return rank_median(value, runs);
}

// The runs that moved about as many bytes.
static size_t take(const struct run *run, size_t runs, double bytes, enum slower_measure measure, double *value) {
    size_t count = 0;
    for (size_t i = 0; i < runs; i++) {
        double own = (double)run[i].bytes;
        if (own >= bytes / 2 && own <= bytes * 2) value[count++] = value_of(&run[i], measure);
    }
    return count;
}

static int compare(const struct run *run, size_t runs, size_t recent, enum slower_measure measure,
                   struct slower *slower) {
    double after[MOST_RUNS], before[MOST_RUNS], run_time[MOST_RUNS], bytes = median_bytes(run, recent);
    *slower = (struct slower){.recent = take(run, recent, bytes, measure, after),
                              .earlier = take(run + recent, runs - recent, bytes, measure, before),
                              .since_ns = run[recent - 1].start_ns};
    if (slower->recent < LEAST_RECENT || slower->earlier < LEAST_EARLIER) return 0;
    slower->after_ns = rank_median(after, slower->recent);
    slower->before_ns = rank_median(before, slower->earlier);
    double more_ns = slower->after_ns - slower->before_ns;
    size_t known = take(run, recent, bytes, SLOWER_RUN, run_time);
    if (more_ns < least_ns || slower->after_ns < slower->before_ns * least_factor) return 0;
    if (measure == SLOWER_IO && more_ns < least_io_part * rank_median(run_time, known)) return 0;
    slower->factor = slower->before_ns > 0 ? slower->after_ns / slower->before_ns : 0;
    slower->chance = rank_test(after, slower->recent, before, slower->earlier);
    bool is_apart = more_ns >= spreads_apart * rank_spread(before, slower->earlier, slower->before_ns);
    return slower->chance <= (is_apart ? likely : unlikely);
}

int slower_find(const struct run *run, size_t runs, enum slower_measure measure, struct slower *slower) {
    int found = 0;
    if (runs > MOST_RUNS) runs = MOST_RUNS;
    for (size_t recent = LEAST_RECENT; recent <= MOST_RECENT && recent + LEAST_EARLIER <= runs; recent++) {
        struct slower one;
        if (!compare(run, runs, recent, measure, &one)) continue;
        if (!found || one.chance < slower->chance) *slower = one;
        found = 1;
    }
    return found;
}

// --- in the catalogue

struct runs {
    struct run run[MOST_RUNS];
    size_t count;
};

static int note_run(void *context, const struct store_value *value, size_t count) {
    struct runs *runs = context;
    (void)count;
    runs->run[runs->count++] =
        (struct run){store_integer(&value[0]), store_integer(&value[1]), store_integer(&value[2]),
                     store_integer(&value[3]), store_integer(&value[4])};
    return 0;
}

static int put(struct store *store, const struct series *series, enum slower_measure measure,
               const struct slower *slower, int64_t job, struct problem *problem) {
    const struct store_value value[] = {store_of_integer(series->user),
                                        store_of_integer(series->program),
                                        store_of_integer(series->nprocs),
                                        store_of_integer(measure),
                                        store_of_integer(slower->since_ns),
                                        store_of_integer((int64_t)slower->recent),
                                        store_of_integer((int64_t)slower->earlier),
                                        store_of_integer((int64_t)slower->before_ns),
                                        store_of_integer((int64_t)slower->after_ns),
                                        {.kind = STORE_REAL, .real = slower->factor},
                                        {.kind = STORE_REAL, .real = slower->chance},
                                        store_of_integer(job)};
    return store_run(store, "INSERT INTO slower VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)", value,
                     sizeof value / sizeof *value, problem);
}

int slower_update(struct store *store, const struct series *series, struct problem *problem) {
    const struct store_value key[] = {store_of_integer(series->program), store_of_integer(series->user),
                                      store_of_integer(series->nprocs), store_of_integer(MOST_RUNS)};
    struct runs runs = {.count = 0};
    FORWARD(
        store_run(store, "DELETE FROM slower WHERE program_id = $1 AND user_id = $2 AND nprocs = $3", key, 3, problem));
    FORWARD(store_ask(
        store,
        &store_statement("SELECT id, start_ns, run_ns, io_ns, bytes FROM jobs WHERE program_id = $1 AND user_id = "
                         "$2 AND nprocs = $3 ORDER BY start_ns DESC LIMIT $4",
                         key, 4),
        note_run, &runs, problem));
    for (enum slower_measure measure = 0; measure < SLOWER_MEASURES; measure++) {
        struct slower slower;
        if (slower_find(runs.run, runs.count, measure, &slower))
            FORWARD(put(store, series, measure, &slower, runs.run[0].id, problem));
    }
    return 0;
}
