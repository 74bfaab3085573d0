#include "model/build/segment.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/scoped.h"
#include "model/build/stretch.h"

enum {
    SMALL = 16,      // a small request is this many times smaller than a large one
    ITEMS_MOST = 16, // separate phases between two cuts
    LOOP_TIMES = 3,  // that something must come to be a loop
};

struct cutting {
    struct segments *out;
    const struct recorded *recorded;
    const struct thread_ops *thread;
    struct arena *arena;
    uint64_t clock;   // calls of communication so far
    struct op *last;  // by kind, for join_similar
    int64_t *largest; // by set, for mark_small; the last one is for operations without a file
};

// --- items

struct item {
    const struct loops *loops;
    uint64_t bytes;
    int64_t largest; // request
    uint64_t sizes;  // of all requests
    uint32_t set;    // of its first operation
    unsigned class;  // of all operations, CLASS_NONE if they differ
    uint64_t names;  // operations on names, if nothing moves data
    bool is_metadata;
    const char *name; // of the first of these, as of op_kind_name
    bool is_of_set;   // all of one set
    bool is_loose;    // see loops.h
    bool is_tail;     // of what came before
    bool is_small;    // among those of its file
    bool begins;      // a phase
    const struct cutting *cutting;
};

static int64_t moved_by(const struct op *op) { return op->at[AT_SIZE] - op->at[AT_SHORT]; }

// Returns the sum of a number that changes by steps, and its largest value. `first` has the value of the first
// repetition. Sizes may use all 64 bits (copy_file_range is asked for everything), so sums wrap; differences of sums do
// not.
static uint64_t sum_of(const struct op *first, enum op_coordinate at, const struct loops_step *step,
                       const uint64_t *count, unsigned steps, int64_t *largest) {
    uint64_t sum = (uint64_t)first->at[at], most = sum, times = 1;
    for (unsigned s = 0; s < steps; s++) {
        uint64_t by = (uint64_t)step[s].at[at];
        sum = sum * count[s] + by * times * (count[s] * (count[s] - 1) / 2);
        times *= count[s];
        if (step[s].at[at] > 0) most += by * (count[s] - 1);
    }
    *largest = (int64_t)most;
    return sum;
}

static void measure_op(const struct op *op, const struct loops_step *step, const uint64_t *count, unsigned steps,
                       void *context) {
    struct item *item = context;
    const struct op_kind *kind = &item->cutting->recorded->kind[op->kind];
    int64_t largest, most_left;
    uint64_t asked = sum_of(op, AT_SIZE, step, count, steps, &largest), times = 1;
    uint64_t left = sum_of(op, AT_SHORT, step, count, steps, &most_left);
    for (unsigned s = 0; s < steps; s++) times *= count[s];
    if (op_kind_moves(kind)) {
        item->is_metadata = false;
        item->bytes += asked - left;
        if (largest > item->largest) item->largest = largest;
    } else if (op_kind_is_metadata(kind)) {
        item->names += times;
        if (!item->name) item->name = op_kind_name(kind);
    }
    item->sizes = hash_add(item->sizes, (uint64_t)op->at[AT_SIZE]);
    if (kind->set != item->set) item->is_of_set = false;
    if (kind->class != item->class) item->class = CLASS_NONE;
}

static struct item measure(const struct cutting *c, struct loops *loops) {
    const struct op_kind *kind = &c->recorded->kind[loops_first(loops)->kind];
    uint32_t set = kind->set == OP_NO_SET ? (uint32_t)c->recorded->sets.set_count : kind->set;
    struct item item = {.loops = loops, .set = set, .class = kind->class, .is_of_set = true, .begins = true};
    item.cutting = c;
    item.is_metadata = true;
    item.is_loose = loops_is_loose(loops);
    loops_visit(&(struct loops_seq){loops, 1}, measure_op, &item);
    return item;
}

// --- what belongs to the item before it

// Keeps the last operation of each kind while a phase is being put together.
static void note_last(const struct op *op, const struct loops_step *step, const uint64_t *count, unsigned steps,
                      void *context) {
    struct op *last = (struct op *)context + op->kind;
    *last = *op;
    for (unsigned s = 0; s < steps; s++) {
        for (unsigned c = 0; c < AT_COUNT; c++) {
            last->at[c] = (int64_t)((uint64_t)last->at[c] + (uint64_t)step[s].at[c] * (count[s] - 1));
        }
    }
}

static void forget_last(const struct op *op, const struct loops_step *step, const uint64_t *count, unsigned steps,
                        void *context) {
    (void)step, (void)count, (void)steps;
    ((struct op *)context)[op->kind] = (struct op){0};
}

// True for the last request of a file, if it is smaller than those before it, and for a read that finds the end.
static bool is_tail(const struct item *item, const struct op *last) {
    const struct op *op = loops_first(item->loops);
    if (item->is_metadata || (item->loops->type != LOOPS_OP && item->bytes)) return false;
    last += op->kind;
    return last->at[AT_SIZE] && last->at[AT_MEMBER] == op->at[AT_MEMBER] &&
           last->at[AT_OFFSET] + moved_by(last) == op->at[AT_OFFSET] && moved_by(op) < last->at[AT_SIZE];
}

// True for operations of one kind on one file that either follow no rule or follow the same rule from different places.
static bool is_similar(const struct item *item, const struct item *before) {
    if (item->is_metadata) return false;
    if (!item->is_of_set || !before->is_of_set || item->set != before->set) return false;
    if (item->class == CLASS_NONE || item->class != before->class) return false;
    return (item->is_loose && before->is_loose) ||
           (item->loops->shape == before->loops->shape && item->sizes == before->sizes);
}

static void join_similar(const struct cutting *c, const struct loops_seq *all, struct item *items) {
    loops_visit(all, forget_last, c->last);
    for (size_t i = 0; i < all->count; i++) {
        struct loops_seq seq = {&all->item[i], 1};
        items[i].is_tail = i && is_tail(&items[i], c->last);
        items[i].begins = !items[i].is_tail && !(i && is_similar(&items[i], &items[i - 1]));
        loops_visit(&seq, note_last, c->last);
    }
}

// Metadata operations that do the same to other names are one phase; a few that do something else belong to it.
static void join_metadata(struct item *items, size_t count) {
    struct item *first = NULL; // of the phase
    const char *name = NULL;   // of what many of its operations do
    for (size_t i = 0; i < count; i++) {
        struct item *item = &items[i];
        bool follows = i && items[i - 1].is_metadata, is_many = item->names >= SEGMENT_NAMES;
        if (!follows) name = NULL;
        if (!item->is_metadata) continue;
        item->begins = !follows || (is_many && name && name != item->name);
        if (item->begins) first = item;
        if (is_many) first->name = name = item->name;
    }
}

// The same metadata again and again, with something else in between, is one phase from the first to the last, as of a
// program that goes from folder to folder. Like a loop, it must come three times.
static void join_recurring(struct item *items, size_t count) {
    for (size_t first = 0, last; first < count; first++) {
        size_t times = 0;
        if (!items[first].is_metadata || !items[first].begins) continue;
        for (size_t i = last = first; i < count; i++) {
            if (!items[i].is_metadata || !items[i].begins || items[i].name != items[first].name) continue;
            last = i;
            times++;
        }
        for (size_t i = first + 1; times >= LOOP_TIMES && i <= last; i++) items[i].begins = false;
    }
}

// --- what is small among large

static void mark_small(const struct cutting *c, struct item *items, size_t count, uint64_t bytes) {
    int64_t *largest = c->largest;
    for (size_t i = 0; i < count; i++) largest[items[i].set] = 0;
    for (size_t i = 0; i < count; i++) {
        if (items[i].largest > largest[items[i].set]) largest[items[i].set] = items[i].largest;
    }
    for (size_t i = 0; i < count; i++) {
        struct item *item = &items[i];
        bool is_little = item->bytes <= bytes / SMALL && item->largest <= largest[item->set] / SMALL;
        item->is_small = !item->is_tail && !item->is_metadata && (is_little || !item->bytes);
    }
}

static bool may_join(const struct item *item, const struct item *to) {
    return item->set == to->set && !to->is_metadata;
}

// A small item joins the next large item of its file, or else the one before.
static void join_small(struct item *items, size_t count) {
    bool leads = false; // to a large one
    for (size_t i = count; i-- > 0;) {
        bool has_next = i + 1 < count && may_join(&items[i], &items[i + 1]);
        leads = has_next && (!items[i + 1].is_small || leads);
        if (!items[i].is_small) continue;
        if (leads) {
            items[i + 1].begins = false;
        } else if (i > 0 && may_join(&items[i], &items[i - 1])) {
            items[i].begins = false;
        }
    }
}

// Of gathered accesses only what follows a rule is a phase of its own.
static void join_loose(struct item *items, size_t count) {
    for (size_t i = 1; i < count; i++) {
        if (items[i].is_loose && items[i - 1].is_loose) items[i].begins = false;
    }
}

// With too many phases to be a pattern, only large ones stay on their own.
static void join_many(struct item *items, size_t count, uint64_t bytes) {
    size_t phases = 0;
    uint64_t names = 0;
    for (size_t i = 0; i < count; i++) phases += items[i].begins, names += items[i].names;
    if (phases <= ITEMS_MOST) return;
    bool after_large = true;
    for (size_t first = 0, end; first < count; first = end) {
        uint64_t sum = 0, sum_names = 0;
        for (end = first; end == first || (end < count && !items[end].begins); end++) {
            sum += items[end].bytes;
            sum_names += items[end].names;
        }
        bool is_large = sum > bytes / SMALL || sum_names > names / SMALL;
        items[first].begins = is_large || after_large;
        after_large = is_large;
    }
}

// --- segments

struct hashing {
    const struct recorded *recorded;
    bool is_collective;
    uint64_t kinds; // op_bit of each kind: the order does not count
    uint64_t sizes;
    uint64_t list_sizes; // the same for sizes in lists
};

static void hash_op(const struct op *op, const struct loops_step *step, const uint64_t *count, unsigned steps,
                    void *context) {
    struct hashing *h = context;
    uint64_t size = (uint64_t)op->at[AT_SIZE];
    (void)step, (void)steps;
    h->kinds |= op_bit(op->kind);
    if (h->recorded->kind[op->kind].collective) h->is_collective = true;
    if (count)
        h->sizes = hash_add(h->sizes, size);
    else
        h->list_sizes |= op_bit(size);
}

static void hash_segment(const struct cutting *c, struct segment *segment) {
    struct hashing h = {.recorded = c->recorded};
    loops_visit(&segment->ops, hash_op, &h);
    segment->kinds = h.kinds;
    segment->is_collective = h.is_collective;
    segment->shape = hash_add(0, segment->ops.count);
    for (size_t i = 0; i < segment->ops.count; i++)
        segment->shape = hash_add(segment->shape, segment->ops.item[i].shape);
    segment->sizes = hash_add(hash_add(segment->shape, h.sizes), h.list_sizes);
}

static int add_segment(struct cutting *c, struct segment *segment) {
    hash_segment(c, segment);
    return array_push(c->out->segment, c->out->count, *segment);
}

// Returns the clock at the transfer `at`.
static uint64_t advance_clock(struct cutting *c, size_t first, size_t end, size_t at) {
    uint64_t clock = 0;
    for (size_t i = first; i < end; i++) {
        c->clock += thread_gap_calls(&c->thread->gap[i]);
        if (i == at) clock = c->clock;
    }
    return clock;
}

static void join_items(const struct cutting *c, const struct loops_seq *seq, struct item *items, bool is_gathered) {
    uint64_t bytes = 0;
    if (seq->count < 2) return;
    for (size_t i = 0; i < seq->count; i++) bytes += items[i].bytes;
    join_similar(c, seq, items);
    mark_small(c, items, seq->count, bytes);
    join_small(items, seq->count);
    if (is_gathered) join_loose(items, seq->count);
    join_metadata(items, seq->count);
    join_recurring(items, seq->count);
    join_many(items, seq->count, bytes);
}

// --- groups: a stretch and the small ones that belong to its phases

struct group {
    enum model_cut cut;
    size_t first;         // of the thread's transfers
    size_t main;          // see stretch.h
    struct loops_seq seq; // of all stretches
    size_t own, own_end;  // items of the large one
    bool is_gathered;     // that one
    struct item *item;
};

// Stretches are folded one by one: what is large keeps its loops, whatever small ones there are.
static int fold_group(struct cutting *c, const struct stretch *stretch, size_t count, struct group *group) {
    SCOPED_FREE struct loops *all = NULL;
    size_t items = 0;
    for (size_t i = 0; i < count; i++) {
        size_t first = stretch[i].first;
        struct loops_seq seq;
        FORWARD(loops_fold(c->arena, c->thread->transfer + first, stretch[i].end - first, &seq));
        if (stretch[i].role == STRETCH_OWN) {
            group->main = stretch[i].main;
            group->own = items;
            group->own_end = items + seq.count;
            group->is_gathered = stretch[i].is_gathered;
        }
        for (size_t k = 0; k < seq.count; k++) FORWARD(array_push(all, items, seq.item[k]));
    }
    group->seq = (struct loops_seq){arena_copy(c->arena, all, items * sizeof *all), items};
    return group->seq.item ? 0 : -ENOMEM;
}

static int add_segments(struct cutting *c, const struct group *group) {
    const struct loops_seq *seq = &group->seq;
    size_t first = group->first;
    for (size_t i = 0, end; i < seq->count; i = end) {
        struct segment segment = {.cut = i ? CUT_PATTERN : group->cut, .first = first, .ops.item = seq->item + i};
        for (end = i; end == i || (end < seq->count && !group->item[end].begins); end++) {
            first += seq->item[end].ops;
            segment.bytes += group->item[end].bytes;
        }
        segment.end = first;
        segment.ops.count = end - i;
        bool has_main = group->main >= segment.first && group->main < segment.end;
        segment.clock = advance_clock(c, segment.first, segment.end, has_main ? group->main : segment.first);
        FORWARD(add_segment(c, &segment));
    }
    return 0;
}

static int cut_group(struct cutting *c, const struct stretch *stretch, size_t count) {
    struct group group = {.cut = stretch->cut, .first = stretch->first};
    FORWARD(fold_group(c, stretch, count, &group));
    SCOPED_FREE struct item *items = malloc(group.seq.count * sizeof *items);
    RETURN_IF(!items, -ENOMEM);
    group.item = items;
    for (size_t i = 0; i < group.seq.count; i++) items[i] = measure(c, &group.seq.item[i]);
    const struct loops_seq own = {group.seq.item + group.own, group.own_end - group.own};
    join_items(c, &own, items + group.own, group.is_gathered);
    for (size_t i = 1; i < group.seq.count; i++) {
        if (i <= group.own || i >= group.own_end) items[i].begins = false;
    }
    return add_segments(c, &group);
}

// --- what is not a transfer

// Returns where the others of the next segment begin. Closes and syncs that end the work of this segment stay with it.
static size_t others_end(const struct cutting *c, const struct segment *segment, bool is_last) {
    const struct thread_ops *thread = c->thread;
    size_t at = segment->other_first;
    if (is_last) return thread->others;
    while (at < thread->others && thread->other[at].at[AT_POSITION] < (int64_t)segment->end) at++;
    size_t end = at;
    for (; at < thread->others && thread->other[at].at[AT_POSITION] == (int64_t)segment->end; at++) {
        unsigned class = c->recorded->kind[thread->other[at].kind].class;
        if (thread->other_parted[at] || (class != CLASS_CLOSE && class != CLASS_SYNC && class != CLASS_NONE)) break;
        if (class != CLASS_NONE) end = at + 1;
    }
    return end;
}

static int fold_others(struct cutting *c, struct segment *segment) {
    size_t count = segment->other_end - segment->other_first;
    SCOPED_FREE struct op *ops = malloc((count + 1) * sizeof *ops);
    RETURN_IF(!ops, -ENOMEM);
    for (size_t i = 0; i < count; i++) {
        ops[i] = c->thread->other[segment->other_first + i];
        ops[i].at[AT_POSITION] -= (int64_t)segment->first;
    }
    return loops_fold(c->arena, ops, count, &segment->others);
}

static int share_others(struct cutting *c, size_t from) {
    size_t next = 0;
    for (size_t i = from; i < c->out->count; i++) {
        struct segment *segment = &c->out->segment[i];
        segment->other_first = next;
        next = segment->other_end = others_end(c, segment, i + 1 == c->out->count);
        FORWARD(fold_others(c, segment));
    }
    return 0;
}

static void free_stretches(struct stretches *stretches) { free(stretches->stretch); }

static int make_segments(struct cutting *c, int64_t gap_ns) {
    SCOPED(free_stretches) struct stretches stretches = {0};
    const struct stretch *stretch;
    size_t from = c->out->count;
    FORWARD(stretches_find(&stretches, c->recorded, c->thread, gap_ns));
    stretch = stretches.stretch;
    for (size_t first = 0, end; first < stretches.count; first = end) {
        for (end = first; stretch[end].role == STRETCH_LEADS;) end++;
        for (end++; end < stretches.count && stretch[end].role == STRETCH_FOLLOWS;) end++;
        FORWARD(cut_group(c, &stretch[first], end - first));
    }
    if (!stretches.count) {
        struct segment none = {.cut = CUT_START};
        FORWARD(add_segment(c, &none));
    }
    return share_others(c, from);
}

int segments_make(struct segments *segments, const struct recorded *recorded, const struct thread_ops *thread,
                  int64_t gap_ns, struct arena *arena) {
    SCOPED_FREE struct op *last = malloc((recorded->kinds + 1) * sizeof *last);
    SCOPED_FREE int64_t *largest = malloc((recorded->sets.set_count + 1) * sizeof *largest);
    RETURN_IF(!last || !largest, -ENOMEM);
    struct cutting c = {.out = segments, .recorded = recorded, .thread = thread, .arena = arena, .last = last};
    c.largest = largest;
    return make_segments(&c, gap_ns);
}
