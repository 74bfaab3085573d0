// Synchronisations: where the ranks of the program waited for each other between their operations.
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scoped.h"
#include "model/phase_list.h"
#include "replay/runner/runner.h"
#include "replay/runner/world.h"

// --- which ones

// How many synchronisations each rank has on each communicator; messages, which belong to none, are under 0.
struct sync_counts {
    const struct model *model;
    int64_t *count; // [rank * places + place]
    size_t places;
};

static void count_list(const struct sync_counts *c, const struct op *op, uint64_t count, uint64_t times,
                       int64_t *of_rank) {
    for (uint64_t i = 0; i < count; i++) {
        const struct op_kind *kind = &c->model->kind[op[i].kind];
        if (kind->sync) of_rank[kind->communicator] += op[i].at[AT_SIZE] * (int64_t)times;
    }
}

static int count_part(const struct sync_counts *c, const struct model_family *family, const struct model_part *part,
                      uint32_t ph) {
    size_t place = model_place(part->ph, part->phs, ph);
    struct model_leaves leaves = model_leaves(&part->items);
    struct expr_variables variables = {.np = c->model->program[family->program].np, .ph = ph};
    if (place == SIZE_MAX) return 0;
    for (const struct model_item *item; (item = model_next_leaf(&leaves));) {
        uint64_t times = leaves.level[leaves.depth].times;
        const struct op_kind *kind = item->type == LOOPS_OP ? &c->model->kind[item->kind] : NULL;
        for (size_t i = 0; i < part->ranks; i++) {
            int64_t size, *of_rank = &c->count[part->rank[i] * c->places];
            size_t index = place * part->ranks + i;
            if (!kind) count_list(c, item->list[index], item->count, times, of_rank);
            if (!kind || !kind->sync) continue;
            variables.idp = part->rank[i];
            FORWARD(model_value_at(&item->at[AT_SIZE], &variables, index, &size));
            of_rank[kind->communicator] += size * (int64_t)times;
        }
    }
    return 0;
}

static int count_syncs(const struct runner *runner, const struct sync_counts *c) {
    const struct model_program *program = &c->model->program[runner->job->program];
    for (size_t i = program->first; i < program->end; i++) {
        const struct model_phase *phase = &c->model->phase[i];
        const struct model_family *family = &c->model->family[phase->family];
        if (!phase_list_has(runner->job->phases, i + 1)) continue;
        for (size_t k = 0; k < family->others; k++) FORWARD(count_part(c, family, &family->other[k], phase->ph));
    }
    return 0;
}

static bool is_with_us(const struct runner *runner, uint32_t communicator, uint32_t rank) {
    struct model_membership mine, other;
    if (runner->model.communicator[communicator].program != runner->job->program) return false;
    if (model_membership(&runner->model, communicator, runner->rank, &mine)) return false;
    if (model_membership(&runner->model, communicator, rank, &other)) return false;
    return mine.color >= 0 && mine.color == other.color;
}

int syncs_limit(struct runner *runner) {
    struct sync_counts c = {.model = &runner->model, .places = runner->model.communicators + 1};
    int64_t *least = runner->syncs_left = calloc(c.places, sizeof *least);
    SCOPED_FREE int64_t *count = c.count = calloc(runner->np * c.places, sizeof *count);
    RETURN_IF(!least || !count, -ENOMEM);
    FORWARD(count_syncs(runner, &c));
    bool is_whole = !runner->scaled && !runner->job->phases;
    least[0] = is_whole ? INT64_MAX : 0; // a message may have lost its sender
    for (uint32_t i = 1; i < c.places; i++) {
        least[i] = INT64_MAX;
        for (uint32_t rank = 0; rank < runner->np; rank++) {
            int64_t of_rank = count[rank * c.places + i];
            if (of_rank < least[i] && is_with_us(runner, i - 1, rank)) least[i] = of_rank;
        }
    }
    return 0;
}

// --- doing them

static void synchronise(struct replay_thread *thread, const struct model_step *step) {
    waits_pause(thread, INFINITY);
    world_synchronise(step->kind, (int)step->op->at[AT_MEMBER]);
    waits_pause(thread, 0);
    thread->free_at = clock_seconds();
}

// Where several stand in a row, the pause is before the last of them.
void syncs_run(struct replay_thread *thread, const struct model_step *step) {
    int64_t *left = &thread->runner->syncs_left[step->kind->communicator], count = step->op->at[AT_SIZE];
    if (count > *left) count = *left;
    *left -= count;
    for (int64_t i = 1; i < count; i++) synchronise(thread, step);
    pauses_wait(thread, step);
    if (count) synchronise(thread, step);
}
