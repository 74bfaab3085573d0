// The result of all processes, gathered and written by rank 0.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "replay/runner/runner.h"
#include "replay/runner/world.h"

// Seconds; 0 if nothing was counted.
static double latency_quantile(const struct latency *latency, double share) {
    uint64_t all = 0, below = 0;
    for (unsigned i = 0; i < LATENCY_BUCKETS; i++) all += latency->bucket[i];
    for (unsigned i = 0; i < LATENCY_BUCKETS && all; i++) {
        below += latency->bucket[i];
        if ((double)below >= share * (double)all) return exp2((i + 0.5) / LATENCY_STEPS) / 1e9;
    }
    return 0;
}

static void fill_phase(const struct runner *runner, const struct phase_time *all, size_t phase,
                       struct replay_phase *to) {
    for (uint32_t rank = 0; rank < runner->np; rank++) {
        const struct phase_time *time = &all[(size_t)rank * runner->model.phases + phase];
        if (time->seconds > to->time) to->time = time->seconds;
        if (time->others > to->others) to->others = time->others;
    }
    if (!runner->latency) return;
    to->latency_p50 = latency_quantile(&runner->latency[phase], 0.5);
    to->latency_p99 = latency_quantile(&runner->latency[phase], 0.99);
}

// Adds the latencies of the other ranks to rank 0's.
static int gather_latencies(struct runner *runner) {
    struct latency *all = malloc(runner->np * sizeof *all);
    RETURN_IF(!all, -ENOMEM);
    for (size_t i = 0; i < runner->model.phases; i++) {
        world_gather(&runner->latency[i], sizeof *all, all);
        for (uint32_t rank = 1; rank < runner->np && !runner->rank; rank++) {
            for (unsigned k = 0; k < LATENCY_BUCKETS; k++) runner->latency[i].bucket[k] += all[rank].bucket[k];
        }
    }
    free(all);
    return 0;
}

// Adds the counts of the other ranks to rank 0's. Its texts come from the first rank that has them.
static int gather_counts(const struct runner *runner, struct replay_result *result) {
    struct replay_result *all = malloc(runner->np * sizeof *all);
    RETURN_IF(!all, -ENOMEM);
    world_gather(result, sizeof *result, all);
    for (uint32_t rank = 1; rank < runner->np && !runner->rank; rank++) {
        const struct replay_result *other = &all[rank];
        result->wrong_bytes += other->wrong_bytes;
        result->failed += other->failed;
        result->skipped += other->skipped;
        if (!*result->first_failure) memcpy(result->first_failure, other->first_failure, sizeof other->first_failure);
        if (!*result->first_skipped) memcpy(result->first_skipped, other->first_skipped, sizeof other->first_skipped);
    }
    free(all);
    return 0;
}

int runner_report(struct runner *runner) {
    const struct model_program *program = &runner->model.program[runner->job->program];
    size_t phases = runner->model.phases, bytes = phases * sizeof *runner->time;
    struct replay_result result = runner->result;
    if (runner->latency) FORWARD(gather_latencies(runner));
    FORWARD(gather_counts(runner, &result));
    struct phase_time *all = runner->rank ? NULL : malloc(bytes * runner->np + 1);
    RETURN_IF(!all && !runner->rank, -ENOMEM);
    world_gather(runner->time, bytes, all);
    if (runner->rank) return 0;
    result.phase = calloc(phases + 1, sizeof *result.phase);
    result.phases = phases;
    int code = result.phase ? 0 : -ENOMEM;
    for (size_t i = program->first; i < program->end && !code; i++) fill_phase(runner, all, i, &result.phase[i]);
    if (!code) code = contract_write_result(&result, runner->job->result);
    free(result.phase);
    free(all);
    return code;
}
