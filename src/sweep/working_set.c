#include "sweep/working_set.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"

struct extent {
    uint64_t file; // set and member
    uint64_t low, high;
};

struct extents {
    struct extent *item;
    size_t count;
    size_t joined; // this many are sorted and do not overlap
};

// The view of a rank on a file.
struct view {
    uint32_t rank, handle;
    uint64_t file;
    struct datatype_tiling tiling;
};

struct walking {
    const struct model *model;
    uint32_t rank;
    struct extents phase;
    struct view *view;
    size_t views;
};

// --- extents

static int order(const void *a, const void *b) {
    const struct extent *x = a, *y = b;
    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    return x->low < y->low ? -1 : x->low > y->low;
}

static void join(struct extents *all) {
    size_t kept = 0;
    if (all->count) qsort(all->item, all->count, sizeof *all->item, order);
    for (size_t i = 0; i < all->count; i++) {
        struct extent *last = kept ? &all->item[kept - 1] : NULL, next = all->item[i];
        if (last && last->file == next.file && next.low <= last->high) {
            if (next.high > last->high) last->high = next.high;
            continue;
        }
        all->item[kept++] = next;
    }
    all->count = all->joined = kept;
}

static uint64_t sum(const struct extents *all) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < all->count; i++) bytes += all->item[i].high - all->item[i].low;
    return bytes;
}

// The capacity of a growable array follows from its count, so what is joined is copied to a new one.
static int shrink(struct extents *all) {
    struct extents smaller = {0};
    int code = 0;
    join(all);
    for (size_t i = 0; i < all->count && !code; i++) code = array_push(smaller.item, smaller.count, all->item[i]);
    free(all->item);
    smaller.joined = smaller.count;
    *all = smaller;
    return code;
}

// Joins when there are twice as many as were left the last time: their number stays that of the pieces in the files.
static int add(struct extents *all, uint64_t file, int64_t low, uint64_t bytes) {
    enum { FEW = 1 << 16 };
    if (!bytes || low < 0) return 0;
    struct extent *last = all->count > all->joined ? &all->item[all->count - 1] : NULL;
    if (last && last->file == file && last->high == (uint64_t)low) {
        last->high += bytes;
        return 0;
    }
    if (all->count > FEW && all->count > 2 * all->joined) FORWARD(shrink(all));
    return array_push(all->item, all->count, (struct extent){file, (uint64_t)low, (uint64_t)low + bytes});
}

// --- operations

static struct view *find_view(struct walking *w, uint64_t file, uint32_t handle) {
    for (size_t i = w->views; i-- > 0;) {
        struct view *view = &w->view[i];
        if (view->rank == w->rank && view->handle == handle && view->file == file) return view;
    }
    return NULL;
}

static int set_view(struct walking *w, const struct model_step *step, uint64_t file) {
    int64_t place = step->op->at[AT_SECOND];
    if (place < 0 || (uint64_t)place >= w->model->types.count) return 0;
    const struct model_type *type = &w->model->types.type[place];
    struct view view = {.rank = w->rank,
                        .handle = step->kind->handle,
                        .file = file,
                        .tiling = {&type->flat, type->bytes, type->extent, step->op->at[AT_OFFSET]}};
    struct view *old = find_view(w, file, step->kind->handle);
    if (!old) return array_push(w->view, w->views, view);
    *old = view;
    return 0;
}

// A view that is not known, or only in part, counts as if it had no holes.
static int add_viewed(struct walking *w, const struct model_step *step, uint64_t file, uint64_t moved) {
    const struct view *view = find_view(w, file, step->kind->handle);
    struct datatype_map map;
    struct datatype_piece piece;
    int more = ERR_LIMIT;
    if (view && datatype_map_start(&map, &view->tiling, (uint64_t)step->op->at[AT_SECOND], moved) == 0) {
        while ((more = datatype_map_next(&map, &piece)) == 1) FORWARD(add(&w->phase, file, piece.offset, piece.bytes));
    }
    return more < 0 ? add(&w->phase, file, step->op->at[AT_OFFSET], moved) : 0;
}

static int take(const struct model_step *step, void *context) {
    struct walking *w = context;
    const struct op_kind *kind = step->kind;
    if (kind->set == OP_NO_SET || kind->error) return 0;
    uint64_t file = (uint64_t)kind->set << 32 | (uint32_t)step->op->at[AT_MEMBER];
    if (kind->etype_bytes) return set_view(w, step, file);
    if (!op_kind_moves(kind)) return 0;
    int64_t moved = step->op->at[AT_SIZE] - step->op->at[AT_SHORT];
    if (moved <= 0) return 0;
    return kind->has_view ? add_viewed(w, step, file, (uint64_t)moved)
                          : add(&w->phase, file, step->op->at[AT_OFFSET], (uint64_t)moved);
}

static int walk_phase(struct walking *w, uint32_t program, uint32_t threads, uint32_t phase) {
    for (w->rank = 0; w->rank < w->model->program[program].np; w->rank++) {
        for (uint32_t thread = 0; thread < threads; thread++)
            FORWARD(model_expand_phase(w->model, phase, w->rank, thread, take, w));
    }
    return 0;
}

int working_set_of(const struct model *model, uint32_t program, uint64_t *by_phase, uint64_t *total) {
    struct walking w = {.model = model};
    struct extents all = {0};
    uint32_t threads = model_threads(model, program);
    int code = 0;
    *total = 0;
    for (size_t i = model->program[program].first; i < model->program[program].end && !code; i++) {
        code = walk_phase(&w, program, threads, (uint32_t)i);
        join(&w.phase);
        if (by_phase) by_phase[i] = sum(&w.phase);
        for (size_t k = 0; k < w.phase.count && !code; k++)
            code = add(&all, w.phase.item[k].file, (int64_t)w.phase.item[k].low,
                       w.phase.item[k].high - w.phase.item[k].low);
        free(w.phase.item);
        w.phase = (struct extents){0};
    }
    join(&all);
    *total = sum(&all);
    free(all.item);
    free(w.view);
    return code;
}
