#include "model/build/stretch.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/order.h"
#include "base/scoped.h"
#include "model/loops.h"

enum {
    USUAL_PAUSES = 10, // a pause that cuts is this many times the usual one
    SMALL = 16,        // a small stretch is this many times smaller than the largest
    SMALL_BYTES = 4096,
    MOST_DIFFERENT = 16, // stretches of at most SMALL_BYTES
    MOST_APART = 16,     // small stretches that are folded one by one, so that ranks have items in common
};

// --- cuts

// A program that pauses this long before most of its operations does them one at a time: each such pause cuts.
static int choose_pause(const struct thread_ops *thread, int64_t gap_ns, int64_t *pause_ns) {
    int64_t *idle = malloc((thread->transfers + 1) * sizeof *idle);
    RETURN_IF(!idle, -ENOMEM);
    for (size_t i = 0; i < thread->transfers; i++) idle[i] = thread->gap[i].idle_ns;
    qsort(idle, thread->transfers, sizeof *idle, order_int64);
    int64_t usual_ns = thread->transfers ? idle[thread->transfers / 2] : 0;
    free(idle);
    bool is_slow = usual_ns >= gap_ns / USUAL_PAUSES && usual_ns < gap_ns;
    *pause_ns = is_slow ? usual_ns * USUAL_PAUSES : gap_ns;
    return 0;
}

// `pause_ns` is INT64_MAX if communication cuts.
static enum model_cut cut_before(const struct thread_ops *thread, size_t transfer, int64_t pause_ns) {
    const struct thread_gap *gap = &thread->gap[transfer];
    if (!transfer) return CUT_START;
    if (gap->moving && !thread_gap_signals(gap) && pause_ns == INT64_MAX) return CUT_COMMUNICATION;
    return gap->idle_ns >= pause_ns ? CUT_PAUSE : CUT_PATTERN;
}

static void look_at(struct stretch *stretch, const struct recorded *recorded, const struct op *op) {
    const struct op_kind *kind = &recorded->kind[op->kind];
    bool is_first = !stretch->content;
    if (op_kind_moves(kind))
        stretch->bytes += (uint64_t)(op->at[AT_SIZE] - op->at[AT_SHORT]);
    else
        stretch->has_metadata = true;
    stretch->content = hash_add(hash_add(stretch->content + is_first, op->kind), (uint64_t)op->at[AT_SIZE]);
    stretch->is_collective = stretch->is_collective || kind->collective;
    stretch->set = is_first || stretch->set == kind->set ? kind->set : OP_NO_SET;
    stretch->class = is_first || stretch->class == kind->class ? kind->class : CLASS_NONE;
}

static int find_cuts(struct stretches *to, const struct recorded *recorded, const struct thread_ops *thread,
                     int64_t pause_ns) {
    for (size_t first = 0, end; first < thread->transfers; first = end) {
        struct stretch stretch = {.cut = cut_before(thread, first, pause_ns), .first = first, .main = first};
        for (end = first; end == first || (end < thread->transfers && cut_before(thread, end, pause_ns) == CUT_PATTERN);
             end++)
            look_at(&stretch, recorded, &thread->transfer[end]);
        stretch.end = end;
        FORWARD(array_push(to->stretch, to->count, stretch));
    }
    return 0;
}

// --- small stretches

// Three stretches in a row that do the same are phases of a family. Two may be so by chance.
static bool repeats(const struct stretches *s, size_t at) {
    size_t first = at, end = at + 1;
    while (first && at - first < 2 && s->stretch[first - 1].content == s->stretch[at].content) first--;
    while (end < s->count && end - at < 3 && s->stretch[end].content == s->stretch[at].content) end++;
    return end - first >= 3;
}

static int has_rule(const struct stretch *stretch, const struct thread_ops *thread, bool *has) {
    SCOPED(arena_free) struct arena arena = {0};
    struct loops_seq seq;
    FORWARD(loops_fold(&arena, thread->transfer + stretch->first, stretch->end - stretch->first, &seq));
    *has = true;
    for (size_t i = 0; i < seq.count; i++) *has = *has && !loops_is_loose(&seq.item[i]);
    return 0;
}

static int mark_small(const struct stretches *s, const struct thread_ops *thread) {
    SCOPED(lookup_free) struct lookup different = {0};
    uint64_t largest = 0;
    for (size_t i = 0; i < s->count; i++) {
        struct stretch *stretch = &s->stretch[i];
        bool has = true;
        if (stretch->bytes > largest) largest = stretch->bytes;
        if (stretch->bytes > SMALL_BYTES || stretch->is_collective || stretch->has_metadata || repeats(s, i)) continue;
        FORWARD(has_rule(stretch, thread, &has));
        stretch->is_small = !has;
        if (!has) FORWARD(lookup_set(&different, stretch->content, 1));
    }
    if (different.count > MOST_DIFFERENT) return 0;
    for (size_t i = 0; i < s->count; i++) {
        if (s->stretch[i].bytes > largest / SMALL) s->stretch[i].is_small = false;
    }
    return 0;
}

// How well a small stretch suits a larger one.
static unsigned suits(const struct stretch *small, const struct stretch *large) {
    if (!large || small->set == OP_NO_SET || small->set != large->set) return 0;
    return small->class == large->class ? 2 : 1;
}

// The stretches from `first` to `end` are small, those around them are not. The first ones may follow the larger one
// before them, the last ones may lead to the one after them.
static void choose_roles(const struct stretches *s, size_t first, size_t end) {
    const struct stretch *before = first ? &s->stretch[first - 1] : NULL;
    const struct stretch *after = end < s->count ? &s->stretch[end] : NULL;
    for (size_t i = end; i-- > first; s->stretch[i].role = STRETCH_LEADS) {
        unsigned suits_after = suits(&s->stretch[i], after);
        if (!suits_after || suits_after < suits(&s->stretch[i], before)) break;
    }
    for (size_t i = first; i < end && s->stretch[i].role == STRETCH_OWN; i++) {
        if (!suits(&s->stretch[i], before)) break;
        s->stretch[i].role = STRETCH_FOLLOWS;
    }
}

// A larger stretch and the small ones that belong to it.
struct company {
    uint64_t content; // of the small ones, before and after
    bool differs;     // from that of another stretch that moves the same
};

static size_t company_first(const struct stretches *s, size_t large) {
    while (large && s->stretch[large - 1].role == STRETCH_LEADS) large--;
    return large;
}

static size_t company_end(const struct stretches *s, size_t large) {
    while (++large < s->count && s->stretch[large].role == STRETCH_FOLLOWS) continue;
    return large;
}

static uint64_t company_of(const struct stretches *s, size_t large) {
    uint64_t content = 0;
    for (size_t i = company_first(s, large); i < company_end(s, large); i++) {
        content = hash_add(content, i == large ? 0 : s->stretch[i].content);
    }
    return content;
}

// Stretches that move the same keep their company only if it is the same.
static int part_different(const struct stretches *s) {
    SCOPED(lookup_free) struct lookup found = {0};
    SCOPED_FREE struct company *company = NULL;
    size_t companies = 0;
    uint32_t at;
    for (size_t i = 0; i < s->count; i++) {
        if (s->stretch[i].is_small) continue;
        uint64_t content = company_of(s, i);
        FORWARD(lookup_intern(&found, s->stretch[i].content, at, company, companies, (struct company){content, false}));
        if (company[at].content != content) company[at].differs = true;
    }
    for (size_t i = 0; i < s->count; i++) {
        if (s->stretch[i].is_small || !company[lookup_find(&found, s->stretch[i].content)].differs) continue;
        size_t first = company_first(s, i), end = company_end(s, i);
        for (size_t k = first; k < end; k++) s->stretch[k].role = STRETCH_OWN;
    }
    return 0;
}

static void join(struct stretch *to, const struct stretch *from) {
    to->end = from->end;
    to->is_gathered = true;
    if (from->bytes <= to->bytes) return;
    to->bytes = from->bytes;
    to->main = from->main;
}

static bool go_together(const struct stretch *a, const struct stretch *b) {
    return a->is_small && b->is_small && a->role == b->role;
}

static void join_small(struct stretches *s) {
    struct stretch *all = s->stretch;
    size_t kept = 0;
    for (size_t first = 0, end; first < s->count; first = end) {
        for (end = first + 1; end < s->count && go_together(&all[first], &all[end]);) end++;
        bool joins = all[first].role == STRETCH_OWN || end - first > MOST_APART;
        all[kept++] = all[first];
        for (size_t i = first + 1; i < end; i++) {
            if (joins)
                join(&all[kept - 1], &all[i]);
            else
                all[kept++] = all[i];
        }
    }
    s->count = kept;
}

static int gather_small(struct stretches *s, const struct thread_ops *thread) {
    FORWARD(mark_small(s, thread));
    for (size_t first = 0, end; first < s->count; first = end) {
        for (end = first + 1; s->stretch[first].is_small && end < s->count && s->stretch[end].is_small;) end++;
        if (s->stretch[first].is_small) choose_roles(s, first, end);
    }
    FORWARD(part_different(s));
    join_small(s);
    return 0;
}

int stretches_find(struct stretches *stretches, const struct recorded *recorded, const struct thread_ops *thread,
                   int64_t gap_ns) {
    bool is_mpi = recorded->program[thread->program].is_mpi;
    int64_t pause_ns = INT64_MAX;
    if (!is_mpi) FORWARD(choose_pause(thread, gap_ns, &pause_ns));
    FORWARD(find_cuts(stretches, recorded, thread, pause_ns));
    return is_mpi ? gather_small(stretches, thread) : 0;
}
