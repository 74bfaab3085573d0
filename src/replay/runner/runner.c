#include "replay/runner/runner.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "model/phase_list.h"
#include "replay/runner/world.h"

enum { CLOCK_READINGS = 1000 };

// --- threads

static void tell_progress(const struct runner *runner, size_t phase) {
    FILE *out = runner->job->progress && !runner->rank ? fopen(runner->job->progress, "we") : NULL;
    if (!out) return;
    fprintf(out, "%zu\n", phase + 1);
    fclose(out);
}

static void *run_thread(void *context) {
    struct replay_thread *thread = context;
    struct runner *runner = thread->runner;
    const struct model_program *program = &runner->model.program[runner->job->program];
    thread->free_at = clock_seconds();
    for (size_t i = program->first; i < program->end && !thread->status; i++) {
        const struct model_family *family = &runner->model.family[runner->model.phase[i].family];
        if (family->cut == CUT_COMMUNICATION && i > program->first) transfers_complete(thread, NULL, true);
        if (!thread->number) tell_progress(runner, i);
        bool chosen = phase_list_has(runner->job->phases, i + 1);
        if (chosen || runner->waits) {
            thread->status = model_expand_phase(&runner->model, (uint32_t)i, runner->rank, thread->number,
                                                chosen ? operations_run : operations_leave_out, thread);
            if (!thread->status) thread->status = variants_flush(thread);
        }
    }
    transfers_complete(thread, NULL, true);
    transfers_end_hidden(thread);
    waits_end(thread);
    return NULL;
}

static int start_threads(struct replay_thread *thread, uint32_t count, uint32_t *started) {
    for (*started = 1; *started < count; ++*started) {
        int code = -pthread_create(&thread[*started].id, NULL, run_thread, &thread[*started]);
        RETURN_IF(code, code);
    }
    return 0;
}

static int run_threads(struct runner *runner) {
    uint32_t count = model_threads(&runner->model, runner->job->program), started = 1;
    struct replay_thread *thread = calloc(count + 1, sizeof *thread);
    RETURN_IF(!thread, -ENOMEM);
    for (uint32_t i = 0; i < count; i++) thread[i] = (struct replay_thread){.runner = runner, .number = i};
    int code = waits_begin(runner, thread, count);
    if (!code) code = watch_begin(runner, thread, count);
    if (!code) code = start_threads(thread, count, &started);
    if (!code && count) run_thread(&thread[0]);
    if (code && started > 1) { // no thread may wait for one that does not run
        waits_end(&thread[0]);
        for (uint32_t i = started; i < count; i++) waits_end(&thread[i]);
    }
    for (uint32_t i = 1; i < started; i++) pthread_join(thread[i].id, NULL);
    watch_end(runner);
    for (uint32_t i = 0; i < count; i++) {
        if (thread[i].status && !code) code = thread[i].status;
        transfers_free(&thread[i]);
        free(thread[i].wait);
        lookup_free(&thread[i].used);
    }
    free(thread);
    return code;
}

// --- the whole

// The time of one reading of the clock. It is subtracted from each operation.
static double measure_clock(void) {
    double least = 1;
    for (unsigned i = 0; i < CLOCK_READINGS; i++) {
        double start = clock_seconds(), end = clock_seconds();
        if (end - start < least) least = end - start;
    }
    return least;
}

static int set_up(struct runner *runner) {
    const struct model *model = &runner->model;
    runner->clock_seconds = measure_clock();
    runner->time = calloc(model->phases + 1, sizeof *runner->time);
    if (runner->job->latency) runner->latency = calloc(model->phases + 1, sizeof *runner->latency);
    runner->sleeps = model_threads(model, runner->job->program) > sysconf(_SC_NPROCESSORS_ONLN);
    runner->opened_somewhere = calloc(model->files + 1, sizeof *runner->opened_somewhere);
    runner->made_somewhere = calloc(model->files + 1, sizeof *runner->made_somewhere);
    runner->mpi_types = calloc(model->types.count + 1, sizeof *runner->mpi_types);
    RETURN_IF(!runner->time || !runner->opened_somewhere || !runner->made_somewhere || !runner->mpi_types, -ENOMEM);
    RETURN_IF(runner->job->latency && !runner->latency, -ENOMEM);
    FORWARD(runner_find_uses(runner));
    FORWARD(found_make(&runner->found, model, runner->job->program));
    return paths_make(&runner->paths, model, runner->job->directory);
}

static void runner_free(struct runner *runner) {
    paths_free(&runner->paths);
    found_free(&runner->found);
    for (size_t i = 0; runner->mpi_types && i < runner->model.types.count; i++) free(runner->mpi_types[i]);
    free(runner->mpi_types);
    free(runner->opened_somewhere);
    free(runner->made_somewhere);
    free(runner->time);
    free(runner->latency);
    free(runner->syncs_left);
}

int runner_run(struct runner *runner) {
    pthread_mutex_init(&runner->lock, NULL);
    pthread_cond_init(&runner->opened, NULL);
    runner->rank = (uint32_t)world.rank;
    runner->np = (uint32_t)world.size;
    int code = set_up(runner);
    if (!code) code = world_make_communicators(&runner->model, runner->job->program);
    if (!code) code = syncs_limit(runner);
    if (!code) code = variants_begin(runner);
    world_barrier();
    if (!code) code = run_threads(runner);
    files_free(runner);
    if (!code) code = runner_report(runner);
    variants_end(runner);
    runner_free(runner);
    return code;
}
