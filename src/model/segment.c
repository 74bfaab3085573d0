#include "model/segment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/grow.h"

enum {
    USUAL_PAUSES = 10, // a pause that cuts is this many times the usual one
    SMALL = 16,        // how many times smaller small is
    ITEMS_MOST = 16,   // that are phases of their own between two cuts
};

struct cutting {
    struct segments *out;
    const struct lanes *lanes;
    const struct lane *lane;
    struct arena *arena;
    int64_t pause_ns; // that cuts; INT64_MAX where communication does
};

// --- cuts

static int compare_ns(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

static int find_pause(struct cutting *c, int64_t gap_ns)
{
    const struct lane *lane = c->lane;
    c->pause_ns = INT64_MAX;
    if (c->lanes->program[lane->program].is_mpi || !lane->transfers) return 0;
    int64_t *idle = malloc(lane->transfers * sizeof *idle);
    RETURN_IF(!idle, -ENOMEM);
    for (size_t i = 0; i < lane->transfers; i++) idle[i] = lane->gap[i].idle_ns;
    qsort(idle, lane->transfers, sizeof *idle, compare_ns);
    int64_t usual_ns = idle[lane->transfers / 2];
    free(idle);
    c->pause_ns = usual_ns < gap_ns / USUAL_PAUSES ? gap_ns : usual_ns * USUAL_PAUSES;
    return 0;
}

static enum segment_cut cut_before(const struct cutting *c, size_t transfer)
{
    const struct lane_gap *gap = &c->lane->gap[transfer];
    if (!transfer) return CUT_START;
    if (gap->moving && c->pause_ns == INT64_MAX) return CUT_COMMUNICATION;
    return gap->idle_ns >= c->pause_ns ? CUT_PAUSE : CUT_PATTERN;
}

// --- items

struct item {
    const struct nest *nest;
    uint64_t bytes;
    int64_t largest; // request
    uint32_t set;    // of its first operation
};

static int measure_op(const struct op *op, size_t leaf, void *context)
{
    struct item *item = context;
    (void)leaf;
    item->bytes += (uint64_t)(op->at[AT_SIZE] - op->at[AT_SHORT]);
    if (op->at[AT_SIZE] > item->largest) item->largest = op->at[AT_SIZE];
    return 0;
}

static const struct op *first_op(const struct nest *nest)
{
    while (nest->type == NEST_LOOP) nest = nest->body;
    return nest->type == NEST_LIST ? nest->list : &nest->op;
}

static struct item measure(const struct cutting *c, struct nest *nest)
{
    struct item item = {.nest = nest, .set = c->lanes->kind[first_op(nest)->kind].set};
    struct nest_seq seq = {nest, 1};
    nest_walk(&seq, measure_op, &item);
    return item;
}

static bool is_small(const struct item *item, const struct item *all, size_t count, uint64_t bytes)
{
    if (item->bytes && item->bytes > bytes / SMALL) return false;
    int64_t largest = 0;
    for (size_t i = 0; i < count; i++) {
        if (all[i].set == item->set && all[i].largest > largest) largest = all[i].largest;
    }
    return item->largest <= largest / SMALL || !item->bytes;
}

// Which items begin a phase: begins[i]. Small ones go with the next item of their file, or else with the one before.
static void join_small(const struct item *items, size_t count, uint64_t bytes, bool *begins)
{
    for (size_t i = 0; i < count; i++) begins[i] = true;
    for (size_t i = count; i-- > 0;) {
        if (count > 2 * ITEMS_MOST || !is_small(&items[i], items, count, bytes)) continue;
        if (i + 1 < count && items[i + 1].set == items[i].set) {
            begins[i + 1] = false;
        } else if (i > 0 && items[i - 1].set == items[i].set) {
            begins[i] = false;
        }
    }
}

// Too many to be a pattern: only what is large stands alone.
static void join_many(const struct item *items, size_t count, uint64_t bytes, bool *begins)
{
    size_t phases = 0;
    for (size_t i = 0; i < count; i++) phases += begins[i];
    if (phases <= ITEMS_MOST) return;
    for (size_t i = 0; i < count; i++) {
        bool large = items[i].bytes > bytes / SMALL, after_large = i > 0 && items[i - 1].bytes > bytes / SMALL;
        begins[i] = i == 0 || large || after_large;
    }
}

// --- segments

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

struct hashing {
    uint64_t look; // a sum: the order does not count
    uint64_t sizes;
    uint64_t bytes;
    uint32_t last_kind;
    size_t last_leaf;
};

static int hash_op(const struct op *op, size_t leaf, void *context)
{
    struct hashing *h = context;
    h->bytes += (uint64_t)(op->at[AT_SIZE] - op->at[AT_SHORT]);
    if (leaf != h->last_leaf) h->sizes = mix(h->sizes, (uint64_t)op->at[AT_SIZE]);
    h->last_leaf = leaf;
    if (op->kind != h->last_kind) h->look |= UINT64_C(1) << (mix(1, op->kind) & 63);
    h->last_kind = op->kind;
    return 0;
}

static void hash_segment(struct segment *segment)
{
    struct hashing h = {.last_kind = UINT32_MAX, .last_leaf = SIZE_MAX};
    nest_walk(&segment->ops, hash_op, &h);
    segment->bytes = h.bytes;
    segment->look = h.look;
    segment->shape = mix(0, segment->ops.count);
    for (size_t i = 0; i < segment->ops.count; i++) segment->shape = mix(segment->shape, segment->ops.item[i].shape);
    segment->sizes = mix(segment->shape, h.sizes);
}

static int add_segment(struct cutting *c, struct segment *segment)
{
    hash_segment(segment);
    FORWARD(grow(&c->out->segment, &c->out->room, c->out->count, sizeof *segment));
    c->out->segment[c->out->count++] = *segment;
    return 0;
}

static int cut_items(struct cutting *c, const struct nest_seq *seq, const struct item *items, bool *begins,
                     size_t first, enum segment_cut cut)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < seq->count; i++) bytes += items[i].bytes;
    join_small(items, seq->count, bytes, begins);
    join_many(items, seq->count, bytes, begins);
    for (size_t i = 0, end; i < seq->count; i = end) {
        struct segment segment = {.cut = i ? CUT_PATTERN : cut, .first = first, .ops.item = seq->item + i};
        for (end = i; end == i || (end < seq->count && !begins[end]); end++) first += seq->item[end].ops;
        segment.end = first;
        segment.ops.count = end - i;
        FORWARD(add_segment(c, &segment));
    }
    return 0;
}

static int cut_stretch(struct cutting *c, size_t first, size_t end, enum segment_cut cut)
{
    struct nest_seq seq;
    FORWARD(nest_fold(c->arena, c->lane->transfer + first, end - first, &seq));
    struct item *items = malloc(seq.count * sizeof *items);
    bool *begins = malloc(seq.count * sizeof *begins);
    int code = items && begins ? 0 : -ENOMEM;
    for (size_t i = 0; i < seq.count && !code; i++) items[i] = measure(c, &seq.item[i]);
    if (!code) code = cut_items(c, &seq, items, begins, first, cut);
    free(begins);
    free(items);
    return code;
}

// --- what is not a transfer

// Where the others of the next segment begin: those that only end what this one did stay with it.
static size_t others_end(const struct cutting *c, const struct segment *segment, bool is_last)
{
    const struct lane *lane = c->lane;
    size_t at = segment->other_first;
    if (is_last) return lane->others;
    while (at < lane->others && lane->other[at].at[AT_POSITION] < (int64_t)segment->end) at++;
    size_t end = at;
    for (; at < lane->others && lane->other[at].at[AT_POSITION] == (int64_t)segment->end; at++) {
        unsigned class = c->lanes->kind[lane->other[at].kind].class;
        if (lane->other_parted[at] || (class != CLASS_CLOSE && class != CLASS_SYNC && class != CLASS_NONE)) break;
        if (class != CLASS_NONE) end = at + 1;
    }
    return end;
}

static int fold_others(struct cutting *c, struct segment *segment)
{
    size_t count = segment->other_end - segment->other_first;
    struct op *ops = malloc((count + 1) * sizeof *ops);
    RETURN_IF(!ops, -ENOMEM);
    for (size_t i = 0; i < count; i++) {
        ops[i] = c->lane->other[segment->other_first + i];
        ops[i].at[AT_POSITION] -= (int64_t)segment->first;
    }
    int code = nest_fold(c->arena, ops, count, &segment->others);
    free(ops);
    return code;
}

static int share_others(struct cutting *c, size_t from)
{
    size_t next = 0;
    for (size_t i = from; i < c->out->count; i++) {
        struct segment *segment = &c->out->segment[i];
        segment->other_first = next;
        next = segment->other_end = others_end(c, segment, i + 1 == c->out->count);
        FORWARD(fold_others(c, segment));
    }
    return 0;
}

int segments_make(struct segments *segments, const struct lanes *lanes, const struct lane *lane, int64_t gap_ns,
                  struct arena *arena)
{
    struct cutting c = {.out = segments, .lanes = lanes, .lane = lane, .arena = arena};
    size_t from = segments->count;
    FORWARD(find_pause(&c, gap_ns));
    for (size_t first = 0, end; first < lane->transfers; first = end) {
        enum segment_cut cut = cut_before(&c, first);
        for (end = first + 1; end < lane->transfers && cut_before(&c, end) == CUT_PATTERN; end++) continue;
        FORWARD(cut_stretch(&c, first, end, cut));
    }
    if (!lane->transfers) {
        struct segment none = {.cut = CUT_START};
        FORWARD(add_segment(&c, &none));
    }
    return share_others(&c, from);
}
