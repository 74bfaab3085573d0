#include "model/compare/fail_if.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

// --- quantities

static const char *const quantity_names[QUANTITY_COUNT] = {
    [QUANTITY_STRUCTURE] = "structure", [QUANTITY_TIME] = "time",           [QUANTITY_OTHER] = "other",
    [QUANTITY_WEIGHT] = "weight",       [QUANTITY_BANDWIDTH] = "bandwidth", [QUANTITY_OPS] = "ops",
    [QUANTITY_PHASES] = "phases",
};

const char *diff_quantity_name(enum diff_quantity quantity) { return quantity_names[quantity]; }

static void set_bandwidth(struct diff_values *values) {
    double seconds = values->of[QUANTITY_TIME];
    values->of[QUANTITY_BANDWIDTH] = seconds > 0 ? values->of[QUANTITY_WEIGHT] / seconds : NAN;
}

struct diff_values diff_phase_values(const struct model *model, const struct fingerprint *fingerprint, uint32_t phase) {
    struct diff_values values = {{0}};
    if (phase != DIFF_NONE) {
        const struct model_phase *from = &model->phase[phase];
        values.of[QUANTITY_TIME] = fingerprint->has_times ? (double)from->duration_ns / 1e9 : NAN;
        values.of[QUANTITY_OTHER] = fingerprint->has_times ? (double)from->other_ns / 1e9 : NAN;
        values.of[QUANTITY_WEIGHT] = (double)model->family[from->family].weight;
        values.of[QUANTITY_OPS] = (double)fingerprint->phase[phase].ops;
        values.of[QUANTITY_PHASES] = 1;
    }
    set_bandwidth(&values);
    return values;
}

struct diff_values diff_total(const struct model *model, const struct fingerprint *fingerprint) {
    struct diff_values total = {{0}};
    for (uint32_t i = 0; i < model->phases; i++) {
        struct diff_values one = diff_phase_values(model, fingerprint, i);
        for (unsigned q = 0; q < QUANTITY_COUNT; q++) total.of[q] += one.of[q];
    }
    set_bandwidth(&total);
    return total;
}

double diff_percent(double a, double b) {
    if (isnan(a) || isnan(b)) return NAN;
    if (a == 0) return b == 0 ? 0 : b > 0 ? INFINITY : -INFINITY;
    return (b - a) / a * 100;
}

// --- parsing

static const char *skip_space(const char *at) {
    while (isspace((unsigned char)*at)) at++;
    return at;
}

// Returns the end of the word at `at` if it is there, else NULL.
static const char *parse_word(const char *at, const char *word) {
    size_t len = strlen(word);
    return strncmp(at, word, len) || isalnum((unsigned char)at[len]) ? NULL : at + len;
}

static const char *parse_quantity(const char *at, struct diff_condition *to) {
    if (!strncmp(at, "phase.", 6)) {
        to->of_phase = true;
        at += 6;
    }
    for (unsigned q = 0; q < QUANTITY_COUNT; q++) {
        const char *end = parse_word(at, quantity_names[q]);
        to->quantity = q;
        if (end) return to->of_phase && (q == QUANTITY_STRUCTURE || q == QUANTITY_PHASES) ? NULL : end;
    }
    return NULL;
}

static const char *parse_comparison(const char *at, struct diff_condition *to) {
    static const struct {
        const char *sign;
        enum diff_comparison comparison;
    } signs[] = {
        {">=", COMPARE_NOT_LESS}, {"<=", COMPARE_NOT_GREATER}, {"!=", COMPARE_OTHER}, {"==", COMPARE_EQUAL},
        {">", COMPARE_GREATER},   {"<", COMPARE_LESS},         {"=", COMPARE_EQUAL},
    };
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        size_t len = strlen(signs[i].sign);
        to->comparison = signs[i].comparison;
        if (!strncmp(at, signs[i].sign, len)) return at + len;
    }
    return NULL;
}

static const char *parse_unit(const char *at, struct diff_condition *to) {
    static const struct {
        const char *name;
        double times;
        unsigned quantities;
    } units[] = {
        {"us", 1e-6, 1 << QUANTITY_TIME | 1 << QUANTITY_OTHER},
        {"ms", 1e-3, 1 << QUANTITY_TIME | 1 << QUANTITY_OTHER},
        {"s", 1, 1 << QUANTITY_TIME | 1 << QUANTITY_OTHER},
        {"k", 0x1p10, 1 << QUANTITY_WEIGHT | 1 << QUANTITY_BANDWIDTH},
        {"M", 0x1p20, 1 << QUANTITY_WEIGHT | 1 << QUANTITY_BANDWIDTH},
        {"G", 0x1p30, 1 << QUANTITY_WEIGHT | 1 << QUANTITY_BANDWIDTH},
        {"T", 0x1p40, 1 << QUANTITY_WEIGHT | 1 << QUANTITY_BANDWIDTH},
    };
    if (!isalpha((unsigned char)*at)) return at;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const char *end = units[i].quantities & 1u << to->quantity ? parse_word(at, units[i].name) : NULL;
        if (!end) continue;
        to->number *= units[i].times;
        return end;
    }
    return NULL;
}

static const char *parse_number(const char *at, struct diff_condition *to) {
    bool minus = *at == '-';
    to->is_change = minus || *at == '+';
    if (to->is_change) at++;
    // strtod must accept exactly the plain digits: no exponents, hexadecimals, "inf" or "nan".
    size_t plain = strspn(at, "0123456789.");
    char *end;
    if (!plain) return NULL;
    to->number = strtod(at, &end);
    if (end != at + plain) return NULL;
    if (minus) to->number = -to->number;
    at = skip_space(end);
    if (*at != '%') {
        const char *unit_end = parse_unit(at, to);
        return unit_end || strncmp(at, "and", 3) ? unit_end : at;
    }
    to->is_percent = to->is_change = true;
    return at + 1;
}

static const char *parse_condition(const char *at, struct diff_condition *to, const char **why) {
    *to = (struct diff_condition){0};
    *why = "starts with time, other, weight, bandwidth, ops, phases or structure, "
           "the first five also with 'phase.' before them";
    at = parse_quantity(at, to);
    if (!at || to->quantity == QUANTITY_STRUCTURE) return at;
    *why = "a comparison follows the quantity: > >= < <= = !=";
    at = parse_comparison(skip_space(at), to);
    if (!at) return NULL;
    *why = "ends with a number such as +10%, 1.5s or -20M";
    return parse_number(skip_space(at), to);
}

int diff_limit_parse(struct diff_limit *limit, const char *text, const char **why) {
    const char *at = skip_space(text);
    *limit = (struct diff_limit){.text = text};
    for (;;) {
        *why = "too many conditions";
        RETURN_IF(limit->conditions == DIFF_LIMIT_CONDITIONS, ERR_USAGE);
        at = parse_condition(at, &limit->condition[limit->conditions++], why);
        RETURN_IF(!at, ERR_USAGE);
        at = skip_space(at);
        if (!*at) return 0;
        *why = "conditions are joined by 'and'";
        at = parse_word(at, "and");
        RETURN_IF(!at, ERR_USAGE);
        at = skip_space(at);
    }
}

// --- checking

static bool compares(enum diff_comparison comparison, double value, double number) {
    switch (comparison) {
    case COMPARE_GREATER: return value > number;
    case COMPARE_NOT_LESS: return value >= number;
    case COMPARE_LESS: return value < number;
    case COMPARE_NOT_GREATER: return value <= number;
    case COMPARE_EQUAL: return value == number;
    case COMPARE_OTHER: return value != number;
    }
    return false;
}

static bool holds(const struct diff_condition *condition, const struct diff_values *a, const struct diff_values *b) {
    double from = a->of[condition->quantity], to = b->of[condition->quantity];
    double value = condition->is_percent ? diff_percent(from, to) : condition->is_change ? to - from : to;
    return !isnan(value) && compares(condition->comparison, value, condition->number);
}

static bool needs_times(const struct diff_limit *limit) {
    for (size_t i = 0; i < limit->conditions; i++) {
        enum diff_quantity quantity = limit->condition[i].quantity;
        if (quantity == QUANTITY_TIME || quantity == QUANTITY_OTHER || quantity == QUANTITY_BANDWIDTH) return true;
    }
    return false;
}

// True if all conditions about the whole hold; the first of them goes into the finding.
static bool whole_holds(const struct diff_limit *limit, const struct diff *diff, struct diff_finding *finding) {
    struct diff_values a = diff_total(diff->a, &diff->in_a), b = diff_total(diff->b, &diff->in_b);
    for (size_t i = 0; i < limit->conditions; i++) {
        const struct diff_condition *condition = &limit->condition[i];
        if (condition->of_phase) continue;
        if (condition->quantity == QUANTITY_STRUCTURE ? diff->equal : !holds(condition, &a, &b)) return false;
        if (finding->condition) continue;
        finding->condition = condition;
        finding->a = a.of[condition->quantity];
        finding->b = b.of[condition->quantity];
    }
    return true;
}

static void check_row(const struct diff_limit *limit, const struct diff *diff, uint32_t row,
                      const struct diff_condition *first, struct diff_finding *finding) {
    struct diff_values a = diff_phase_values(diff->a, &diff->in_a, diff->row[row].a),
                       b = diff_phase_values(diff->b, &diff->in_b, diff->row[row].b);
    for (size_t i = 0; i < limit->conditions; i++) {
        if (limit->condition[i].of_phase && !holds(&limit->condition[i], &a, &b)) return;
    }
    double from = a.of[first->quantity], to = b.of[first->quantity];
    if (finding->rows++ && !(fabs(to - from) > fabs(finding->b - finding->a))) return;
    finding->condition = first;
    finding->row = row;
    finding->a = from;
    finding->b = to;
}

struct diff_finding diff_limit_check(const struct diff_limit *limit, const struct diff *diff) {
    struct diff_finding finding = {.row = DIFF_NONE};
    const struct diff_condition *first = NULL;
    finding.unknown = needs_times(limit) && !(diff->in_a.has_times && diff->in_b.has_times);
    if (finding.unknown) return finding;
    for (size_t i = 0; i < limit->conditions && !first; i++) {
        if (limit->condition[i].of_phase) first = &limit->condition[i];
    }
    finding.holds = whole_holds(limit, diff, &finding);
    for (uint32_t i = 0; finding.holds && first && i < diff->rows; i++) check_row(limit, diff, i, first, &finding);
    if (first && !finding.rows) finding.holds = false;
    return finding;
}
