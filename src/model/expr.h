// Expressions as models write them: integers, `idP` (the rank), `np` (number of processes), `ph` (number of the phase
// in its family, from 1), `rs` (request size in bytes), + - * / %, minus in front, parentheses, spaces. `/` rounds down
// and `%` takes the sign of its right side. For values that are not negative, and no others occur, both do the same as
// in C. The arithmetic is that of 64-bit signed integers, and a result that does not fit is an error.
#pragma once

#include <stdint.h>

enum { EXPR_MAX_BYTES = 4096, EXPR_MAX_NESTING = 32 };

struct expr;

struct expr_variables {
    int64_t idp;
    int64_t np;
    int64_t ph;
    int64_t rs;
};

// Free *out with expr_free. ERR_FORMAT: not an expression; ERR_LIMIT: too long or nested too deep; -ERANGE: a number of
// more than 63 bits.
int expr_parse(const char *text, struct expr **out);
// -ERANGE: the result of some operation does not fit; -EDOM: division by zero.
int expr_eval(const struct expr *expr, const struct expr_variables *variables, int64_t *value);
void expr_free(struct expr *expr);
