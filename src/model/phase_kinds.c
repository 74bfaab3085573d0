#include "model/phase_kinds.h"

#include <errno.h>
#include <stdlib.h>

#include "model/phase_list.h"

struct visiting {
    const struct model *model;
    const struct model_part *part;
    const bool *chosen; // by place in the part's phases
    phase_kinds_callback *callback;
    void *context;
};

static void visit_list(const struct visiting *l, const struct model_item *item)
{
    for (size_t t = 0; t < l->part->phs * l->part->ranks; t++) {
        if (!l->chosen[t / l->part->ranks]) continue;
        for (uint64_t k = 0; k < item->count; k++) l->callback(&l->model->kind[item->list[t][k].kind], l->context);
    }
}

static void visit_items(const struct visiting *l, const struct model_items *items)
{
    struct model_leaves leaves = model_leaves(items);
    for (const struct model_item *item; (item = model_next_leaf(&leaves));) {
        if (item->type == LOOPS_OP) l->callback(&l->model->kind[item->kind], l->context);
        if (item->type == LOOPS_LIST) visit_list(l, item);
    }
}

// `is_chosen` is indexed by the phase of the family, from 1.
static int visit_parts(struct visiting *l, const struct model_part *parts, size_t count, const bool *is_chosen)
{
    for (size_t i = 0; i < count; i++) {
        l->part = &parts[i];
        bool any = false, *chosen = calloc(parts[i].phs + 1, sizeof *chosen);
        if (!chosen) return -ENOMEM;
        for (size_t k = 0; k < parts[i].phs; k++) any |= chosen[k] = is_chosen[parts[i].ph[k]];
        l->chosen = chosen;
        if (any) visit_items(l, &parts[i].items);
        free(chosen);
    }
    return 0;
}

// For all families, one after the other: where the phases of each begin, and which phases are in the list.
static void choose(const struct model *model, const char *phases, size_t *first, bool *is_chosen)
{
    for (size_t i = 0; i < model->families; i++) first[i + 1] = first[i] + model->family[i].count + 1;
    for (size_t i = 0; i < model->phases; i++) {
        const struct model_phase *phase = &model->phase[i];
        is_chosen[first[phase->family] + phase->ph] = phase_list_has(phases, i + 1);
    }
}

int phase_kinds(const struct model *model, uint32_t program, const char *phases, phase_kinds_callback *callback,
                void *context)
{
    struct visiting l = {.model = model, .callback = callback, .context = context};
    size_t *first = calloc(model->families + 1, sizeof *first);
    bool *is_chosen = calloc(model->phases + model->families + 1, sizeof *is_chosen);
    int code = first && is_chosen ? 0 : -ENOMEM;
    if (!code) choose(model, phases, first, is_chosen);
    for (size_t i = 0; i < model->families && !code; i++) {
        const struct model_family *family = &model->family[i];
        if (family->program != program) continue;
        code = visit_parts(&l, family->part, family->parts, is_chosen + first[i]);
        if (!code) code = visit_parts(&l, family->other, family->others, is_chosen + first[i]);
    }
    free(first);
    free(is_chosen);
    return code;
}
