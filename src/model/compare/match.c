// Finds which phase of one program corresponds to which phase of another: the alignment of the two sequences with the
// greatest likeness (fingerprint.h), as diff does for texts. Phases that have nothing in common are never put together.
//
// Memory and time are limited. If the sequences, without equal ends, are too long to compare each phase with each,
// equal phases are put together first, and then the phases between them.
#include "model/compare/phase_pair.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/scoped.h"

enum {
    MOST_CELLS = 4 << 20,    // of an exact comparison
    PIECE_CELLS = 256 << 10, // the same, for one stretch among many
    MOST_EDITS = 256,        // that are searched at a time
    LOOKAHEAD = 64,
};

struct aligning {
    const struct phase_fingerprint *a, *b;
    uint32_t *to;
};

// Phases [a0, a1) and [b0, b1) that are to be aligned.
struct stretch {
    size_t a0, a1, b0, b1;
};

static unsigned likeness(const struct aligning *al, size_t i, size_t k) {
    return fingerprint_likeness(&al->a[i], &al->b[k]);
}

// --- exactly

enum move { MOVE_BOTH, MOVE_A, MOVE_B };

static size_t cells_of(const struct stretch *s) {
    size_t width = s->b1 - s->b0, height = s->a1 - s->a0;
    return width && height > SIZE_MAX / width ? SIZE_MAX : width * height;
}

// Fills in the best move from each place, from the ends backwards; `best` is one row of scores.
static void compute_moves(const struct aligning *al, const struct stretch *s, uint32_t *best, uint8_t *move) {
    size_t width = s->b1 - s->b0;
    for (size_t i = s->a1 - s->a0; i-- > 0;) {
        uint32_t diagonal = best[width]; // of the row below
        for (size_t k = width; k-- > 0;) {
            unsigned like = likeness(al, s->a0 + i, s->b0 + k);
            uint32_t both = like ? diagonal + like : 0, skip_a = best[k], skip_b = best[k + 1];
            diagonal = best[k];
            uint32_t skip = skip_a > skip_b ? skip_a : skip_b;
            best[k] = both && both >= skip ? both : skip;
            move[i * width + k] = both && both >= skip ? MOVE_BOTH : skip_a >= skip_b ? MOVE_A : MOVE_B;
        }
    }
}

static int align_exactly(const struct aligning *al, const struct stretch *s) {
    size_t width = s->b1 - s->b0;
    SCOPED_FREE uint32_t *best = calloc(width + 1, sizeof *best);
    SCOPED_FREE uint8_t *move = malloc(cells_of(s) + 1);
    RETURN_IF(!best || !move, -ENOMEM);
    compute_moves(al, s, best, move);
    for (size_t i = s->a0, k = s->b0; i < s->a1 && k < s->b1;) {
        enum move next = move[(i - s->a0) * width + k - s->b0];
        if (next == MOVE_BOTH) al->to[i] = (uint32_t)k;
        if (next != MOVE_B) i++;
        if (next != MOVE_A) k++;
    }
    return 0;
}

// --- long ones: first the phases that are equal, by the fewest edits (Myers, "An O(ND) difference algorithm"), then
// what lies between them

// A diagonal is the number of phases of A minus the number of phases of B before a place.
struct edits {
    int32_t reach[MOST_EDITS + 1][2 * MOST_EDITS + 5]; // phases of A before the furthest place, or NOWHERE
};

enum { NOWHERE = -1 };

static int32_t *reach_of(struct edits *e, int edits) { return e->reach[edits] + MOST_EDITS + 2; }

// Returns where the last edit leads to on a diagonal; *from is the diagonal that it comes from. An edit skips one phase
// of A or of B.
static int64_t after_edit(struct edits *e, const struct stretch *s, int edits, int diagonal, int *from) {
    int64_t a_count = (int64_t)(s->a1 - s->a0), b_count = (int64_t)(s->b1 - s->b0);
    if (!edits) return 0;
    const int32_t *before = reach_of(e, edits - 1);
    int64_t by_a = before[diagonal - 1] == NOWHERE ? NOWHERE : before[diagonal - 1] + INT64_C(1);
    int64_t by_b = before[diagonal + 1];
    if (by_a > a_count) by_a = NOWHERE;
    if (by_b - diagonal > b_count) by_b = NOWHERE;
    *from = by_a >= by_b ? diagonal - 1 : diagonal + 1;
    return by_a >= by_b ? by_a : by_b;
}

static int64_t slide(const struct aligning *al, const struct stretch *s, int64_t x, int diagonal) {
    size_t i = s->a0 + (size_t)x, k = s->b0 + (size_t)(x - diagonal);
    while (i < s->a1 && k < s->b1 && al->a[i].structure == al->b[k].structure) i++, k++;
    return (int64_t)(i - s->a0);
}

// Counts the edits to the end and gives its diagonal; or, if there are too many, those of the furthest place.
static void count_edits(const struct aligning *al, const struct stretch *s, struct edits *e, int *edits,
                        int *diagonal) {
    int64_t a_count = (int64_t)(s->a1 - s->a0), b_count = (int64_t)(s->b1 - s->b0), furthest = -1;
    int from;
    for (*edits = 0;; ++*edits) {
        int32_t *reach = reach_of(e, *edits);
        for (int k = -*edits - 2; k <= *edits + 2; k++) reach[k] = NOWHERE;
        for (int k = -*edits; k <= *edits; k += 2) {
            int64_t x = after_edit(e, s, *edits, k, &from);
            if (x == NOWHERE) continue;
            x = slide(al, s, x, k);
            reach[k] = (int32_t)x;
            if (*edits == MOST_EDITS && 2 * x - k > furthest) furthest = 2 * x - (*diagonal = k);
            if (x < a_count || x - k < b_count) continue;
            *diagonal = k;
            return;
        }
        if (*edits == MOST_EDITS) return;
    }
}

// Follows the edits back and keeps the equal phases; the stretch then begins after them.
static void keep_equal(const struct aligning *al, struct stretch *s, struct edits *e, int edits, int diagonal) {
    int64_t end = reach_of(e, edits)[diagonal], last = end - diagonal;
    for (int d = edits, k = diagonal, from = 0; d >= 0; d--, k = from) {
        int64_t x = after_edit(e, s, d, k, &from), reach = reach_of(e, d)[k];
        for (; x < reach; x++) al->to[s->a0 + (size_t)x] = (uint32_t)(s->b0 + (size_t)(x - k));
    }
    s->a0 += (size_t)end;
    s->b0 += (size_t)last;
}

static int align_equal(const struct aligning *al, struct stretch s) {
    SCOPED_FREE struct edits *e = malloc(sizeof *e);
    RETURN_IF(!e, -ENOMEM);
    while (s.a0 < s.a1 && s.b0 < s.b1) {
        int edits, diagonal = 0;
        count_edits(al, &s, e, &edits, &diagonal);
        keep_equal(al, &s, e, edits, diagonal);
    }
    return 0;
}

static void align_ahead(const struct aligning *al, const struct stretch *s) {
    size_t from = s->b0;
    for (size_t i = s->a0; i < s->a1; i++) {
        unsigned best = 0;
        for (size_t k = from; k < s->b1 && k < from + LOOKAHEAD; k++) {
            unsigned like = likeness(al, i, k);
            if (like <= best) continue;
            best = like;
            al->to[i] = (uint32_t)k;
        }
        if (al->to[i] != DIFF_NONE) from = al->to[i] + 1;
    }
}

static int align_between(const struct aligning *al, const struct stretch *s) {
    if (cells_of(s) <= PIECE_CELLS) return align_exactly(al, s);
    align_ahead(al, s);
    return 0;
}

static int align_long(const struct aligning *al, const struct stretch *s) {
    struct stretch piece = {.a0 = s->a0, .b0 = s->b0};
    FORWARD(align_equal(al, *s));
    for (size_t i = s->a0; i <= s->a1; i++) {
        if (i < s->a1 && al->to[i] == DIFF_NONE) continue;
        piece.a1 = i;
        piece.b1 = i < s->a1 ? al->to[i] : s->b1;
        FORWARD(align_between(al, &piece));
        piece.a0 = i + 1;
        piece.b0 = piece.b1 + 1;
    }
    return 0;
}

int diff_align(const struct phase_fingerprint *a, size_t a_count, const struct phase_fingerprint *b, size_t b_count,
               uint32_t *to) {
    struct aligning al = {a, b, to};
    struct stretch s = {0, a_count, 0, b_count};
    for (size_t i = 0; i < a_count; i++) to[i] = DIFF_NONE;
    for (; s.a0 < s.a1 && s.b0 < s.b1 && a[s.a0].structure == b[s.b0].structure; s.a0++, s.b0++)
        to[s.a0] = (uint32_t)s.b0;
    for (; s.a0 < s.a1 && s.b0 < s.b1 && a[s.a1 - 1].structure == b[s.b1 - 1].structure; s.a1--, s.b1--)
        to[s.a1 - 1] = (uint32_t)(s.b1 - 1);
    if (s.a0 == s.a1 || s.b0 == s.b1) return 0;
    return cells_of(&s) <= MOST_CELLS ? align_exactly(&al, &s) : align_long(&al, &s);
}
