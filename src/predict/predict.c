// The same for all methods: targets, rounds of runs, and statistics over them.
#include "predict/predict.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scoped.h"
#include "measure/statistics.h"
#include "model/file/read.h"
#include "model/file/write.h"
#include "model/model.h"
#include "predict/analytic.h"
#include "predict/predictor.h"
#include "predict/sample.h"

static const struct predictor *const predictors[PREDICTOR_COUNT] = {&predict_replay, &predict_analytic, &predict_mendez,
                                                                    &predict_meswani};
static const double NOISE_LIMIT = 0.10; // of the runs' variation: above it a target is not predictable
static const double NORMAL_95 = 1.96;   // standard deviations of 95 % of a normal distribution

// --- methods

static int choose_methods(struct predicting *p) {
    const char *methods = p->settings->methods;
    for (unsigned i = 0; i < PREDICTOR_COUNT && !methods; i++) p->method[i] = predictors[i]->is_default;
    for (const char *at = methods; at && *at;) {
        size_t length = strcspn(at, ","), i = 0;
        while (i < PREDICTOR_COUNT &&
               (strlen(predictors[i]->name) != length || strncmp(predictors[i]->name, at, length)))
            i++;
        if (i == PREDICTOR_COUNT) return problem_set(p->problem, ERR_USAGE, at, "no such method");
        if (predictors[i]->needs_reference && !p->settings->reference)
            return problem_set(p->problem, ERR_USAGE, predictors[i]->name,
                               "needs --reference, where the program was recorded");
        p->method[i] = true;
        at += length + (at[length] == ',');
    }
    for (unsigned i = 0; i < PREDICTOR_COUNT; i++) {
        if (p->method[i] && predictors[i]->needs_reference && p->np != p->model->program[p->program].np)
            return problem_set(p->problem, ERR_USAGE, "--np", "%s is for the recorded number of processes",
                               predictors[i]->name);
    }
    return 0;
}

static bool is_for(const struct predictor *predictor, const struct predict_target *target) {
    return target->is_directory ? predictor->run != NULL : predictor->for_profiles;
}

// Whether the methods have what they need: profiles have points for each class of transfers, and the model has a
// recorded time if a method needs it.
static int check_methods(const struct predicting *p, const char *name) {
    double recorded = 0;
    for (size_t i = 0; i <= p->targets; i++) {
        const struct predict_target *target = i < p->targets ? &p->target[i] : p->reference;
        struct estimate estimate;
        for (size_t k = 0; target && !target->is_directory && k < p->classes.count; k++) {
            if (analytic_estimate(&target->system, &p->classes.item[k], &estimate) == 0) continue;
            return problem_set(p->problem, ERR_NOTHING, target->name, "it has no points of %s",
                               p->classes.item[k].write ? "writing" : "reading");
        }
    }
    for (size_t i = 0; i < p->phases; i++) recorded += (double)p->model->phase[p->first + i].duration_ns;
    for (unsigned i = 0; i < PREDICTOR_COUNT; i++) {
        if (p->method[i] && predictors[i]->needs_reference && recorded <= 0)
            return problem_set(p->problem, ERR_NOTHING, name, "it has no recorded times, which %s needs",
                               predictors[i]->name);
    }
    return 0;
}

// --- targets

static int open_profile(struct predict_target *target, const char *path, struct problem *problem) {
    struct json_in_error error = {0};
    target->name = path;
    int code = system_read(&target->system, path, &error);
    if (code < 0) return problem_json(problem, code, path, &error);
    return target->system.points ? 0 : problem_code(problem, ERR_NOTHING, path);
}

static bool is_directory(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static int open_directory(struct predict_target *target, const char *path, struct problem *problem) {
    *target = (struct predict_target){.name = path, .is_directory = true};
    if (access(path, W_OK) < 0) return problem_code(problem, -errno, path);
    return is_directory(path) ? 0 : problem_code(problem, -ENOTDIR, path);
}

static int open_targets(struct predicting *p) {
    const struct predict_settings *settings = p->settings;
    size_t count = settings->directories + settings->profiles;
    p->target = calloc(count + 1, sizeof *p->target);
    RETURN_IF(!p->target, -ENOMEM);
    for (size_t i = 0; i < settings->directories; i++)
        FORWARD(open_directory(&p->target[p->targets++], settings->directory[i], p->problem));
    for (size_t i = 0; i < settings->profiles; i++)
        FORWARD(open_profile(&p->target[p->targets++], settings->profile[i], p->problem));
    if (!settings->reference) return 0;
    p->reference = &p->target[count];
    return is_directory(settings->reference) ? open_directory(p->reference, settings->reference, p->problem)
                                             : open_profile(p->reference, settings->reference, p->problem);
}

static void free_targets(struct predicting *p) {
    for (size_t i = 0; i < p->targets + (p->reference != NULL); i++) {
        for (unsigned k = 0; k < PREDICTOR_COUNT; k++) free(p->target[i].value[k]);
        sample_free(p->target[i].sample);
        system_free(&p->target[i].system);
    }
    free(p->target);
    free(p->classes.item);
    free(p->classes.name);
}

// --- classes of transfers

static int copy_model(const struct model *model, struct model *copy) {
    struct json_in_error error;
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    RETURN_IF(!out, -ENOMEM);
    int code = model_write(model, out);
    if (fclose(out) && !code) code = -ENOMEM;
    if (!code) code = model_parse(copy, text, length, &error);
    free(text);
    return code;
}

// For another number of processes, the classes come from a scaled copy: the runner scales the model itself.
static int find_classes(struct predicting *p) {
    struct model scaled;
    if (p->np == p->model->program[p->program].np) return classes_of_program(p->model, p->program, &p->classes);
    FORWARD(copy_model(p->model, &scaled));
    int code = model_scale(&scaled, p->program, p->np);
    if (code < 0)
        problem_code(p->problem, code, "--np");
    else
        code = classes_of_program(&scaled, p->program, &p->classes);
    model_free(&scaled);
    return code;
}

// --- runs

// Who looks on, and what the run that is under way began with.
struct predict_watch {
    const struct predicting *p;
    struct predict_progress now;
    const struct predict_target *target;
    double since; // the round on the target began; 0: none has
};

// Seconds from the first phase to the end of the last, as recorded; 0: not known.
static double recorded_span(const struct predicting *p) {
    int64_t first = INT64_MAX, last = 0;
    for (size_t i = 0; i < p->phases; i++) {
        const struct model_phase *phase = &p->model->phase[p->first + i];
        if (phase->start_ns < first) first = phase->start_ns;
        if (phase->start_ns + phase->span_ns > last) last = phase->start_ns + phase->span_ns;
    }
    return p->phases ? (double)(last - first) / 1e9 : 0;
}

// A target on which nothing ran yet takes as long as the program did.
static double most_left(const struct predict_watch *watch) {
    const struct predicting *p = watch->p;
    double left = 0;
    for (size_t i = 0; i < p->targets + (p->reference != NULL); i++) {
        const struct predict_target *target = &p->target[i];
        if (!target->is_directory) continue;
        double each = target->rounds ? target->seconds / target->rounds : recorded_span(p);
        left += each * (p->settings->most_runs - target->rounds);
    }
    double run = watch->since > 0 ? clock_seconds() - watch->since : 0;
    return left > run ? left - run : 0;
}

static void tell_progress(size_t run, unsigned phase, size_t phases, void *context) {
    struct predict_watch *watch = context;
    (void)run;
    watch->now.phase = phase;
    watch->now.phases = phases;
    watch->now.most_left = most_left(watch);
    watch->p->settings->progress(&watch->now);
}

int predictor_run_model(const struct predicting *p, const struct predict_target *target, const struct model *model,
                        struct replay_job job, struct replay_result *result) {
    struct replay_settings settings = {.target = target->name,
                                       .launcher = p->settings->launcher,
                                       .stall = p->settings->stall,
                                       .job = job,
                                       .progress = p->settings->progress ? tell_progress : NULL,
                                       .context = p->watch};
    settings.job.cache = p->settings->cache;
    return replay_once(&settings, model, result, p->problem);
}

static bool ends_itself(const struct predict_settings *settings) { return settings->least_runs < settings->most_runs; }

static int make_room(const struct predicting *p, struct predict_target *target, unsigned method) {
    if (!target->value[method]) target->value[method] = calloc(p->settings->most_runs * p->values + 1, sizeof(double));
    if (!target->sample && ends_itself(p->settings)) target->sample = calloc(1, sizeof *target->sample);
    return target->value[method] && (target->sample || !ends_itself(p->settings)) ? 0 : -ENOMEM;
}

// One run of each method.
static int run_target(const struct predicting *p, struct predict_target *target) {
    double since = p->watch->since = clock_seconds();
    if (!target->is_directory) return 0;
    for (unsigned i = 0; i < PREDICTOR_COUNT; i++) {
        const struct predictor *predictor = predictors[i];
        if (!p->method[i] || !predictor->run) continue;
        if (target == p->reference && !predictor->needs_reference) continue;
        FORWARD(make_room(p, target, i));
        p->watch->now =
            (struct predict_progress){.target = target->name, .method = predictor->name, .run = target->runs[i] + 1};
        if (p->settings->progress) tell_progress(0, 0, p->phases, p->watch);
        FORWARD(predictor->run(predictor, p, target, target->value[i] + (size_t)target->runs[i] * p->values));
        target->runs[i]++;
    }
    target->seconds += clock_seconds() - since;
    target->rounds++;
    return 0;
}

static struct predict_run run_of(const struct predicting *p, const struct predict_target *target, unsigned method,
                                 unsigned run) {
    if (!target || !target->runs[method]) return (struct predict_run){target, NULL};
    return (struct predict_run){target, target->value[method] + run % target->runs[method] * p->values};
}

static double seconds_of(const struct predicting *p, const struct predict_target *target, unsigned method, unsigned run,
                         size_t phase) {
    return predictors[method]->phase_seconds(p, run_of(p, target, method, run), run_of(p, p->reference, method, run),
                                             phase);
}

static bool is_precise(const struct predicting *p, const struct predict_target *target) {
    for (unsigned method = 0; method < PREDICTOR_COUNT; method++) {
        double total[REPLAY_MOST_RUNS] = {0};
        unsigned runs = target->runs[method];
        for (size_t i = 0; i < p->phases * runs; i++)
            total[i / p->phases] += seconds_of(p, target, method, (unsigned)(i / p->phases), i % p->phases);
        if (runs && !(statistics_uncertainty(total, runs) <= p->settings->precision)) return false;
    }
    return true;
}

static int conclude_all(const struct predicting *p, struct prediction *prediction);

// Whether one target is the fastest for sure.
static int tell_apart(const struct predicting *p, bool *apart) {
    struct prediction so_far = {0};
    int code = conclude_all(p, &so_far);
    *apart = !code && prediction_best(&so_far);
    prediction_free(&so_far);
    return code;
}

static int run_round(struct predicting *p, unsigned round, bool *precise) {
    *precise = round >= p->settings->least_runs;
    for (size_t i = 0; i < p->targets; i++) {
        if (round >= p->settings->least_runs && is_precise(p, &p->target[i])) continue;
        *precise = false;
        FORWARD(run_target(p, &p->target[i]));
    }
    return p->reference && !*precise ? run_target(p, p->reference) : 0;
}

static int run_all(struct predicting *p, enum predict_end *end) {
    const struct predict_settings *settings = p->settings;
    bool precise = false, apart = false;
    p->values = p->phases > p->classes.count ? p->phases : p->classes.count;
    for (unsigned round = 0; round < settings->most_runs && !precise && !apart; round++) {
        FORWARD(run_round(p, round, &precise));
        if (ends_itself(settings) && round + 1 >= settings->least_runs) FORWARD(tell_apart(p, &apart));
    }
    if (ends_itself(settings)) *end = apart ? PREDICT_TOLD_APART : precise ? PREDICT_PRECISE : PREDICT_MOST_RUNS;
    return 0;
}

// --- conclusions

int predictor_reason(struct predicted_target *to, const char *format, ...) {
    va_list words;
    va_start(words, format);
    free(to->reason);
    int length = vasprintf(&to->reason, format, words);
    va_end(words);
    if (length < 0) to->reason = NULL;
    return length < 0 ? -ENOMEM : 0;
}

// What a single run is worth: its interval holds if other runs vary as much as those of a target may that is called
// predictable.
static double error_of_one_run(double systematic) { return hypot(systematic, NORMAL_95 * sqrt(2) * NOISE_LIMIT); }

static int give_reason(const struct predicting *p, struct predicted_target *to) {
    to->predictable = to->variation <= NOISE_LIMIT;
    if (to->runs == 1)
        return predictor_reason(to, "only 1 run: the variation is not known, the interval allows for %.0f %%",
                                100 * NOISE_LIMIT);
    if (!to->predictable) return predictor_reason(to, "the runs vary by %.0f %%", 100 * to->variation);
    bool fell_short = ends_itself(p->settings) && to->runs == p->settings->most_runs;
    if (!fell_short || to->precision <= p->settings->precision) return 0;
    return predictor_reason(to, "%u runs tell the time within %.1f %%", to->runs, 100 * to->precision);
}

static int conclude_runs(const struct predicting *p, const struct predict_target *target, unsigned method,
                         struct predicted_target *to) {
    unsigned runs = target->runs[method] ? target->runs[method] : 1;
    double systematic = predictors[method]->systematic;
    SCOPED_FREE double *value = malloc(runs * sizeof *value), *total = calloc(runs, sizeof *total);
    RETURN_IF(!value || !total, -ENOMEM);
    if (to->runs == 1) systematic = error_of_one_run(systematic);
    for (size_t i = 0; i < p->phases; i++) {
        for (unsigned run = 0; run < runs; run++) total[run] += value[run] = seconds_of(p, target, method, run, i);
        to->phase[i].seconds = statistics_next(value, runs, systematic);
    }
    to->variation = statistics_variation(total, runs);
    to->precision = statistics_uncertainty(total, runs);
    to->total = statistics_next(total, runs, systematic);
    return give_reason(p, to);
}

// How often each phase was replayed.
static void count_runs(const struct predict_target *target, struct predicted_target *to) {
    const struct predict_sample *sample = target->sample;
    bool has_sample = sample && sample->complete && sample->complete < to->runs && !strcmp(to->method, "replay");
    for (size_t i = 0; i < to->phases; i++) {
        bool left_out = has_sample && !sample->chosen[i];
        to->phase[i].runs = left_out ? sample->complete : to->runs;
        to->left_out += left_out;
    }
    if (has_sample) to->sample_error = sample->error;
}

// Whether a phase has transfers, or metadata that the method can predict.
static bool is_predicted(const struct predicting *p, const struct predictor *predictor,
                         const struct predict_target *target, size_t phase) {
    uint32_t family = predictor_family(p, phase);
    if (!predictor->needs_bytes) return p->model->family[family].parts;
    for (size_t i = 0; i < p->classes.names && predictor->with_names && target->system.metadata.np; i++) {
        if (p->classes.name[i].family == family && classes_name_rate(&target->system, p->classes.name[i].rate) > 0)
            return true;
    }
    for (size_t i = 0; i < p->classes.count; i++) {
        if (p->classes.item[i].family == family) return true;
    }
    return false;
}

static int conclude(const struct predicting *p, const struct predict_target *target, unsigned method,
                    struct predicted_target *to) {
    const struct predictor *predictor = predictors[method];
    to->name = strdup(target->name);
    to->method = strdup(predictor->name);
    to->phase = calloc(p->phases + 1, sizeof *to->phase);
    to->runs = target->runs[method];
    RETURN_IF(!to->name || !to->method || !to->phase, -ENOMEM);
    for (to->phases = 0; to->phases < p->phases; to->phases++) {
        struct predicted_phase *phase = &to->phase[to->phases];
        *phase = (struct predicted_phase){.id = p->first + to->phases + 1,
                                          .predicted = is_predicted(p, predictor, target, to->phases)};
        to->predicted |= phase->predicted;
    }
    count_runs(target, to);
    if (!to->predicted)
        return predictor_reason(to, "no transfers%s: not predicted",
                                p->classes.names ? ", and no rates of metadata" : "");
    return predictor->conclude ? predictor->conclude(p, target, to) : conclude_runs(p, target, method, to);
}

static int conclude_all(const struct predicting *p, struct prediction *prediction) {
    const struct model_program *program = &p->model->program[p->program];
    prediction->target = calloc(p->targets * PREDICTOR_COUNT + 1, sizeof *prediction->target);
    RETURN_IF(!prediction->target, -ENOMEM);
    for (size_t i = 0; i < p->phases && p->np == program->np; i++)
        prediction->recorded += (double)p->model->phase[p->first + i].duration_ns / 1e9;
    if (p->model->command) prediction->program = strdup(p->model->command);
    if (program->name) prediction->executable = strdup(program->name);
    prediction->programs = p->model->programs;
    prediction->asked = ends_itself(p->settings) ? p->settings->precision : 0;
    for (size_t i = 0; i < p->targets; i++) {
        for (unsigned method = 0; method < PREDICTOR_COUNT; method++) {
            if (!p->method[method] || !is_for(predictors[method], &p->target[i])) continue;
            FORWARD(conclude(p, &p->target[i], method, &prediction->target[prediction->targets++]));
        }
    }
    if (prediction->targets) return 0;
    return problem_set(p->problem, ERR_USAGE, "--method",
                       "fits none of the targets: replay needs --on, analytic --system");
}

static int predict_all(struct predicting *p, const char *name, struct prediction *prediction) {
    FORWARD(choose_methods(p));
    FORWARD(open_targets(p));
    FORWARD(find_classes(p));
    FORWARD(check_methods(p, name));
    FORWARD(run_all(p, &prediction->end));
    return conclude_all(p, prediction);
}

int predict(const struct model *model, const char *name, const struct predict_settings *settings,
            struct prediction *prediction, struct problem *problem) {
    *prediction = (struct prediction){0};
    FORWARD(replay_check_model(model, name, "predict", problem));
    uint32_t program = replay_main_program(model);
    struct predict_watch watch = {0};
    struct predicting p = {.watch = &watch,
                           .settings = settings,
                           .problem = problem,
                           .model = model,
                           .program = program,
                           .first = model->program[program].first,
                           .np = settings->np ? settings->np : model->program[program].np};
    p.phases = model->program[program].end - p.first;
    watch.p = &p;
    int code = predict_all(&p, name, prediction);
    free_targets(&p);
    return code < 0 ? problem_code(problem, code, "memory") : 0;
}
