#include "model/compare/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/lookup.h"
#include "model/compare/phase_pair.h"

const char *diff_change_name(enum diff_change change)
{
    static const char *const names[] = {"same", "np", "moved", "changed", "added", "removed"};
    return names[change];
}

// Which thing of B corresponds to each thing of A, and the reverse, as far as known.
struct pairing {
    uint32_t *to_b, *to_a; // DIFF_NONE if not known
};

struct comparing {
    struct diff *diff;
    struct diff_noting noting;
    struct pairing files, families;
    uint32_t *to;     // alignment of the program under way
    uint32_t *from_b; // by phase of B: its phase of A, or DIFF_NONE
};

// --- things that correspond

static int pairing_begin(struct pairing *pairing, size_t a_count, size_t b_count)
{
    pairing->to_b = malloc((a_count + 1) * sizeof *pairing->to_b);
    pairing->to_a = malloc((b_count + 1) * sizeof *pairing->to_a);
    RETURN_IF(!pairing->to_b || !pairing->to_a, -ENOMEM);
    memset(pairing->to_b, 0xff, (a_count + 1) * sizeof *pairing->to_b);
    memset(pairing->to_a, 0xff, (b_count + 1) * sizeof *pairing->to_a);
    return 0;
}

static void pairing_end(struct pairing *pairing)
{
    free(pairing->to_b);
    free(pairing->to_a);
}

// True if the two may correspond; they do from then on.
static bool pair_up(struct pairing *pairing, uint32_t a, uint32_t b)
{
    if (pairing->to_b[a] == DIFF_NONE && pairing->to_a[b] == DIFF_NONE) {
        pairing->to_b[a] = b;
        pairing->to_a[b] = a;
    }
    return pairing->to_b[a] == b;
}

// --- programs

static const char *base_name(const struct model_program *program)
{
    const char *name = program->name ? program->name : "", *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

// How programs can correspond, the best way first.
static bool programs_match(const struct diff *diff, uint32_t a, uint32_t b, unsigned way)
{
    const struct model_program *x = &diff->a->program[a], *y = &diff->b->program[b];
    if (way == 0) return x->is_mpi == y->is_mpi && !strcmp(base_name(x), base_name(y));
    return way == 1 ? x->is_mpi == y->is_mpi : true;
}

enum { WAYS = 3 };

static int match_equal(struct comparing *c, uint32_t *to_b, bool *taken)
{
    struct diff *diff = c->diff;
    size_t count = diff->b->programs;
    struct lookup first = {0};
    uint32_t *next = malloc((count + 1) * sizeof *next); // of the same hash
    int code = next ? 0 : -ENOMEM;
    for (uint32_t i = (uint32_t)count; i-- > 0 && !code;) {
        next[i] = lookup_find(&first, diff->in_b.program[i]);
        code = lookup_set(&first, diff->in_b.program[i], i);
    }
    for (uint32_t i = 0; i < diff->a->programs && !code; i++) {
        uint32_t found = lookup_find(&first, diff->in_a.program[i]);
        if (found == LOOKUP_NONE) continue;
        to_b[i] = found;
        taken[found] = true;
        code = lookup_set(&first, diff->in_a.program[i], next[found]);
    }
    free(next);
    lookup_free(&first);
    return code;
}

// Matches the programs that are not equal, each with the first one left that fits. A script may start many programs, so
// a search that finds nothing does not go far.
static void match_rest(const struct diff *diff, uint32_t *to_b, bool *taken)
{
    enum { FAR = 256 };
    for (unsigned way = 0; way < WAYS; way++) {
        uint32_t first = 0;
        for (uint32_t i = 0; i < diff->a->programs; i++) {
            while (first < diff->b->programs && taken[first]) first++;
            for (uint32_t k = first; k < diff->b->programs && k - first < FAR && to_b[i] == DIFF_NONE; k++) {
                if (taken[k] || !programs_match(diff, i, k, way)) continue;
                to_b[i] = k;
                taken[k] = true;
            }
        }
    }
}

static int add_program(struct comparing *c, uint32_t a, uint32_t b)
{
    return array_push(c->diff->program, c->diff->programs, (struct diff_program){a, b});
}

static int match_programs(struct comparing *c)
{
    struct diff *diff = c->diff;
    uint32_t *to_b = malloc((diff->a->programs + 1) * sizeof *to_b);
    bool *taken = calloc(diff->b->programs + 1, sizeof *taken);
    int code = to_b && taken ? 0 : -ENOMEM;
    for (size_t i = 0; i < diff->a->programs && !code; i++) to_b[i] = DIFF_NONE;
    if (!code) code = match_equal(c, to_b, taken);
    if (!code) match_rest(diff, to_b, taken);
    for (uint32_t i = 0; i < diff->a->programs && !code; i++) code = add_program(c, i, to_b[i]);
    for (uint32_t i = 0; i < diff->b->programs && !code; i++) {
        if (!taken[i]) code = add_program(c, DIFF_NONE, i);
    }
    free(to_b);
    free(taken);
    return code;
}

// --- what two phases do besides transfers, without lookups
//
// Lookups ask about names and leave nothing behind: stat, access, readlink, reading directories, and opens and the like
// that fail. How many there are depends on where the files lie (each folder of the path is asked for), on what else is
// there and on how long a program waited for something to appear. They are in models, and the number is compared, but
// they do not make two structures different.

struct other_op {
    uint32_t rank;
    uint32_t thread;
    size_t order; // among all
    struct op op;
};

struct diff_others {
    struct other_op *op; // by rank and thread, each in its order
    size_t count;
    uint64_t lookups;
};

enum { OPS_MOST = 4 << 20 }; // of a phase; a small model may stand for more

static bool is_lookup(const struct op_kind *kind)
{
    unsigned effect = call_table[kind->call_id].effect;
    if (kind->class != CLASS_META && kind->class != CLASS_OPEN) return false;
    return kind->error || effect == EFFECT_LOOKUP || effect == EFFECT_STAT;
}

struct collecting {
    const struct model *model;
    struct diff_others *others;
    uint32_t rank, thread;
};

static int add_other(const struct op *op, size_t leaf, void *context)
{
    struct collecting *c = context;
    struct diff_others *others = c->others;
    (void)leaf;
    if (is_lookup(&c->model->kind[op->kind])) {
        others->lookups++;
        return 0;
    }
    FORWARD(array_room(others->op, others->count));
    others->op[others->count] = (struct other_op){c->rank, c->thread, others->count, *op};
    others->count++;
    return 0;
}

static int compare_others(const void *x, const void *y)
{
    const struct other_op *a = x, *b = y;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static int collect_part(struct collecting *c, const struct model_family *family, const struct model_part *part,
                        uint32_t ph)
{
    size_t place = model_place(part->ph, part->phs, ph);
    c->thread = part->thread;
    for (size_t i = 0; i < part->ranks; i++) {
        c->rank = part->rank[i];
        FORWARD(model_walk(&(struct model_process){c->model, family, part, place, i}, add_other, c));
    }
    return 0;
}

// ERR_LIMIT: there are too many to look at one by one.
static int collect_others(const struct fingerprint *fingerprint, uint32_t phase, struct diff_others *others)
{
    const struct model *model = fingerprint->model;
    const struct phase_fingerprint *from = &fingerprint->phase[phase];
    struct collecting c = {.model = model, .others = others};
    *others = (struct diff_others){0};
    RETURN_IF(from->others > OPS_MOST, ERR_LIMIT);
    for (size_t i = 0; i < from->parts; i++) {
        const struct model_part *part = from->part[i]->part;
        if (!from->part[i]->is_other) continue;
        FORWARD(collect_part(&c, &model->family[model->phase[phase].family], part, model->phase[phase].ph));
    }
    if (others->count) qsort(others->op, others->count, sizeof *others->op, compare_others);
    return 0;
}

static void free_others(struct diff_others *others)
{
    free(others->op);
    *others = (struct diff_others){0};
}

// --- pairs of phases

struct lookups {
    bool differ; // and nothing else
    uint64_t a, b;
};

static uint32_t np_of(const struct model *model, uint32_t phase)
{
    return model->program[model->family[model->phase[phase].family].program].np;
}

static void check_file(struct comparing *c, uint32_t a_np, uint32_t a, uint32_t b_np, uint32_t b)
{
    if (a == OP_NO_SET || b == OP_NO_SET) return;
    uint64_t members_a = c->diff->a->file[a].set->member_count, members_b = c->diff->b->file[b].set->member_count;
    if (!pair_up(&c->files, a, b)) diff_note_add(&c->noting, (struct diff_note){.what = "file"});
    if (!diff_in_proportion(members_a, a_np, members_b, b_np))
        diff_note_count(&c->noting, "members", NULL, members_a, members_b);
}

// Checks the files of parts with equal hashes, or of transfers only.
static void check_files(struct comparing *c, uint32_t a, uint32_t b, bool others)
{
    const struct diff *diff = c->diff;
    const struct phase_fingerprint *x = &diff->in_a.phase[a], *y = &diff->in_b.phase[b];
    uint32_t a_np = np_of(diff->a, a), b_np = np_of(diff->b, b);
    for (size_t i = 0; i < x->parts && i < y->parts; i++) {
        const struct part_fingerprint *p = x->part[i], *q = y->part[i];
        if ((p->is_other || q->is_other) && !others) return;
        for (size_t k = 0; k < p->files && k < q->files; k++) check_file(c, a_np, p->file[k], b_np, q->file[k]);
    }
}

static bool same_others(const struct diff *diff, const struct diff_others *x, const struct diff_others *y)
{
    bool same_types = diff->in_a.types == diff->in_b.types;
    if (x->count != y->count) return false;
    for (size_t i = 0; i < x->count; i++) {
        const struct other_op *p = &x->op[i], *q = &y->op[i];
        if (p->rank != q->rank || p->thread != q->thread || memcmp(p->op.at, q->op.at, sizeof p->op.at) ||
            diff_kinds_compare(diff, p->op.kind, q->op.kind) ||
            (diff->a->kind[p->op.kind].etype_bytes && !same_types)) {
            return false;
        }
    }
    return true;
}

// If the number of processes is the same and only others differ, lookups may be the whole difference.
static void compare_without_lookups(struct comparing *c, uint32_t a, uint32_t b, struct diff_aspects *aspects,
                                    struct lookups *lookups)
{
    const struct diff *diff = c->diff;
    struct diff_others x = {0}, y = {0};
    uint32_t a_np = np_of(diff->a, a), b_np = np_of(diff->b, b);
    if (aspects->transfers || !aspects->others || a_np != b_np || c->noting.error) return;
    int code = collect_others(&diff->in_a, a, &x);
    if (!code) code = collect_others(&diff->in_b, b, &y);
    if (!code && same_others(diff, &x, &y)) {
        *aspects = (struct diff_aspects){0};
        *lookups = (struct lookups){true, x.lookups, y.lookups};
        for (size_t i = 0; i < x.count; i++) {
            const struct op_kind *p = &diff->a->kind[x.op[i].op.kind], *q = &diff->b->kind[y.op[i].op.kind];
            check_file(c, a_np, p->set, b_np, q->set);
            check_file(c, a_np, p->set2, b_np, q->set2);
        }
    }
    if (code != ERR_LIMIT) c->noting.error = code;
    free_others(&x);
    free_others(&y);
}

// Returns what separates a phase from the previous one. It is not known for the first phase of a program, or the first
// one of a family (whose cut is the one between its phases). A pause where the pattern changes anyway means nothing.
static const char *separator_of(const struct model *model, uint32_t phase)
{
    const struct model_family *family = &model->family[model->phase[phase].family];
    if (phase == model->program[family->program].first || (model->phase[phase].ph == 1 && family->count > 1))
        return NULL;
    return family->cut == CUT_COMMUNICATION ? "communication" : "pattern";
}

static void check_pair(struct comparing *c, uint32_t a, uint32_t b, bool others)
{
    const struct diff *diff = c->diff;
    const char *x = separator_of(diff->a, a), *y = separator_of(diff->b, b);
    check_files(c, a, b, others);
    if (!pair_up(&c->families, diff->a->phase[a].family, diff->b->phase[b].family))
        diff_note_add(&c->noting, (struct diff_note){.what = "family"});
    if (x && y) diff_note_text(&c->noting, "separator", NULL, x, y);
}

static int add_row(struct comparing *c, uint32_t a, uint32_t b, enum diff_change change)
{
    struct diff *diff = c->diff;
    FORWARD(array_room(diff->row, diff->rows));
    struct diff_row *row = &diff->row[diff->rows++];
    *row = (struct diff_row){.a = a, .b = b, .change = change};
    return diff_note_keep(&c->noting, row);
}

static int add_pair(struct comparing *c, uint32_t a, uint32_t b, enum diff_change change)
{
    const struct diff *diff = c->diff;
    uint32_t a_np = np_of(diff->a, a), b_np = np_of(diff->b, b);
    struct diff_aspects aspects = {0};
    struct lookups lookups = {0};
    if (diff->in_a.phase[a].structure != diff->in_b.phase[b].structure) {
        aspects = diff_pair_compare(diff, a, b);
        compare_without_lookups(c, a, b, &aspects, &lookups);
    }
    if (aspects.transfers || aspects.others)
        diff_note_pair(&c->noting, a, b, &aspects);
    else
        check_pair(c, a, b, !lookups.differ);
    if (aspects.transfers || aspects.others || c->noting.notes)
        change = DIFF_CHANGED;
    else if (a_np != b_np && change == DIFF_SAME)
        change = DIFF_NP;
    diff_note_count(&c->noting, "lookups", NULL, lookups.a, lookups.b);
    diff_note_count(&c->noting, "np", NULL, a_np, b_np);
    return add_row(c, a, b, change);
}

// --- the phases of two programs

// Finds phases of A without a partner that equal a phase of B without a partner elsewhere in the order.
static int match_moved(struct comparing *c, const struct model_program *x, const struct model_program *y,
                       uint32_t *moved)
{
    const struct diff *diff = c->diff;
    struct lookup first = {0};
    size_t count = y->end - y->first;
    uint32_t *next = malloc((count + 1) * sizeof *next);
    int code = next ? 0 : -ENOMEM;
    for (size_t k = count; k-- > 0 && !code;) {
        uint64_t structure = diff->in_b.phase[y->first + k].structure;
        if (c->from_b[y->first + k] != DIFF_NONE) continue;
        next[k] = lookup_find(&first, structure);
        code = lookup_set(&first, structure, (uint32_t)k);
    }
    for (size_t i = 0; i < x->end - x->first && !code; i++) {
        uint64_t structure = diff->in_a.phase[x->first + i].structure;
        uint32_t found = c->to[i] == DIFF_NONE ? lookup_find(&first, structure) : LOOKUP_NONE;
        moved[i] = DIFF_NONE;
        if (found == LOOKUP_NONE) continue;
        moved[i] = found;
        c->from_b[y->first + found] = (uint32_t)(x->first + i);
        code = lookup_set(&first, structure, next[found]);
    }
    free(next);
    lookup_free(&first);
    return code;
}

static int add_new(struct comparing *c, uint32_t from, uint32_t end)
{
    for (uint32_t k = from; k < end; k++) {
        if (c->from_b[k] == DIFF_NONE) FORWARD(add_row(c, DIFF_NONE, k, DIFF_ADDED));
    }
    return 0;
}

static int add_rows(struct comparing *c, const struct model_program *x, const struct model_program *y,
                    const uint32_t *moved)
{
    uint32_t next = (uint32_t)y->first; // of B
    for (uint32_t i = 0; i < x->end - x->first; i++) {
        uint32_t a = (uint32_t)x->first + i;
        if (c->to[i] != DIFF_NONE) {
            uint32_t b = (uint32_t)y->first + c->to[i];
            FORWARD(add_new(c, next, b));
            FORWARD(add_pair(c, a, b, DIFF_SAME));
            next = b + 1;
        } else if (moved[i] != DIFF_NONE) {
            FORWARD(add_pair(c, a, (uint32_t)y->first + moved[i], DIFF_MOVED));
        } else {
            FORWARD(add_row(c, a, DIFF_NONE, DIFF_REMOVED));
        }
    }
    return add_new(c, next, (uint32_t)y->end);
}

static int compare_programs(struct comparing *c, const struct diff_program *pair)
{
    static const struct model_program none;
    const struct diff *diff = c->diff;
    const struct model_program *x = pair->a == DIFF_NONE ? &none : &diff->a->program[pair->a];
    const struct model_program *y = pair->b == DIFF_NONE ? &none : &diff->b->program[pair->b];
    FORWARD(diff_align(diff->in_a.phase + x->first, x->end - x->first, diff->in_b.phase + y->first, y->end - y->first,
                       c->to));
    for (size_t i = 0; i < x->end - x->first; i++) {
        if (c->to[i] != DIFF_NONE) c->from_b[y->first + c->to[i]] = (uint32_t)(x->first + i);
    }
    uint32_t *moved = malloc((x->end - x->first + 1) * sizeof *moved);
    int code = moved ? match_moved(c, x, y, moved) : -ENOMEM;
    if (!code) code = add_rows(c, x, y, moved);
    free(moved);
    return code;
}

static bool is_equal(const struct diff *diff)
{
    for (size_t i = 0; i < diff->programs; i++) {
        const struct diff_program *pair = &diff->program[i];
        if (pair->a == DIFF_NONE || pair->b == DIFF_NONE) return false;
        const struct model_program *x = &diff->a->program[pair->a], *y = &diff->b->program[pair->b];
        if (x->np != y->np || x->is_mpi != y->is_mpi) return false;
    }
    for (size_t i = 0; i < diff->rows; i++) {
        if (diff->row[i].change != DIFF_SAME) return false;
    }
    return true;
}

static int compare(struct comparing *c)
{
    struct diff *diff = c->diff;
    FORWARD(fingerprint_make(&diff->in_a, diff->a));
    FORWARD(fingerprint_make(&diff->in_b, diff->b));
    FORWARD(diff_noting_begin(&c->noting, diff));
    FORWARD(pairing_begin(&c->files, diff->a->files, diff->b->files));
    FORWARD(pairing_begin(&c->families, diff->a->families, diff->b->families));
    c->to = malloc((diff->a->phases + 1) * sizeof *c->to);
    c->from_b = malloc((diff->b->phases + 1) * sizeof *c->from_b);
    RETURN_IF(!c->to || !c->from_b, -ENOMEM);
    memset(c->from_b, 0xff, (diff->b->phases + 1) * sizeof *c->from_b);
    FORWARD(match_programs(c));
    for (size_t i = 0; i < diff->programs; i++) FORWARD(compare_programs(c, &diff->program[i]));
    diff->equal = is_equal(diff);
    return 0;
}

int diff_make(struct diff *diff, const struct model *a, const struct model *b)
{
    *diff = (struct diff){.a = a, .b = b};
    struct comparing c = {.diff = diff, .noting.diff = diff};
    int code = compare(&c);
    diff_noting_end(&c.noting);
    pairing_end(&c.files);
    pairing_end(&c.families);
    free(c.to);
    free(c.from_b);
    if (code) diff_free(diff);
    return code;
}

void diff_free(struct diff *diff)
{
    fingerprint_free(&diff->in_a);
    fingerprint_free(&diff->in_b);
    free(diff->program);
    free(diff->row);
    arena_free(&diff->arena);
    *diff = (struct diff){0};
}

static bool follows(const struct model *model, uint32_t phase, uint32_t next)
{
    if (phase == DIFF_NONE || next == DIFF_NONE) return phase == next;
    return next == phase + 1 && model->phase[phase].family == model->phase[next].family;
}

size_t diff_block_end(const struct diff *diff, size_t first)
{
    size_t end = first + 1;
    for (; end < diff->rows; end++) {
        const struct diff_row *row = &diff->row[end - 1], *next = &diff->row[end];
        if (!follows(diff->a, row->a, next->a) || !follows(diff->b, row->b, next->b) || row->change != next->change ||
            !diff_notes_same(row, next)) {
            break;
        }
    }
    return end;
}
