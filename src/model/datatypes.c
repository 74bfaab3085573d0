#include "model/datatypes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/scoped.h"

static int compare_int64(int64_t a, int64_t b) { return a < b ? -1 : a > b; }

static int compare_items(const struct datatype_item *a, const struct datatype_item *b) {
    int order = compare_int64(a->span, b->span);
    if (!order) order = compare_int64((int64_t)a->count, (int64_t)b->count);
    if (!order) order = compare_int64(a->stride, b->stride);
    if (!order) order = compare_int64((int64_t)a->bytes, (int64_t)b->bytes);
    return order ? order : compare_int64(a->offset, b->offset);
}

static int compare_types(const struct model_type *a, const struct model_type *b) {
    int order = compare_int64((int64_t)a->bytes, (int64_t)b->bytes);
    if (!order) order = compare_int64(a->extent, b->extent);
    if (!order) order = compare_int64(a->flat.items, b->flat.items);
    for (uint32_t i = 0; i < a->flat.items && !order; i++) order = compare_items(&a->flat.item[i], &b->flat.item[i]);
    return order ? order : a->flat.hash < b->flat.hash ? -1 : a->flat.hash > b->flat.hash;
}

int types_intern(struct types *types, struct log *log, const struct log_datatype *from, uint32_t *place) {
    const struct datatype *flat;
    *place = lookup_find(&types->of, from->id);
    if (*place != LOOKUP_NONE) return 0;
    FORWARD(log_datatype_flat(log, from, &flat));
    FORWARD(array_room(types->type, types->count));
    struct model_type *type = &types->type[types->count];
    *type = (struct model_type){.bytes = from->bytes, .extent = from->extent, .cut = from->cut, .flat = *flat};
    type->derived = from->combiner != DATATYPE_NAMED && datatype_is_contiguous(flat, from->extent);
    type->flat.item = malloc((flat->items + 1) * sizeof *flat->item);
    RETURN_IF(!type->flat.item, -ENOMEM);
    memcpy(type->flat.item, flat->item, flat->items * sizeof *flat->item);
    type->flat.capacity = flat->items + 1;
    *place = (uint32_t)types->count++;
    return lookup_set(&types->of, from->id, *place);
}

static int by_type(const void *a, const void *b, void *context) {
    const struct model_type *type = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int order = compare_types(&type[x], &type[y]);
    return order ? order : x < y ? -1 : x > y;
}

int types_sort(struct types *types, uint32_t *place_of) {
    SCOPED_FREE uint32_t *order = malloc((types->count + 1) * sizeof *order);
    SCOPED_FREE struct model_type *sorted = malloc((types->count + 1) * sizeof *sorted);
    RETURN_IF(!order || !sorted, -ENOMEM);
    if (!types->count) return 0;
    for (size_t i = 0; i < types->count; i++) order[i] = (uint32_t)i;
    qsort_r(order, types->count, sizeof *order, by_type, types->type);
    for (size_t i = 0; i < types->count; i++) {
        sorted[i] = types->type[order[i]];
        place_of[order[i]] = (uint32_t)i;
    }
    memcpy(types->type, sorted, types->count * sizeof *sorted);
    return 0;
}

void types_free(struct types *types) {
    for (size_t i = 0; i < types->count; i++) datatype_free(&types->type[i].flat);
    free(types->type);
    lookup_free(&types->of);
    *types = (struct types){0};
}
