#include "model/build/align.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/scoped.h"

enum {
    LIKE_SIZES = 16, // equal loops and sizes
    LIKE_SHAPE = 12,
    LIKE_KINDS = 3,  // the same kinds of operations
    LIKE_SOME = 1,   // some of them
    CLOCK_BITS = 20, // the clock decides between equal likenesses only
    LOOKAHEAD = 64,  // where the sequences are too long for the exact comparison
    CELLS = 1 << 24, // of that comparison in total, plus this many per segment:
    CELLS_EACH = 64,
};

// Threads of one program with equal sequences.
struct class {
    uint64_t hash;
    uint32_t first_thread;
    size_t recorded;
    size_t segments;
    bool transfers; // threads without transfers join the program's first phase, or make one
};

#define NONE SIZE_MAX

struct column {
    const struct segment *like; // the first segment in it
    uint64_t comm_calls;        // of the thread of that segment, in total
    struct align_phase phase;
    size_t before, after; // columns, or NONE
};

struct aligning {
    const struct recorded *recorded;
    const struct segments *segments;
    const struct thread_segments *of_thread;
    uint32_t *class_of; // by thread
    struct class *class;
    size_t classes;
    struct column *column;
    size_t columns;
    size_t first, last; // columns in their order, or NONE
    uint64_t cells;     // that are left
};

// --- classes

static bool has_transfers(const struct aligning *a, size_t thread) {
    return a->segments->segment[a->of_thread[thread].first].ops.count > 0;
}

static int sort_into_classes(struct aligning *a, size_t first_thread, size_t end_thread) {
    SCOPED(lookup_free) struct lookup found = {0};
    a->classes = 0;
    for (size_t i = first_thread; i < end_thread; i++) {
        const struct thread_segments *of = &a->of_thread[i];
        uint64_t hash = hash_add(of->end - of->first, a->recorded->thread[i].comm_calls);
        for (size_t s = of->first; s < of->end; s++) {
            hash = hash_add(hash_add(hash, a->segments->segment[s].sizes), a->segments->segment[s].clock);
        }
        struct class made = {hash, (uint32_t)i, 0, of->end - of->first, has_transfers(a, i)};
        uint32_t at;
        FORWARD(lookup_intern(&found, hash, at, a->class, a->classes, made));
        a->class[at].recorded++;
        a->class_of[i] = at;
    }
    return 0;
}

static const struct segment *segment_of(const struct aligning *a, const struct class *class, size_t k) {
    return &a->segments->segment[a->of_thread[class->first_thread].first + k];
}

// --- laying one sequence over the columns

static uint64_t distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

static unsigned likeness(const struct segment *a, const struct segment *b) {
    if (a->sizes == b->sizes) return LIKE_SIZES;
    if (a->shape == b->shape) return LIKE_SHAPE;
    if (a->kinds == b->kinds) return LIKE_KINDS;
    return a->kinds & b->kinds ? LIKE_SOME : 0;
}

// Threads with the same total number of communication calls are at the same place after the same number of calls.
// Threads with different totals may differ anywhere by as much as their totals do.
static unsigned likeness_at(const struct aligning *a, const struct class *class, size_t column, size_t k) {
    const struct column *here = &a->column[column];
    const struct segment *segment = segment_of(a, class, k);
    uint64_t most = distance(here->comm_calls, a->recorded->thread[class->first_thread].comm_calls);
    bool is_collective = here->like->is_collective && segment->is_collective;
    if (!is_collective && distance(here->like->clock, segment->clock) > most) return 0;
    return likeness(here->like, segment);
}

// The value of putting a segment into a column. The likeness counts first, then the distance of the clocks.
static uint64_t worth_at(const struct aligning *a, const struct class *class, size_t column, size_t k) {
    uint64_t like = likeness_at(a, class, column, k), most = (UINT64_C(1) << (CLOCK_BITS - 1)) - 1;
    uint64_t apart = distance(a->column[column].like->clock, segment_of(a, class, k)->clock);
    return like ? (like << CLOCK_BITS) - (apart < most ? apart : most) : 0;
}

// Columns in a row, from `column` on, that are compared with segments in a row.
struct window {
    size_t column, columns, segment, segments;
};

// The alignment that is worth the most: to[k] is a column, or NONE. `column` lists the columns of the window.
static int compare_exactly(const struct aligning *a, const struct class *class, const struct window *w,
                           const size_t *column, size_t *to) {
    size_t columns = w->columns, segment = w->segment, segments = w->segments, width = segments + 1;
    // The value of the columns and segments from here on.
    SCOPED_FREE uint64_t *best = calloc((columns + 1) * width, sizeof *best);
    RETURN_IF(!best, -ENOMEM);
    for (size_t c = columns; c-- > 0;) {
        for (size_t s = segments; s-- > 0;) {
            uint64_t worth = worth_at(a, class, column[c], segment + s);
            uint64_t both = worth ? best[(c + 1) * width + s + 1] + worth : 0;
            uint64_t skip_column = best[(c + 1) * width + s], skip_segment = best[c * width + s + 1];
            uint64_t skip = skip_column > skip_segment ? skip_column : skip_segment;
            best[c * width + s] = both >= skip ? both : skip;
        }
    }
    for (size_t c = 0, s = 0; s < segments;) {
        uint64_t worth = c < columns ? worth_at(a, class, column[c], segment + s) : 0;
        if (worth && best[c * width + s] == best[(c + 1) * width + s + 1] + worth) {
            to[segment + s++] = column[c++];
        } else if (c < columns && best[c * width + s] == best[(c + 1) * width + s]) {
            c++;
        } else {
            to[segment + s++] = NONE;
        }
    }
    return 0;
}

// The same, but greedy: each segment takes the best of the next few columns.
static void compare_ahead(const struct aligning *a, const struct class *class, struct window w, size_t *to) {
    for (size_t s = w.segment; s < w.segment + w.segments; s++) {
        uint64_t best = 0;
        size_t found_at = 0, at = w.column;
        to[s] = NONE;
        for (size_t c = 0; c < w.columns && c < LOOKAHEAD; c++, at = a->column[at].after) {
            uint64_t worth = worth_at(a, class, at, s);
            if (worth <= best) continue;
            best = worth;
            to[s] = at;
            found_at = c;
        }
        if (to[s] == NONE) continue;
        w.column = a->column[to[s]].after;
        w.columns -= found_at + 1;
    }
}

// True if there are as many columns as segments, and each pair has the same kinds of operations.
static bool go_together(const struct aligning *a, const struct class *class, size_t *to) {
    size_t column = a->first;
    if (a->columns != class->segments) return false;
    for (size_t s = 0; s < class->segments; s++, column = a->column[column].after) {
        if (likeness_at(a, class, column, s) < LIKE_KINDS) return false;
        to[s] = column;
    }
    return true;
}

static int compare_window(struct aligning *a, const struct class *class, const struct window *w, size_t *to) {
    if (!w->segments) return 0;
    if ((w->columns + 1) > a->cells / (w->segments + 1)) {
        compare_ahead(a, class, *w, to);
        return 0;
    }
    a->cells -= (w->columns + 1) * (w->segments + 1);
    SCOPED_FREE size_t *list = malloc((w->columns + 1) * sizeof *list);
    RETURN_IF(!list, -ENOMEM);
    for (size_t c = 0, column = w->column; c < w->columns; c++, column = a->column[column].after) list[c] = column;
    return compare_exactly(a, class, w, list, to);
}

// True if a segment can only be in this column, because the column beside it does something else.
static bool is_certain(const struct aligning *a, const struct class *class, size_t column, size_t beside, size_t k) {
    return likeness_at(a, class, column, k) == LIKE_SIZES &&
           (beside == NONE || likeness_at(a, class, beside, k) != LIKE_SIZES);
}

// Equal beginnings and ends are matched first, as that is cheap.
static int compare(struct aligning *a, const struct class *class, size_t *to) {
    struct window w = {a->first, a->columns, 0, class->segments};
    if (go_together(a, class, to)) return 0;
    for (size_t after; w.columns && w.segments; w.columns--, w.segments--, w.column = after) {
        after = a->column[w.column].after;
        if (!is_certain(a, class, w.column, after, w.segment)) break;
        to[w.segment++] = w.column;
    }
    for (size_t last = a->last, before; w.columns && w.segments; w.columns--, w.segments--, last = before) {
        before = a->column[last].before;
        if (!is_certain(a, class, last, before, w.segment + w.segments - 1)) break;
        to[w.segment + w.segments - 1] = last;
    }
    return compare_window(a, class, &w, to);
}

// --- columns

static int add_column(struct aligning *a, const struct class *class, size_t k, size_t before, size_t *id) {
    const struct thread_ops *thread = &a->recorded->thread[class->first_thread];
    FORWARD(array_room(a->column, a->columns));
    size_t after = before == NONE ? a->first : a->column[before].after;
    a->column[ *id = a->columns++] = (struct column){.like = segment_of(a, class, k),
                                                     .comm_calls = thread->comm_calls,
                                                     .phase.program = thread->program,
                                                     .before = before,
                                                     .after = after};
    *(before == NONE ? &a->first : &a->column[before].after) = *id;
    *(after == NONE ? &a->last : &a->column[after].before) = *id;
    return 0;
}

// Returns the column after which a new one with this clock goes: `before` or later, and before `limit`.
static size_t place_of(const struct aligning *a, uint64_t clock, size_t before, size_t limit) {
    size_t latest = limit == NONE ? a->last : a->column[limit].before;
    if (latest == NONE || a->column[latest].like->clock <= clock) return latest;
    for (size_t next; (next = before == NONE ? a->first : a->column[before].after) != limit; before = next) {
        if (a->column[next].like->clock > clock) break;
    }
    return before;
}

// Puts the segments of a class into columns; to[k] is the column of segment k. A new column goes after the columns with
// earlier clocks, as far as the order allows.
static int lay(struct aligning *a, const struct class *class, size_t *to) {
    FORWARD(compare(a, class, to));
    size_t before = NONE, match = 0; // the next one
    for (size_t k = 0; k < class->segments; k++) {
        if (to[k] == NONE) {
            for (match = match > k ? match : k; match < class->segments && to[match] == NONE;) match++;
            uint64_t clock = segment_of(a, class, k)->clock;
            before = place_of(a, clock, before, match < class->segments ? to[match] : NONE);
            FORWARD(add_column(a, class, k, before, &to[k]));
        }
        before = to[k];
    }
    return 0;
}

static int compare_classes(const void *x, const void *y, void *context) {
    const struct class *a = &((const struct class *)context)[*(const uint32_t *)x];
    const struct class *b = &((const struct class *)context)[*(const uint32_t *)y];
    if (a->transfers != b->transfers) return a->transfers ? -1 : 1;
    if (a->recorded != b->recorded) return a->recorded > b->recorded ? -1 : 1;
    return a->first_thread < b->first_thread ? -1 : a->first_thread > b->first_thread;
}

static int lay_classes(struct aligning *a, size_t **to, struct arena *arena) {
    uint32_t *by_size;
    FORWARD(arena_array(arena, by_size, a->classes));
    for (size_t i = 0; i < a->classes; i++) by_size[i] = (uint32_t)i;
    qsort_r(by_size, a->classes, sizeof *by_size, compare_classes, a->class);
    for (size_t i = 0; i < a->classes; i++) {
        const struct class *class = &a->class[by_size[i]];
        if (!class->transfers && a->columns) continue;
        FORWARD(arena_array(arena, to[by_size[i]], class->segments));
        FORWARD(lay(a, class, to[by_size[i]]));
    }
    return 0;
}

static int fill_columns(struct aligning *a, size_t first_thread, size_t end_thread, size_t *const *to) {
    for (size_t i = first_thread; i < end_thread; i++) {
        const struct thread_segments *of = &a->of_thread[i];
        for (size_t s = of->first; s < of->end; s++) {
            struct column *column = &a->column[has_transfers(a, i) ? to[a->class_of[i]][s - of->first] : a->first];
            FORWARD(array_push(column->phase.part, column->phase.parts, (struct align_part){(uint32_t)i, s}));
        }
    }
    return 0;
}

static int align_program(struct aligning *a, struct align *align, size_t first_thread, size_t end_thread) {
    SCOPED(arena_free) struct arena arena = {0};
    size_t **to;
    a->columns = 0;
    a->first = a->last = NONE;
    a->cells = CELLS + CELLS_EACH * (a->of_thread[end_thread - 1].end - a->of_thread[first_thread].first);
    FORWARD(sort_into_classes(a, first_thread, end_thread));
    FORWARD(arena_array(&arena, to, a->classes));
    int code = lay_classes(a, to, &arena);
    if (!code) code = fill_columns(a, first_thread, end_thread, to);
    for (size_t i = a->first; i != NONE; i = a->column[i].after) {
        if (!code) code = array_room(align->phase, align->count);
        if (!code)
            align->phase[align->count++] = a->column[i].phase;
        else
            free(a->column[i].phase.part);
    }
    return code;
}

int align_make(struct align *align, const struct recorded *recorded, const struct segments *segments,
               const struct thread_segments *of_thread) {
    struct aligning a = {.recorded = recorded, .segments = segments, .of_thread = of_thread};
    *align = (struct align){0};
    a.class_of = malloc((recorded->count + 1) * sizeof *a.class_of);
    int code = a.class_of ? 0 : -ENOMEM;
    for (size_t first = 0, end; first < recorded->count && !code; first = end) {
        for (end = first; end < recorded->count && recorded->thread[end].program == recorded->thread[first].program;)
            end++;
        code = align_program(&a, align, first, end);
    }
    free(a.class_of);
    free(a.class);
    free(a.column);
    if (code) align_free(align);
    return code;
}

void align_free(struct align *align) {
    for (size_t i = 0; i < align->count; i++) free(align->phase[i].part);
    free(align->phase);
    *align = (struct align){0};
}
