#include "model/phase_content.h"

#include <errno.h>
#include <stdlib.h>

#include "model/phase_list.h"

struct looking {
    const struct model *model;
    const struct model_part *part;
    const bool *chosen; // by place in the part's phases
    model_take_kind *take;
    void *context;
};

static void look_at_list(const struct looking *l, const struct model_item *item)
{
    for (size_t t = 0; t < l->part->phs * l->part->ranks; t++) {
        if (!l->chosen[t / l->part->ranks]) continue;
        for (uint64_t k = 0; k < item->count; k++) l->take(&l->model->kind[item->list[t][k].kind], l->context);
    }
}

static void look_at_items(const struct looking *l, const struct model_items *items)
{
    struct model_leaves leaves = model_leaves(items);
    for (const struct model_item *item; (item = model_next_leaf(&leaves));) {
        if (item->type == LOOPS_OP) l->take(&l->model->kind[item->kind], l->context);
        if (item->type == LOOPS_LIST) look_at_list(l, item);
    }
}

// `is_chosen` is by phase of the family, from 1.
static int look_at_parts(struct looking *l, const struct model_part *parts, size_t count, const bool *is_chosen)
{
    for (size_t i = 0; i < count; i++) {
        l->part = &parts[i];
        bool any = false, *chosen = calloc(parts[i].phs + 1, sizeof *chosen);
        if (!chosen) return -ENOMEM;
        for (size_t k = 0; k < parts[i].phs; k++) any |= chosen[k] = is_chosen[parts[i].ph[k]];
        l->chosen = chosen;
        if (any) look_at_items(l, &parts[i].items);
        free(chosen);
    }
    return 0;
}

// Of all families, one behind the other: where each one's phases begin, and which are in the list.
static void choose(const struct model *model, const char *phases, size_t *first, bool *is_chosen)
{
    for (size_t i = 0; i < model->families; i++) first[i + 1] = first[i] + model->family[i].count + 1;
    for (size_t i = 0; i < model->phases; i++) {
        const struct model_phase *phase = &model->phase[i];
        is_chosen[first[phase->family] + phase->ph] = phase_list_has(phases, i + 1);
    }
}

int model_used_kinds(const struct model *model, uint32_t program, const char *phases, model_take_kind *take,
                     void *context)
{
    struct looking l = {.model = model, .take = take, .context = context};
    size_t *first = calloc(model->families + 1, sizeof *first);
    bool *is_chosen = calloc(model->phases + model->families + 1, sizeof *is_chosen);
    int code = first && is_chosen ? 0 : -ENOMEM;
    if (!code) choose(model, phases, first, is_chosen);
    for (size_t i = 0; i < model->families && !code; i++) {
        const struct model_family *family = &model->family[i];
        if (family->program != program) continue;
        code = look_at_parts(&l, family->part, family->parts, is_chosen + first[i]);
        if (!code) code = look_at_parts(&l, family->other, family->others, is_chosen + first[i]);
    }
    free(first);
    free(is_chosen);
    return code;
}
