// Makes MPI datatypes from the pieces and loops of the model, with the constructors that a program would use: MPIs
// spend several times as long in a transfer through a struct of pieces as through the vector that has the same bytes.
#include <limits.h>
#include <stdlib.h>

#include "replay/runner/mpi_objects.h"

enum {
    LARGEST_UNIT = 8,
    // Three pieces at equal distances are a loop in the model, by chance or not. A list with more rounds per item is
    // none that a program wrote down.
    MOST_ROUNDS = 8,
};

MPI_Datatype mpi_type_of_size(int64_t bytes) {
    switch (bytes) {
    case 1: return MPI_BYTE;
    case 2: return MPI_SHORT;
    case 4: return MPI_INT;
    case 8: return MPI_DOUBLE;
    case 16: return MPI_C_DOUBLE_COMPLEX;
    default: return MPI_DATATYPE_NULL;
    }
}

// --- elements

static bool divides(const struct model_type *type, int64_t unit) {
    bool all = true;
    for (uint32_t i = 0; i < type->flat.items; i++) {
        const struct datatype_item *item = &type->flat.item[i];
        all &= item->offset % unit == 0 && item->stride % unit == 0 && (int64_t)item->bytes % unit == 0;
    }
    return all;
}

static bool fits_int(const struct model_type *type, int64_t unit) {
    for (uint32_t i = 0; i < type->flat.items; i++) {
        const struct datatype_item *item = &type->flat.item[i];
        if (item->count > INT_MAX || (!datatype_is_loop(item) && (int64_t)item->bytes / unit > INT_MAX)) return false;
    }
    return true;
}

static int64_t natural_unit(const struct model_type *type) {
    int64_t unit = LARGEST_UNIT;
    while (unit > 1 && !divides(type, unit)) unit /= 2;
    return unit;
}

// An element that is no predefined type is a row of the largest ones.
static int make_element(int64_t bytes, MPI_Datatype *out) {
    int64_t unit = LARGEST_UNIT;
    *out = mpi_type_of_size(bytes);
    if (*out != MPI_DATATYPE_NULL) return MPI_SUCCESS;
    while (bytes % unit) unit /= 2;
    int code = MPI_Type_contiguous((int)(bytes / unit), mpi_type_of_size(unit), out);
    return code == MPI_SUCCESS ? MPI_Type_commit(out) : code;
}

static void free_unless(MPI_Datatype *type, MPI_Datatype kept) {
    if (*type != MPI_DATATYPE_NULL && *type != kept) MPI_Type_free(type);
}

// --- bodies

struct making {
    const struct datatype *flat;
    MPI_Datatype element;
    int64_t unit; // its bytes
};

// The items of a body, or the pieces of all its rounds.
struct row {
    int count;
    int *length;
    MPI_Aint *offset;
    MPI_Datatype *type;
};

static bool row_make(struct row *row, size_t room) {
    *row = (struct row){
        .length = malloc((room + 1) * sizeof *row->length),
        .offset = malloc((room + 1) * sizeof *row->offset),
        .type = malloc((room + 1) * sizeof *row->type),
    };
    return row->length && row->offset && row->type;
}

static void row_add(struct row *row, int64_t offset, int64_t length, MPI_Datatype type) {
    row->offset[row->count] = (MPI_Aint)offset;
    row->length[row->count] = (int)length;
    row->type[row->count++] = type;
}

static void row_free(struct row *row, MPI_Datatype kept) {
    MPI_Datatype last = kept; // alike loops are one type
    for (int i = 0; i < row->count; i++) {
        MPI_Datatype own = row->type[i];
        if (own != last) free_unless(&row->type[i], kept);
        last = own;
    }
    free(row->length);
    free(row->offset);
    free(row->type);
}

static int row_type(const struct row *row, MPI_Datatype *out) {
    bool one_type = true, one_length = true;
    for (int i = 1; i < row->count; i++) {
        one_type &= row->type[i] == row->type[0];
        one_length &= row->length[i] == row->length[0];
    }
    if (!row->count) return MPI_Type_contiguous(0, MPI_BYTE, out);
    if (!one_type) return MPI_Type_create_struct(row->count, row->length, row->offset, row->type, out);
    if (!one_length) return MPI_Type_create_hindexed(row->count, row->length, row->offset, row->type[0], out);
    if (row->count == 1 && !row->offset[0]) return MPI_Type_contiguous(row->length[0], row->type[0], out);
    return MPI_Type_create_hindexed_block(row->count, row->length[0], row->offset, row->type[0], out);
}

static int make_body(const struct making *m, uint32_t first, uint32_t end, MPI_Datatype *out);

static int make_loop(const struct making *m, uint32_t at, MPI_Datatype *out) {
    const struct datatype_item *loop = &m->flat->item[at];
    MPI_Datatype body;
    if (loop->span == 2) {
        return MPI_Type_create_hvector((int)loop->count, (int)((int64_t)loop->bytes / m->unit), (MPI_Aint)loop->stride,
                                       m->element, out);
    }
    int code = make_body(m, at + 1, at + loop->span, &body);
    if (code != MPI_SUCCESS) return code;
    code = MPI_Type_create_hvector((int)loop->count, 1, (MPI_Aint)loop->stride, body, out);
    MPI_Type_free(&body);
    return code;
}

static int add_pieces(const struct making *m, uint32_t first, uint32_t end, struct row *row) {
    for (uint32_t i = first; i < end; i += m->flat->item[i].span) {
        const struct datatype_item *item = &m->flat->item[i];
        for (uint64_t round = 0; round < item->count; round++) {
            row_add(row, item->offset + (int64_t)round * item->stride, (int64_t)item->bytes / m->unit, m->element);
        }
    }
    return MPI_SUCCESS;
}

static int add_items(const struct making *m, uint32_t first, uint32_t end, struct row *row) {
    int code = MPI_SUCCESS;
    const struct datatype_item *before = NULL;
    for (uint32_t i = first; i < end && code == MPI_SUCCESS; i += m->flat->item[i].span) {
        const struct datatype_item *item = &m->flat->item[i];
        MPI_Datatype type;
        if (!datatype_is_loop(item)) {
            row_add(row, item->offset, (int64_t)item->bytes / m->unit, m->element);
            before = NULL;
            continue;
        }
        if (before && datatype_are_alike(before, item))
            type = row->type[row->count - 1];
        else
            code = make_loop(m, i, &type);
        if (code == MPI_SUCCESS) row_add(row, item->offset, 1, type);
        before = item;
    }
    return code;
}

static int make_body(const struct making *m, uint32_t first, uint32_t end, MPI_Datatype *out) {
    const struct datatype_item *item = &m->flat->item[first];
    uint64_t items = 0, pieces = 0;
    bool only_pieces = true;
    struct row row;
    if (end > first && end - first == item->span && datatype_is_loop(item) && !item->offset)
        return make_loop(m, first, out);
    for (uint32_t i = first; i < end; i += m->flat->item[i].span, items++) {
        only_pieces &= m->flat->item[i].span <= 2;
        pieces += m->flat->item[i].count;
    }
    bool is_list = only_pieces && pieces <= items * MOST_ROUNDS && (items > 1 || pieces == 1);
    int code = row_make(&row, is_list ? pieces : items) ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    if (code == MPI_SUCCESS) code = (is_list ? add_pieces : add_items)(m, first, end, &row);
    if (code == MPI_SUCCESS) code = row_type(&row, out);
    row_free(&row, m->element);
    return code;
}

// --- whole types

int mpi_make_type(const struct model_type *from, int64_t unit, MPI_Datatype *out) {
    struct making m = {.flat = &from->flat, .unit = unit && divides(from, unit) ? unit : natural_unit(from)};
    MPI_Datatype body = MPI_DATATYPE_NULL;
    MPI_Aint low, extent;
    if (!fits_int(from, m.unit)) return MPI_ERR_COUNT;
    int code = make_element(m.unit, &m.element);
    if (code == MPI_SUCCESS) code = make_body(&m, 0, from->flat.items, &body);
    if (code == MPI_SUCCESS) code = MPI_Type_get_extent(body, &low, &extent);
    if (code == MPI_SUCCESS && extent != (MPI_Aint)from->extent)
        code = MPI_Type_create_resized(body, 0, (MPI_Aint)from->extent, out);
    else
        *out = body;
    if (code == MPI_SUCCESS) code = MPI_Type_commit(out);
    free_unless(&body, *out);
    free_unless(&m.element, mpi_type_of_size(m.unit));
    return code;
}

// Where filetype and etype are the same predefined type, Open MPI is up to 700 times faster than with a type of one.
int mpi_make_view(const struct model_type *from, uint32_t etype_bytes, struct mpi_view *out) {
    bool is_etype = !from->derived && from->bytes == etype_bytes && datatype_is_contiguous(&from->flat, etype_bytes);
    int code = make_element(etype_bytes, &out->etype);
    out->etype_bytes = etype_bytes;
    out->filetype = out->etype;
    return code == MPI_SUCCESS && !is_etype ? mpi_make_type(from, etype_bytes, &out->filetype) : code;
}
