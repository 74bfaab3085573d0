// Finds the expression (model/expr.h) behind numbers: exact integer fitting over ranks and over the phases of a family.
//
// Forms are tried from simple to complicated and the first that gives every point exactly is taken: a constant, linear
// in idP, in ph, in both, with a product term idP*(ph-1); grids of processes in two and three dimensions; the first or
// last rank apart; two blocks of ranks. Grids and pieces may have a term in ph too, and must be confirmed by more ranks
// than it takes to set their coefficients: few ranks fit some grid by accident.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FIT_TEXT_BYTES = 512 };

struct fit_point {
    int64_t idp; // from 0 to np-1
    int64_t ph;  // from 1, below 2^31; 1 where there is no family
    int64_t value;
};

struct fit_input {
    const struct fit_point *point; // in any order, of all ranks and phases or of some; only these must fit
    size_t count;
    int64_t np; // below 2^31
    int64_t rs; // bytes of a request, 0 where unknown
    // Multiples of rs are written as such, and multiples of np*rs from phase to phase. From rank to rank they are not,
    // as one run cannot tell 8 bins from 8 processes, unless the caller knows better:
    bool np_in_rank_terms;
};

// ERR_NOTHING: no form fits, a table must do (or there are no points). ERR_USAGE: a number outside its range.
// Takes time linear in the number of points.
int fit_expression(const struct fit_input *input, char text[FIT_TEXT_BYTES]);
