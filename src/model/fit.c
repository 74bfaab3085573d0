// How a form is tried: a sample of the points gives its coefficients, then all points are checked. A point that does
// not fit joins the sample and the form is tried again, until the sample contradicts it. So wrong forms usually fail
// within a few points, and a point that refuted one form can refute the next.
#include "model/fit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "model/expr.h"

// --- forms: sums of terms, each an integer coefficient times a function of rank and phase

enum { MAX_TERMS = 6 };

enum term_kind {
    TERM_ONE,        // 1
    TERM_RANK,       // idP
    TERM_QUOTIENT,   // idP/m
    TERM_MIDDLE,     // idP/m%n
    TERM_REMAINDER,  // idP%m
    TERM_STEP,       // (idP+np-m)/np: 0 below rank m, 1 from there on
    TERM_RAMP,       // (idP-m)*((idP+np-m)/np): rises from rank m on
    TERM_PHASE,      // ph-1
    TERM_RANK_PHASE, // idP*(ph-1)
    TERM_ROUND,      // (ph-1)/m
    TERM_TURN,       // (ph-1)%m
};

struct term {
    enum term_kind kind;
    int64_t m;
    int64_t n;
};

struct form {
    unsigned count;
    struct term term[MAX_TERMS]; // the constant first, then as they are written
    bool needs_surplus;          // must be confirmed by more ranks than it has coefficients
    int chosen;                  // how many m and n were chosen to suit the values, not given by np
};

static int64_t term_value(const struct term *term, const struct fit_point *point, int64_t np) {
    int64_t idp = point->idp;
    switch (term->kind) {
    case TERM_ONE: return 1;
    case TERM_RANK: return idp;
    case TERM_QUOTIENT: return idp / term->m;
    case TERM_MIDDLE: return idp / term->m % term->n;
    case TERM_REMAINDER: return idp % term->m;
    case TERM_STEP: return (idp + np - term->m) / np;
    case TERM_RAMP: return (idp - term->m) * ((idp + np - term->m) / np);
    case TERM_PHASE: return point->ph - 1;
    case TERM_RANK_PHASE: return idp * (point->ph - 1);
    case TERM_ROUND: return (point->ph - 1) / term->m;
    case TERM_TURN: return (point->ph - 1) % term->m;
    }
    return 0;
}

static bool is_of_phase(const struct term *term) { return term->kind >= TERM_PHASE; }

static bool is_of_rank(const struct term *term) {
    return term->kind == TERM_RANK_PHASE || (term->kind != TERM_ONE && !is_of_phase(term));
}

struct text {
    char *start;
    size_t len;
    bool overflows;
};

__attribute__((format(printf, 2, 3))) static void append(struct text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    size_t room = FIT_TEXT_BYTES - text->len;
    int len = vsnprintf(text->start + text->len, room, format, arguments);
    va_end(arguments);
    if (len < 0 || (size_t)len >= room) {
        text->overflows = true;
    } else {
        text->len += (size_t)len;
    }
}

// A factor as a person would write it: 8*rs, np*rs, 1000.
static void append_factor(struct text *text, int64_t factor, bool may_use_np, const struct fit_input *input) {
    int64_t rs = input->rs;
    int64_t of_all; // what all processes move in a phase
    if (rs <= 1 || factor % rs != 0) {
        append(text, "%" PRId64, factor);
        return;
    }
    bool uses_np =
        may_use_np && input->np > 1 && !__builtin_mul_overflow(input->np, rs, &of_all) && factor % of_all == 0;
    int64_t times = factor / (uses_np ? of_all : rs);
    if (times != 1) append(text, "%" PRId64 "*", times);
    append(text, uses_np ? "np*rs" : "rs");
}

static void append_step(struct text *text, int64_t m, int64_t np) {
    if (m == np - 1) {
        append(text, "((idP+1)/np)");
    } else {
        append(text, "((idP+np-%" PRId64 ")/np)", m);
    }
}

static void append_rank(struct text *text, const struct term *term, int64_t np) {
    switch (term->kind) {
    case TERM_QUOTIENT: append(text, "(idP/%" PRId64 ")", term->m); break;
    case TERM_MIDDLE: append(text, "(idP/%" PRId64 "%%%" PRId64 ")", term->m, term->n); break;
    case TERM_REMAINDER: append(text, "(idP%%%" PRId64 ")", term->m); break;
    case TERM_STEP: append_step(text, term->m, np); break;
    case TERM_RAMP:
        append(text, "(idP-%" PRId64 ")*", term->m);
        append_step(text, term->m, np);
        break;
    default: append(text, "idP");
    }
}

static void append_phase(struct text *text, const struct term *term) {
    switch (term->kind) {
    case TERM_ROUND: append(text, "((ph-1)/%" PRId64 ")", term->m); break;
    case TERM_TURN: append(text, "((ph-1)%%%" PRId64 ")", term->m); break;
    default: append(text, "(ph-1)");
    }
}

// Writes rank, factor and phase, where they exist: idP*8*rs, 3*np*rs*(ph-1), idP*rs*(ph-1), 64.
static void append_term(struct text *text, const struct term *term, int64_t factor, const struct fit_input *input) {
    bool has_rank = is_of_rank(term);
    bool has_phase = is_of_phase(term);
    bool has_factor = factor != 1 || term->kind == TERM_ONE;
    if (has_rank) append_rank(text, term, input->np);
    if (has_rank && has_factor) append(text, "*");
    if (has_factor) append_factor(text, factor, has_phase && !has_rank, input);
    if (has_phase && (has_rank || has_factor)) append(text, "*");
    if (has_phase) append_phase(text, term);
}

// Writes the positive terms first: `1000 - idP*8` rather than `-idP*8 + 1000`. The constant comes last.
static int write_form(const struct form *form, const int64_t *coefficient, const struct fit_input *input,
                      char buffer[FIT_TEXT_BYTES]) {
    struct text text = {.start = buffer};
    for (int negative = 0; negative <= 1; negative++) {
        for (unsigned i = 1; i <= form->count; i++) {
            unsigned at = i % form->count;
            if (coefficient[at] == 0 || (coefficient[at] < 0) != negative) continue;
            if (text.len) append(&text, negative ? " - " : " + ");
            if (!text.len && negative) append(&text, "-");
            append_term(&text, &form->term[at], negative ? -coefficient[at] : coefficient[at], input);
        }
    }
    if (!text.len) append(&text, "0");
    return text.overflows ? ERR_LIMIT : 0;
}

// --- integer solutions of a few linear equations, which are added one at a time
//
// The arithmetic is modulo the largest prime below 2^64: no fractions, no overflow, and unknowns from -2^63+30 to
// 2^63-30 come out as they are. If there is no such solution, the result is some other numbers, so the caller must
// check it in the equations.

// One row for each decided unknown: its own factor is not 0, and the factors of the unknowns before it are 0.
struct solve_row {
    uint64_t factor[MAX_TERMS];
    uint64_t value;
};

struct solve {
    unsigned unknowns;
    bool decided[MAX_TERMS];
    struct solve_row row[MAX_TERMS];
};

#define PRIME 18446744073709551557u // 2^64 - 59

static uint64_t multiplied(uint64_t a, uint64_t b) { return (uint64_t)((unsigned __int128)a * b % PRIME); }

static uint64_t subtracted(uint64_t a, uint64_t b) { return a >= b ? a - b : a + (PRIME - b); }

// a^(PRIME - 2) is the inverse (Fermat).
static uint64_t inverted(uint64_t a) {
    uint64_t result = 1;
    for (uint64_t power = PRIME - 2; power; power >>= 1) {
        if (power & 1) result = multiplied(result, a);
        a = multiplied(a, a);
    }
    return result;
}

static uint64_t from_signed(int64_t number) { return number >= 0 ? (uint64_t)number : PRIME - (-(uint64_t)number); }

static int64_t to_signed(uint64_t number) { return number <= PRIME / 2 ? (int64_t)number : -(int64_t)(PRIME - number); }

static void solve_begin(struct solve *solve, unsigned unknowns) {
    memset(solve, 0, sizeof *solve);
    solve->unknowns = unknowns;
}

// Subtracts a multiple of the decided row so that the factor of this unknown becomes 0.
static void eliminate(const struct solve *solve, unsigned unknown, struct solve_row *row) {
    const struct solve_row *decided = &solve->row[unknown];
    uint64_t mine = row->factor[unknown];
    uint64_t its = decided->factor[unknown];
    for (unsigned i = unknown; i < solve->unknowns; i++) {
        row->factor[i] = subtracted(multiplied(row->factor[i], its), multiplied(decided->factor[i], mine));
    }
    row->value = subtracted(multiplied(row->value, its), multiplied(decided->value, mine));
}

static bool solve_add(struct solve *solve, const int64_t *factor, int64_t value) {
    struct solve_row row = {.value = from_signed(value)};
    for (unsigned i = 0; i < solve->unknowns; i++) row.factor[i] = from_signed(factor[i]);
    for (unsigned i = 0; i < solve->unknowns; i++) {
        if (row.factor[i] == 0) continue;
        if (!solve->decided[i]) {
            solve->decided[i] = true;
            solve->row[i] = row;
            return true;
        }
        eliminate(solve, i, &row);
    }
    return row.value == 0;
}

static void solve_end(const struct solve *solve, int64_t *unknown) {
    uint64_t solution[MAX_TERMS] = {0};
    for (unsigned i = solve->unknowns; i-- > 0;) {
        const struct solve_row *row = &solve->row[i];
        if (solve->decided[i]) {
            uint64_t rest = row->value;
            for (unsigned j = i + 1; j < solve->unknowns; j++) {
                rest = subtracted(rest, multiplied(row->factor[j], solution[j]));
            }
            solution[i] = multiplied(rest, inverted(row->factor[i]));
        }
        unknown[i] = to_signed(solution[i]);
    }
}

// --- the search

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

static int check_input(const struct fit_input *input) {
    RETURN_IF(input->np < 1 || input->np > INT32_MAX || input->rs < 0, ERR_USAGE);
    for (size_t i = 0; i < input->count; i++) {
        const struct fit_point *point = &input->point[i];
        RETURN_IF(point->idp < 0 || point->idp >= input->np, ERR_USAGE);
        RETURN_IF(point->ph < 1 || point->ph > INT32_MAX, ERR_USAGE);
    }
    return 0;
}

static void look_over(struct search *search) {
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

static size_t greatest_common_divisor(size_t a, size_t b) {
    while (b) {
        size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// Chooses points from everywhere, with neighbours in the sample far apart, so that wrong forms fail early.
static void choose_sample(struct search *search) {
    size_t count = search->input->count;
    size_t stride = count / 8 * 5 + 1;
    while (greatest_common_divisor(stride, count) != 1) stride++;
    size_t at = 0;
    while (search->sampled < FIRST_SAMPLE && search->sampled < count) {
        search->sample[search->sampled++] = at;
        at = (at + stride) % count;
    }
}

static bool fits(const struct search *search, const struct form *form, const int64_t *coefficient, size_t at) {
    const struct fit_point *point = &search->input->point[at];
    __int128 sum = 0;
    for (unsigned i = 0; i < form->count; i++) {
        sum += (__int128)coefficient[i] * term_value(&form->term[i], point, search->input->np);
    }
    return sum == point->value;
}

// False if no integers suit the sample.
static bool solve_sample(const struct search *search, const struct form *form, struct solve *solve,
                         int64_t *coefficient) {
    solve_begin(solve, form->count);
    for (unsigned i = 0; i < search->sampled; i++) {
        const struct fit_point *point = &search->input->point[search->sample[i]];
        int64_t factor[MAX_TERMS];
        for (unsigned j = 0; j < form->count; j++) {
            factor[j] = term_value(&form->term[j], point, search->input->np);
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
static bool all_fit(struct search *search, const struct form *form, const int64_t *coefficient) {
    search->scans_left--;
    for (size_t i = 0; i < search->input->count; i++) {
        if (fits(search, form, coefficient, i)) continue;
        search->sample[search->sampled++] = search->sample[0];
        search->sample[0] = i;
        return false;
    }
    return true;
}

static bool is_confirmed(const struct search *search, const struct form *form, const struct solve *solve) {
    int unknowns = form->chosen;
    for (unsigned i = 0; i < form->count; i++) {
        bool varies = form->term[i].kind == TERM_ONE || is_of_rank(&form->term[i]);
        if (varies && solve->decided[i]) unknowns++;
    }
    return !form->needs_surplus || search->distinct_ranks > unknowns;
}

// Checks the text itself, as that is the result. It is wrong if an intermediate product is too large.
static int check_text(const struct search *search) {
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

// Returns 1 if the form fits and is written, 0 if it does not fit. All functions below do the same.
static int try_form(struct search *search, const struct form *form) {
    struct solve solve;
    int64_t coefficient[MAX_TERMS];
    do {
        if (search->scans_left == 0 || !solve_sample(search, form, &solve, coefficient)) return 0;
    } while (!all_fit(search, form, coefficient));
    if (!is_confirmed(search, form, &solve)) return 0;
    FORWARD(write_form(form, coefficient, search->input, search->text));
    return check_text(search);
}

// Tries terms of ranks, with a constant before them and a term of the phase after them.
static int try_ranks(struct search *search, const struct term *term, unsigned count, int chosen) {
    struct form form = {.count = 1, .term = {{.kind = TERM_ONE}}, .needs_surplus = true, .chosen = chosen};
    for (unsigned i = 0; i < count; i++) form.term[form.count++] = term[i];
    if (search->has_phases) form.term[form.count++] = (struct term){.kind = TERM_PHASE};
    return try_form(search, &form);
}

static int try_linear(struct search *search) {
    static const struct form forms[] = {
        {.count = 1, .term = {{.kind = TERM_ONE}}},
        {.count = 2, .term = {{.kind = TERM_ONE}, {.kind = TERM_RANK}}},
        {.count = 2, .term = {{.kind = TERM_ONE}, {.kind = TERM_PHASE}}},
        {.count = 3, .term = {{.kind = TERM_ONE}, {.kind = TERM_RANK}, {.kind = TERM_PHASE}}},
        {.count = 4,
         .term = {{.kind = TERM_ONE}, {.kind = TERM_RANK}, {.kind = TERM_RANK_PHASE}, {.kind = TERM_PHASE}}},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        int found = try_form(search, &forms[i]);
        if (found) return found;
    }
    return 0;
}

// How many phases follow one step before the first that does not, by the rank of the first point; 0 if all follow it.
// If all come in rounds of this length, more than two must have begun: two are more likely two rules.
static int64_t phases_of_round(const struct fit_input *input) {
    const struct fit_point *point = input->point, *start[3] = {NULL};
    int64_t length = INT64_MAX, phases = 0;
    for (size_t i = 0; i < input->count; i++) {
        if (point[i].idp == point[0].idp && point[i].ph <= 2) start[point[i].ph] = &point[i];
        if (point[i].ph > phases) phases = point[i].ph;
    }
    if (!start[1] || !start[2]) return 0;
    __int128 step = (__int128)start[2]->value - start[1]->value;
    for (size_t i = 0; i < input->count; i++) {
        if (point[i].idp != point[0].idp || point[i].ph > length) continue;
        if (point[i].value != start[1]->value + step * (point[i].ph - 1)) length = point[i].ph - 1;
    }
    return length < phases / 2 + phases % 2 ? length : 0;
}

// Rounds of phases: files with the same number of dumps each, or a gap after every few dumps.
static int try_rounds(struct search *search) {
    int64_t length = search->has_phases ? phases_of_round(search->input) : 0;
    struct form form = {.count = 4,
                        .term = {{.kind = TERM_ONE},
                                 {.kind = TERM_RANK},
                                 {.kind = TERM_ROUND, .m = length},
                                 {.kind = TERM_TURN, .m = length}}};
    return length ? try_form(search, &form) : 0;
}

// Lists divisors of np first, as programs use those.
static void list_sides(struct search *search) {
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

// True if the ranks reach far enough for rows of this length. A length that does not divide np must occur more than
// twice: two rows are more likely two blocks of ranks.
static bool has_rows(const struct search *search, int64_t length) {
    return (search->input->np % length == 0 ? length : 2 * length) < search->end_rank;
}

static int try_grids_of_two(struct search *search, int chosen) {
    for (unsigned i = 0; i < search->sides; i++) {
        int64_t m = search->side[i];
        if ((search->input->np % m != 0) != chosen || !has_rows(search, m)) continue;
        struct term terms[] = {{.kind = TERM_QUOTIENT, .m = m}, {.kind = TERM_REMAINDER, .m = m}};
        int found = try_ranks(search, terms, 2, chosen);
        if (found) return found;
    }
    return 0;
}

static int try_grids_of_three(struct search *search, int chosen) {
    int64_t np = search->input->np;
    for (unsigned i = 0; i < search->sides; i++) {
        int64_t m = search->side[i];
        for (unsigned j = 0; j < search->sides; j++) {
            int64_t n = search->side[j];
            if ((np % m != 0) + (np % (m * n) != 0) != chosen) continue;
            if (!has_rows(search, m) || !has_rows(search, m * n)) continue;
            struct term terms[] = {
                {.kind = TERM_QUOTIENT, .m = m * n},
                {.kind = TERM_MIDDLE, .m = m, .n = n},
                {.kind = TERM_REMAINDER, .m = m},
            };
            int found = try_ranks(search, terms, 3, chosen);
            if (found) return found;
        }
    }
    return 0;
}

// Grids in two and three dimensions of which `chosen` lengths do not follow from np.
static int try_grids(struct search *search, int chosen) {
    int found = try_grids_of_two(search, chosen);
    return found ? found : try_grids_of_three(search, chosen);
}

// Rank 0 apart, the last rank apart, both.
static int try_ends(struct search *search) {
    int64_t np = search->input->np;
    struct term first[] = {{.kind = TERM_RANK}, {.kind = TERM_STEP, .m = 1}, {.kind = TERM_STEP, .m = np - 1}};
    struct term last[] = {{.kind = TERM_RANK}, {.kind = TERM_STEP, .m = np - 1}};
    if (np < 3) return 0;
    int found = try_ranks(search, first, 2, 0);
    if (!found) found = try_ranks(search, last, 2, 0);
    if (!found) found = try_ranks(search, first, 3, 0);
    return found;
}

// Within the phase of the first point: the two lowest ranks. False if there is only one.
static bool lowest_two(const struct fit_input *input, struct fit_point lowest[2]) {
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
static bool leaves_line(const struct fit_input *input, int64_t *leaves, int64_t *before) {
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

static int try_block(struct search *search, int64_t start, bool jumps, bool bends) {
    struct term terms[3] = {{.kind = TERM_RANK}};
    unsigned count = 1;
    if (jumps) terms[count++] = (struct term){.kind = TERM_STEP, .m = start};
    if (bends) terms[count++] = (struct term){.kind = TERM_RAMP, .m = start};
    return try_ranks(search, terms, count, 1);
}

// Two blocks of ranks. The second starts at the rank that leaves the line of the first, or one earlier: if the first
// block has only one rank, that line leads into the second block; if the values bend without a jump, one rank is on
// both lines.
static int try_blocks(struct search *search) {
    int64_t leaves, before;
    if (!leaves_line(search->input, &leaves, &before)) return 0;
    int found = try_block(search, leaves, true, false);
    if (!found) found = try_block(search, before, true, false);
    if (!found) found = try_block(search, before, false, true);
    if (!found) found = try_block(search, leaves, true, true);
    if (!found) found = try_block(search, before, true, true);
    return found;
}

int fit_expression(const struct fit_input *input, char text[FIT_TEXT_BYTES]) {
    RETURN_IF(input->count == 0, ERR_NOTHING);
    FORWARD(check_input(input));
    struct search search = {.input = input, .text = text, .scans_left = MAX_SCANS};
    look_over(&search);
    choose_sample(&search);
    int found = try_linear(&search);
    if (!found) found = try_rounds(&search);
    if (!found) list_sides(&search);
    if (!found) found = try_grids(&search, 0);
    if (!found) found = try_ends(&search);
    if (!found) found = try_grids(&search, 1);
    if (!found) found = try_grids(&search, 2);
    if (!found) found = try_blocks(&search);
    FORWARD(found);
    return found ? 0 : ERR_NOTHING;
}
