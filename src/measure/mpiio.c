// What MPI-IO costs: its bandwidths on the storage, and its own costs with files in memory.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/err.h"
#include "measure/benchmark.h"
#include "measure/fit.h"
#include "measure/measure.h"
#include "replay/launch.h"
#include "replay/replay.h"

static const uint64_t SEQUENTIAL_BYTES = 4 << 20, RANDOM_BYTES = 64 << 10;
static const double SECONDS = 8, QUICK_SECONDS = 3;
static const char memory_directory[] = "/dev/shm";
static const uint64_t MEMORY_BYTES = 24 << 20, MEMORY_BYTES_RANK = 1 << 20; // that the files need

// --- bandwidths

static void take_bandwidths(struct system_mpiio *out, const struct system *system) {
    for (size_t i = 0; i < system->points; i++) {
        const struct system_point *point = &system->point[i];
        double *to = point->mode == MODE_RANDOM ? out->random : out->sequential;
        to[point->write] = point->bandwidth;
    }
    snprintf(out->name, sizeof out->name, "%s", system->messages.name);
    out->random_size = RANDOM_BYTES;
}

static int measure_bandwidths(struct system_mpiio *out, const struct measure_settings *settings,
                              struct problem *problem) {
    const struct measure_point_wanted wanted[] = {
        {.size = SEQUENTIAL_BYTES, .np = out->np, .shared = true, .mpiio = true},
        {.size = RANDOM_BYTES, .np = out->np, .shared = true, .mpiio = true, .mode = MODE_RANDOM},
    };
    struct system system;
    int code = measure_points(&system, settings, wanted, sizeof wanted / sizeof *wanted, problem);
    if (!code) take_bandwidths(out, &system);
    system_free(&system);
    return code;
}

// --- costs

// Times of one kind as rows of a fit. `memory` is taken off; what is left is judged by the whole time.
static size_t choose_times(const struct replay_result *result, enum replay_timing_kind kind, bool write,
                           struct fit_time *to) {
    size_t count = 0;
    for (size_t i = 0; i < result->timings; i++) {
        const struct replay_timing *t = &result->timing[i];
        if (t->kind != kind || t->write != write || !(t->seconds > 0)) continue;
        to[count++] = (struct fit_time){.seconds = fmax(t->seconds - t->memory, 0), .scale = t->seconds};
        switch (kind) {
        case TIMING_COLLECTIVE:
            memcpy(to[count - 1].count, (double[FIT_MOST]){1, (double)t->rounds, (double)t->bytes, (double)t->pieces},
                   sizeof to->count);
            break;
        case TIMING_INDEPENDENT:
            memcpy(to[count - 1].count, (double[FIT_MOST]){1, (double)t->pieces}, sizeof to->count);
            break;
        default: memcpy(to[count - 1].count, (double[FIT_MOST]){1, (double)t->bytes}, sizeof to->count);
        }
    }
    return count;
}

static void fit_line(struct system_line *line, const struct replay_result *result, enum replay_timing_kind kind,
                     struct fit_time *time) {
    double cost[FIT_MOST] = {0};
    fit_costs(time, choose_times(result, kind, false, time), 2, cost);
    *line = (struct system_line){cost[0], cost[1]};
}

static void fit_calls(struct system_mpiio *out, const struct replay_result *result, bool write, struct fit_time *time) {
    double cost[FIT_MOST] = {0};
    size_t times = choose_times(result, TIMING_COLLECTIVE, write, time);
    double error = fit_costs(time, times, 4, cost);
    out->collective[write] =
        (struct system_collective){cost[0], cost[1], cost[2], cost[3], isfinite(error) ? error : 0};
    memset(cost, 0, sizeof cost);
    times = choose_times(result, TIMING_INDEPENDENT, write, time);
    fit_costs(time, times, 2, cost);
    out->per_call[write] = cost[0];
    out->per_piece[write] = cost[1];
}

static int fit_all(struct system_mpiio *out, const struct replay_result *result) {
    struct fit_time *time = calloc(result->timings + 1, sizeof *time);
    RETURN_IF(!time, -ENOMEM);
    snprintf(out->library, sizeof out->library, "%s", result->library);
    if (result->nodes && result->nodes <= out->np) out->nodes = (uint32_t)result->nodes;
    fit_line(&out->within, result, TIMING_WITHIN, time);
    fit_line(&out->between, result, TIMING_BETWEEN, time);
    fit_calls(out, result, false, time);
    fit_calls(out, result, true, time);
    free(time);
    return 0;
}

static bool has_memory(uint32_t np) {
    struct statvfs about;
    if (access(memory_directory, W_OK) < 0 || statvfs(memory_directory, &about) < 0) return false;
    return (uint64_t)about.f_bavail * about.f_frsize >= MEMORY_BYTES + np * MEMORY_BYTES_RANK;
}

// The runner's folder is in memory.
static int measure_costs(struct system_mpiio *out, const struct measure_settings *settings, struct problem *problem) {
    struct benchmark any = {.size = 1, .count = 1};
    struct replay_result result;
    struct model model;
    struct replay_settings replay = {.target = memory_directory,
                                     .launcher = settings->launcher ? settings->launcher : launch_default_launcher(),
                                     .stall = settings->stall,
                                     .job = {.np = out->np, .task = TASK_EXCHANGE, .seconds = settings->seconds}};
    int code = benchmark_model(&model, &any, 1, out->np, true);
    if (code < 0) return problem_code(problem, code, "benchmark");
    code = replay_once(&replay, &model, &result, problem);
    if (!code) code = fit_all(out, &result);
    free(result.phase);
    free(result.timing);
    model_free(&model);
    return code;
}

int measure_mpiio(struct system_mpiio *out, const struct measure_settings *settings, uint32_t np,
                  struct problem *problem) {
    double seconds = settings->seconds > 0 ? settings->seconds : settings->quick ? QUICK_SECONDS : SECONDS;
    struct measure_settings part = *settings;
    part.twice_memory = false;
    part.progress = NULL;
    *out = (struct system_mpiio){.np = np, .nodes = 1};
    part.seconds = seconds / 3;
    FORWARD(measure_bandwidths(out, &part, problem));
    part.seconds = seconds - part.seconds;
    return has_memory(np) ? measure_costs(out, &part, problem) : 0;
}
