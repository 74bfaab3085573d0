// Where a transfer takes place in its dataset.
#include <string.h>

#include "fmt/fields.h"
#include "rec/hdf5/hdf5.h"
#include "rec/interned.h"

static bool has_place(const struct hdf5_selection *selection) { return selection->kind >= SELECTION_REGULAR; }

void hdf5_copy_selection(struct hdf5_selection *to, const struct hdf5_selection *from) {
    size_t bytes = from->rank * sizeof from->dims[0];
    memcpy(to, from, offsetof(struct hdf5_selection, dims));
    memcpy(to->dims, from->dims, bytes);
    if (!has_place(from)) return;
    memcpy(to->start, from->start, bytes);
    memcpy(to->stride, from->stride, bytes);
    memcpy(to->count, from->count, bytes);
    memcpy(to->block, from->block, bytes);
}

uint64_t hdf5_points(const struct hdf5_selection *selection) {
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

// The start is not part of the shape. `a` is the latest one of the dataset.
static bool is_same_shape(const struct hdf5_selection *a, const struct hdf5_selection *b) {
    if (a->kind != b->kind || a->rank != b->rank || a->points != b->points || a->blocks != b->blocks) return false;
    uint64_t differs = 0;
    for (unsigned i = a->can_grow; i < a->rank; i++) differs |= a->dims[i] ^ b->dims[i];
    for (unsigned i = 0; has_place(a) && i < a->rank; i++)
        differs |= (a->stride[i] ^ b->stride[i]) | (a->count[i] ^ b->count[i]) | (a->block[i] ^ b->block[i]);
    return !differs;
}

static void put_list(struct fields_out *out, unsigned key, const hsize_t *list, unsigned rank) {
    for (unsigned i = 0; i < rank; i++) fields_number(out, key, list[i]);
}

static uint32_t number_of(const struct hdf5_selection *selection) {
    enum { LISTS = 4, FIELD_BYTES = 12 };
    uint8_t fields[(LISTS * HDF5_MAX_RANK + 4) * FIELD_BYTES];
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
    if (!(first && selection->kind == SELECTION_ALL)) fields_number(&out, SELECTION_POINTS, hdf5_points(selection));
    if (selection->blocks) fields_number(&out, SELECTION_BLOCKS, selection->blocks);
    return interned_number(RECORD_SELECTION, fields, (size_t)(out.at - fields));
}

void hdf5_place(struct hdf5_probe *p, struct hdf5_id *dataset, const struct hdf5_selection *selection) {
    uint64_t element = 0;
    for (unsigned i = 0; has_place(selection) && i < selection->rank; i++)
        element = element * selection->dims[i] + selection->start[i];
    p->has_offset = selection->kind > SELECTION_NONE;
    p->offset = element * dataset->bytes;
    p->size = hdf5_points(selection) * dataset->bytes;
    if (selection->kind == SELECTION_UNKNOWN) return;
    if (UNLIKELY(dataset->generation != recorder.generation || !is_same_shape(&dataset->last, selection))) {
        hdf5_copy_selection(&dataset->last, selection);
        dataset->last.can_grow = dataset->space.can_grow;
        dataset->shape = number_of(&dataset->last);
        dataset->generation = recorder.generation;
    }
    p->shape = dataset->shape;
}
