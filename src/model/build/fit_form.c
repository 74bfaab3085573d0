#include "model/build/fit_form.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"

int64_t fit_term_value(const struct fit_term *term, const struct fit_point *point, int64_t np)
{
    int64_t idp = point->idp;
    switch (term->kind) {
    case FIT_ONE: return 1;
    case FIT_RANK: return idp;
    case FIT_QUOTIENT: return idp / term->m;
    case FIT_MIDDLE: return idp / term->m % term->n;
    case FIT_REMAINDER: return idp % term->m;
    case FIT_STEP: return (idp + np - term->m) / np;
    case FIT_RAMP: return (idp - term->m) * ((idp + np - term->m) / np);
    case FIT_PHASE: return point->ph - 1;
    case FIT_RANK_PHASE: return idp * (point->ph - 1);
    }
    return 0;
}

bool fit_term_is_of_rank(const struct fit_term *term)
{
    return term->kind != FIT_ONE && term->kind != FIT_PHASE;
}

struct text {
    char *start;
    size_t len;
    bool overflows;
};

__attribute__((format(printf, 2, 3))) static void append(struct text *text, const char *format, ...)
{
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
static void append_factor(struct text *text, int64_t factor, bool may_use_np, const struct fit_input *input)
{
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

static void append_step(struct text *text, int64_t m, int64_t np)
{
    if (m == np - 1) {
        append(text, "((idP+1)/np)");
    } else {
        append(text, "((idP+np-%" PRId64 ")/np)", m);
    }
}

static void append_rank(struct text *text, const struct fit_term *term, int64_t np)
{
    switch (term->kind) {
    case FIT_QUOTIENT: append(text, "(idP/%" PRId64 ")", term->m); break;
    case FIT_MIDDLE: append(text, "(idP/%" PRId64 "%%%" PRId64 ")", term->m, term->n); break;
    case FIT_REMAINDER: append(text, "(idP%%%" PRId64 ")", term->m); break;
    case FIT_STEP: append_step(text, term->m, np); break;
    case FIT_RAMP:
        append(text, "(idP-%" PRId64 ")*", term->m);
        append_step(text, term->m, np);
        break;
    default: append(text, "idP");
    }
}

// Rank, factor, phase, each where it is there: idP*8*rs, 3*np*rs*(ph-1), idP*rs*(ph-1), 64.
static void append_term(struct text *text, const struct fit_term *term, int64_t factor, const struct fit_input *input)
{
    bool has_rank = fit_term_is_of_rank(term);
    bool has_phase = term->kind == FIT_PHASE || term->kind == FIT_RANK_PHASE;
    bool has_factor = factor != 1 || term->kind == FIT_ONE;
    bool may_use_np = has_rank ? input->np_in_rank_terms : has_phase;
    if (has_rank) append_rank(text, term, input->np);
    if (has_rank && has_factor) append(text, "*");
    if (has_factor) append_factor(text, factor, may_use_np, input);
    if (has_phase) append(text, has_rank || has_factor ? "*(ph-1)" : "(ph-1)");
}

// The terms with a plus first: `1000 - idP*8` rather than `-idP*8 + 1000`. The constant comes after the others.
int fit_form_write(const struct fit_form *form, const int64_t *coefficient, const struct fit_input *input,
                   char buffer[FIT_TEXT_BYTES])
{
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
