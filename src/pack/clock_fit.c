// A clock that runs at its own constant rate is a line: the values that all pairs allow for it are a convex set, whose
// extent is the error. Where a server's clock is steered (NTP), one line does not fit a long run; then the run is cut
// into more and more pieces, which must go on where the piece before ended.
#include "pack/clock_fit.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/err.h"

#define STEEPEST_DRIFT 1e-3 // of clocks that are not broken
#define WINDOW_NS INT64_C(10000000000)
#define STEERED 5e-4 // by which NTP changes the rate of a clock at most

enum { STEPS = 100, BISECTIONS = 60, SUBSETS = 16, OUTLIERS = 20, PAIRS_MOST = 1 << 16 };

struct point {
    double ns, offset_ns;
};

// The limits that count: offsets are at least those of `low` and at most those of `high`.
struct limits {
    struct point *low, *high;
    size_t lows, highs;
};

struct line {
    double offset_ns, drift; // offset at 0
    double error_ns;
};

static double at(const struct line *line, double ns) { return line->offset_ns + line->drift * ns; }

// --- limits

static int by_start(const void *a, const void *b) {
    const struct clock_pair *left = a, *right = b;
    return left->start_ns < right->start_ns ? -1 : left->start_ns > right->start_ns;
}

static int by_time(const void *a, const void *b) {
    const struct point *left = a, *right = b;
    return left->ns < right->ns ? -1 : left->ns > right->ns;
}

// Keeps the convex hull on the upper (sign 1) or lower (-1) side: no line touches the other points first.
static size_t keep_hull(struct point *point, size_t count, double sign) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        while (kept > 1) {
            struct point a = point[kept - 2], b = point[kept - 1], c = point[i];
            double turn = (b.ns - a.ns) * (c.offset_ns - a.offset_ns) - (b.offset_ns - a.offset_ns) * (c.ns - a.ns);
            if (turn * sign < 0) break;
            kept--;
        }
        point[kept++] = point[i];
    }
    return kept;
}

// Of every `step`th pair from the first on. `point` has room for two per pair.
static struct limits limits_of(const struct clock_pair *pair, size_t count, size_t step, struct point *point) {
    size_t n = 0;
    for (size_t i = 0; i < count; i += step, n++)
        point[n] = (struct point){(double)pair[i].start_ns, (double)(pair[i].from_ns - pair[i].start_ns)};
    struct limits limits = {.low = point, .high = point + n};
    for (size_t i = 0; i < count; i += step)
        point[n++] = (struct point){(double)pair[i].end_ns, (double)(pair[i].to_ns - pair[i].end_ns)};
    size_t half = n / 2;
    qsort(limits.high, half, sizeof *point, by_time);
    limits.lows = keep_hull(limits.low, half, 1);
    limits.highs = keep_hull(limits.high, half, -1);
    return limits;
}

static double least(const struct limits *limits, double drift) {
    double offset = -HUGE_VAL;
    for (size_t i = 0; i < limits->lows; i++)
        offset = fmax(offset, limits->low[i].offset_ns - limits->low[i].ns * drift);
    return offset;
}

static double most(const struct limits *limits, double drift) {
    double offset = HUGE_VAL;
    for (size_t i = 0; i < limits->highs; i++)
        offset = fmin(offset, limits->high[i].offset_ns - limits->high[i].ns * drift);
    return offset;
}

// --- one line

// Half of the range that is left for an offset with this drift; negative if there is none.
static double margin(const struct limits *limits, double drift, double ns) {
    (void)ns;
    return (most(limits, drift) - least(limits, drift)) / 2;
}

static double highest(const struct limits *limits, double drift, double ns) { return most(limits, drift) + drift * ns; }
static double lowest(const struct limits *limits, double drift, double ns) {
    return -least(limits, drift) - drift * ns;
}

typedef double concave(const struct limits *limits, double drift, double ns);

// The drift at which a concave function is greatest.
static double find_top(const struct limits *limits, concave *function, double ns, double low, double high) {
    for (int i = 0; i < STEPS; i++) {
        double left = low + (high - low) / 3, right = high - (high - low) / 3;
        if (function(limits, left, ns) < function(limits, right, ns))
            low = left;
        else
            high = right;
    }
    return low + (high - low) / 2;
}

// The drift next to `outside` that is still possible.
static double find_edge(const struct limits *limits, double inside, double outside) {
    if (margin(limits, outside, 0) >= 0) return outside;
    for (int i = 0; i < BISECTIONS; i++) {
        double middle = inside + (outside - inside) / 2;
        *(margin(limits, middle, 0) >= 0 ? &inside : &outside) = middle;
    }
    return inside;
}

static double distance(const struct limits *limits, const struct line *line, const double drift[2]) {
    double error = 0;
    const double highs[] = {limits->high[0].ns, limits->high[limits->highs - 1].ns};
    const double lows[] = {limits->low[0].ns, limits->low[limits->lows - 1].ns};
    for (unsigned i = 0; i < 2; i++) {
        double top = find_top(limits, highest, highs[i], drift[0], drift[1]);
        error = fmax(error, highest(limits, top, highs[i]) - at(line, highs[i]));
        double bottom = find_top(limits, lowest, lows[i], drift[0], drift[1]);
        error = fmax(error, at(line, lows[i]) + lowest(limits, bottom, lows[i]));
    }
    return error;
}

// The line in the middle of all that the limits allow; false if they allow none. No drift is the simplest explanation,
// if it is a good one.
static bool fit_line(const struct limits *limits, struct line *line) {
    double best = find_top(limits, margin, 0, -STEEPEST_DRIFT, STEEPEST_DRIFT), room = margin(limits, best, 0);
    if (room < 0) return false;
    const double drift[] = {find_edge(limits, best, -STEEPEST_DRIFT), find_edge(limits, best, STEEPEST_DRIFT)};
    line->drift = margin(limits, 0, 0) >= room / 2 ? 0 : best;
    line->offset_ns = (most(limits, line->drift) + least(limits, line->drift)) / 2;
    line->error_ns = distance(limits, line, drift);
    return true;
}

// --- without outliers

static bool agrees(const struct line *line, const struct clock_pair *pair, double slack_ns) {
    double low = (double)(pair->from_ns - pair->start_ns), high = (double)(pair->to_ns - pair->end_ns);
    return at(line, (double)pair->start_ns) >= low - slack_ns && at(line, (double)pair->end_ns) <= high + slack_ns;
}

static size_t keep_agreeing(const struct line *line, double slack_ns, const struct clock_pair *pair, size_t count,
                            struct clock_pair *kept) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        if (agrees(line, &pair[i], slack_ns)) kept[found++] = pair[i];
    }
    return found;
}

// Few outliers are in few of the subsets: the line of another one shows which they are.
static bool fit_most(const struct clock_pair *pair, size_t count, struct point *point, struct line *line) {
    const double slacks[] = {2, 1, 0.5, 0.25, 0}; // errors of the subset's line
    struct clock_pair *kept = malloc(count * sizeof *kept);
    bool found = false;
    for (size_t i = 0; kept && i < SUBSETS && count >= 2 * OUTLIERS && !found; i++) {
        struct line guess;
        struct limits limits = limits_of(pair + i, count - i, SUBSETS, point);
        if (!fit_line(&limits, &guess)) continue;
        for (size_t j = 0; j < sizeof slacks / sizeof *slacks && !found; j++) {
            size_t left = keep_agreeing(&guess, slacks[j] * guess.error_ns, pair, count, kept);
            if (count - left > count / OUTLIERS) break;
            limits = limits_of(kept, left, 1, point);
            found = fit_line(&limits, line);
        }
    }
    free(kept);
    return found;
}

// If a clock was steered, limits that hardly allow a line say little about its error. But each pair limits the offset
// at its own time, whatever the clock does: the narrowest ones count. Windows are so short that no clock is steered
// far.
static double widest_window(const struct line *line, const struct clock_pair *pair, size_t count) {
    double widest = 0, narrowest = HUGE_VAL;
    for (size_t i = 0, first = 0; i < count; i++) {
        double low = (double)(pair[i].from_ns - pair[i].start_ns), high = (double)(pair[i].to_ns - pair[i].end_ns);
        if (pair[i].start_ns - pair[first].start_ns > WINDOW_NS) {
            if (narrowest < HUGE_VAL) widest = fmax(widest, narrowest);
            narrowest = HUGE_VAL;
            first = i;
        }
        if (agrees(line, &pair[i], 0))
            narrowest = fmin(narrowest,
                             fmax(at(line, (double)pair[i].start_ns) - low, high - at(line, (double)pair[i].end_ns)));
    }
    return narrowest < HUGE_VAL ? fmax(widest, narrowest) : widest;
}

static bool fit_piece(const struct clock_pair *pair, size_t count, struct point *point, struct line *line) {
    struct limits limits = limits_of(pair, count, 1, point);
    if (!fit_line(&limits, line) && !fit_most(pair, count, point, line)) return false;
    line->error_ns = fmax(line->error_ns, widest_window(line, pair, count));
    return true;
}

// --- pieces

struct piece {
    double from_ns, to_ns;
    struct line line;
};

// The piece goes on from the end of the one before. A jump within the errors becomes a corner.
static bool add_piece(struct clock_fit *fit, const struct piece *piece, const struct piece *before) {
    double start = at(&piece->line, piece->from_ns), corner = 0;
    if (before) {
        struct clock_knot *last = &fit->knot[fit->knots - 1];
        double gap = piece->from_ns - before->to_ns, jump = start - at(&before->line, piece->from_ns);
        if (fabs(jump) > before->line.error_ns + piece->line.error_ns + gap * STEERED) return false;
        corner = fabs(jump) / 2;
        *last = (struct clock_knot){piece->from_ns, start - jump / 2};
    } else {
        fit->knot[fit->knots++] = (struct clock_knot){piece->from_ns, start};
    }
    fit->knot[fit->knots++] = (struct clock_knot){piece->to_ns, at(&piece->line, piece->to_ns)};
    fit->error_ns = fmax(fit->error_ns, fmax(piece->line.error_ns, before ? before->line.error_ns : 0) + corner);
    return true;
}

static bool fit_pieces(struct clock_fit *fit, const struct clock_pair *pair, size_t count, unsigned pieces,
                       struct point *point) {
    const double first = (double)pair[0].start_ns, span = (double)pair[count - 1].start_ns - first;
    struct piece before, piece;
    size_t begin = 0;
    *fit = (struct clock_fit){0};
    for (unsigned i = 0; i < pieces; i++) {
        double until = i + 1 == pieces ? HUGE_VAL : first + span * (i + 1) / pieces;
        size_t end = begin;
        while (end < count && (double)pair[end].start_ns < until) end++;
        if (end == begin) continue;
        piece.from_ns = (double)pair[begin].start_ns;
        piece.to_ns = fmax((double)pair[end - 1].start_ns, piece.from_ns + 1);
        if (!fit_piece(pair + begin, end - begin, point, &piece.line)) return false;
        if (!add_piece(fit, &piece, begin ? &before : NULL)) return false;
        before = piece;
        begin = end;
    }
    return true;
}

int clock_fit(struct clock_fit *fit, struct clock_pair *pair, size_t count) {
    bool found = false;
    RETURN_IF(!count, ERR_NOTHING);
    struct point *point = malloc(2 * count * sizeof *point);
    RETURN_IF(!point, -ENOMEM);
    size_t step = count / PAIRS_MOST + 1, kept = 0;
    for (size_t i = 0; i < count; i += step) pair[kept++] = pair[i];
    count = kept;
    qsort(pair, count, sizeof *pair, by_start);
    for (unsigned pieces = 1; pieces < CLOCK_KNOTS && !found; pieces *= 2)
        found = fit_pieces(fit, pair, count, pieces, point);
    free(point);
    return found ? 0 : ERR_NOTHING;
}

double clock_fit_offset(const struct clock_fit *fit, double ns) {
    unsigned next = 1;
    while (next + 1 < fit->knots && fit->knot[next].ns < ns) next++;
    const struct clock_knot *a = &fit->knot[next - 1], *b = &fit->knot[next];
    return a->offset_ns + (b->offset_ns - a->offset_ns) * ((ns - a->ns) / (b->ns - a->ns));
}

double clock_fit_drift(const struct clock_fit *fit) {
    const struct clock_knot *first = &fit->knot[0], *last = &fit->knot[fit->knots - 1];
    return (last->offset_ns - first->offset_ns) / (last->ns - first->ns);
}

double clock_fit_start(const struct clock_fit *fit) {
    return fit->knot[0].offset_ns - fit->knot[0].ns * clock_fit_drift(fit);
}
