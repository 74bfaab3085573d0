// Chooses which barriers of each phase are done: only those that every process reaches, so that none waits forever.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "replay/runner/runner.h"

// --- how many each process has

struct barrier_count {
    const struct model *model;
    int64_t count;
};

static int count_barriers(const struct op *op, size_t leaf, void *context) {
    struct barrier_count *barriers = context;
    (void)leaf;
    if (barriers->model->kind[op->kind].class == CLASS_NONE) barriers->count += op->at[AT_SIZE];
    return 0;
}

static int add_part_barriers(const struct runner *runner, const struct model_family *family,
                             const struct model_part *part, uint32_t ph, int64_t *count) {
    size_t place = model_place(part->ph, part->phs, ph);
    for (size_t i = 0; place != SIZE_MAX && !part->thread && i < part->ranks; i++) {
        struct barrier_count barriers = {.model = &runner->model};
        FORWARD(model_walk(&(struct model_process){&runner->model, family, part, place, i}, count_barriers, &barriers));
        count[part->rank[i]] += barriers.count;
    }
    return 0;
}

// `count` is scratch, by rank.
static int count_phase(const struct runner *runner, const struct model_phase *phase, int64_t *count, bool *all_alike) {
    const struct model_family *family = &runner->model.family[phase->family];
    memset(count, 0, runner->np * sizeof *count);
    for (size_t k = 0; k < family->others; k++) {
        FORWARD(add_part_barriers(runner, family, &family->other[k], phase->ph, count));
    }
    *all_alike = true;
    for (uint32_t rank = 1; rank < runner->np; rank++) {
        if (count[rank] != count[0]) *all_alike = false;
    }
    return 0;
}

// --- processes with different numbers of barriers

// The barriers of a process, by the number of collective calls before them, which wait for other processes too.
struct barrier_places {
    int64_t *barriers;
    size_t count;
};

static int add_place(struct barrier_places *places) { return array_push(places->barriers, places->count, 0); }

static int count_step(const struct model_step *step, void *context) {
    struct barrier_places *places = context;
    if (step->kind->class == CLASS_NONE) places->barriers[places->count - 1] += step->op->at[AT_SIZE];
    return step->kind->collective ? add_place(places) : 0;
}

// Shortens `common` to where the two differ.
static void keep_common(struct barrier_places *common, const struct barrier_places *other) {
    for (size_t i = 0; i < common->count; i++) {
        int64_t there = i < other->count ? other->barriers[i] : 0;
        if (there == common->barriers[i]) continue;
        if (there < common->barriers[i]) common->barriers[i] = there;
        common->count = i + 1;
    }
}

static int find_common(const struct runner *runner, uint32_t phase, int64_t *barriers) {
    struct barrier_places common = {0}, other = {0};
    int code = 0;
    for (uint32_t rank = 0; rank < runner->np && !code; rank++) {
        struct barrier_places *places = rank ? &other : &common;
        places->count = 0;
        code = add_place(places);
        if (!code) code = model_expand_phase(&runner->model, phase, rank, 0, count_step, places);
        if (!code && rank) keep_common(&common, &other);
    }
    *barriers = 0;
    for (size_t i = 0; i < common.count && !code; i++) *barriers += common.barriers[i];
    free(common.barriers);
    free(other.barriers);
    return code;
}

int runner_choose_barriers(struct runner *runner) {
    const struct model_program *program = &runner->model.program[runner->job->program];
    int64_t *count = malloc(runner->np * sizeof *count);
    runner->barriers = calloc(runner->model.phases + 1, sizeof *runner->barriers);
    int code = count && runner->barriers ? 0 : -ENOMEM;
    for (size_t i = program->first; i < program->end && !code; i++) {
        bool all_alike;
        code = count_phase(runner, &runner->model.phase[i], count, &all_alike);
        runner->barriers[i] = count[0];
        if (!code && !all_alike) code = find_common(runner, (uint32_t)i, &runner->barriers[i]);
    }
    free(count);
    return code;
}
