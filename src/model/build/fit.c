// How a form is tried: a sample of the points gives its coefficients, then all points are checked. A point that does
// not fit joins the sample and the form is tried again, until the sample contradicts it. Wrong forms thus mostly fail
// within a few points, and a point that refuted one form is there to refute the next.
#include "model/build/fit.h"

#include "base/err.h"
#include "model/build/fit_form.h"
#include "model/build/solve.h"
#include "model/expr.h"

_Static_assert((int)FIT_MAX_TERMS <= (int)SOLVE_MAX_UNKNOWNS, "each term has an unknown coefficient");

enum {
    FIRST_SAMPLE = 64,
    MAX_SCANS = 96,      // of all points, so that the cost stays linear whatever the values are
    MAX_SIDES = 160,     // lengths of a side of a grid that are tried
    MAX_OTHER_SIDE = 32, // among those that do not divide np
    ENOUGH_RANKS = 8,    // no form needs as many
};

struct search {
    const struct fit_input *input;
    char *text;
    bool has_phases;    // more than one
    int64_t end_rank;   // the largest rank + 1
    int distinct_ranks; // counted up to ENOUGH_RANKS
    unsigned scans_left;
    unsigned sampled;
    size_t sample[FIRST_SAMPLE + MAX_SCANS];
    unsigned sides;
    int64_t side[MAX_SIDES];
};

static int check_input(const struct fit_input *input)
{
    RETURN_IF(input->np < 1 || input->np > INT32_MAX || input->rs < 0, ERR_USAGE);
    for (size_t i = 0; i < input->count; i++) {
        const struct fit_point *point = &input->point[i];
        RETURN_IF(point->idp < 0 || point->idp >= input->np, ERR_USAGE);
        RETURN_IF(point->ph < 1 || point->ph > INT32_MAX, ERR_USAGE);
    }
    return 0;
}

static void look_over(struct search *search)
{
    const struct fit_point *point = search->input->point;
    int64_t rank[ENOUGH_RANKS];
    for (size_t i = 0; i < search->input->count; i++) {
        if (point[i].ph != point[0].ph) search->has_phases = true;
        if (point[i].idp >= search->end_rank) search->end_rank = point[i].idp + 1;
        int at = 0;
        while (at < search->distinct_ranks && rank[at] != point[i].idp) at++;
        if (at == search->distinct_ranks && at < ENOUGH_RANKS) rank[search->distinct_ranks++] = point[i].idp;
    }
}

static size_t greatest_common_divisor(size_t a, size_t b)
{
    while (b) {
        size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// Points from all over, neighbours in the sample far apart: wrong forms are found out early.
static void choose_sample(struct search *search)
{
    size_t count = search->input->count;
    size_t stride = count / 8 * 5 + 1;
    while (greatest_common_divisor(stride, count) != 1) stride++;
    size_t at = 0;
    while (search->sampled < FIRST_SAMPLE && search->sampled < count) {
        search->sample[search->sampled++] = at;
        at = (at + stride) % count;
    }
}

static bool fits(const struct search *search, const struct fit_form *form, const int64_t *coefficient, size_t at)
{
    const struct fit_point *point = &search->input->point[at];
    __int128 sum = 0;
    for (unsigned i = 0; i < form->count; i++) {
        sum += (__int128)coefficient[i] * fit_term_value(&form->term[i], point, search->input->np);
    }
    return sum == point->value;
}

// False where no integers suit the sample.
static bool solve_sample(const struct search *search, const struct fit_form *form, struct solve *solve,
                         int64_t *coefficient)
{
    solve_begin(solve, form->count);
    for (unsigned i = 0; i < search->sampled; i++) {
        const struct fit_point *point = &search->input->point[search->sample[i]];
        int64_t factor[FIT_MAX_TERMS];
        for (unsigned j = 0; j < form->count; j++) {
            factor[j] = fit_term_value(&form->term[j], point, search->input->np);
        }
        if (!solve_add(solve, factor, point->value)) return false;
    }
    solve_end(solve, coefficient);
    for (unsigned i = 0; i < search->sampled; i++) {
        if (!fits(search, form, coefficient, search->sample[i])) return false;
    }
    return true;
}

// The first point that does not fit joins the sample, at its front.
static bool all_fit(struct search *search, const struct fit_form *form, const int64_t *coefficient)
{
    search->scans_left--;
    for (size_t i = 0; i < search->input->count; i++) {
        if (fits(search, form, coefficient, i)) continue;
        search->sample[search->sampled++] = search->sample[0];
        search->sample[0] = i;
        return false;
    }
    return true;
}

static bool is_confirmed(const struct search *search, const struct fit_form *form, const struct solve *solve)
{
    int unknowns = form->chosen;
    for (unsigned i = 0; i < form->count; i++) {
        bool varies = form->term[i].kind == FIT_ONE || fit_term_is_of_rank(&form->term[i]);
        if (varies && solve->decided[i]) unknowns++;
    }
    return !form->needs_surplus || search->distinct_ranks > unknowns;
}

// What is handed out is the text, so the text is what must be right; it is not where a product on the way is too large.
static int check_text(const struct search *search)
{
    const struct fit_input *input = search->input;
    struct expr *expr;
    FORWARD(expr_parse(search->text, &expr));
    int right = 1;
    for (size_t i = 0; i < input->count && right; i++) {
        const struct fit_point *point = &input->point[i];
        struct expr_variables variables = {.idp = point->idp, .np = input->np, .ph = point->ph, .rs = input->rs};
        int64_t value;
        right = expr_eval(expr, &variables, &value) == 0 && value == point->value;
    }
    expr_free(expr);
    return right;
}

// 1 where the form fits and is written, 0 where it does not fit. So do all that follow.
static int try_form(struct search *search, const struct fit_form *form)
{
    struct solve solve;
    int64_t coefficient[FIT_MAX_TERMS];
    do {
        if (search->scans_left == 0 || !solve_sample(search, form, &solve, coefficient)) return 0;
    } while (!all_fit(search, form, coefficient));
    if (!is_confirmed(search, form, &solve)) return 0;
    FORWARD(fit_form_write(form, coefficient, search->input, search->text));
    return check_text(search);
}

// Terms of ranks, with a constant before them and a term of the phase behind them.
static int try_ranks(struct search *search, const struct fit_term *term, unsigned count, int chosen)
{
    struct fit_form form = {.count = 1, .term = {{.kind = FIT_ONE}}, .needs_surplus = true, .chosen = chosen};
    for (unsigned i = 0; i < count; i++) form.term[form.count++] = term[i];
    if (search->has_phases) form.term[form.count++] = (struct fit_term){.kind = FIT_PHASE};
    return try_form(search, &form);
}

static int try_linear(struct search *search)
{
    static const struct fit_form forms[] = {
        {.count = 1, .term = {{.kind = FIT_ONE}}},
        {.count = 2, .term = {{.kind = FIT_ONE}, {.kind = FIT_RANK}}},
        {.count = 2, .term = {{.kind = FIT_ONE}, {.kind = FIT_PHASE}}},
        {.count = 3, .term = {{.kind = FIT_ONE}, {.kind = FIT_RANK}, {.kind = FIT_PHASE}}},
        {.count = 4, .term = {{.kind = FIT_ONE}, {.kind = FIT_RANK}, {.kind = FIT_RANK_PHASE}, {.kind = FIT_PHASE}}},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        int found = try_form(search, &forms[i]);
        if (found) return found;
    }
    return 0;
}

// Divisors of np first: they are what programs take.
static void list_sides(struct search *search)
{
    int64_t np = search->input->np;
    int64_t large[MAX_SIDES];
    unsigned larges = 0;
    for (int64_t side = 2; side <= np / side; side++) {
        if (np % side != 0 || search->sides + larges > MAX_SIDES - MAX_OTHER_SIDE - 2) continue;
        search->side[search->sides++] = side;
        if (side != np / side) large[larges++] = np / side;
    }
    while (larges) search->side[search->sides++] = large[--larges];
    for (int64_t side = 2; side <= MAX_OTHER_SIDE; side++) {
        if (np % side != 0) search->side[search->sides++] = side;
    }
}

// Whether the ranks go far enough for rows of this length. One that does not divide np must return more than once: two
// rows are rather two blocks of ranks.
static bool has_rows(const struct search *search, int64_t length)
{
    return (search->input->np % length == 0 ? length : 2 * length) < search->end_rank;
}

static int try_grids_of_two(struct search *search, int chosen)
{
    for (unsigned i = 0; i < search->sides; i++) {
        int64_t m = search->side[i];
        if ((search->input->np % m != 0) != chosen || !has_rows(search, m)) continue;
        struct fit_term terms[] = {{.kind = FIT_QUOTIENT, .m = m}, {.kind = FIT_REMAINDER, .m = m}};
        int found = try_ranks(search, terms, 2, chosen);
        if (found) return found;
    }
    return 0;
}

static int try_grids_of_three(struct search *search, int chosen)
{
    int64_t np = search->input->np;
    for (unsigned i = 0; i < search->sides; i++) {
        int64_t m = search->side[i];
        for (unsigned j = 0; j < search->sides; j++) {
            int64_t n = search->side[j];
            if ((np % m != 0) + (np % (m * n) != 0) != chosen) continue;
            if (!has_rows(search, m) || !has_rows(search, m * n)) continue;
            struct fit_term terms[] = {
                {.kind = FIT_QUOTIENT, .m = m * n},
                {.kind = FIT_MIDDLE, .m = m, .n = n},
                {.kind = FIT_REMAINDER, .m = m},
            };
            int found = try_ranks(search, terms, 3, chosen);
            if (found) return found;
        }
    }
    return 0;
}

// Grids in two and three dimensions of which `chosen` lengths do not follow from np.
static int try_grids(struct search *search, int chosen)
{
    int found = try_grids_of_two(search, chosen);
    return found ? found : try_grids_of_three(search, chosen);
}

// Rank 0 apart, the last rank apart, both.
static int try_ends(struct search *search)
{
    int64_t np = search->input->np;
    struct fit_term first[] = {{.kind = FIT_RANK}, {.kind = FIT_STEP, .m = 1}, {.kind = FIT_STEP, .m = np - 1}};
    struct fit_term last[] = {{.kind = FIT_RANK}, {.kind = FIT_STEP, .m = np - 1}};
    if (np < 3) return 0;
    int found = try_ranks(search, first, 2, 0);
    if (!found) found = try_ranks(search, last, 2, 0);
    if (!found) found = try_ranks(search, first, 3, 0);
    return found;
}

// Within the phase of the first point: the two lowest ranks. False where there is only one.
static bool lowest_two(const struct fit_input *input, struct fit_point lowest[2])
{
    const struct fit_point *point = input->point;
    lowest[0] = lowest[1] = (struct fit_point){.idp = INT64_MAX};
    for (size_t i = 0; i < input->count; i++) {
        if (point[i].ph != point[0].ph || point[i].idp == lowest[0].idp || point[i].idp >= lowest[1].idp) continue;
        lowest[1] = point[i].idp < lowest[0].idp ? lowest[0] : point[i];
        if (point[i].idp < lowest[0].idp) lowest[0] = point[i];
    }
    return lowest[1].idp != INT64_MAX;
}

// Within the phase of the first point: the first rank that leaves the line through the lowest two, and the one before.
static bool leaves_line(const struct fit_input *input, int64_t *leaves, int64_t *before)
{
    const struct fit_point *point = input->point;
    struct fit_point lowest[2];
    if (!lowest_two(input, lowest)) return false;
    __int128 rise = (__int128)lowest[1].value - lowest[0].value;
    int64_t run = lowest[1].idp - lowest[0].idp;
    *leaves = INT64_MAX;
    for (size_t i = 0; i < input->count; i++) {
        if (point[i].ph != point[0].ph || point[i].idp >= *leaves) continue;
        __int128 height = (__int128)point[i].value - lowest[0].value;
        if (height * run != rise * (point[i].idp - lowest[0].idp)) *leaves = point[i].idp;
    }
    if (*leaves == INT64_MAX) return false;
    *before = lowest[0].idp;
    for (size_t i = 0; i < input->count; i++) {
        bool is_later = point[i].idp > *before && point[i].idp < *leaves;
        if (is_later && point[i].ph == point[0].ph) *before = point[i].idp;
    }
    return *before < *leaves;
}

static int try_block(struct search *search, int64_t start, bool jumps, bool bends)
{
    struct fit_term terms[3] = {{.kind = FIT_RANK}};
    unsigned count = 1;
    if (jumps) terms[count++] = (struct fit_term){.kind = FIT_STEP, .m = start};
    if (bends) terms[count++] = (struct fit_term){.kind = FIT_RAMP, .m = start};
    return try_ranks(search, terms, count, 1);
}

// Two blocks of ranks. The second starts at the rank that leaves the line of the first, or one earlier: where the first
// has one rank only, that line leads into the second, and where the values bend without a jump, one rank is on both.
static int try_blocks(struct search *search)
{
    int64_t leaves, before;
    if (!leaves_line(search->input, &leaves, &before)) return 0;
    int found = try_block(search, leaves, true, false);
    if (!found) found = try_block(search, before, true, false);
    if (!found) found = try_block(search, before, false, true);
    if (!found) found = try_block(search, leaves, true, true);
    if (!found) found = try_block(search, before, true, true);
    return found;
}

int fit_expression(const struct fit_input *input, char text[FIT_TEXT_BYTES])
{
    RETURN_IF(input->count == 0, ERR_NOTHING);
    FORWARD(check_input(input));
    struct search search = {.input = input, .text = text, .scans_left = MAX_SCANS};
    look_over(&search);
    choose_sample(&search);
    int found = try_linear(&search);
    if (!found) list_sides(&search);
    if (!found) found = try_grids(&search, 0);
    if (!found) found = try_ends(&search);
    if (!found) found = try_grids(&search, 1);
    if (!found) found = try_grids(&search, 2);
    if (!found) found = try_blocks(&search);
    FORWARD(found);
    return found ? 0 : ERR_NOTHING;
}
