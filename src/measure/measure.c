#include "measure/measure.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "measure/benchmark.h"
#include "measure/statistics.h"
#include "replay/launch.h"
#include "replay/replay.h"

enum {
    RUNS_MOST = 15,
    RUNS_LEAST = 3,
    COUNT_LEAST = 8,          // requests per process, or
    COUNT_LEAST_LARGE = 2,    // of large ones
    COUNT_MOST_RANDOM = 2048, // the model lists them one by one
    COUNT_MOST = 1 << 18,
    DIRECT_ALIGNMENT = 4096, // requests of other sizes cannot bypass the page cache
    NP_MOST_DEFAULT = 16,
};

static const uint64_t GROUP_BYTES = UINT64_C(4) << 30; // at most on the storage at a time
static const uint64_t LEAST_BYTES = 16 << 20; // of all processes: more than this need not be moved to see a time

// How long and how exactly to measure.
struct effort {
    double seconds;     // per phase
    double uncertainty; // half of the 95 % interval, as a fraction
    double total;       // seconds; 0: no limit
    unsigned rounds;    // at least; 0: if there is no time left, the first look is all
};
static const struct effort quick_effort = {0.15, 0.05, 85, RUNS_LEAST + 1},
                           full_effort = {0.6, 0.02, 0, RUNS_LEAST + 1};
static const double POINTS_SECONDS = 20;
static const double ONE_RUN_UNCERTAINTY = 1; // a single run says nothing about its variation: half as fast to twice

// The first look at small requests is too short for a time: the first round may take longer than there is time.
static const double FIRST_ROUND_OVERRUN = 2;

// A benchmark gives two points of the system: writing and reading.
struct pair {
    struct benchmark benchmark;
    uint32_t np;
    bool warm;
    bool write_only;
    size_t rested; // this pair repeats another with pauses between requests: place of that one + 1; else 0
    unsigned runs;
    double seconds[2][RUNS_MOST]; // writing, reading
    double latency_p50[2], latency_p99[2];
    struct replay_phase first[2]; // of the first look
};

struct measuring {
    const struct measure_settings *settings;
    struct effort effort;
    struct system *system;
    struct pair *pair;
    size_t pairs;
    bool has_mpi, direct, drop;
    const char *launcher;
    double start, estimate; // seconds
    struct problem *problem;
};

// --- what is measured

// Requests per process of the first look, and of a run: an even number, for strided ones.
static uint64_t least_count(uint64_t size, uint32_t np) {
    uint64_t count = LEAST_BYTES / (size * np) / 2 * 2;
    return count < COUNT_LEAST_LARGE ? COUNT_LEAST_LARGE : count > COUNT_LEAST ? COUNT_LEAST : count;
}

// Whether the pair can be measured: the first look leaves most of the storage free and, for twice_memory, random
// requests can fill the memory.
static bool fits(const struct measuring *m, uint64_t size, enum system_mode mode, uint32_t np) {
    const struct storage *storage = &m->system->storage;
    if (size * np * least_count(size, np) > storage->free_bytes / 4) return false;
    return !m->settings->twice_memory || mode != MODE_RANDOM ||
           size * np * COUNT_MOST_RANDOM >= 2 * storage->memory_bytes;
}

// The caller gives size, mode, shared, mpiio and collective of the benchmark.
static int add_pair(struct measuring *m, struct pair pair) {
    struct benchmark *b = &pair.benchmark;
    if (!fits(m, b->size, b->mode, pair.np)) return 0;
    FORWARD(array_room(m->pair, m->pairs));
    b->count = least_count(b->size, pair.np);
    b->mpiio |= b->collective;
    b->direct = m->direct && !b->mpiio && !pair.warm && b->size % DIRECT_ALIGNMENT == 0;
    b->sync = m->drop && !pair.warm && !b->direct;
    m->pair[m->pairs++] = pair;
    return 0;
}

// Adds the last pair again, with pauses.
static int add_rested(struct measuring *m) {
    FORWARD(array_room(m->pair, m->pairs));
    m->pair[m->pairs] = m->pair[m->pairs - 1];
    m->pair[m->pairs].rested = m->pairs;
    m->pairs++;
    return 0;
}

static int add_modes(struct measuring *m, uint64_t size, uint32_t np, bool rested) {
    for (unsigned mode = 0; mode < MODE_COUNT; mode++) {
        struct pair pair = {.np = np, .benchmark = {.size = size, .mode = mode}};
        if (np == 1 || mode == MODE_SEQUENTIAL || !m->settings->quick) {
            size_t before = m->pairs;
            FORWARD(add_pair(m, pair));
            if (rested && mode == MODE_SEQUENTIAL && m->pairs > before) FORWARD(add_rested(m));
        }
        pair.benchmark.shared = true;
        if (np > 1) FORWARD(add_pair(m, pair));
        pair.benchmark.collective = true;
        if (np > 1 && m->has_mpi && mode != MODE_RANDOM) FORWARD(add_pair(m, pair));
    }
    return 0;
}

static int choose_pairs(struct measuring *m) {
    static const uint64_t quick_sizes[] = {4 << 10, 64 << 10, 1 << 20, 4 << 20};
    static const uint64_t full_sizes[] = {4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20};
    const uint64_t *sizes = m->settings->quick ? quick_sizes : full_sizes;
    size_t count = m->settings->quick ? sizeof quick_sizes / sizeof *sizes : sizeof full_sizes / sizeof *sizes;
    if (m->settings->sizes) {
        sizes = m->settings->size;
        count = m->settings->sizes;
    }
    uint32_t most = m->settings->np;
    if (!most) most = m->system->storage.processors < 2 ? 2 : m->system->storage.processors;
    if (!m->settings->np && most > NP_MOST_DEFAULT) most = NP_MOST_DEFAULT;
    for (uint32_t np = 1; np <= most;) {
        bool is_few = m->settings->quick && !m->settings->sizes; // then two sizes are enough
        for (size_t i = 0; i < count; i++) FORWARD(add_modes(m, sizes[i], np, !is_few || i == 1 || i == 2));
        for (size_t i = 0; i < count && (m->direct || m->drop); i++) {
            if (is_few && sizes[i] != 4 << 10 && sizes[i] != 1 << 20) continue;
            FORWARD(add_pair(m, (struct pair){.np = np, .warm = true, .benchmark.size = sizes[i]}));
        }
        if (np == most) break;
        np = m->settings->quick || np * 2 > most ? most : np * 2;
    }
    return 0;
}

static int choose_wanted(struct measuring *m, const struct measure_point_wanted *wanted, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct measure_point_wanted *w = &wanted[i];
        if ((w->mpiio || w->collective) && !m->has_mpi)
            return problem_set(m->problem, ERR_NOTHING, "MPI-IO", "there is no MPI with a runner");
        struct pair pair = {.np = w->np, .warm = w->warm, .write_only = w->write_only};
        pair.benchmark = (struct benchmark){.size = w->size,
                                            .mode = w->mode,
                                            .shared = w->shared || w->collective,
                                            .mpiio = w->mpiio,
                                            .collective = w->collective};
        FORWARD(add_pair(m, pair));
    }
    return 0;
}

// --- running

// Runs a model of benchmarks once.
static int run_model(struct measuring *m, const struct benchmark *benchmark, size_t count, struct replay_job job,
                     struct replay_result *result) {
    struct model model;
    struct replay_settings settings = {
        .target = m->settings->directory, .launcher = m->launcher, .stall = m->settings->stall, .job = job};
    settings.job.cache = CACHE_WARM;
    settings.job.think = settings.job.latency = settings.job.durable = true;
    int code = benchmark_model(&model, benchmark, count, job.np, m->has_mpi);
    if (code < 0) return problem_code(m->problem, code, "benchmark");
    code = replay_once(&settings, &model, result, m->problem);
    model_free(&model);
    return code;
}

// The phases of some pairs, without reading where only writing is wanted (replay_job.phases).
static char *list_phases(struct pair *const *group, size_t count) {
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    for (size_t i = 0; i < count && out; i++) {
        fprintf(out, "%s%zu", i ? "," : "", 2 * i + 1);
        if (!group[i]->write_only) fprintf(out, ",%zu", 2 * i + 2);
    }
    if (!out || fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}

// Runs the benchmarks of some pairs, all with one number of processes and one state of the page cache.
static int run_group(struct measuring *m, struct pair *const *group, size_t count, struct replay_result *result) {
    char *phases = list_phases(group, count);
    struct replay_job job = {.np = group[0]->np, .drop = m->drop && !group[0]->warm, .phases = phases};
    struct benchmark *benchmark = malloc(count * sizeof *benchmark);
    int code = phases && benchmark ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && !code; i++) benchmark[i] = group[i]->benchmark;
    if (!code) code = run_model(m, benchmark, count, job, result);
    free(benchmark);
    free(phases);
    return code;
}

static void add_times(struct pair *pair, const struct replay_phase phase[2]) {
    for (unsigned k = 0; k < 2; k++) {
        pair->seconds[k][pair->runs] = phase[k].time;
        // Uses the last run only: quantiles of many requests vary little.
        pair->latency_p50[k] = phase[k].latency_p50;
        pair->latency_p99[k] = phase[k].latency_p99;
    }
    pair->runs++;
}

static bool is_certain(const struct measuring *m, const struct pair *pair) {
    if (pair->runs < RUNS_LEAST) return false;
    return statistics_uncertainty(pair->seconds[0], pair->runs) <= m->effort.uncertainty &&
           (pair->write_only || statistics_uncertainty(pair->seconds[1], pair->runs) <= m->effort.uncertainty);
}

// As many requests as fill the time that a phase should take, according to the first look.
static void set_count(struct measuring *m, struct pair *pair, const struct replay_phase phase[2]) {
    struct benchmark *b = &pair->benchmark;
    uint64_t before = b->count;
    double write = phase[0].time / (double)b->count, read = phase[1].time / (double)b->count;
    if (pair->write_only) read = write;
    double faster = fmin(write, read), slower = fmax(write, read);
    memcpy(pair->first, phase, sizeof pair->first);
    double fitting = m->effort.seconds / fmax(sqrt(faster * slower), 1e-9);
    uint64_t most = b->mode == MODE_RANDOM ? COUNT_MOST_RANDOM : COUNT_MOST, row = b->size * pair->np;
    uint64_t room = m->system->storage.free_bytes < GROUP_BYTES ? m->system->storage.free_bytes : GROUP_BYTES;
    if (most > room / 4 / row) most = room / 4 / row;
    b->count = fitting > (double)most ? most : (uint64_t)fitting;
    if (m->settings->twice_memory) b->count = 2 * m->system->storage.memory_bytes / row + 1;
    if (b->count < least_count(b->size, pair->np)) b->count = least_count(b->size, pair->np);
    b->count += b->count % 2;
    if (b->count == before) add_times(pair, phase); // it was as good as a run
    m->estimate += (pair->write_only ? write : faster + slower) * (double)b->count;
}

// Whether the pair needs another run. Those with pauses run once the pauses are known.
static bool is_chosen(const struct measuring *m, const struct pair *pair, bool first_look) {
    if (first_look) return !pair->rested;
    return pair->runs < RUNS_MOST && !is_certain(m, pair) && (!pair->rested || pair->benchmark.pause[0] > 0);
}

// Runs all pairs that need it, in groups with one number of processes and cache state that fit the storage. The first
// look tells how many requests a benchmark should have, later rounds add times.
static int run_round(struct measuring *m, bool first_look) {
    uint64_t room = m->system->storage.free_bytes / 2 < GROUP_BYTES ? m->system->storage.free_bytes / 2 : GROUP_BYTES;
    struct pair **group = malloc((m->pairs + 1) * sizeof *group);
    int code = group ? 0 : -ENOMEM;
    for (size_t i = 0; i < m->pairs && !code;) {
        uint64_t bytes = 0;
        size_t count = 0;
        for (; i < m->pairs; i++) {
            struct pair *pair = &m->pair[i];
            if (count && (pair->np != group[0]->np || pair->warm != group[0]->warm || bytes >= room)) break;
            if (!is_chosen(m, pair, first_look)) continue;
            group[count++] = pair;
            bytes += pair->benchmark.size * pair->benchmark.count * pair->np;
        }
        if (!count) break;
        struct replay_result result = {0};
        code = run_group(m, group, count, &result);
        for (size_t k = 0; k < count && !code; k++)
            first_look ? set_count(m, group[k], &result.phase[2 * k]) : add_times(group[k], &result.phase[2 * k]);
        free(result.phase);
    }
    free(group);
    return code;
}

// --- the rounds

// Pauses are as long as the requests take without them in the first round.
static void set_pauses(struct measuring *m) {
    for (size_t i = 0; i < m->pairs; i++) {
        struct pair *pair = &m->pair[i];
        if (!pair->rested) continue;
        const struct pair *busy = &m->pair[pair->rested - 1];
        pair->benchmark.count = busy->benchmark.count;
        for (unsigned k = 0; k < 2; k++) {
            pair->benchmark.pause[k] = fmax(busy->seconds[k][0] / (double)busy->benchmark.count, 1e-9);
            m->estimate += 2 * busy->seconds[k][0];
        }
    }
}

static size_t count_uncertain(const struct measuring *m) {
    size_t count = 0;
    for (size_t i = 0; i < m->pairs; i++) count += !is_certain(m, &m->pair[i]);
    return count;
}

static void tell(const struct measuring *m, struct measure_progress progress) {
    progress.points = 2 * m->pairs;
    if (m->settings->progress) m->settings->progress(&progress);
}

static int run_rounds(struct measuring *m) {
    tell(m, (struct measure_progress){
                .step = MEASURE_ESTIMATE, .least = m->estimate * RUNS_LEAST, .most = m->estimate * RUNS_MOST});
    for (unsigned round = 0; round < RUNS_MOST && count_uncertain(m); round++) {
        double took = clock_seconds() - m->start;
        double limit = m->effort.total * (round ? 1 : FIRST_ROUND_OVERRUN);
        if (m->effort.total > 0 && round >= m->effort.rounds && took + m->estimate > limit) break;
        tell(m,
             (struct measure_progress){.step = MEASURE_ROUND, .round = round + 1, .uncertain = 2 * count_uncertain(m)});
        FORWARD(run_round(m, false));
        if (round == 0) set_pauses(m);
    }
    return 0;
}

// Without time for a round, the first look is the only run.
static void use_first_look(struct measuring *m) {
    for (size_t i = 0; i < m->pairs; i++) {
        if (m->pair[i].runs) continue;
        m->pair[i].benchmark.count = least_count(m->pair[i].benchmark.size, m->pair[i].np);
        add_times(&m->pair[i], m->pair[i].first);
    }
}

// --- names and messages

static int run_microbench(struct measuring *m) {
    uint32_t np = m->pair[m->pairs - 1].np;
    struct benchmark any = {.size = 1, .count = 1};
    struct replay_result result = {0};
    int code = run_model(m, &any, 1, (struct replay_job){.np = np, .task = TASK_MICROBENCH}, &result);
    m->system->metadata = (struct system_metadata){np, result.create, result.stat, result.open, result.unlink};
    m->system->messages.np = np;
    m->system->messages.latency = result.message_latency;
    m->system->messages.bandwidth = result.message_bandwidth;
    free(result.phase);
    return code;
}

// MPI-IO with each number of processes; quick: with the most only.
static int run_mpiio(struct measuring *m) {
    struct measure_settings settings = *m->settings;
    settings.launcher = m->launcher;
    settings.seconds = 0;
    for (size_t i = 0; i < m->pairs && m->has_mpi; i++) {
        uint32_t np = m->pair[i].np, most = m->pair[m->pairs - 1].np;
        bool is_last = i + 1 == m->pairs || m->pair[i + 1].np != np;
        if (!is_last || np == 1 || (np < most && m->settings->quick)) continue;
        FORWARD(array_room(m->system->mpiio, m->system->mpiios));
        FORWARD(measure_mpiio(&m->system->mpiio[m->system->mpiios], &settings, np, m->problem));
        m->system->mpiios++;
    }
    return 0;
}

// --- the result

static void add_point(struct measuring *m, struct pair *pair, bool write) {
    struct benchmark *b = &pair->benchmark;
    double bytes = (double)(b->size * b->count) * pair->np, value[RUNS_MOST];
    for (unsigned i = 0; i < pair->runs; i++) value[i] = bytes / fmax(pair->seconds[!write][i], 1e-9);
    double uncertainty = pair->runs > 1 ? statistics_uncertainty(value, pair->runs) : ONE_RUN_UNCERTAINTY;
    struct interval bandwidth = statistics_median(value, pair->runs);
    m->system->point[m->system->points++] = (struct system_point){.write = write,
                                                                  .size = b->size,
                                                                  .mode = b->mode,
                                                                  .np = pair->np,
                                                                  .shared = b->shared,
                                                                  .collective = b->collective,
                                                                  .warm = pair->warm,
                                                                  .pause = b->pause[!write],
                                                                  .bandwidth = bandwidth.middle,
                                                                  .low = bandwidth.middle / (1 + uncertainty),
                                                                  .high = bandwidth.middle * (1 + uncertainty),
                                                                  .latency_p50 = pair->latency_p50[!write],
                                                                  .latency_p99 = pair->latency_p99[!write],
                                                                  .runs = pair->runs,
                                                                  .stable = uncertainty <= m->effort.uncertainty};
}

static int make_points(struct measuring *m) {
    m->system->point = calloc(2 * m->pairs + 1, sizeof *m->system->point);
    RETURN_IF(!m->system->point, -ENOMEM);
    for (unsigned write = 0; write < 2; write++) {
        for (size_t i = 0; i < m->pairs; i++) {
            if (!write || !m->pair[i].write_only) add_point(m, &m->pair[i], !write);
        }
    }
    system_set_peaks(m->system);
    return 0;
}

static void choose_cache(struct measuring *m) {
    const char *type = m->system->storage.file_system;
    bool in_memory = !strcmp(type, "tmpfs") || !strcmp(type, "ramfs") || !strcmp(type, "hugetlbfs");
    m->direct = !m->settings->twice_memory && storage_has_direct(m->settings->directory);
    m->drop = !m->settings->twice_memory && !in_memory;
    snprintf(m->system->cache, sizeof m->system->cache, "%s",
             m->settings->twice_memory ? "twice-memory"
             : m->direct               ? "direct"
             : m->drop                 ? "dropped"
                                       : "none");
}

static int check_room(const struct measuring *m) {
    const struct storage *storage = &m->system->storage;
    bool fits_memory = !m->settings->twice_memory || storage->free_bytes / 5 * 2 > storage->memory_bytes;
    return m->pairs && fits_memory ? 0 : -ENOSPC;
}

// Finds out where and with what to measure.
static int begin(struct measuring *m) {
    struct system *system = m->system;
    FORWARD(storage_describe(m->settings->directory, &system->storage));
    RETURN_IF(access(m->settings->directory, W_OK) < 0, -errno);
    m->launcher = m->settings->launcher ? m->settings->launcher : launch_default_launcher();
    m->has_mpi = m->launcher != NULL;
    snprintf(system->messages.name, sizeof system->messages.name, "%s", launch_mpi_name(m->launcher));
    choose_cache(m);
    return 0;
}

static int measure_pairs(struct measuring *m) {
    FORWARD(check_room(m));
    tell(m, (struct measure_progress){.step = MEASURE_FIRST_LOOK});
    FORWARD(run_round(m, true));
    return run_rounds(m);
}

static int measure_all(struct measuring *m) {
    FORWARD(begin(m));
    FORWARD(choose_pairs(m));
    FORWARD(measure_pairs(m));
    FORWARD(run_microbench(m));
    FORWARD(run_mpiio(m));
    return make_points(m);
}

static int end(struct measuring *m, int code) {
    tell(m, (struct measure_progress){.step = MEASURE_DONE});
    free(m->pair);
    return code < 0 ? problem_code(m->problem, code, m->settings->directory) : 0;
}

int measure_system(struct system *system, const struct measure_settings *settings, struct problem *problem) {
    struct measuring m = {.settings = settings, .system = system, .start = clock_seconds(), .problem = problem};
    *system = (struct system){0};
    m.effort = settings->quick ? quick_effort : full_effort;
    if (settings->seconds > 0) m.effort.total = settings->seconds;
    return end(&m, measure_all(&m));
}

static int measure_wanted(struct measuring *m, const struct measure_point_wanted *wanted, size_t count) {
    FORWARD(begin(m));
    FORWARD(choose_wanted(m, wanted, count));
    m->effort.seconds = fmin(quick_effort.seconds, m->effort.total / (double)(2 * m->pairs + 1) / (RUNS_LEAST + 1));
    FORWARD(measure_pairs(m));
    use_first_look(m);
    return make_points(m);
}

int measure_points(struct system *system, const struct measure_settings *settings,
                   const struct measure_point_wanted *wanted, size_t count, struct problem *problem) {
    struct measuring m = {.settings = settings, .system = system, .start = clock_seconds(), .problem = problem};
    *system = (struct system){0};
    m.effort = (struct effort){.uncertainty = quick_effort.uncertainty,
                               .total = settings->seconds > 0 ? settings->seconds : POINTS_SECONDS};
    return end(&m, measure_wanted(&m, wanted, count));
}
