// Metadata operations that form a pattern of their own: creates, stats, removes … of many files. They are put among the
// transfers, so that they make phases. All others stay with the transfer after them: the open and the close around
// transfers, a few lookups.
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/scoped.h"
#include "model/build/build.h"

struct looking {
    const struct building *b;
    const struct thread_ops *thread;
    bool *chosen;  // by other
    size_t *place; // of the operations of a run
    struct op *op;
    bool is_any; // chosen
};

static bool is_metadata(const struct looking *l, const struct op *op) {
    return op_kind_is_metadata(&l->b->recorded.kind[op->kind]);
}

// What may be in a pattern: no synchronisation, and nothing that failed.
static bool is_done(const struct looking *l, size_t other) {
    const struct op_kind *kind = &l->b->recorded.kind[l->thread->other[other].kind];
    return !kind->sync && !kind->error;
}

struct counting {
    const struct looking *looking;
    struct op last;
    uint64_t count;
};

// Programs ask for the same file again and again, with little reason: a question counts once per file.
static void count_metadata(const struct op *op, const struct loops_step *step, const uint64_t *count, unsigned steps,
                           void *context) {
    struct counting *c = context;
    bool asks = op_kind_asks(&c->looking->b->recorded.kind[op->kind]);
    bool again = asks && c->last.kind == op->kind && c->last.at[AT_MEMBER] == op->at[AT_MEMBER];
    uint64_t times = again && c->count ? 0 : 1;
    if (!is_metadata(c->looking, op)) return;
    for (unsigned s = 0; s < steps; s++) {
        if (!asks || step[s].at[AT_MEMBER]) times *= count[s];
    }
    c->count += times;
    c->last = *op;
}

// Loops and lists of many names are patterns; so is all the rest of the run, if that has many.
static int choose(struct looking *l, size_t count) {
    SCOPED(arena_free) struct arena arena = {0};
    struct loops_seq seq;
    uint64_t *names, rest = 0;
    FORWARD(loops_fold(&arena, l->op, count, &seq));
    FORWARD(arena_array(&arena, names, seq.count));
    for (size_t i = 0; i < seq.count; i++) {
        struct counting c = {.looking = l};
        loops_visit(&(struct loops_seq){&seq.item[i], 1}, count_metadata, &c);
        names[i] = c.count;
        if (c.count < SEGMENT_NAMES) rest += c.count;
    }
    for (size_t i = 0, at = 0; i < seq.count; i++) {
        bool is_pattern = names[i] >= SEGMENT_NAMES || rest >= SEGMENT_NAMES;
        for (uint64_t k = 0; k < seq.item[i].ops; k++) l->chosen[l->place[at++]] = is_pattern;
        l->is_any |= is_pattern;
    }
    return 0;
}

// True if the thread did something else between two of its others, so that they are not one pattern.
static bool is_cut(const struct looking *l, size_t before, size_t other) {
    const struct thread_ops *thread = l->thread;
    if (thread->other[before].at[AT_POSITION] != thread->other[other].at[AT_POSITION]) return true;
    struct thread_gap gap = thread_gap_between(&thread->other_gap[before], &thread->other_gap[other]);
    if (l->b->recorded.program[thread->program].is_mpi) return gap.moving && !thread_gap_signals(&gap);
    return gap.idle_ns >= l->b->model->gap_ns;
}

static int look(struct looking *l) {
    size_t count = 0, names = 0;
    for (size_t i = 0; i < l->thread->others; i++) {
        if (!is_done(l, i)) continue;
        if (count && is_cut(l, l->place[count - 1], i)) {
            if (names >= SEGMENT_NAMES) FORWARD(choose(l, count));
            count = names = 0;
        }
        l->place[count] = i;
        l->op[count] = l->thread->other[i];
        l->op[count].at[AT_POSITION] = 0;
        names += is_metadata(l, &l->op[count++]);
    }
    return names >= SEGMENT_NAMES ? choose(l, count) : 0;
}

// --- among the transfers

static int add_other(struct thread_ops *made, const struct thread_ops *from, size_t place) {
    struct other_op other = thread_ops_other(from, place);
    other.op.at[AT_POSITION] = (int64_t)made->transfers;
    return thread_ops_add_other(made, &other);
}

static int rebuild(const struct looking *l, struct thread_ops *made) {
    const struct thread_ops *from = l->thread;
    for (size_t t = 0, k = 0; t <= from->transfers; t++) {
        struct thread_gap before = {0}; // what a chosen one has of the gap
        for (; k < from->others && from->other[k].at[AT_POSITION] <= (int64_t)t; k++) {
            if (!l->chosen[k]) {
                FORWARD(add_other(made, from, k));
                continue;
            }
            struct op op = from->other[k];
            struct thread_gap gap = thread_gap_between(&before, &from->other_gap[k]);
            op.at[AT_POSITION] = 0;
            FORWARD(thread_ops_add_transfer(made, &op, &from->other_time[k], &gap, from->other_tick[k]));
            before = from->other_gap[k];
        }
        if (t == from->transfers) break;
        struct thread_gap gap = thread_gap_between(&before, &from->gap[t]);
        FORWARD(thread_ops_add_transfer(made, &from->transfer[t], &from->time[t], &gap, from->tick[t]));
    }
    return 0;
}

static int look_at_thread(const struct building *b, struct thread_ops *thread) {
    SCOPED_FREE bool *chosen = calloc(thread->others + 1, sizeof *chosen);
    SCOPED_FREE size_t *place = malloc((thread->others + 1) * sizeof *place);
    SCOPED_FREE struct op *op = malloc((thread->others + 1) * sizeof *op);
    RETURN_IF(!chosen || !place || !op, -ENOMEM);
    struct looking l = {.b = b, .thread = thread, .chosen = chosen, .place = place, .op = op};
    FORWARD(look(&l));
    if (!l.is_any) return 0;
    struct thread_ops made = {0};
    int code = rebuild(&l, &made);
    if (code) {
        thread_ops_free(&made);
        return code;
    }
    thread_ops_take(thread, &made);
    return 0;
}

int build_metadata(struct building *b) {
    for (size_t i = 0; i < b->recorded.count; i++) FORWARD(look_at_thread(b, &b->recorded.thread[i]));
    return 0;
}
