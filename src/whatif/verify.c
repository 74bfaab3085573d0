// Verifying: the runner does options on the target, in turns, and their medians stand beside what was calculated.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scoped.h"
#include "replay/replay.h"
#include "whatif/private.h"

enum { BEST_OPTIONS = 2 }; // that are replayed besides the basic ones
// A basic way that would take so many times as long as the best one, and so many seconds, is not replayed.
#define SLOW_TIMES 10
#define SLOW_SECONDS 10.0

// Those that were asked for are replayed in any case.
static int drop_slow(const struct asking *a, struct whatif_target *target, bool *chosen) {
    double best = target->option[target->best].total.middle;
    for (size_t i = 1; i < target->options && !a->settings->variants; i++) {
        struct whatif_option *option = &target->option[i];
        double times = option->total.middle / fmax(best, 1e-9);
        if (!chosen[i] || option->total.middle < SLOW_SECONDS || times < SLOW_TIMES) continue;
        chosen[i] = false;
        RETURN_IF(asprintf(&option->reason, "not replayed: %.0f times as long as the best", times) < 0, -ENOMEM);
    }
    return 0;
}

static void choose(const struct whatif_target *target, bool *chosen) {
    for (size_t i = 0; i < target->options; i++) {
        struct variant basic = {.interface = target->option[i].variant.interface};
        chosen[i] = !memcmp(&basic, &target->option[i].variant, sizeof basic);
    }
    for (unsigned n = 0; n < BEST_OPTIONS; n++) {
        size_t best = SIZE_MAX;
        for (size_t i = 0; i < target->options; i++) {
            const struct whatif_option *option = &target->option[i];
            bool is_better = best == SIZE_MAX || option->total.middle < target->option[best].total.middle;
            if (!chosen[i] && is_better) best = i;
        }
        if (best != SIZE_MAX) chosen[best] = true;
    }
    if (target->options) chosen[target->best] = true;
}

// Seconds of all transfers of the program.
static int replay(const struct asking *a, const struct whatif_target *target, const struct whatif_option *option,
                  double *seconds, struct problem *problem) {
    const struct model_program *program = &a->model->program[a->result->program];
    struct replay_result result = {0};
    struct replay_settings settings = {.target = target->name,
                                       .launcher = a->settings->launcher,
                                       .stall = a->settings->stall,
                                       .job = {.program = a->result->program,
                                               .np = option->variant.np ? option->variant.np : a->result->np,
                                               .variant = strcmp(option->name, "as-recorded") ? option->name : NULL,
                                               .cache = a->settings->cache,
                                               .think = true}};
    int code = replay_once(&settings, a->model, &result, problem);
    *seconds = 0;
    for (size_t i = program->first; i < program->end && !code; i++) *seconds += result.phase[i].time;
    free(result.phase);
    return code;
}

static void tell(const struct asking *a, const struct whatif_target *target, const struct whatif_option *option,
                 unsigned run) {
    struct whatif_progress now = {.target = target->name,
                                  .step = WHATIF_REPLAYS,
                                  .run = run + 1,
                                  .runs = a->settings->runs,
                                  .option = option->name};
    if (a->settings->progress) a->settings->progress(&now);
}

// An option that cannot be replayed says why; the others go on. A signal ends everything.
static int replay_option(const struct asking *a, struct whatif_target *target, size_t place, unsigned run,
                         double *seconds) {
    struct whatif_option *option = &target->option[place];
    struct problem problem = {0};
    tell(a, target, option, run);
    int code = replay(a, target, option, seconds, &problem);
    if (!code) option->runs++;
    if (code == -EINTR) *a->problem = problem;
    if (code >= 0 || code == -EINTR) return code < 0 ? code : 0;
    if (asprintf(&option->reason, "%s", problem.why[0] ? problem.why : err_text(code)) < 0) option->reason = NULL;
    return option->reason ? 0 : -ENOMEM;
}

int verify_target(const struct asking *a, struct whatif_target *target) {
    unsigned runs = a->settings->runs;
    SCOPED_FREE bool *chosen = calloc(target->options + 1, sizeof *chosen);
    SCOPED_FREE double *seconds = calloc(target->options * runs + 1, sizeof *seconds);
    RETURN_IF(!chosen || !seconds, -ENOMEM);
    choose(target, chosen);
    FORWARD(drop_slow(a, target, chosen));
    for (unsigned run = 0; run < runs; run++) {
        for (size_t i = 0; i < target->options; i++) {
            if (chosen[i] && !target->option[i].reason)
                FORWARD(replay_option(a, target, i, run, &seconds[i * runs + run]));
        }
    }
    for (size_t i = 0; i < target->options; i++) {
        struct whatif_option *option = &target->option[i];
        option->verified = chosen[i] && option->runs == runs && !option->reason;
        if (option->verified) option->measured = statistics_median(&seconds[i * runs], runs);
    }
    return 0;
}
