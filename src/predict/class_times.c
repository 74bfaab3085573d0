#include "predict/class_times.h"

#include <errno.h>
#include <stdlib.h>

#include "measure/benchmark.h"
#include "predict/analytic.h"

// Benchmarks of the classes with this number of processes, in the order of classes. Returns how many.
static size_t list_benchmarks(const struct predicting *p, uint32_t np, uint64_t most_requests,
                              struct benchmark *benchmark) {
    size_t count = 0;
    for (size_t i = 0; i < p->classes.count; i++) {
        const struct io_class *class = &p->classes.item[i];
        if (class->np != np) continue;
        uint64_t requests = class->bytes / class->size / class->np;
        if (requests > most_requests) requests = most_requests;
        benchmark[count++] = (struct benchmark){.size = class->size,
                                                .count = requests ? requests : 1,
                                                .shared = class->shared,
                                                .mpiio = class->mpiio,
                                                .collective = class->collective && class->shared};
    }
    return count;
}

static int run_benchmarks(const struct predicting *p, const struct predict_target *target, uint32_t np,
                          const struct benchmark *benchmark, size_t count, double *value) {
    struct model model;
    struct replay_result result;
    size_t at = 0;
    int code = benchmark_model(&model, benchmark, count, np, p->model->program[p->program].is_mpi);
    if (code < 0) return problem_code(p->problem, code, "benchmark");
    model.mpi = p->model->mpi;
    code = predictor_run_model(p, target, &model, (struct replay_job){.np = np}, &result);
    for (size_t i = 0; i < p->classes.count && !code; i++) {
        if (p->classes.item[i].np != np) continue;
        // A benchmark writes in one phase and reads in the next.
        value[i] = result.phase[2 * at + !p->classes.item[i].write].time / (double)benchmark[at].count;
        at++;
    }
    free(result.phase);
    model_free(&model);
    return code;
}

static bool is_first_with_np(const struct predicting *p, size_t class) {
    for (size_t i = 0; i < class; i++) {
        if (p->classes.item[i].np == p->classes.item[class].np) return false;
    }
    return true;
}

int class_times_run(const struct predictor *self, const struct predicting *p, const struct predict_target *target,
                    double *value) {
    struct benchmark *benchmark = malloc((p->classes.count + 1) * sizeof *benchmark);
    int code = benchmark ? 0 : -ENOMEM;
    for (size_t i = 0; i < p->classes.count && !code; i++) {
        if (!is_first_with_np(p, i)) continue;
        uint32_t np = p->classes.item[i].np;
        size_t count = list_benchmarks(p, np, self->most_requests, benchmark);
        code = run_benchmarks(p, target, np, benchmark, count, value);
    }
    free(benchmark);
    return code;
}

double class_times_of_phase(const struct predicting *p, struct predict_run run, size_t phase) {
    double sum = 0;
    for (size_t i = 0; i < p->classes.count; i++) {
        const struct io_class *class = &p->classes.item[i];
        struct estimate estimate;
        if (class->family != predictor_family(p, phase)) continue;
        if (run.target->is_directory)
            sum += run.value[i] * (double)class->bytes / ((double)class->size * class->np);
        else if (!analytic_estimate(&run.target->system, class, &estimate))
            sum += estimate.seconds.middle;
    }
    return sum;
}
