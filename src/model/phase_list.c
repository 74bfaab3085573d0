#include "model/phase_list.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/scoped.h"

// Digits only: strtoul also accepts a sign and leading space. A number that is too large is larger than any phase.
static int parse_number(const char **text, size_t *number) {
    char *end;
    RETURN_IF(**text < '0' || **text > '9', ERR_USAGE);
    *number = strtoul(*text, &end, 10);
    *text = end;
    return *number ? 0 : ERR_USAGE;
}

int phase_list_next(const char **list, size_t *first, size_t *last) {
    const char *at = *list;
    if (!*at) return 0;
    FORWARD(parse_number(&at, first));
    *last = *first;
    if (*at == '-') {
        at++;
        FORWARD(parse_number(&at, last));
    }
    RETURN_IF(*last < *first || (*at && *at != ',') || (*at && !at[1]), ERR_USAGE);
    *list = *at ? at + 1 : at;
    return 1;
}

bool phase_list_has(const char *list, size_t id) {
    size_t first, last;
    if (!list) return true;
    while (phase_list_next(&list, &first, &last) == 1) {
        if (first <= id && id <= last) return true;
    }
    return false;
}

// --- kinds of operations

struct visiting {
    const struct model *model;
    const struct model_part *part;
    const bool *is_chosen; // by the phase of the family, from 1
    phase_kinds_callback *callback;
    void *context;
};

static void visit_list(const struct visiting *l, const struct model_item *item) {
    for (size_t t = 0; t < l->part->phs * l->part->ranks; t++) {
        if (!l->is_chosen[l->part->ph[t / l->part->ranks]]) continue;
        for (uint64_t k = 0; k < item->count; k++) l->callback(&l->model->kind[item->list[t][k].kind], l->context);
    }
}

static void visit_items(const struct visiting *l, const struct model_items *items) {
    struct model_leaves leaves = model_leaves(items);
    for (const struct model_item *item; (item = model_next_leaf(&leaves));) {
        if (item->type == LOOPS_OP) l->callback(&l->model->kind[item->kind], l->context);
        if (item->type == LOOPS_LIST) visit_list(l, item);
    }
}

static void visit_parts(struct visiting *l, const struct model_part *parts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        bool any = false;
        l->part = &parts[i];
        for (size_t k = 0; k < parts[i].phs; k++) any |= l->is_chosen[parts[i].ph[k]];
        if (any) visit_items(l, &parts[i].items);
    }
}

// For all families, one after the other: where the phases of each begin, and which phases are in the list.
static void choose(const struct model *model, const char *phases, size_t *first, bool *is_chosen) {
    for (size_t i = 0; i < model->families; i++) first[i + 1] = first[i] + model->family[i].count + 1;
    for (size_t i = 0; i < model->phases; i++) {
        const struct model_phase *phase = &model->phase[i];
        is_chosen[first[phase->family] + phase->ph] = phase_list_has(phases, i + 1);
    }
}

int phase_kinds(const struct model *model, uint32_t program, const char *phases, phase_kinds_callback *callback,
                void *context) {
    struct visiting l = {.model = model, .callback = callback, .context = context};
    SCOPED_FREE size_t *first = calloc(model->families + 1, sizeof *first);
    SCOPED_FREE bool *is_chosen = calloc(model->phases + model->families + 1, sizeof *is_chosen);
    RETURN_IF(!first || !is_chosen, -ENOMEM);
    choose(model, phases, first, is_chosen);
    for (size_t i = 0; i < model->families; i++) {
        const struct model_family *family = &model->family[i];
        l.is_chosen = is_chosen + first[i];
        if (family->program != program) continue;
        visit_parts(&l, family->part, family->parts);
        visit_parts(&l, family->other, family->others);
    }
    return 0;
}
