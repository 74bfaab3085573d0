#include "sweep/sweep.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mounts.h"
#include "base/siphash.h"
#include "model/file/write.h"
#include "replay/replay.h"
#include "sweep/grid.h"
#include "sweep/page_cache.h"
#include "sweep/run.h"

// --- results

bool sweep_time(const struct sweep_point *point, struct interval *time) {
    double seconds[SWEEP_MOST_RUNS];
    memcpy(seconds, point->io, sizeof seconds);
    if (!point->runs || point->killed) return false;
    *time = statistics_median(seconds, point->runs);
    return true;
}

bool sweep_is_precise(const struct sweep *sweep, const struct sweep_point *point) {
    return point->runs >= SWEEP_LEAST_RUNS && statistics_uncertainty(point->io, point->runs) <= sweep->precision;
}

uint64_t sweep_working_set(const struct sweep *sweep) {
    uint64_t most = 0;
    for (size_t i = 0; i < sweep->points; i++) {
        if (sweep->point[i].working_set > most) most = sweep->point[i].working_set;
    }
    return most;
}

// --- before the first run

static int look_at_target(struct sweep_target *target, const struct mounts *mounts, struct problem *problem) {
    struct stat about;
    if (stat(target->name, &about) < 0) return problem_code(problem, -errno, target->name);
    if (!S_ISDIR(about.st_mode)) return problem_code(problem, -ENOTDIR, target->name);
    const struct mount *mount = mounts_of_device(mounts, about.st_dev);
    snprintf(target->type, sizeof target->type, "%s", mount ? mount->type : "");
    int code = page_cache_is_used(target->name, &target->is_cached);
    return code < 0 ? problem_code(problem, code, target->name) : 0;
}

static int look_at_targets(struct sweep_grid *grid, struct problem *problem) {
    struct mounts mounts;
    FORWARD(mounts_read(&mounts, "/proc/self/mountinfo"));
    int code = 0;
    for (size_t i = 0; i < grid->targets && !code; i++) code = look_at_target(&grid->target[i], &mounts, problem);
    mounts_free(&mounts);
    return code;
}

static int digest_model(const struct model *model, uint64_t *digest) {
    static const uint64_t key[2] = {0x696f73656572, 0x7377656570}; // any: nobody has to be kept from computing it
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    RETURN_IF(!out, -ENOMEM);
    int code = model_write(model, out);
    if (fclose(out) && !code) code = -ENOMEM;
    if (!code) *digest = siphash(key, text, length);
    free(text);
    return code;
}

static bool has_word(char **command, const char *word) {
    for (; *command; command++) {
        if (strstr(*command, word)) return true;
    }
    return false;
}

static int check_words(const struct sweep *sweep, struct problem *problem) {
    const struct sweep_grid *grid = &sweep->grid;
    const struct {
        const char *word, *option;
        bool is_needed;
    } words[] = {{"{dir}", "--on", true},
                 {"{np}", "--np", grid->np[0] != 0},
                 {"{interface}", "--interface", strcmp(grid->interface[0], grid_as_recorded) != 0}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        bool there = has_word(grid->command, words[i].word);
        if (there == words[i].is_needed) continue;
        if (there) return problem_set(problem, ERR_USAGE, words[i].word, "needs %s", words[i].option);
        return problem_set(problem, ERR_USAGE, words[i].option, "the command has no %s for it", words[i].word);
    }
    return 0;
}

static int check_model(struct sweep *sweep, const struct model *model, struct problem *problem) {
    FORWARD(replay_check_model(model, sweep->grid.model, "replay", problem));
    sweep->grid.program = model->command;
    return digest_model(model, &sweep->grid.digest);
}

// --- runs

static bool is_ready(const struct sweep *sweep, const struct sweep_point *point) {
    return point->killed || point->failed || point->runs == SWEEP_MOST_RUNS || sweep_is_precise(sweep, point);
}

static size_t count_ready(const struct sweep *sweep) {
    size_t ready = 0;
    for (size_t i = 0; i < sweep->points; i++) ready += is_ready(sweep, &sweep->point[i]);
    return ready;
}

static int take_phases(struct sweep *sweep, const struct run_result *result) {
    if (sweep->phase || !result->phases) return 0;
    sweep->phase = malloc(result->phases * sizeof *sweep->phase);
    RETURN_IF(!sweep->phase, -ENOMEM);
    memcpy(sweep->phase, result->phase, result->phases * sizeof *sweep->phase);
    sweep->phases = result->phases;
    return 0;
}

static int take_result(struct sweep *sweep, struct sweep_point *point, const struct run_result *result) {
    if (result->killed || result->code < 0) {
        point->killed = result->killed;
        if (!result->killed) point->failed = strdup(result->why);
        return result->killed || point->failed ? 0 : -ENOMEM;
    }
    point->io[point->runs] = result->io;
    point->wall[point->runs++] = result->wall;
    if (result->working_set) point->working_set = result->working_set;
    return take_phases(sweep, result);
}

static int run_once(struct sweeping *s, struct sweep_point *point) {
    struct run_result result;
    if (s->settings->progress) s->settings->progress(&(struct sweep_progress){s->sweep, point, count_ready(s->sweep)});
    FORWARD(run_point(s, point, &result));
    return take_result(s->sweep, point, &result);
}

static int save(const struct sweeping *s) {
    if (!s->settings->path) return 0;
    int code = store_write(s->sweep, s->settings->path);
    return code < 0 ? problem_code(s->problem, code, s->settings->path) : 0;
}

// Each round has a run of each point that needs one.
static int run_all(struct sweeping *s) {
    struct sweep *sweep = s->sweep;
    s->deadline = s->settings->seconds > 0 ? clock_seconds() + s->settings->seconds : 0;
    while (count_ready(sweep) < sweep->points) {
        for (size_t i = 0; i < sweep->points; i++) {
            if (is_ready(sweep, &sweep->point[i])) continue;
            int code = run_once(s, &sweep->point[i]);
            if (code == -ETIMEDOUT) {
                sweep->end = SWEEP_TIME;
                return save(s);
            }
            FORWARD(code);
            FORWARD(save(s));
        }
    }
    sweep->end = SWEEP_PRECISE;
    for (size_t i = 0; i < sweep->points; i++) {
        const struct sweep_point *point = &sweep->point[i];
        if (point->runs == SWEEP_MOST_RUNS && !sweep_is_precise(sweep, point)) sweep->end = SWEEP_MOST;
    }
    return save(s);
}

int sweep_run(struct sweep *sweep, const struct sweep_settings *settings, struct problem *problem) {
    struct sweeping s = {.sweep = sweep, .settings = settings, .problem = problem};
    sigset_t before;
    FORWARD(grid_make_points(sweep));
    FORWARD(settings->model ? check_model(sweep, settings->model, problem) : check_words(sweep, problem));
    FORWARD(look_at_targets(&sweep->grid, problem));
    if (settings->path && !settings->anew) FORWARD(store_read(sweep, settings->path, problem));
    int code = memory_begin(&s.limits, &sweep->grid, problem);
    run_hold_signals(&before);
    if (code == 0) code = run_all(&s);
    memory_end(&s.limits);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return code;
}

void sweep_free(struct sweep *sweep) { grid_free(sweep); }
