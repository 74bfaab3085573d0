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

#include "base/err.h"
#include "measure/statistics.h"
#include "model/file/read.h"
#include "model/file/write.h"
#include "model/model.h"
#include "predict/analytic.h"
#include "predict/predictor.h"

static const struct predictor *const predictors[PREDICTOR_COUNT] = {&predict_replay, &predict_analytic, &predict_mendez,
                                                                    &predict_meswani};
static const double NOISE_LIMIT = 0.10; // of the runs' variation: above it a target is not predictable

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

int predictor_run_model(const struct predicting *p, const struct predict_target *target, const struct model *model,
                        struct replay_job job, struct replay_result *result) {
    struct replay_settings settings = {
        .target = target->name, .launcher = p->settings->launcher, .stall = p->settings->stall, .job = job};
    settings.job.cache = p->settings->cache;
    return replay_once(&settings, model, result, p->problem);
}

static int run_target(const struct predicting *p, struct predict_target *target, unsigned round) {
    for (unsigned i = 0; i < PREDICTOR_COUNT; i++) {
        const struct predictor *predictor = predictors[i];
        if (!p->method[i] || !target->is_directory || !predictor->run) continue;
        if (target == p->reference && !predictor->needs_reference) continue;
        if (!target->value[i]) target->value[i] = calloc(p->settings->repeat * p->values + 1, sizeof(double));
        RETURN_IF(!target->value[i], -ENOMEM);
        if (p->settings->progress) p->settings->progress(round + 1, target->name, predictor->name);
        FORWARD(predictor->run(predictor, p, target, target->value[i] + (size_t)target->runs[i] * p->values));
        target->runs[i]++;
    }
    return 0;
}

static int run_all(struct predicting *p) {
    size_t targets = p->targets + (p->reference != NULL); // the reference is the last
    p->values = p->phases > p->classes.count ? p->phases : p->classes.count;
    for (unsigned round = 0; round < p->settings->repeat; round++) {
        for (size_t i = 0; i < targets; i++) FORWARD(run_target(p, &p->target[i], round));
    }
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

static struct predict_run run_of(const struct predicting *p, const struct predict_target *target, unsigned method,
                                 unsigned run) {
    if (!target || !target->runs[method]) return (struct predict_run){target, NULL};
    return (struct predict_run){target, target->value[method] + run % target->runs[method] * p->values};
}

static int conclude_runs(const struct predicting *p, const struct predict_target *target, unsigned method,
                         struct predicted_target *to) {
    const struct predictor *predictor = predictors[method];
    unsigned runs = target->runs[method] ? target->runs[method] : 1;
    double *value = malloc(runs * sizeof *value), *total = calloc(runs, sizeof *total);
    int code = value && total ? 0 : -ENOMEM;
    for (size_t i = 0; i < p->phases && !code; i++) {
        for (unsigned run = 0; run < runs; run++) {
            value[run] =
                predictor->phase_seconds(p, run_of(p, target, method, run), run_of(p, p->reference, method, run), i);
            total[run] += value[run];
        }
        to->phase[i].seconds = statistics_next(value, runs, predictor->systematic);
    }
    if (!code) {
        to->variation = statistics_variation(total, runs);
        to->total = statistics_next(total, runs, predictor->systematic);
        to->predictable = to->variation <= NOISE_LIMIT;
        if (!to->predictable) code = predictor_reason(to, "the runs vary by %.0f %%", 100 * to->variation);
        if (to->runs == 1) code = predictor_reason(to, "only 1 run: the variation is not known");
    }
    free(value);
    free(total);
    return code;
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
    FORWARD(run_all(p));
    return conclude_all(p, prediction);
}

int predict(const struct model *model, const char *name, const struct predict_settings *settings,
            struct prediction *prediction, struct problem *problem) {
    *prediction = (struct prediction){0};
    FORWARD(replay_check_model(model, name, "predict", problem));
    uint32_t program = replay_main_program(model);
    struct predicting p = {.settings = settings,
                           .problem = problem,
                           .model = model,
                           .program = program,
                           .first = model->program[program].first,
                           .np = settings->np ? settings->np : model->program[program].np};
    p.phases = model->program[program].end - p.first;
    int code = predict_all(&p, name, prediction);
    free_targets(&p);
    return code < 0 ? problem_code(problem, code, "memory") : 0;
}
