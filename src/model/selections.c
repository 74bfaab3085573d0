// Selections in a model of a layer above MPI-IO: where they begin, by dimension.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scoped.h"
#include "fmt/records.h"
#include "log/log.h"
#include "model/fit.h"
#include "model/model.h"

const char *model_object_name(const struct model *model, const char *name) {
    const char *mark = call_layer_is_above(model->layer) ? strchr(name, MODEL_OBJECT_MARK) : NULL;
    return mark ? mark + 1 : NULL;
}

const char *model_set_object(const struct model *model, uint32_t set) {
    return set == OP_NO_SET ? NULL : model_object_name(model, model->file[set].set->pattern);
}

// The coordinates of an element, whose number counts the fastest dimension first.
static void coordinates_of(const struct log_selection *selection, int64_t element, int64_t *at) {
    for (unsigned i = selection->rank; i-- > 0;) {
        int64_t dim = i ? (int64_t)selection->dims[i] : 0;
        at[i] = dim > 0 ? element % dim : element;
        if (dim > 0) element /= dim;
    }
}

struct placing {
    const struct op_summary *row;
    const struct log_selection *selection;
    uint32_t np;
    int64_t element_bytes;
    int64_t *element; // by phase and rank: the first one that is selected
    struct fit_point *point;
    size_t count;
};

static int find_elements(struct placing *p) {
    const struct model_part *part = p->row->part;
    for (size_t i = 0; i < p->count; i++) {
        struct expr_variables variables = {.idp = part->rank[i % part->ranks],
                                           .np = p->np,
                                           .ph = part->ph[i / part->ranks],
                                           .rs = (int64_t)p->row->size};
        FORWARD(model_value_at(&p->row->item->at[AT_OFFSET], &variables, i, &p->element[i]));
        p->element[i] /= p->element_bytes;
        p->point[i] = (struct fit_point){.idp = variables.idp, .ph = variables.ph};
    }
    return 0;
}

static int fit_dimension(struct placing *p, unsigned dimension, char text[FIT_TEXT_BYTES]) {
    int64_t at[SELECTION_MAX_RANK];
    for (size_t i = 0; i < p->count; i++) {
        coordinates_of(p->selection, p->element[i], at);
        p->point[i].value = at[dimension];
    }
    return fit_expression(&(struct fit_input){.point = p->point, .count = p->count, .np = p->np}, text);
}

static int fit_dimensions(struct placing *p, struct selection_place *place) {
    for (unsigned i = 0; i < p->selection->rank; i++) {
        int code = fit_dimension(p, i, place->start[i]);
        if (code == ERR_NOTHING || code == ERR_USAGE) {
            free(place->start);
            place->start = NULL;
            return 0;
        }
        FORWARD(code);
    }
    return 0;
}

static void find_step(const struct placing *p, struct selection_place *place) {
    int64_t first[SELECTION_MAX_RANK], next[SELECTION_MAX_RANK];
    coordinates_of(p->selection, p->element[0], first);
    uint64_t second = (uint64_t)p->element[0] + (uint64_t)(p->row->disp / p->element_bytes); // a damaged log may wrap
    coordinates_of(p->selection, (int64_t)second, next);
    for (unsigned i = 0; i < p->selection->rank; i++)
        place->step[i] = (int64_t)((uint64_t)next[i] - (uint64_t)first[i]);
}

static int find_place(struct placing *p, struct selection_place *place) {
    SCOPED_FREE int64_t *element = calloc(p->count + 1, sizeof *element);
    SCOPED_FREE struct fit_point *point = malloc((p->count + 1) * sizeof *point);
    size_t rank = p->selection->rank;
    place->start = malloc(rank * sizeof *place->start);
    if (p->row->has_disp && p->row->rep > 1) place->step = malloc(rank * sizeof *place->step);
    RETURN_IF(!element || !point || !place->start, -ENOMEM);
    p->element = element;
    p->point = point;
    FORWARD(find_elements(p));
    if (place->step) find_step(p, place);
    return fit_dimensions(p, place);
}

int model_place_selection(const struct model *model, const struct model_family *family, const struct op_summary *row,
                          struct selection_place *place) {
    *place = (struct selection_place){0};
    if (!row->kind->selection) return 0;
    const struct log_selection *selection = place->selection = model->selection[row->kind->selection - 1];
    bool follows = row->item->type == LOOPS_OP && row->has_size && row->size && row->kind->has_offset;
    if (selection->kind != SELECTION_REGULAR || !selection->rank || !selection->points || !follows) return 0;
    struct placing p = {.row = row,
                        .selection = selection,
                        .np = model->program[family->program].np,
                        .element_bytes = (int64_t)(row->size / selection->points),
                        .count = row->part->ranks * row->part->phs};
    return p.element_bytes > 0 ? find_place(&p, place) : 0;
}

void selection_place_free(struct selection_place *place) {
    free(place->start);
    free(place->step);
}
