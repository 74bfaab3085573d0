#include "rec/selection.h"

#include <stddef.h>
#include <string.h>

#include "fmt/fields.h"
#include "rec/interned.h"
#include "rec/recorder.h"

static bool has_place(const struct selection *selection) { return selection->kind >= SELECTION_REGULAR; }

void selection_copy(struct selection *to, const struct selection *from) {
    size_t bytes = from->rank * sizeof from->dims[0];
    memcpy(to, from, offsetof(struct selection, dims));
    memcpy(to->dims, from->dims, bytes);
    if (!has_place(from)) return;
    memcpy(to->start, from->start, bytes);
    memcpy(to->stride, from->stride, bytes);
    memcpy(to->count, from->count, bytes);
    memcpy(to->block, from->block, bytes);
}

uint64_t selection_points(const struct selection *selection) {
    uint64_t points = 1;
    switch (selection->kind) {
    case SELECTION_UNKNOWN:
    case SELECTION_NONE: return 0;
    case SELECTION_ALL:
        for (unsigned i = 0; i < selection->rank; i++) points *= selection->dims[i];
        return selection->rank ? points : selection->points;
    case SELECTION_REGULAR:
        for (unsigned i = 0; i < selection->rank; i++) points *= selection->count[i] * selection->block[i];
        return points;
    default: return selection->points;
    }
}

// The start is not part of the shape. `a` is the latest one.
static bool is_same_shape(const struct selection *a, const struct selection *b) {
    if (a->kind != b->kind || a->rank != b->rank || a->points != b->points || a->blocks != b->blocks) return false;
    uint64_t differs = 0;
    for (unsigned i = a->can_grow; i < a->rank; i++) differs |= a->dims[i] ^ b->dims[i];
    for (unsigned i = 0; has_place(a) && i < a->rank; i++)
        differs |= (a->stride[i] ^ b->stride[i]) | (a->count[i] ^ b->count[i]) | (a->block[i] ^ b->block[i]);
    return !differs;
}

static void put_list(struct fields_out *out, unsigned key, const unsigned long long *list, unsigned rank) {
    for (unsigned i = 0; i < rank; i++) fields_number(out, key, list[i]);
}

static uint32_t describe(const struct selection *selection) {
    enum { LISTS = 4, FIELD_BYTES = 12 };
    uint8_t fields[(LISTS * SELECTION_MAX_RANK + 4) * FIELD_BYTES];
    struct fields_out out = {.at = fields, .end = fields + sizeof fields};
    unsigned first = selection->can_grow && selection->rank;
    fields_number(&out, SELECTION_KIND, selection->kind);
    if (first) fields_number(&out, SELECTION_DIMS, 0);
    put_list(&out, SELECTION_DIMS, selection->dims + first, selection->rank - first);
    if (has_place(selection)) {
        put_list(&out, SELECTION_STRIDE, selection->stride, selection->rank);
        put_list(&out, SELECTION_COUNT, selection->count, selection->rank);
        put_list(&out, SELECTION_BLOCK, selection->block, selection->rank);
    }
    // All of a dataset that can grow: the number depends on the moment.
    if (!(first && selection->kind == SELECTION_ALL))
        fields_number(&out, SELECTION_POINTS, selection_points(selection));
    if (selection->blocks) fields_number(&out, SELECTION_BLOCKS, selection->blocks);
    return interned_number(RECORD_SELECTION, fields, (size_t)(out.at - fields));
}

uint64_t selection_first(const struct selection *selection) {
    uint64_t element = 0;
    for (unsigned i = 0; has_place(selection) && i < selection->rank; i++)
        element = element * selection->dims[i] + selection->start[i];
    return element;
}

uint32_t selection_number(struct selection_memo *memo, const struct selection *selection, bool can_grow) {
    if (selection->kind == SELECTION_UNKNOWN) return 0;
    if (UNLIKELY(memo->generation != recorder.generation || !is_same_shape(&memo->selection, selection))) {
        selection_copy(&memo->selection, selection);
        memo->selection.can_grow = can_grow;
        memo->number = describe(&memo->selection);
        memo->generation = recorder.generation;
    }
    return memo->number;
}
