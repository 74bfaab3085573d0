#include "model/compare/phase_pair.h"

#include <string.h>

// One part in one phase.
struct side {
    const struct diff *diff;
    const struct fingerprint *fingerprint;
    const struct model_part *part;
    uint32_t np;
    uint32_t ph;
    size_t first; // of the phase's row in tables
};

// --- values

static bool value_at(const struct side *side, const struct model_item *item, const struct model_value *value,
                     size_t rank, int64_t *out) {
    size_t index = side->first + rank;
    struct expr_variables variables = {.idp = side->part->rank[rank], .np = side->np, .ph = side->ph};
    if (value != &item->at[AT_SIZE] && model_value_at(&item->at[AT_SIZE], &variables, index, &variables.rs))
        return false;
    return model_value_at(value, &variables, index, out) == 0;
}

// True if the expression `other`, in phase `ph` of its own family, gives the values of this side.
static bool explains(const struct side *side, const struct model_item *item, const struct model_value *value,
                     const struct model_value *other, uint32_t ph) {
    for (size_t i = 0; i < side->part->ranks; i++) {
        struct expr_variables variables = {.idp = side->part->rank[i], .np = side->np, .ph = ph};
        int64_t have, want;
        if (value != &item->at[AT_SIZE] && !value_at(side, item, &item->at[AT_SIZE], i, &variables.rs)) return false;
        if (!value_at(side, item, value, i, &have) || expr_eval(other->expr, &variables, &want) || have != want)
            return false;
    }
    return true;
}

static bool same_ranks(const struct side *a, const struct side *b) {
    return a->part->ranks == b->part->ranks &&
           !memcmp(a->part->rank, b->part->rank, a->part->ranks * sizeof *a->part->rank);
}

static bool same_value(const struct side *a, const struct model_item *item_a, const struct side *b,
                       const struct model_item *item_b, unsigned coordinate) {
    const struct model_value *x = &item_a->at[coordinate], *y = &item_b->at[coordinate];
    if (x->text && y->text && !strcmp(x->text, y->text) && (a->ph == b->ph || !strstr(x->text, "ph"))) return true;
    if (y->expr && explains(a, item_a, x, y, b->ph)) return true;
    if (a->np == b->np && y->expr) return false;
    if (x->expr) return explains(b, item_b, y, x, a->ph);
    if (!x->table || !y->table) return x->table == y->table;
    return same_ranks(a, b) && !memcmp(x->table + a->first, y->table + b->first, a->part->ranks * sizeof *x->table);
}

// True if views have the same datatypes, at whatever place in the tables.
static bool same_types(const struct side *a, const struct model_item *item_a, const struct side *b,
                       const struct model_item *item_b) {
    bool moves = false;
    for (unsigned s = 0; s < item_a->steps; s++) moves |= item_a->step[s].at[AT_SECOND] != 0;
    if (moves || !same_ranks(a, b)) return false;
    for (size_t i = 0; i < a->part->ranks; i++) {
        int64_t x, y;
        if (!value_at(a, item_a, &item_a->at[AT_SECOND], i, &x) || !value_at(b, item_b, &item_b->at[AT_SECOND], i, &y))
            return false;
        if (x < 0 || (uint64_t)x >= a->fingerprint->model->types.count || y < 0 ||
            (uint64_t)y >= b->fingerprint->model->types.count || a->fingerprint->type[x] != b->fingerprint->type[y]) {
            return false;
        }
    }
    return true;
}

static unsigned aspect_of(unsigned coordinate) {
    static const unsigned aspects[AT_COUNT] = {
        [AT_MEMBER] = ASPECT_MEMBER,     [AT_OFFSET] = ASPECT_OFFSET, [AT_SECOND] = ASPECT_VIEW,
        [AT_POSITION] = ASPECT_POSITION, [AT_SIZE] = ASPECT_SIZE,     [AT_SHORT] = ASPECT_SHORT,
    };
    return aspects[coordinate];
}

// --- items

unsigned diff_kinds_compare(const struct diff *diff, uint32_t a, uint32_t b) {
    const struct op_kind *x = &diff->a->kind[a], *y = &diff->b->kind[b];
    unsigned aspects = 0;
    if (x->layer != y->layer || strcmp(x->call, y->call)) aspects |= ASPECT_CALL;
    if (x->class != y->class) aspects |= ASPECT_LOOPS;
    if (x->flags != y->flags || x->whence != y->whence) aspects |= ASPECT_FLAGS;
    if (fingerprint_error(x) != fingerprint_error(y)) aspects |= ASPECT_ERROR;
    if (x->has_view != y->has_view || x->etype_bytes != y->etype_bytes) aspects |= ASPECT_VIEW;
    if (x->has_offset != y->has_offset) aspects |= ASPECT_OFFSET;
    if (diff->in_a.kind[a].memory != diff->in_b.kind[b].memory) aspects |= ASPECT_MEMORY;
    if (diff->in_a.kind[a].hints != diff->in_b.kind[b].hints) aspects |= ASPECT_HINTS;
    if ((x->set == OP_NO_SET) != (y->set == OP_NO_SET) || (x->set2 == OP_NO_SET) != (y->set2 == OP_NO_SET))
        aspects |= ASPECT_MEMBER;
    return aspects;
}

static bool lists_views(const struct side *side, const struct model_item *item) {
    for (uint64_t i = 0; i < item->count; i++) {
        if (side->fingerprint->model->kind[item->list[side->first][i].kind].etype_bytes) return true;
    }
    return false;
}

static unsigned compare_lists(const struct side *a, const struct model_item *x, const struct side *b,
                              const struct model_item *y) {
    unsigned aspects = 0;
    if (x->count != y->count || !same_ranks(a, b)) return ASPECT_LOOPS;
    if (a->fingerprint->types != b->fingerprint->types) aspects |= lists_views(a, x) ? ASPECT_VIEW : 0;
    for (size_t r = 0; r < a->part->ranks; r++) {
        const struct op *p = x->list[a->first + r], *q = y->list[b->first + r];
        for (uint64_t i = 0; i < x->count; i++) {
            aspects |= diff_kinds_compare(a->diff, p[i].kind, q[i].kind);
            for (unsigned c = 0; c < AT_COUNT; c++) aspects |= p[i].at[c] == q[i].at[c] ? 0 : aspect_of(c);
        }
    }
    return aspects;
}

// A step over the data of all processes grows with their number.
static bool same_steps(const struct side *a, const struct model_item *x, const struct side *b,
                       const struct model_item *y) {
    for (unsigned s = 0; s < x->steps; s++) {
        for (unsigned c = 0; c < AT_COUNT; c++) {
            int64_t p = x->step[s].at[c], q = y->step[s].at[c];
            if (p != q && (a->np == b->np || (__int128)p * b->np != (__int128)q * a->np)) return false;
        }
    }
    return true;
}

static unsigned compare_ops(const struct side *a, const struct model_item *x, const struct side *b,
                            const struct model_item *y) {
    unsigned aspects = diff_kinds_compare(a->diff, x->kind, y->kind);
    if (x->steps != y->steps) return aspects | ASPECT_LOOPS;
    if (!same_steps(a, x, b, y)) aspects |= ASPECT_STEPS;
    bool other_types =
        a->fingerprint->model->kind[x->kind].etype_bytes && a->fingerprint->types != b->fingerprint->types;
    for (unsigned c = 0; c < AT_COUNT; c++) {
        bool same = c == AT_SECOND && other_types ? same_types(a, x, b, y) : same_value(a, x, b, y, c);
        if (!same) aspects |= aspect_of(c);
    }
    return aspects;
}

static unsigned compare_items(const struct side *a, const struct model_items *xs, const struct side *b,
                              const struct model_items *ys) {
    unsigned aspects = 0;
    if (xs->count != ys->count) return ASPECT_LOOPS;
    for (size_t i = 0; i < xs->count; i++) {
        const struct model_item *x = &xs->item[i], *y = &ys->item[i];
        if (x->type != y->type) return aspects | ASPECT_LOOPS;
        if (x->count != y->count) aspects |= ASPECT_LOOPS;
        if (x->type == LOOPS_OP) aspects |= compare_ops(a, x, b, y);
        if (x->type == LOOPS_LIST) aspects |= compare_lists(a, x, b, y);
        if (x->type == LOOPS_LOOP) aspects |= compare_items(a, &x->body, b, &y->body);
    }
    return aspects;
}

// --- parts

// Ranks count from the nearer end: the last rank of 4 corresponds to the last rank of 9.
static bool same_rank(uint32_t a, uint32_t a_np, uint32_t b, uint32_t b_np) {
    return a == b || (a + 1 == a_np && b + 1 == b_np);
}

// True if both have the same ranges of ranks.
static bool ranks_agree(const struct side *a, const struct side *b) {
    const struct model_part *x = a->part, *y = b->part;
    size_t i = 0, k = 0;
    while (i < x->ranks && k < y->ranks) {
        if (!same_rank(x->rank[i], a->np, y->rank[k], b->np)) return false;
        while (i + 1 < x->ranks && x->rank[i + 1] == x->rank[i] + 1) i++;
        while (k + 1 < y->ranks && y->rank[k + 1] == y->rank[k] + 1) k++;
        if (!same_rank(x->rank[i++], a->np, y->rank[k++], b->np)) return false;
    }
    return i == x->ranks && k == y->ranks;
}

static struct side side_of(const struct diff *diff, const struct fingerprint *fingerprint, uint32_t phase,
                           const struct model_part *part) {
    const struct model *model = fingerprint->model;
    uint32_t ph = model->phase[phase].ph;
    return (struct side){
        .diff = diff,
        .fingerprint = fingerprint,
        .part = part,
        .np = diff_np(model, phase),
        .ph = ph,
        .first = model_place(part->ph, part->phs, ph) * part->ranks,
    };
}

static size_t count_transfers(const struct phase_fingerprint *phase) {
    size_t count = 0;
    while (count < phase->parts && !phase->part[count]->is_other) count++;
    return count;
}

struct diff_aspects diff_pair_compare(const struct diff *diff, uint32_t a, uint32_t b) {
    const struct phase_fingerprint *x = &diff->in_a.phase[a], *y = &diff->in_b.phase[b];
    struct diff_aspects found = {0};
    size_t x_transfers = count_transfers(x), y_transfers = count_transfers(y);
    if (x_transfers != y_transfers) found.transfers |= ASPECT_RANKS;
    if (x->parts - x_transfers != y->parts - y_transfers) found.others |= ASPECT_LOOPS;
    for (size_t i = 0; i < x->parts; i++) {
        bool is_other = i >= x_transfers;
        unsigned *aspects = is_other ? &found.others : &found.transfers;
        size_t k = is_other ? i - x_transfers + y_transfers : i;
        if (k >= (is_other ? y->parts : y_transfers)) continue;
        struct side p = side_of(diff, &diff->in_a, a, x->part[i]->part),
                    q = side_of(diff, &diff->in_b, b, y->part[k]->part);
        if (!ranks_agree(&p, &q)) *aspects |= ASPECT_RANKS;
        if (p.part->thread != q.part->thread) *aspects |= ASPECT_THREAD;
        *aspects |= compare_items(&p, &p.part->items, &q, &q.part->items);
    }
    return found;
}
