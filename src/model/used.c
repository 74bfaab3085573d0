#include "model/used.h"

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
    for (size_t i = 0; i < items->count; i++) {
        const struct model_item *item = &items->item[i];
        struct model_items body = {item->body, item->length};
        if (item->type == NEST_LOOP) look_at_items(l, &body);
        if (item->type == NEST_OP) l->take(&l->model->kind[item->kind], l->context);
        if (item->type == NEST_LIST) look_at_list(l, item);
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

static int look_at_family(struct looking *l, uint32_t id, const char *phases)
{
    const struct model_family *family = &l->model->family[id];
    bool *is_chosen = calloc(family->count + 1u, sizeof *is_chosen);
    if (!is_chosen) return -ENOMEM;
    for (size_t i = 0; i < l->model->phases; i++) {
        const struct model_phase *phase = &l->model->phase[i];
        if (phase->family == id) is_chosen[phase->ph] = phase_list_has(phases, i + 1);
    }
    int code = look_at_parts(l, family->part, family->parts, is_chosen);
    if (!code) code = look_at_parts(l, family->other, family->others, is_chosen);
    free(is_chosen);
    return code;
}

int model_used_kinds(const struct model *model, uint32_t program, const char *phases, model_take_kind *take,
                     void *context)
{
    struct looking l = {.model = model, .take = take, .context = context};
    int code = 0;
    for (uint32_t i = 0; i < model->families && !code; i++) {
        if (model->family[i].program == program) code = look_at_family(&l, i, phases);
    }
    return code;
}
