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
#include "cli/verb.h"
#include "measure/benchmark.h"
#include "predict/statistics.h"
#include "replay/replay.h"

enum {
    RUNS_MOST = 15,
    RUNS_LEAST = 3,
    COUNT_LEAST = 8,          // requests of a process
    COUNT_MOST_RANDOM = 2048, // which are listed one by one
    COUNT_MOST = 1 << 18,
    PILOT_COUNT = 8,
    NP_MOST_DEFAULT = 16,
};

static const uint64_t GROUP_BYTES = UINT64_C(4) << 30; // on the storage at a time

// What one mode of measuring is content with.
struct effort {
    double seconds;     // of one phase
    double uncertainty; // half of the 95 % interval
    double total;       // seconds of everything; 0: as long as it takes
};
static const struct effort quick_effort = {0.15, 0.05, 85}, full_effort = {0.6, 0.02, 0};

// A benchmark, which is two points of the system: writing and reading.
struct pair {
    struct benchmark benchmark;
    uint32_t np;
    bool warm;
    size_t rested; // place of the pair that this one is with pauses before its requests, + 1; or 0
    unsigned runs;
    double seconds[2][RUNS_MOST]; // writing, reading
    double latency_p50[2], latency_p99[2];
};

struct measuring {
    const struct measure_settings *settings;
    struct effort effort;
    struct system *system;
    struct pair *pair;
    size_t pairs;
    bool has_mpi, direct, drop, progress;
    const char *launcher;
    double start, estimate; // seconds
};

// --- what is measured

// Whether the smallest benchmark of it leaves most of the storage free, and the largest is as large as asked for.
static bool fits(const struct measuring *m, uint64_t size, enum system_mode mode, uint32_t np)
{
    const struct storage *storage = &m->system->storage;
    if (size * np * PILOT_COUNT > storage->free_bytes / 4) return false;
    return !m->settings->twice_memory || mode != MODE_RANDOM ||
           size * np * COUNT_MOST_RANDOM >= 2 * storage->memory_bytes;
}

static int add_pair(struct measuring *m, uint64_t size, enum system_mode mode, uint32_t np, bool shared,
                    bool collective, bool warm)
{
    if (!fits(m, size, mode, np)) return 0;
    FORWARD(array_room(m->pair, m->pairs));
    struct pair *pair = &m->pair[m->pairs++];
    *pair = (struct pair){.np = np, .warm = warm};
    pair->benchmark = (struct benchmark){.size = size,
                                         .count = PILOT_COUNT,
                                         .mode = mode,
                                         .shared = shared,
                                         .collective = collective,
                                         .mpiio = collective,
                                         .direct = m->direct && !collective && !warm,
                                         .sync = m->drop && !warm && !(m->direct && !collective)};
    return 0;
}

// The last pair again, with pauses.
static int add_rested(struct measuring *m)
{
    FORWARD(array_room(m->pair, m->pairs));
    m->pair[m->pairs] = m->pair[m->pairs - 1];
    m->pair[m->pairs].rested = m->pairs;
    m->pairs++;
    return 0;
}

static int add_ways(struct measuring *m, uint64_t size, uint32_t np, bool rested)
{
    for (unsigned mode = 0; mode < MODE_COUNT; mode++) {
        if (np == 1 || mode == MODE_SEQUENTIAL || !m->settings->quick) {
            size_t before = m->pairs;
            FORWARD(add_pair(m, size, mode, np, false, false, false));
            if (rested && mode == MODE_SEQUENTIAL && m->pairs > before) FORWARD(add_rested(m));
        }
        if (np > 1) FORWARD(add_pair(m, size, mode, np, true, false, false));
        if (np > 1 && m->has_mpi && mode != MODE_RANDOM) FORWARD(add_pair(m, size, mode, np, true, true, false));
    }
    return 0;
}

static int choose_pairs(struct measuring *m)
{
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
        bool is_few = m->settings->quick && !m->settings->sizes; // then two sizes must do
        for (size_t i = 0; i < count; i++) FORWARD(add_ways(m, sizes[i], np, !is_few || i == 1 || i == 2));
        for (size_t i = 0; i < count && (m->direct || m->drop); i++) {
            if (is_few && sizes[i] != 4 << 10 && sizes[i] != 1 << 20) continue;
            FORWARD(add_pair(m, sizes[i], MODE_SEQUENTIAL, np, false, false, true));
        }
        if (np == most) break;
        np = m->settings->quick || np * 2 > most ? most : np * 2;
    }
    return 0;
}

// --- running

static int fail(const struct measuring *m, const struct replay_place *place, int code)
{
    if (code == -EINTR) return 128 + place->signal;
    if (code == ERR_NOTHING && place->error) {
        replay_print_error("measure", place->error);
        return STATUS_FAILURE;
    }
    return cli_fail("measure", m->settings->directory, code);
}

static struct replay_settings settings_of(const struct measuring *m, uint32_t np)
{
    return (struct replay_settings){
        .target = m->settings->directory,
        .launcher = m->launcher,
        .cache = "warm",
        .np = np,
        .think = true,
        .latency = true,
        .durable = true,
    };
}

// Runs the benchmarks of some pairs, all of one np and one state of the page cache, and takes their times.
static int run_group(struct measuring *m, struct pair *const *group, size_t count, struct replay_result *result)
{
    struct benchmark *benchmark = malloc(count * sizeof *benchmark);
    struct model model;
    struct replay_place place = {0};
    if (!benchmark) return cli_fail("measure", "memory", -ENOMEM);
    for (size_t i = 0; i < count; i++) benchmark[i] = group[i]->benchmark;
    int code = benchmark_model(&model, benchmark, count, group[0]->np, m->has_mpi);
    free(benchmark);
    if (code < 0) return cli_fail("measure", "benchmark", code);
    struct replay_settings settings = settings_of(m, group[0]->np);
    settings.drop = m->drop && !group[0]->warm;
    code = replay_place_make(&place, &settings, &model);
    if (!code) code = replay_run(&place, &settings, &model, false, result);
    int status = code < 0 ? fail(m, &place, code) : STATUS_OK;
    if (!code && result->failed) {
        fprintf(stderr, "ioseer measure: %s\n", result->first_failure);
        status = STATUS_FAILURE;
    }
    replay_place_remove(&place, false);
    model_free(&model);
    return status;
}

static void take_times(struct pair *pair, const struct replay_phase phase[2])
{
    for (unsigned k = 0; k < 2; k++) {
        pair->seconds[k][pair->runs] = phase[k].time;
        // Of the last run: quantiles of many requests vary little.
        pair->latency_p50[k] = phase[k].latency_p50;
        pair->latency_p99[k] = phase[k].latency_p99;
    }
    pair->runs++;
}

static bool is_sure(const struct measuring *m, const struct pair *pair)
{
    if (pair->runs < RUNS_LEAST) return false;
    return statistics_uncertainty(pair->seconds[0], pair->runs) <= m->effort.uncertainty &&
           statistics_uncertainty(pair->seconds[1], pair->runs) <= m->effort.uncertainty;
}

static uint64_t bytes_of(const struct pair *pair)
{
    return benchmark_bytes(&pair->benchmark, 1, pair->np);
}

typedef bool choose_pair(const struct measuring *m, const struct pair *pair);
typedef void use_times(struct measuring *m, struct pair *pair, const struct replay_phase phase[2]);

static bool is_alike(const struct pair *a, const struct pair *b)
{
    return a->np == b->np && a->warm == b->warm;
}

// Runs the chosen pairs, in groups that are alike and fit the storage.
static int run_round(struct measuring *m, choose_pair *choose, use_times *use)
{
    uint64_t room = m->system->storage.free_bytes / 2 < GROUP_BYTES ? m->system->storage.free_bytes / 2 : GROUP_BYTES;
    struct pair **group = malloc((m->pairs + 1) * sizeof *group);
    int status = group ? STATUS_OK : cli_fail("measure", "memory", -ENOMEM);
    for (size_t i = 0; i < m->pairs && status == STATUS_OK;) {
        uint64_t bytes = 0;
        size_t count = 0;
        for (; i < m->pairs && (!count || (is_alike(&m->pair[i], group[0]) && bytes < room)); i++) {
            if (!choose(m, &m->pair[i])) continue;
            group[count++] = &m->pair[i];
            bytes += bytes_of(&m->pair[i]);
        }
        if (!count) break;
        struct replay_result result = {0};
        status = run_group(m, group, count, &result);
        for (size_t k = 0; k < count && status == STATUS_OK; k++) use(m, group[k], &result.phase[2 * k]);
        free(result.phase);
    }
    free(group);
    return status;
}

// --- how many requests

static bool choose_unrested(const struct measuring *m, const struct pair *pair)
{
    (void)m;
    return !pair->rested;
}

// As many as fill the time that a phase should take, by a first look.
static void set_count(struct measuring *m, struct pair *pair, const struct replay_phase phase[2])
{
    struct benchmark *b = &pair->benchmark;
    double faster = fmin(phase[0].time, phase[1].time) / (double)b->count;
    double slower = fmax(phase[0].time, phase[1].time) / (double)b->count;
    double fitting = m->effort.seconds / fmax(sqrt(faster * slower), 1e-9);
    uint64_t most = b->mode == MODE_RANDOM ? COUNT_MOST_RANDOM : COUNT_MOST, row = b->size * pair->np;
    uint64_t room = m->system->storage.free_bytes < GROUP_BYTES ? m->system->storage.free_bytes : GROUP_BYTES;
    if (most > room / 4 / row) most = room / 4 / row;
    b->count = fitting > (double)most ? most : (uint64_t)fitting;
    if (m->settings->twice_memory) b->count = 2 * m->system->storage.memory_bytes / row + 1;
    if (b->count < COUNT_LEAST) b->count = COUNT_LEAST;
    b->count += b->count % 2;
    m->estimate += (faster + slower) * (double)b->count;
}

// --- the rounds

static bool choose_unsure(const struct measuring *m, const struct pair *pair)
{
    return !is_sure(m, pair) && (!pair->rested || pair->benchmark.pause[0] > 0);
}

// Pauses are as long as the requests take without them, which the first round has told.
static void set_pauses(struct measuring *m)
{
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

static void note_times(struct measuring *m, struct pair *pair, const struct replay_phase phase[2])
{
    (void)m;
    take_times(pair, phase);
}

static size_t count_unsure(const struct measuring *m)
{
    size_t count = 0;
    for (size_t i = 0; i < m->pairs; i++) count += !is_sure(m, &m->pair[i]);
    return count;
}

static void say_estimate(const struct measuring *m)
{
    if (m->settings->quiet || m->settings->quick) return;
    double least = m->estimate * RUNS_LEAST, most = m->estimate * RUNS_MOST;
    fprintf(stderr, "measure: %zu points, %.0f to %.0f minutes\n", 2 * m->pairs, ceil(least / 60), ceil(most / 60));
}

static int run_rounds(struct measuring *m)
{
    for (unsigned round = 0; round < RUNS_MOST && count_unsure(m); round++) {
        double took = clock_seconds() - m->start;
        if (m->effort.total > 0 && round > RUNS_LEAST && took + m->estimate > m->effort.total) break;
        if (m->progress) {
            fprintf(stderr, "\r\033[Kmeasure: round %u, %zu of %zu points to go", round + 1, 2 * count_unsure(m),
                    2 * m->pairs);
        }
        int status = run_round(m, choose_unsure, note_times);
        if (status != STATUS_OK) return status;
        if (round == 0) set_pauses(m);
    }
    if (m->progress) fputs("\r\033[K", stderr);
    return STATUS_OK;
}

// --- names and messages

static int read_probe(struct system *system, const char *path)
{
    struct json_in json;
    struct json_in_error error;
    FORWARD(json_in_read(&json, path, &error));
    const struct json_value *names = json_in_member(json.root, "metadata");
    const struct json_value *messages = json_in_member(json.root, "messages");
    json_in_double(json_in_member(names, "create"), &system->metadata.create);
    json_in_double(json_in_member(names, "stat"), &system->metadata.stat);
    json_in_double(json_in_member(names, "open"), &system->metadata.open);
    json_in_double(json_in_member(names, "unlink"), &system->metadata.unlink);
    json_in_double(json_in_member(messages, "latency"), &system->messages.latency);
    json_in_double(json_in_member(messages, "bandwidth"), &system->messages.bandwidth);
    json_in_free(&json);
    return 0;
}

static int run_probe(struct measuring *m)
{
    uint32_t np = m->pair[m->pairs - 1].np;
    struct benchmark any = {.size = 1, .count = 1};
    struct model model;
    struct replay_place place = {0};
    struct replay_result result = {0};
    int code = benchmark_model(&model, &any, 1, np, m->has_mpi);
    if (code < 0) return cli_fail("measure", "benchmark", code);
    struct replay_settings settings = settings_of(m, np);
    settings.probe = true;
    code = replay_place_make(&place, &settings, &model);
    if (!code) code = replay_run(&place, &settings, &model, false, &result);
    if (!code) code = read_probe(m->system, place.result);
    int status = code < 0 ? fail(m, &place, code) : STATUS_OK;
    m->system->metadata.np = m->system->messages.np = np;
    free(result.phase);
    replay_place_remove(&place, false);
    model_free(&model);
    return status;
}

// --- the result

static void add_point(struct measuring *m, struct pair *pair, bool write)
{
    struct benchmark *b = &pair->benchmark;
    double bytes = (double)(b->size * b->count) * pair->np, value[RUNS_MOST];
    for (unsigned i = 0; i < pair->runs; i++) value[i] = bytes / fmax(pair->seconds[!write][i], 1e-9);
    double uncertainty = statistics_uncertainty(value, pair->runs);
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
                                                                  .low = bandwidth.middle * fmax(1 - uncertainty, 0),
                                                                  .high = bandwidth.middle * (1 + uncertainty),
                                                                  .latency_p50 = pair->latency_p50[!write],
                                                                  .latency_p99 = pair->latency_p99[!write],
                                                                  .runs = pair->runs,
                                                                  .stable = uncertainty <= m->effort.uncertainty};
}

static int make_points(struct measuring *m)
{
    m->system->point = calloc(2 * m->pairs + 1, sizeof *m->system->point);
    if (!m->system->point) return cli_fail("measure", "memory", -ENOMEM);
    for (unsigned write = 0; write < 2; write++) {
        for (size_t i = 0; i < m->pairs; i++) add_point(m, &m->pair[i], !write);
    }
    system_find_peak(m->system);
    return STATUS_OK;
}

static void choose_cache(struct measuring *m)
{
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

static int check_room(const struct measuring *m)
{
    const struct storage *storage = &m->system->storage;
    bool fits_memory = !m->settings->twice_memory || storage->free_bytes / 5 * 2 > storage->memory_bytes;
    return m->pairs && fits_memory ? STATUS_OK : cli_fail("measure", m->settings->directory, -ENOSPC);
}

int measure_system(struct system *system, const struct measure_settings *settings)
{
    struct measuring m = {.settings = settings, .system = system, .start = clock_seconds()};
    *system = (struct system){0};
    m.effort = settings->quick ? quick_effort : full_effort;
    if (settings->seconds > 0) m.effort.total = settings->seconds;
    m.progress = !settings->quiet && isatty(STDERR_FILENO);
    int code = storage_find(settings->directory, &system->storage);
    if (code < 0) return cli_fail("measure", settings->directory, code);
    if (access(settings->directory, W_OK) < 0) return cli_fail("measure", settings->directory, -errno);
    m.launcher = settings->launcher ? settings->launcher : replay_launcher_here();
    m.has_mpi = m.launcher != NULL;
    snprintf(system->messages.name, sizeof system->messages.name, "%s", replay_mpi_name(m.launcher));
    choose_cache(&m);
    code = choose_pairs(&m);
    int status = code < 0 ? cli_fail("measure", "memory", code) : STATUS_OK;
    if (status == STATUS_OK) status = check_room(&m);
    if (m.progress) fprintf(stderr, "measure: a first look at %zu points", 2 * m.pairs);
    if (status == STATUS_OK) status = run_round(&m, choose_unrested, set_count);
    if (m.progress) fputs("\r\033[K", stderr);
    if (status == STATUS_OK) say_estimate(&m);
    if (status == STATUS_OK) status = run_rounds(&m);
    if (status == STATUS_OK) status = run_probe(&m);
    if (status == STATUS_OK) status = make_points(&m);
    free(m.pair);
    return status;
}
