#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/scoped.h"
#include "model/build/build.h"
#include "model/fit.h"

struct loops_seq piece_items(const struct building *b, const struct piece *piece, bool others) {
    const struct segment *segment = &b->segments.segment[piece->segment];
    const struct loops_seq *all = others ? &segment->others : &segment->ops;
    return (struct loops_seq){piece->items ? &all->item[piece->first_item] : NULL, piece->items};
}

uint64_t items_shape(struct loops_seq items) {
    uint64_t shape = hash_add(0, items.count);
    for (size_t i = 0; i < items.count; i++) shape = hash_add(shape, items.item[i].shape);
    return shape;
}

static int compare_pieces(const void *x, const void *y) {
    const struct piece *a = x, *b = y;
    if (a->slot != b->slot) return a->slot < b->slot ? -1 : 1;
    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    if (a->shape != b->shape) return a->shape < b->shape ? -1 : 1;
    if (a->ph != b->ph) return a->ph < b->ph ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static int by_first_rank(const void *x, const void *y) {
    const struct model_part *a = x, *b = y;
    if (a->ph[0] != b->ph[0]) return a->ph[0] < b->ph[0] ? -1 : 1;
    if (a->rank[0] != b->rank[0]) return a->rank[0] < b->rank[0] ? -1 : 1;
    return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static size_t pieces_of_phase(const struct piece *pieces, size_t count) {
    size_t n = 1;
    while (n < count && pieces[n].slot == pieces[0].slot && pieces[n].thread == pieces[0].thread &&
           pieces[n].shape == pieces[0].shape && pieces[n].ph == pieces[0].ph) {
        n++;
    }
    return n;
}

// A part is a full table of phases and ranks. Sorts pieces so that the pieces of one part follow each other and have
// one shape, which from now on includes the ranks of the phase.
static void sort_pieces(struct piece *pieces, size_t count) {
    qsort(pieces, count, sizeof *pieces, compare_pieces);
    for (size_t first = 0, n; first < count; first += n) {
        n = pieces_of_phase(&pieces[first], count - first);
        uint64_t shape = hash_add(pieces[first].shape, n);
        for (size_t i = 0; i < n; i++) shape = hash_add(shape, pieces[first + i].rank);
        for (size_t i = 0; i < n; i++) pieces[first + i].shape = shape;
    }
    qsort(pieces, count, sizeof *pieces, compare_pieces);
}

static bool is_table(const struct piece *pieces, size_t count, size_t ranks) {
    for (size_t i = ranks; i < count; i++) {
        if (pieces[i].rank != pieces[i - ranks].rank || pieces[i].ph == pieces[i - ranks].ph) return false;
    }
    return count % ranks == 0;
}

// The pieces of one part, all with the same tree, for which expressions are searched.
struct fitting {
    struct building *b;
    struct model *model;
    const struct piece *piece;
    size_t count;
    bool others;
    size_t ranks;
    bool is_whole; // no other part has transfers
    uint32_t np;
    const struct loops **leaf; // of each piece, the leaf that is being looked at
    struct fit_point *point;
};

static int fit(struct fitting *f, int64_t rs, struct model_value *value) {
    char text[FIT_TEXT_BYTES];
    struct fit_input input = {.point = f->point, .count = f->count, .np = f->np, .rs = rs};
    int code = fit_expression(&input, text);
    if (code == 0) return builder_set_expression(&f->b->builder, value, text);
    if (code != ERR_NOTHING && code != ERR_USAGE) return code;
    FORWARD(arena_array(&f->model->arena, value->table, f->count));
    for (size_t i = 0; i < f->count; i++) value->table[i] = f->point[i].value;
    return 0;
}

// Fits the offset of the first operation as if the pieces of all ranks lay one after the other, dump after dump.
static int fit_logical(struct fitting *f, int64_t rs, struct model_value *value) {
    for (size_t first = 0; first < f->count; first += f->ranks) {
        int64_t before = 0;
        for (size_t i = 0; i < f->ranks; i++) before += f->leaf[first + i]->op.at[AT_SECOND];
        for (size_t i = 0; i < f->ranks; i++) {
            f->point[first + i].value = before;
            before += f->leaf[first + i]->op.at[AT_SIZE];
        }
    }
    return fit(f, rs, value);
}

static int fit_op(struct fitting *f, struct model_item *item) {
    const struct op_kind *kind = &f->b->recorded.kind[item->kind];
    int64_t rs = f->leaf[0]->op.at[AT_SIZE];
    for (size_t i = 1; i < f->count && rs; i++) {
        if (f->leaf[i]->op.at[AT_SIZE] != rs) rs = 0;
    }
    if (f->others) rs = 0;
    for (unsigned c = 0; c < AT_COUNT; c++) {
        for (size_t i = 0; i < f->count; i++) f->point[i].value = f->leaf[i]->op.at[c];
        FORWARD(fit(f, c == AT_OFFSET || c == AT_SECOND ? rs : 0, &item->at[c]));
    }
    return kind->has_view && f->is_whole ? fit_logical(f, rs, &item->logical) : 0;
}

static int copy_list(struct fitting *f, struct model_item *item) {
    FORWARD(arena_array(&f->model->arena, item->list, f->count));
    for (size_t i = 0; i < f->count; i++) item->list[i] = f->leaf[i]->list; // segments' loops are in the model's arena
    return 0;
}

// `at` holds for each piece the array of items that corresponds to `items`.
static int make_items(struct fitting *f, const struct loops **at, size_t count, struct model_items *items) {
    struct arena *arena = &f->model->arena;
    SCOPED_FREE const struct loops **inner = malloc(f->count * sizeof *inner);
    RETURN_IF(!inner, -ENOMEM);
    FORWARD(arena_array(arena, items->item, count));
    items->count = count;
    for (size_t k = 0; k < count; k++) {
        const struct loops *from = &at[0][k];
        struct model_item *item = &items->item[k];
        *item = (struct model_item){.type = from->type, .steps = from->steps, .count = from->count, .ops = from->ops};
        for (size_t i = 0; i < f->count; i++) f->leaf[i] = &at[i][k];
        if (from->type == LOOPS_LIST) {
            FORWARD(copy_list(f, item));
        } else if (from->type == LOOPS_OP) {
            item->kind = from->op.kind;
            item->step = arena_copy(arena, from->step, from->steps * sizeof *from->step);
            RETURN_IF(!item->step, -ENOMEM);
            FORWARD(fit_op(f, item));
        } else {
            for (size_t i = 0; i < f->count; i++) inner[i] = at[i][k].body;
            FORWARD(make_items(f, inner, from->length, &item->body));
        }
    }
    return 0;
}

static bool same_tree(const struct loops *a, const struct loops *b, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (a[i].type != b[i].type || a[i].count != b[i].count || a[i].steps != b[i].steps) return false;
        if (a[i].type == LOOPS_OP && (a[i].op.kind != b[i].op.kind ||
                                      (a[i].steps && memcmp(a[i].step, b[i].step, a[i].steps * sizeof *a[i].step)))) {
            return false;
        }
        if (a[i].type == LOOPS_LOOP && (a[i].length != b[i].length || !same_tree(a[i].body, b[i].body, a[i].length))) {
            return false;
        }
    }
    return true;
}

// Shapes are hashes. Two equal shapes with different trees are so unlikely that they are an error.
static int check_trees(const struct fitting *f) {
    const struct loops_seq first = piece_items(f->b, f->piece, f->others);
    for (size_t i = 1; i < f->count; i++) {
        const struct loops_seq other = piece_items(f->b, &f->piece[i], f->others);
        RETURN_IF(other.count != first.count || !same_tree(first.item, other.item, first.count), ERR_LIMIT);
    }
    return 0;
}

static int fit_part(struct fitting *f, struct model_part *part) {
    FORWARD(check_trees(f));
    SCOPED(arena_free) struct arena arena = {0};
    const struct loops **at;
    FORWARD(arena_array(&arena, at, f->count));
    FORWARD(arena_array(&arena, f->leaf, f->count));
    FORWARD(arena_array(&arena, f->point, f->count));
    for (size_t i = 0; i < f->count; i++) {
        at[i] = piece_items(f->b, &f->piece[i], f->others).item;
        f->point[i] = (struct fit_point){.idp = f->piece[i].rank, .ph = f->piece[i].ph};
    }
    return make_items(f, at, f->piece->items, &part->items);
}

// Transfers, or others, of one family.
struct splitting {
    struct building *b;
    const struct model_family *family;
    const struct piece *piece; // in the order of parts
    size_t count;
    bool others;
};

static int make_part(const struct splitting *s, const struct piece *pieces, size_t count, struct model_part *part) {
    struct model *model = s->b->model;
    size_t ranks = pieces_of_phase(pieces, count);
    RETURN_IF(!is_table(pieces, count, ranks), ERR_LIMIT);
    *part = (struct model_part){.ranks = ranks, .phs = count / ranks, .thread = pieces[0].thread};
    FORWARD(arena_array(&model->arena, part->rank, ranks));
    FORWARD(arena_array(&model->arena, part->ph, part->phs));
    for (size_t i = 0; i < ranks; i++) part->rank[i] = pieces[i].rank;
    for (size_t i = 0; i < part->phs; i++) part->ph[i] = pieces[i * ranks].ph;
    struct fitting f = {.b = s->b,
                        .model = model,
                        .piece = pieces,
                        .count = count,
                        .others = s->others,
                        .ranks = ranks,
                        .is_whole = !s->others && count == s->count,
                        .np = model->program[s->family->program].np};
    FORWARD(fit_part(&f, part));
    return build_think(s->b, part, pieces, count, s->others);
}

static size_t pieces_of_part(const struct piece *piece, size_t count) {
    size_t n = 1;
    while (n < count && piece[n].slot == piece->slot && piece[n].thread == piece->thread &&
           piece[n].shape == piece->shape)
        n++;
    return n;
}

static int split_parts(const struct splitting *s, struct model_part **parts, size_t *made) {
    size_t count = 0;
    for (size_t i = 0; i < s->count; i += pieces_of_part(&s->piece[i], s->count - i)) count++;
    FORWARD(arena_array(&s->b->model->arena, *parts, count));
    for (size_t first = 0, n, slot = 0; first < s->count; first += n) {
        n = pieces_of_part(&s->piece[first], s->count - first);
        FORWARD(make_part(s, &s->piece[first], n, &(*parts)[(*made)++]));
        bool ends_slot = first + n == s->count || s->piece[first + n].slot != s->piece[first].slot;
        if (!ends_slot) continue;
        qsort(*parts + slot, *made - slot, sizeof **parts, by_first_rank);
        slot = *made;
    }
    return 0;
}

int build_parts(struct building *b, uint32_t family, bool others) {
    struct model_family *to = &b->model->family[family];
    const struct pieces *all = &b->family[family];
    struct pieces pieces = {0};
    int code = 0;
    for (size_t i = 0; i < all->count && !code; i++) {
        const struct segment *segment = &b->segments.segment[all->piece[i].segment];
        struct piece piece = all->piece[i];
        piece.items = others ? segment->others.count : segment->ops.count;
        piece.shape = items_shape(piece_items(b, &piece, others));
        if (piece.items) code = array_push(pieces.piece, pieces.count, piece);
    }
    if (!code) code = build_common(b, &pieces, b->model->program[to->program].np, others);
    if (!code && pieces.count) {
        sort_pieces(pieces.piece, pieces.count);
        struct splitting s = {b, to, pieces.piece, pieces.count, others};
        code = others ? split_parts(&s, &to->other, &to->others) : split_parts(&s, &to->part, &to->parts);
    }
    free(pieces.piece);
    return code;
}
