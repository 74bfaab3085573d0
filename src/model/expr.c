#include "model/expr.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

// A program in postfix order. Operators are their own characters; 'n' is a number, 'v' a variable, 'm' a minus in
// front.
struct step {
    char what;
    int64_t number;    // of 'n'
    unsigned variable; // of 'v': index into variable_names
};

struct expr {
    size_t count;
    struct step step[];
};

static const char *const variable_names[] = {"idP", "np", "ph", "rs"};
enum { VARIABLES = sizeof variable_names / sizeof *variable_names };

// Each level of parentheses has at most two pending values (of a sum and of a product); the innermost has a third.
enum { MAX_HEIGHT = 2 * (EXPR_MAX_NESTING + 1) + 1 };

struct parser {
    const char *at;
    unsigned nesting;
    struct expr *expr; // has room for as many steps as the text has bytes
};

static int parse_sum(struct parser *p);

static char peek(struct parser *p) {
    while (*p->at == ' ') p->at++;
    return *p->at;
}

static void add_step(struct parser *p, struct step step) { p->expr->step[p->expr->count++] = step; }

static int parse_number(struct parser *p) {
    int64_t number = 0;
    for (; *p->at >= '0' && *p->at <= '9'; p->at++) {
        bool overflows =
            __builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, *p->at - '0', &number);
        RETURN_IF(overflows, -ERANGE);
    }
    add_step(p, (struct step){.what = 'n', .number = number});
    return 0;
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static int parse_variable(struct parser *p) {
    size_t len = 0;
    while (is_letter(p->at[len])) len++;
    for (unsigned i = 0; i < VARIABLES; i++) {
        if (strlen(variable_names[i]) != len || memcmp(p->at, variable_names[i], len) != 0) continue;
        p->at += len;
        add_step(p, (struct step){.what = 'v', .variable = i});
        return 0;
    }
    return ERR_FORMAT;
}

static int parse_parentheses(struct parser *p) {
    RETURN_IF(p->nesting == EXPR_MAX_NESTING, ERR_LIMIT);
    p->nesting++;
    p->at++;
    FORWARD(parse_sum(p));
    RETURN_IF(peek(p) != ')', ERR_FORMAT);
    p->at++;
    p->nesting--;
    return 0;
}

static int parse_factor(struct parser *p) {
    size_t minuses = 0;
    for (; peek(p) == '-'; p->at++) minuses++;
    if (*p->at >= '0' && *p->at <= '9') {
        FORWARD(parse_number(p));
    } else if (*p->at == '(') {
        FORWARD(parse_parentheses(p));
    } else {
        FORWARD(parse_variable(p));
    }
    for (; minuses; minuses--) add_step(p, (struct step){.what = 'm'});
    return 0;
}

static int parse_product(struct parser *p) {
    FORWARD(parse_factor(p));
    for (char sign = peek(p); sign == '*' || sign == '/' || sign == '%'; sign = peek(p)) {
        p->at++;
        FORWARD(parse_factor(p));
        add_step(p, (struct step){.what = sign});
    }
    return 0;
}

static int parse_sum(struct parser *p) {
    FORWARD(parse_product(p));
    for (char sign = peek(p); sign == '+' || sign == '-'; sign = peek(p)) {
        p->at++;
        FORWARD(parse_product(p));
        add_step(p, (struct step){.what = sign});
    }
    return 0;
}

int expr_parse(const char *text, struct expr **out) {
    size_t len = strnlen(text, EXPR_MAX_BYTES + 1);
    RETURN_IF(len > EXPR_MAX_BYTES, ERR_LIMIT);
    struct expr *expr = calloc(1, sizeof *expr + len * sizeof *expr->step);
    RETURN_IF(!expr, -ENOMEM);
    struct parser parser = {.at = text, .expr = expr};
    int code = parse_sum(&parser);
    if (code == 0 && peek(&parser) != '\0') code = ERR_FORMAT;
    if (code < 0) {
        expr_free(expr);
        return code;
    }
    *out = expr;
    return 0;
}

// C rounds towards zero; this rounds down.
static int divide(int64_t left, int64_t right, int64_t *quotient, int64_t *remainder) {
    RETURN_IF(right == 0, -EDOM);
    RETURN_IF(left == INT64_MIN && right == -1, -ERANGE);
    bool rounded_up = left % right != 0 && (left < 0) != (right < 0);
    *quotient = left / right - rounded_up;
    *remainder = left % right + (rounded_up ? right : 0);
    return 0;
}

static int operate(char sign, int64_t left, int64_t right, int64_t *result) {
    int64_t unused;
    switch (sign) {
    case '+': return __builtin_add_overflow(left, right, result) ? -ERANGE : 0;
    case '-': return __builtin_sub_overflow(left, right, result) ? -ERANGE : 0;
    case '*': return __builtin_mul_overflow(left, right, result) ? -ERANGE : 0;
    case '/': return divide(left, right, result, &unused);
    default: return divide(left, right, &unused, result);
    }
}

int expr_eval(const struct expr *expr, const struct expr_variables *variables, int64_t *value) {
    const int64_t variable[VARIABLES] = {variables->idp, variables->np, variables->ph, variables->rs};
    int64_t stack[MAX_HEIGHT];
    size_t height = 0;
    for (size_t i = 0; i < expr->count; i++) {
        const struct step *step = &expr->step[i];
        switch (step->what) {
        case 'n': stack[height++] = step->number; break;
        case 'v': stack[height++] = variable[step->variable]; break;
        case 'm': FORWARD(operate('-', 0, stack[height - 1], &stack[height - 1])); break;
        default: height--; FORWARD(operate(step->what, stack[height - 1], stack[height], &stack[height - 1]));
        }
    }
    *value = stack[0];
    return 0;
}

void expr_free(struct expr *expr) { free(expr); }
