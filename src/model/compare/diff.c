#include "model/compare/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/lookup.h"
#include "base/scoped.h"
#include "model/compare/phase_pair.h"

const char *diff_change_name(enum diff_change change) {
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
    struct pairing files, families, programs, phases;
    uint32_t *to; // alignment of the program under way
};

// --- things that correspond

static int pairing_begin(struct comparing *c, struct pairing *pairing, size_t a_count, size_t b_count) {
    FORWARD(arena_array(&c->diff->arena, pairing->to_b, a_count));
    FORWARD(arena_array(&c->diff->arena, pairing->to_a, b_count));
    memset(pairing->to_b, 0xff, a_count * sizeof *pairing->to_b);
    memset(pairing->to_a, 0xff, b_count * sizeof *pairing->to_a);
    return 0;
}

// If the two may correspond, makes them correspond and returns true.
static bool pair_up(struct pairing *pairing, uint32_t a, uint32_t b) {
    if (pairing->to_b[a] == DIFF_NONE && pairing->to_a[b] == DIFF_NONE) {
        pairing->to_b[a] = b;
        pairing->to_a[b] = a;
    }
    return pairing->to_b[a] == b;
}

// Things [a0, a1) of A and [b0, b1) of B.
struct stretch {
    size_t a0, a1, b0, b1;
};

typedef uint64_t thing_hash(const struct fingerprint *fingerprint, size_t place);

static uint64_t program_hash(const struct fingerprint *fingerprint, size_t place) {
    return fingerprint->program[place];
}

static uint64_t phase_hash(const struct fingerprint *fingerprint, size_t place) {
    return fingerprint->phase[place].structure;
}

// Pairs each thing of A without a partner with the first thing of B without one that has the same hash.
static int pair_equal(const struct diff *diff, thing_hash *hash, const struct stretch *s, struct pairing *pairing) {
    SCOPED(lookup_free) struct lookup first = {0};
    SCOPED_FREE uint32_t *next = malloc((s->b1 - s->b0 + 1) * sizeof *next); // of the same hash
    RETURN_IF(!next, -ENOMEM);
    for (size_t k = s->b1; k-- > s->b0;) {
        if (pairing->to_a[k] != DIFF_NONE) continue;
        next[k - s->b0] = lookup_find(&first, hash(&diff->in_b, k));
        FORWARD(lookup_set(&first, hash(&diff->in_b, k), (uint32_t)k));
    }
    for (size_t i = s->a0; i < s->a1; i++) {
        uint32_t found = pairing->to_b[i] == DIFF_NONE ? lookup_find(&first, hash(&diff->in_a, i)) : LOOKUP_NONE;
        if (found == LOOKUP_NONE) continue;
        pair_up(pairing, (uint32_t)i, found);
        FORWARD(lookup_set(&first, hash(&diff->in_a, i), next[found - s->b0]));
    }
    return 0;
}

// --- programs

static const char *base_name(const struct model_program *program) {
    const char *name = program->name ? program->name : "", *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

// How programs can correspond, the best way first.
static bool programs_match(const struct diff *diff, uint32_t a, uint32_t b, unsigned way) {
    const struct model_program *x = &diff->a->program[a], *y = &diff->b->program[b];
    if (way == 0) return x->is_mpi == y->is_mpi && !strcmp(base_name(x), base_name(y));
    return way == 1 ? x->is_mpi == y->is_mpi : true;
}

enum { WAYS = 3 };

// Matches programs that are not equal, each with the first remaining one that fits. A script may start many programs,
// so the search is limited.
static void match_rest(const struct diff *diff, struct pairing *programs) {
    enum { FAR = 256 };
    for (unsigned way = 0; way < WAYS; way++) {
        uint32_t first = 0;
        for (uint32_t i = 0; i < diff->a->programs; i++) {
            while (first < diff->b->programs && programs->to_a[first] != DIFF_NONE) first++;
            for (uint32_t k = first; k < diff->b->programs && k - first < FAR && programs->to_b[i] == DIFF_NONE; k++) {
                if (programs_match(diff, i, k, way)) pair_up(programs, i, k);
            }
        }
    }
}

static int add_program(struct comparing *c, uint32_t a, uint32_t b) {
    return array_push(c->diff->program, c->diff->programs, (struct diff_program){a, b});
}

static int match_programs(struct comparing *c) {
    struct diff *diff = c->diff;
    struct stretch all = {0, diff->a->programs, 0, diff->b->programs};
    FORWARD(pair_equal(diff, program_hash, &all, &c->programs));
    match_rest(diff, &c->programs);
    for (uint32_t i = 0; i < diff->a->programs; i++) FORWARD(add_program(c, i, c->programs.to_b[i]));
    for (uint32_t i = 0; i < diff->b->programs; i++) {
        if (c->programs.to_a[i] == DIFF_NONE) FORWARD(add_program(c, DIFF_NONE, i));
    }
    return 0;
}

// --- what two phases do besides transfers, without lookups
//
// Lookups ask about names and change nothing: stat, access, readlink, reading directories, and opens and the like that
// fail. How many there are depends on where the files are (each folder of the path needs a lookup), on what other files
// exist, and on how long a program waited for a file to appear. They are in models, and the number is compared, but
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

static bool is_lookup(const struct op_kind *kind) {
    if (kind->class != CLASS_META && kind->class != CLASS_OPEN) return false;
    return kind->error || op_kind_asks(kind);
}

struct collecting {
    const struct model *model;
    struct diff_others *others;
    uint32_t rank, thread;
};

static int add_other(const struct op *op, size_t leaf, void *context) {
    struct collecting *c = context;
    struct diff_others *others = c->others;
    (void)leaf;
    const struct op_kind *kind = &c->model->kind[op->kind];
    if (kind->sync == SYNC_SEND || kind->sync == SYNC_RECEIVE) return 0;
    if (is_lookup(kind)) {
        others->lookups++;
        return 0;
    }
    struct other_op other = {c->rank, c->thread, others->count, *op};
    return array_push(others->op, others->count, other);
}

static int compare_others(const void *x, const void *y) {
    const struct other_op *a = x, *b = y;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static int collect_part(struct collecting *c, const struct model_family *family, const struct model_part *part,
                        uint32_t ph) {
    size_t place = model_place(part->ph, part->phs, ph);
    c->thread = part->thread;
    for (size_t i = 0; i < part->ranks; i++) {
        c->rank = part->rank[i];
        FORWARD(model_walk(&(struct model_process){c->model, family, part, place, i}, add_other, c));
    }
    return 0;
}

// ERR_LIMIT: there are too many to look at one by one.
static int collect_others(const struct fingerprint *fingerprint, uint32_t phase, struct diff_others *others) {
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

static void free_others(struct diff_others *others) { free(others->op); }

// --- pairs of phases

struct lookups {
    bool differ; // and nothing else
    uint64_t a, b;
};

static void check_file(struct comparing *c, uint32_t a_np, uint32_t a, uint32_t b_np, uint32_t b) {
    if (a == OP_NO_SET || b == OP_NO_SET) return;
    uint64_t members_a = c->diff->a->file[a].set->member_count, members_b = c->diff->b->file[b].set->member_count;
    if (!pair_up(&c->files, a, b)) diff_note_add(&c->noting, (struct diff_note){.what = "file"});
    if (!diff_in_proportion(members_a, a_np, members_b, b_np))
        diff_note_count(&c->noting, "members", NULL, members_a, members_b);
}

// Checks the files of parts with equal hashes, or of transfers only.
static void check_files(struct comparing *c, uint32_t a, uint32_t b, bool others) {
    const struct diff *diff = c->diff;
    const struct phase_fingerprint *x = &diff->in_a.phase[a], *y = &diff->in_b.phase[b];
    uint32_t a_np = diff_np(diff->a, a), b_np = diff_np(diff->b, b);
    for (size_t i = 0; i < x->parts && i < y->parts; i++) {
        const struct part_fingerprint *p = x->part[i], *q = y->part[i];
        if ((p->is_other || q->is_other) && !others) return;
        for (size_t k = 0; k < p->files && k < q->files; k++) check_file(c, a_np, p->file[k], b_np, q->file[k]);
    }
}

static bool same_others(const struct diff *diff, const struct diff_others *x, const struct diff_others *y) {
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
                                    struct lookups *lookups) {
    const struct diff *diff = c->diff;
    SCOPED(free_others) struct diff_others x = {0}, y = {0};
    uint32_t a_np = diff_np(diff->a, a), b_np = diff_np(diff->b, b);
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
}

// Returns what separates a phase from the previous one. It is not known for the first phase of a program, or the first
// one of a family (whose cut is the one between its phases). If the pattern changes anyway, a pause there means
// nothing.
static const char *separator_of(const struct model *model, uint32_t phase) {
    const struct model_family *family = &model->family[model->phase[phase].family];
    if (phase == model->program[family->program].first || (model->phase[phase].ph == 1 && family->count > 1))
        return NULL;
    return family->cut == CUT_COMMUNICATION ? "communication" : "pattern";
}

static void check_pair(struct comparing *c, uint32_t a, uint32_t b, bool others) {
    const struct diff *diff = c->diff;
    const char *x = separator_of(diff->a, a), *y = separator_of(diff->b, b);
    check_files(c, a, b, others);
    if (!pair_up(&c->families, diff->a->phase[a].family, diff->b->phase[b].family))
        diff_note_add(&c->noting, (struct diff_note){.what = "family"});
    if (x && y) diff_note_text(&c->noting, "separator", NULL, x, y);
}

static int add_row(struct comparing *c, uint32_t a, uint32_t b, enum diff_change change) {
    struct diff *diff = c->diff;
    FORWARD(array_push(diff->row, diff->rows, (struct diff_row){.a = a, .b = b, .change = change}));
    return diff_note_keep(&c->noting, &diff->row[diff->rows - 1]);
}

static int add_pair(struct comparing *c, uint32_t a, uint32_t b, enum diff_change change) {
    const struct diff *diff = c->diff;
    uint32_t a_np = diff_np(diff->a, a), b_np = diff_np(diff->b, b);
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

static int add_new(struct comparing *c, uint32_t from, uint32_t end) {
    for (uint32_t k = from; k < end; k++) {
        if (c->phases.to_a[k] == DIFF_NONE) FORWARD(add_row(c, DIFF_NONE, k, DIFF_ADDED));
    }
    return 0;
}

static int add_rows(struct comparing *c, const struct stretch *s) {
    uint32_t next = (uint32_t)s->b0;
    for (uint32_t a = (uint32_t)s->a0; a < s->a1; a++) {
        uint32_t b = c->phases.to_b[a];
        if (c->to[a - s->a0] != DIFF_NONE) {
            FORWARD(add_new(c, next, b));
            FORWARD(add_pair(c, a, b, DIFF_SAME));
            next = b + 1;
        } else if (b != DIFF_NONE) {
            FORWARD(add_pair(c, a, b, DIFF_MOVED));
        } else {
            FORWARD(add_row(c, a, DIFF_NONE, DIFF_REMOVED));
        }
    }
    return add_new(c, next, (uint32_t)s->b1);
}

static int compare_programs(struct comparing *c, const struct diff_program *pair) {
    static const struct model_program none;
    const struct diff *diff = c->diff;
    const struct model_program *x = pair->a == DIFF_NONE ? &none : &diff->a->program[pair->a];
    const struct model_program *y = pair->b == DIFF_NONE ? &none : &diff->b->program[pair->b];
    struct stretch s = {x->first, x->end, y->first, y->end};
    FORWARD(diff_align(diff->in_a.phase + s.a0, s.a1 - s.a0, diff->in_b.phase + s.b0, s.b1 - s.b0, c->to));
    for (size_t i = s.a0; i < s.a1; i++) {
        uint32_t to = c->to[i - s.a0];
        if (to != DIFF_NONE) pair_up(&c->phases, (uint32_t)i, (uint32_t)s.b0 + to);
    }
    // What is left may equal a phase elsewhere in the order.
    FORWARD(pair_equal(diff, phase_hash, &s, &c->phases));
    return add_rows(c, &s);
}

static bool is_equal(const struct diff *diff) {
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

static int compare(struct comparing *c) {
    struct diff *diff = c->diff;
    FORWARD(fingerprint_make(&diff->in_a, diff->a));
    FORWARD(fingerprint_make(&diff->in_b, diff->b));
    FORWARD(diff_noting_begin(&c->noting, diff));
    FORWARD(pairing_begin(c, &c->files, diff->a->files, diff->b->files));
    FORWARD(pairing_begin(c, &c->families, diff->a->families, diff->b->families));
    FORWARD(pairing_begin(c, &c->programs, diff->a->programs, diff->b->programs));
    FORWARD(pairing_begin(c, &c->phases, diff->a->phases, diff->b->phases));
    FORWARD(arena_array(&diff->arena, c->to, diff->a->phases));
    FORWARD(match_programs(c));
    for (size_t i = 0; i < diff->programs; i++) FORWARD(compare_programs(c, &diff->program[i]));
    diff->equal = is_equal(diff);
    return 0;
}

int diff_make(struct diff *diff, const struct model *a, const struct model *b) {
    *diff = (struct diff){.a = a, .b = b};
    struct comparing c = {.diff = diff, .noting.diff = diff};
    int code = compare(&c);
    diff_noting_end(&c.noting);
    if (code) diff_free(diff);
    return code;
}

void diff_free(struct diff *diff) {
    fingerprint_free(&diff->in_a);
    fingerprint_free(&diff->in_b);
    free(diff->program);
    free(diff->row);
    arena_free(&diff->arena);
    *diff = (struct diff){0};
}

static bool follows(const struct model *model, uint32_t phase, uint32_t next) {
    if (phase == DIFF_NONE || next == DIFF_NONE) return phase == next;
    return next == phase + 1 && model->phase[phase].family == model->phase[next].family;
}

size_t diff_block_end(const struct diff *diff, size_t first) {
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
