#include "model/align.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/grow.h"
#include "base/lookup.h"

enum {
    LIKE_SIZES = 8, // equal loops and sizes
    LIKE_SHAPE = 6,
    LIKE_LOOK = 1,
    LOOKAHEAD = 64,       // where the sequences are too long for the exact comparison
    MOST_CELLS = 4 << 20, // of that comparison
};

// Lanes of one program with equal sequences.
struct class
{
    uint64_t hash;
    uint32_t first_lane;
    size_t lanes;
    size_t segments;
    bool transfers; // lanes without any join the program's first phase, or make one
};

struct column {
    const struct segment *like; // the first that came
    struct align_phase phase;
};

struct aligning {
    const struct lanes *lanes;
    const struct segments *segments;
    const struct lane_segments *of_lane;
    uint32_t *class_of; // by lane
    struct class *class;
    size_t classes, classes_room;
    struct column *column; // never moves within `order`: that holds places in here
    size_t columns, columns_room;
    size_t *order;
    size_t order_count, order_room;
};

// --- classes

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static bool has_transfers(const struct aligning *a, size_t lane)
{
    return a->segments->segment[a->of_lane[lane].first].ops.count > 0;
}

static int sort_into_classes(struct aligning *a, size_t first_lane, size_t end_lane)
{
    struct lookup found = {0};
    int code = 0;
    a->classes = 0;
    for (size_t i = first_lane; i < end_lane && !code; i++) {
        const struct lane_segments *of = &a->of_lane[i];
        uint64_t hash = of->end - of->first;
        for (size_t s = of->first; s < of->end; s++) hash = mix(hash, a->segments->segment[s].sizes);
        uint32_t at = lookup_find(&found, hash);
        if (at == LOOKUP_NONE) {
            at = (uint32_t)a->classes;
            code = grow(&a->class, &a->classes_room, a->classes, sizeof *a->class);
            if (!code) code = lookup_set(&found, hash, at);
            if (code) break;
            a->class[a->classes++] = (struct class){hash, (uint32_t)i, 0, of->end - of->first, has_transfers(a, i)};
        }
        a->class[at].lanes++;
        a->class_of[i] = at;
    }
    lookup_free(&found);
    return code;
}

static const struct segment *segment_of(const struct aligning *a, const struct class *class, size_t k)
{
    return &a->segments->segment[a->of_lane[class->first_lane].first + k];
}

// --- laying one sequence over the columns

static int likeness(const struct segment *a, const struct segment *b)
{
    if (a->sizes == b->sizes) return LIKE_SIZES;
    if (a->shape == b->shape) return LIKE_SHAPE;
    return a->look == b->look ? LIKE_LOOK : 0;
}

static int likeness_at(const struct aligning *a, const struct class *class, size_t column, size_t k)
{
    return likeness(a->column[a->order[column]].like, segment_of(a, class, k));
}

#define ALONE SIZE_MAX

// The best alignment of columns [c0, c1) with segments [s0, s1): to[k] is a place in the order, or ALONE.
static int compare_exactly(const struct aligning *a, const struct class *class, size_t c0, size_t c1, size_t s0,
                           size_t s1, size_t *to)
{
    size_t width = s1 - s0 + 1, rows = c1 - c0 + 1;
    uint32_t *best = calloc(width * rows, sizeof *best); // of the columns and segments from here on
    RETURN_IF(!best, -ENOMEM);
    for (size_t c = rows - 1; c-- > 0;) {
        for (size_t s = width - 1; s-- > 0;) {
            int like = likeness_at(a, class, c0 + c, s0 + s);
            uint32_t both = like ? best[(c + 1) * width + s + 1] + (uint32_t)like : 0;
            uint32_t skip_column = best[(c + 1) * width + s], skip_segment = best[c * width + s + 1];
            uint32_t skip = skip_column > skip_segment ? skip_column : skip_segment;
            best[c * width + s] = both >= skip ? both : skip;
        }
    }
    for (size_t c = 0, s = 0; s < width - 1;) {
        int like = c < rows - 1 ? likeness_at(a, class, c0 + c, s0 + s) : 0;
        if (like && best[c * width + s] == best[(c + 1) * width + s + 1] + (uint32_t)like) {
            to[s0 + s++] = c0 + c++;
        } else if (c < rows - 1 && best[c * width + s] == best[(c + 1) * width + s]) {
            c++;
        } else {
            to[s0 + s++] = ALONE;
        }
    }
    free(best);
    return 0;
}

static void compare_ahead(const struct aligning *a, const struct class *class, size_t c0, size_t c1, size_t s0,
                          size_t s1, size_t *to)
{
    for (size_t s = s0; s < s1; s++) {
        int best = 0;
        to[s] = ALONE;
        for (size_t c = c0; c < c1 && c < c0 + LOOKAHEAD; c++) {
            int like = likeness_at(a, class, c, s);
            if (like > best) {
                best = like;
                to[s] = c;
            }
        }
        if (to[s] != ALONE) c0 = to[s] + 1;
    }
}

static int compare(const struct aligning *a, const struct class *class, size_t *to)
{
    size_t c0 = 0, c1 = a->order_count, s0 = 0, s1 = class->segments;
    for (; c0 < c1 && s0 < s1 && likeness_at(a, class, c0, s0) == LIKE_SIZES; c0++, s0++) to[s0] = c0;
    for (; c0 < c1 && s0 < s1 && likeness_at(a, class, c1 - 1, s1 - 1) == LIKE_SIZES; c1--, s1--) to[s1 - 1] = c1 - 1;
    if (s0 == s1) return 0;
    if ((s1 - s0 + 1) * (c1 - c0 + 1) <= MOST_CELLS) return compare_exactly(a, class, c0, c1, s0, s1, to);
    compare_ahead(a, class, c0, c1, s0, s1, to);
    return 0;
}

// --- columns

static int add_column(struct aligning *a, const struct segment *like, uint32_t program, size_t *id)
{
    FORWARD(grow(&a->column, &a->columns_room, a->columns, sizeof *a->column));
    a->column[ *id = a->columns++] = (struct column){.like = like, .phase.program = program};
    return 0;
}

// Puts a class's segments into the order; to[k] becomes the column of segment k.
static int lay(struct aligning *a, const struct class *class, uint32_t program, size_t *to)
{
    FORWARD(compare(a, class, to));
    size_t *order = malloc((a->order_count + class->segments + 1) * sizeof *order), count = 0, next = 0;
    RETURN_IF(!order, -ENOMEM);
    int code = 0;
    for (size_t k = 0; k < class->segments && !code; k++) {
        if (to[k] == ALONE) {
            code = add_column(a, segment_of(a, class, k), program, &to[k]);
            order[count++] = to[k];
            continue;
        }
        while (next <= to[k]) order[count++] = a->order[next++];
        to[k] = a->order[to[k]];
    }
    while (next < a->order_count) order[count++] = a->order[next++];
    free(a->order);
    a->order = order;
    a->order_count = count;
    return code;
}

static int add_part(struct align_phase *phase, uint32_t lane, size_t segment)
{
    FORWARD(grow(&phase->part, &phase->room, phase->parts, sizeof *phase->part));
    phase->part[phase->parts++] = (struct align_part){lane, segment};
    return 0;
}

static int compare_classes(const void *x, const void *y, void *context)
{
    const struct class *a = &((const struct class *)context)[*(const uint32_t *)x];
    const struct class *b = &((const struct class *)context)[*(const uint32_t *)y];
    if (a->transfers != b->transfers) return a->transfers ? -1 : 1;
    if (a->lanes != b->lanes) return a->lanes > b->lanes ? -1 : 1;
    return a->first_lane < b->first_lane ? -1 : a->first_lane > b->first_lane;
}

static int lay_classes(struct aligning *a, uint32_t program, size_t **to)
{
    uint32_t *by_size = malloc(a->classes * sizeof *by_size);
    RETURN_IF(!by_size, -ENOMEM);
    for (size_t i = 0; i < a->classes; i++) by_size[i] = (uint32_t)i;
    qsort_r(by_size, a->classes, sizeof *by_size, compare_classes, a->class);
    int code = 0;
    for (size_t i = 0; i < a->classes && !code; i++) {
        const struct class *class = &a->class[by_size[i]];
        if (!has_transfers(a, class->first_lane) && a->order_count) continue;
        to[by_size[i]] = malloc((class->segments + 1) * sizeof **to);
        code = to[by_size[i]] ? lay(a, class, program, to[by_size[i]]) : -ENOMEM;
    }
    free(by_size);
    return code;
}

static int align_program(struct aligning *a, struct align *align, size_t first_lane, size_t end_lane)
{
    uint32_t program = a->lanes->lane[first_lane].program;
    a->order_count = a->columns = 0;
    FORWARD(sort_into_classes(a, first_lane, end_lane));
    size_t **to = calloc(a->classes, sizeof *to);
    RETURN_IF(!to, -ENOMEM);
    int code = lay_classes(a, program, to);
    for (size_t i = first_lane; i < end_lane && !code; i++) {
        const struct lane_segments *of = &a->of_lane[i];
        const size_t *column = has_transfers(a, i) ? to[a->class_of[i]] : a->order;
        for (size_t s = of->first; s < of->end && !code; s++) {
            code = add_part(&a->column[column[s - of->first]].phase, (uint32_t)i, s);
        }
    }
    for (size_t i = 0; i < a->classes; i++) free(to[i]);
    free(to);
    for (size_t i = 0; i < a->order_count && !code; i++) {
        code = grow(&align->phase, &align->room, align->count, sizeof *align->phase);
        if (!code) align->phase[align->count++] = a->column[a->order[i]].phase;
    }
    return code;
}

int align_make(struct align *align, const struct lanes *lanes, const struct segments *segments,
               const struct lane_segments *of_lane)
{
    struct aligning a = {.lanes = lanes, .segments = segments, .of_lane = of_lane};
    *align = (struct align){0};
    a.class_of = malloc((lanes->count + 1) * sizeof *a.class_of);
    int code = a.class_of ? 0 : -ENOMEM;
    for (size_t first = 0, end; first < lanes->count && !code; first = end) {
        for (end = first; end < lanes->count && lanes->lane[end].program == lanes->lane[first].program;) end++;
        code = align_program(&a, align, first, end);
    }
    free(a.class_of);
    free(a.class);
    free(a.column);
    free(a.order);
    if (code) align_free(align);
    return code;
}

void align_free(struct align *align)
{
    for (size_t i = 0; i < align->count; i++) free(align->phase[i].part);
    free(align->phase);
    *align = (struct align){0};
}
