#include "predict/runs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "cli/verb.h"
#include "measure/benchmark.h"

enum { MESWANI_REQUESTS = 64 }; // of a process: a benchmark of single calls needs no more

const char *const predict_method_names[METHOD_COUNT] = {"replay", "analytic", "mendez", "meswani"};

// --- classes

int predict_find_classes(struct predicting *p, const struct model *model)
{
    for (uint32_t family = 0; family < model->families; family++) {
        struct io_classes classes;
        if (model->family[family].program != p->program) continue;
        int code = classes_of_family(model, &model->family[family], &classes);
        for (size_t i = 0; i < classes.count && !code; i++) {
            code = array_room(p->class, p->classes);
            if (!code) p->class[p->classes++] = (struct predict_class){.io = classes.item[i], .family = family};
        }
        free(classes.item);
        if (code < 0) return cli_fail("predict", "memory", code);
    }
    return STATUS_OK;
}

// --- running

static int fail(const struct predict_target *target, const struct replay_place *place, int code)
{
    if (code == -EINTR) return 128 + place->signal;
    if (code == ERR_NOTHING && place->error) {
        replay_print_error("predict", place->error);
        return STATUS_FAILURE;
    }
    return cli_fail("predict", target->name, code);
}

static int run_once(const struct predicting *p, const struct predict_target *target, const struct model *model,
                    uint32_t program, uint32_t np, bool think, struct replay_result *result)
{
    struct replay_place place = {0};
    struct replay_settings settings = {.target = target->name,
                                       .launcher = p->launcher,
                                       .cache = p->cache,
                                       .program = program,
                                       .np = np,
                                       .think = think};
    int code = replay_place_make(&place, &settings, model);
    if (!code) code = replay_run(&place, &settings, model, false, result);
    int status = code < 0 ? fail(target, &place, code) : STATUS_OK;
    if (!code && result->failed) {
        fprintf(stderr, "ioseer predict: %s: %s\n", target->name, result->first_failure);
        status = STATUS_FAILURE;
    }
    replay_place_remove(&place, false);
    return status;
}

static int run_replay(struct predicting *p, struct predict_target *target)
{
    struct replay_result result = {0};
    int status = run_once(p, target, p->model, p->program, p->np, true, &result);
    double *to = target->run[METHOD_REPLAY] + (size_t)target->runs[METHOD_REPLAY] * p->phases;
    for (size_t i = 0; i < p->phases && status == STATUS_OK; i++) to[i] = result.phase[p->first + i].time;
    target->runs[METHOD_REPLAY] += status == STATUS_OK;
    free(result.phase);
    return status;
}

// Requests of one process that a benchmark makes of a class: as IOR all of them in one block, or a few.
static uint64_t requests_of(const struct io_class *class, enum predict_method method)
{
    uint64_t all = class->bytes / class->size / class->np;
    if (method == METHOD_MESWANI && all > MESWANI_REQUESTS) all = MESWANI_REQUESTS;
    return all ? all : 1;
}

// Benchmarks of the classes with this number of processes, in the order of classes; returns how many.
static size_t list_benchmarks(const struct predicting *p, enum predict_method method, uint32_t np,
                              struct benchmark *benchmark)
{
    size_t count = 0;
    for (size_t i = 0; i < p->classes; i++) {
        const struct io_class *class = &p->class[i].io;
        if (class->np != np) continue;
        benchmark[count++] = (struct benchmark){.size = class->size,
                                                .count = requests_of(class, method),
                                                .shared = class->shared,
                                                .mpiio = class->mpiio,
                                                .collective = class->collective && class->shared};
    }
    return count;
}

// Runs the benchmarks of all classes with this number of processes; request[i] is what one request of class i took.
static int run_benchmarks(struct predicting *p, struct predict_target *target, enum predict_method method, uint32_t np,
                          struct benchmark *benchmark, double *request)
{
    struct model model;
    struct replay_result result = {0};
    size_t count = list_benchmarks(p, method, np, benchmark), at = 0;
    bool is_mpi = p->model->program[p->program].is_mpi;
    int code = benchmark_model(&model, benchmark, count, np, is_mpi);
    if (code < 0) return cli_fail("predict", "benchmark", code);
    model.mpi = p->model->mpi;
    int status = run_once(p, target, &model, 0, np, false, &result);
    for (size_t i = 0; i < p->classes && status == STATUS_OK; i++) {
        if (p->class[i].io.np != np) continue;
        request[i] = result.phase[2 * at + !p->class[i].io.write].time / (double)benchmark[at].count;
        at++;
    }
    free(result.phase);
    model_free(&model);
    return status;
}

static bool is_first_of_np(const struct predicting *p, size_t class)
{
    for (size_t i = 0; i < class; i++) {
        if (p->class[i].io.np == p->class[class].io.np) return false;
    }
    return true;
}

static int run_method(struct predicting *p, struct predict_target *target, enum predict_method method)
{
    if (method == METHOD_REPLAY) return run_replay(p, target);
    struct benchmark *benchmark = malloc((p->classes + 1) * sizeof *benchmark);
    if (!benchmark) return cli_fail("predict", "memory", -ENOMEM);
    double *request = target->request[method] + (size_t)target->runs[method] * p->classes;
    int status = STATUS_OK;
    for (size_t i = 0; i < p->classes && status == STATUS_OK; i++) {
        if (is_first_of_np(p, i)) status = run_benchmarks(p, target, method, p->class[i].io.np, benchmark, request);
    }
    target->runs[method] += status == STATUS_OK;
    free(benchmark);
    return status;
}

static bool runs_something(const struct predicting *p, const struct predict_target *target, enum predict_method method)
{
    if (!target->is_directory || method == METHOD_ANALYTIC || !p->method[method]) return false;
    return target != p->reference || method == METHOD_MESWANI;
}

static int make_room(const struct predicting *p, struct predict_target *target)
{
    for (unsigned method = 0; method < METHOD_COUNT; method++) {
        target->run[method] = calloc(p->repeat * p->phases + 1, sizeof *target->run[method]);
        target->request[method] = calloc(p->repeat * p->classes + 1, sizeof *target->request[method]);
        RETURN_IF(!target->run[method] || !target->request[method], -ENOMEM);
    }
    return 0;
}

static int run_target(struct predicting *p, struct predict_target *target, unsigned round)
{
    int status = STATUS_OK;
    for (unsigned method = 0; method < METHOD_COUNT && status == STATUS_OK; method++) {
        if (!runs_something(p, target, method)) continue;
        if (p->progress) {
            fprintf(stderr, "\r\033[Kpredict: run %u of %u on %s (%s)", round + 1, p->repeat, target->name,
                    predict_method_names[method]);
        }
        status = run_method(p, target, method);
    }
    return status;
}

int predict_run_all(struct predicting *p)
{
    int code = p->reference ? make_room(p, p->reference) : 0;
    for (size_t i = 0; i < p->targets && !code; i++) code = make_room(p, &p->target[i]);
    if (code < 0) return cli_fail("predict", "memory", code);
    int status = STATUS_OK;
    for (unsigned round = 0; round < p->repeat && status == STATUS_OK; round++) {
        for (size_t i = 0; i < p->targets && status == STATUS_OK; i++) status = run_target(p, &p->target[i], round);
        if (p->reference && status == STATUS_OK) status = run_target(p, p->reference, round);
    }
    if (p->progress) fputs("\r\033[K", stderr);
    return status;
}

void predict_free(struct predicting *p)
{
    for (size_t i = 0; i <= p->targets; i++) {
        struct predict_target *target = i < p->targets ? &p->target[i] : p->reference;
        if (!target) continue;
        for (unsigned method = 0; method < METHOD_COUNT; method++) {
            free(target->run[method]);
            free(target->request[method]);
        }
        system_free(&target->system);
    }
    free(p->target);
    free(p->class);
}
