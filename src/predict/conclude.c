// From runs and profiles to predictions: one function a method, the same statistics for all.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "predict/analytic.h"
#include "predict/runs.h"
#include "predict/statistics.h"

// By how much a method may be wrong whatever was measured, as a fraction of the time: see doc/accuracy.md.
static const double systematic[METHOD_COUNT] = {0.05, 0.25, 0.25, 0.25};
static const double NOISE_LIMIT = 0.10;

// Seconds of all transfers of a class in one phase, if one request takes a process so long.
static double class_seconds(const struct io_class *class, double request)
{
    return request * (double)class->bytes / ((double)class->size * class->np);
}

// --- what one run says of a phase

static double benchmarks_say(const struct predicting *p, const double *request, uint32_t family)
{
    double sum = 0;
    for (size_t i = 0; i < p->classes; i++) {
        if (p->class[i].family == family) sum += class_seconds(&p->class[i].io, request[i]);
    }
    return sum;
}

static double profile_says(const struct predicting *p, const struct system *system, uint32_t family)
{
    double sum = 0;
    for (size_t i = 0; i < p->classes; i++) {
        struct estimate estimate;
        if (p->class[i].family == family && !analytic_estimate(system, &p->class[i].io, &estimate)) {
            sum += estimate.seconds.middle;
        }
    }
    return sum;
}

// Of benchmarks in a target's run, or of its profile.
static double target_says(const struct predicting *p, const struct predict_target *target, enum predict_method method,
                          unsigned run, uint32_t family)
{
    if (!target->is_directory) return profile_says(p, &target->system, family);
    return benchmarks_say(p, target->request[method] + (size_t)run * p->classes, family);
}

static double phase_seconds(const struct predicting *p, const struct predict_target *target, enum predict_method method,
                            unsigned run, size_t phase)
{
    const struct model_phase *of = &p->model->phase[p->first + phase];
    if (method == METHOD_REPLAY) return target->run[method][(size_t)run * p->phases + phase];
    double here = target_says(p, target, method, run, of->family);
    if (method != METHOD_MESWANI) return here;
    unsigned reference_runs = p->reference->runs[method];
    double there = target_says(p, p->reference, method, reference_runs ? run % reference_runs : 0, of->family);
    return there > 0 ? here / there * (double)of->duration_ns / 1e9 : 0;
}

// --- what can be predicted

// Times are those of transfers; benchmarks and profiles also need bytes that these move.
static bool has_transfers(const struct predicting *p, enum predict_method method, size_t phase)
{
    uint32_t family = p->model->phase[p->first + phase].family;
    if (method == METHOD_REPLAY) return p->model->family[family].parts;
    for (size_t i = 0; i < p->classes; i++) {
        if (p->class[i].family == family) return true;
    }
    return false;
}

// --- points used

static void add_point(FILE *out, const struct system_point *point, bool *some)
{
    char text[128];
    if (!point) return;
    analytic_point_text(point, text);
    fprintf(out, "%s%s", *some ? "; " : "", text);
    *some = true;
}

// Which points the phase's time is from, and its interval.
static int analytic_phase(const struct predicting *p, const struct system *system, uint32_t family,
                          struct predicted_phase *phase)
{
    size_t length = 0;
    FILE *out = open_memstream(&phase->points, &length);
    bool some = false;
    RETURN_IF(!out, -ENOMEM);
    phase->seconds = (struct interval){0};
    for (size_t i = 0; i < p->classes; i++) {
        struct estimate estimate;
        if (p->class[i].family != family || analytic_estimate(system, &p->class[i].io, &estimate) < 0) continue;
        add_point(out, estimate.below, &some);
        if (estimate.above != estimate.below) add_point(out, estimate.above, &some);
        add_point(out, estimate.rested, &some);
        if (estimate.extrapolated) fprintf(out, " (%s)", estimate.reason);
        phase->extrapolated |= estimate.extrapolated;
        phase->seconds.middle += estimate.seconds.middle;
        phase->seconds.low += estimate.seconds.low;
        phase->seconds.high += estimate.seconds.high;
    }
    double common = systematic[METHOD_ANALYTIC] * phase->seconds.middle;
    phase->seconds.low = fmax(phase->seconds.low - common, 0);
    phase->seconds.high += common;
    return fclose(out) ? -ENOMEM : 0;
}

// --- a target

static int say_reason(struct predicted_target *to, const char *format, double number)
{
    return asprintf(&to->reason, format, number) < 0 ? -ENOMEM : 0;
}

static int conclude_runs(const struct predicting *p, const struct predict_target *target, enum predict_method method,
                         struct predicted_target *to)
{
    unsigned runs = target->runs[method] ? target->runs[method] : 1;
    double *value = malloc(runs * sizeof *value), *total = calloc(runs, sizeof *total);
    int code = value && total ? 0 : -ENOMEM;
    for (size_t i = 0; i < p->phases && !code; i++) {
        for (unsigned run = 0; run < runs; run++) {
            value[run] = phase_seconds(p, target, method, run, i);
            total[run] += value[run];
        }
        to->phase[i].seconds = statistics_next(value, runs, systematic[method]);
    }
    if (!code) {
        to->variation = statistics_variation(total, runs);
        to->total = statistics_next(total, runs, systematic[method]);
        to->predictable = to->variation <= NOISE_LIMIT;
        if (!to->predictable) code = say_reason(to, "the runs vary by %.0f %%", 100 * to->variation);
        if (to->runs == 1) code = say_reason(to, "of %.0f run: how much runs vary is not known", 1);
    }
    free(value);
    free(total);
    return code;
}

static int conclude_profile(const struct predicting *p, const struct predict_target *target,
                            struct predicted_target *to)
{
    size_t extrapolated = 0;
    for (size_t i = 0; i < p->phases; i++) {
        if (!to->phase[i].predicted) continue;
        FORWARD(analytic_phase(p, &target->system, p->model->phase[p->first + i].family, &to->phase[i]));
        to->total.middle += to->phase[i].seconds.middle;
        to->total.low += to->phase[i].seconds.low;
        to->total.high += to->phase[i].seconds.high;
        extrapolated += to->phase[i].extrapolated;
    }
    to->predictable = true;
    const char *format = extrapolated == 1 ? "%.0f phase is like no point of the profile"
                                           : "%.0f phases are like no point of the profile";
    return extrapolated ? say_reason(to, format, (double)extrapolated) : 0;
}

static int conclude(const struct predicting *p, const struct predict_target *target, enum predict_method method,
                    struct predicted_target *to)
{
    to->name = strdup(target->name);
    to->method = strdup(predict_method_names[method]);
    to->phase = calloc(p->phases + 1, sizeof *to->phase);
    RETURN_IF(!to->name || !to->method || !to->phase, -ENOMEM);
    to->phases = p->phases;
    size_t predicted = 0;
    for (size_t i = 0; i < p->phases; i++) {
        to->phase[i] = (struct predicted_phase){.id = p->first + i + 1, .predicted = has_transfers(p, method, i)};
        predicted += to->phase[i].predicted;
    }
    to->runs = target->runs[method];
    if (!predicted) {
        to->reason = strdup("no transfers: not predicted");
        return to->reason ? 0 : -ENOMEM;
    }
    return method == METHOD_ANALYTIC ? conclude_profile(p, target, to) : conclude_runs(p, target, method, to);
}

// A directory has no profile for the analytic method, and a profile nothing to replay on.
static bool applies(const struct predicting *p, const struct predict_target *target, enum predict_method method)
{
    if (!p->method[method]) return false;
    if (method == METHOD_REPLAY) return target->is_directory;
    if (method == METHOD_ANALYTIC) return !target->is_directory;
    return method != METHOD_MESWANI || p->reference;
}

int predict_conclude(const struct predicting *p, struct prediction *prediction)
{
    *prediction = (struct prediction){.target = calloc(p->targets * METHOD_COUNT + 1, sizeof *prediction->target)};
    RETURN_IF(!prediction->target, -ENOMEM);
    for (size_t i = 0; i < p->phases && p->np == p->model->program[p->program].np; i++) {
        prediction->recorded += (double)p->model->phase[p->first + i].duration_ns / 1e9;
    }
    const char *executable = p->model->program[p->program].name;
    if (p->model->command) prediction->program = strdup(p->model->command);
    if (executable) prediction->executable = strdup(executable);
    prediction->programs = p->model->programs;
    for (size_t i = 0; i < p->targets; i++) {
        for (unsigned method = 0; method < METHOD_COUNT; method++) {
            if (!applies(p, &p->target[i], method)) continue;
            FORWARD(conclude(p, &p->target[i], method, &prediction->target[prediction->targets++]));
        }
    }
    return 0;
}
