// Finds the expression (model/expr.h) behind numbers: exact integer fitting over ranks and over the phases of a family.
//
// Forms are tried from simple to complicated, and the first one that gives every point exactly is used: a constant;
// linear in idP, in ph, in both; with a product term idP*(ph-1); rounds of phases, linear in idP, (ph-1)/m and
// (ph-1)%m; grids of processes in two and three dimensions; the
// first or last rank apart; two blocks of ranks. Grids and blocks may have a term in ph too. They must be confirmed by
// more ranks than they have coefficients, because a few ranks fit some grid by chance.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FIT_TEXT_BYTES = 512 };

struct fit_point {
    int64_t idp; // from 0 to np-1
    int64_t ph;  // from 1, below 2^31; 1 if there is no family
    int64_t value;
};

// Multiples of rs are written as such, and multiples of np*rs from phase to phase. Multiples from rank to rank are not
// written with np: one run cannot tell 8 bins from 8 processes.
struct fit_input {
    const struct fit_point *point; // in any order, of all ranks and phases or of some; only these must fit
    size_t count;
    int64_t np; // below 2^31
    int64_t rs; // bytes of a request, 0 if unknown
};

// ERR_NOTHING: no form fits and a table is needed (or there are no points). ERR_USAGE: a number is out of range. The
// time is linear in the number of points.
int fit_expression(const struct fit_input *input, char text[FIT_TEXT_BYTES]);
