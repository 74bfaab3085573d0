#include "model/compare/others.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"

enum { OPS_MOST = 4 << 20 }; // a model is small even where it stands for more

static bool is_lookup(const struct op_kind *kind)
{
    unsigned effect = call_table[kind->call_id].effect;
    if (kind->class != CLASS_META && kind->class != CLASS_OPEN) return false;
    return kind->error || effect == EFFECT_LOOKUP || effect == EFFECT_STAT;
}

struct collecting {
    const struct model *model;
    struct diff_others *others;
    uint32_t rank, thread;
};

static int add_other(const struct op *op, size_t leaf, void *context)
{
    struct collecting *c = context;
    struct diff_others *others = c->others;
    (void)leaf;
    if (is_lookup(&c->model->kind[op->kind])) {
        others->lookups++;
        return 0;
    }
    FORWARD(array_room(others->op, others->count));
    others->op[others->count] = (struct other_op){c->rank, c->thread, others->count, *op};
    others->count++;
    return 0;
}

static int compare_others(const void *x, const void *y)
{
    const struct other_op *a = x, *b = y;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static int collect_part(struct collecting *c, const struct model_family *family, const struct model_part *part,
                        uint32_t ph)
{
    size_t place = model_place(part->ph, part->phs, ph);
    c->thread = part->thread;
    for (size_t i = 0; i < part->ranks; i++) {
        c->rank = part->rank[i];
        FORWARD(model_walk(&(struct model_process){c->model, family, part, place, i}, add_other, c));
    }
    return 0;
}

int diff_others_collect(const struct fingerprint *fingerprint, uint32_t phase, struct diff_others *others)
{
    const struct model *model = fingerprint->model;
    const struct phase_fingerprint *from = &fingerprint->phase[phase];
    struct collecting c = {.model = model, .others = others};
    *others = (struct diff_others){0};
    RETURN_IF(from->others > OPS_MOST, ERR_LIMIT);
    for (size_t i = 0; i < from->parts; i++) {
        const struct model_part *part = from->part[i]->part;
        if (!from->part[i]->is_other) continue;
        FORWARD(collect_part(&c, &model->family[model->phase[phase].family], part, model->phase[phase].ph));
    }
    if (others->count) qsort(others->op, others->count, sizeof *others->op, compare_others);
    return 0;
}

void diff_others_free(struct diff_others *others)
{
    free(others->op);
    *others = (struct diff_others){0};
}
