// The forms that fit.c tries: sums of terms, each an integer coefficient times a function of rank and phase.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/build/fit.h"

enum { FIT_MAX_TERMS = 6 };

enum fit_term_kind {
    FIT_ONE,        // 1
    FIT_RANK,       // idP
    FIT_QUOTIENT,   // idP/m
    FIT_MIDDLE,     // idP/m%n
    FIT_REMAINDER,  // idP%m
    FIT_STEP,       // (idP+np-m)/np: 0 below rank m, 1 from there on
    FIT_RAMP,       // (idP-m)*((idP+np-m)/np): rises from rank m on
    FIT_PHASE,      // ph-1
    FIT_RANK_PHASE, // idP*(ph-1)
};

struct fit_term {
    enum fit_term_kind kind;
    int64_t m;
    int64_t n;
};

struct fit_form {
    unsigned count;
    struct fit_term term[FIT_MAX_TERMS]; // the constant first, then as they are written
    bool needs_surplus;                  // must be confirmed by more ranks than it has coefficients
    int chosen;                          // how many m and n were chosen to suit the values, not given by np
};

int64_t fit_term_value(const struct fit_term *term, const struct fit_point *point, int64_t np);
// Whether the term differs from rank to rank within a phase.
bool fit_term_is_of_rank(const struct fit_term *term);
int fit_form_write(const struct fit_form *form, const int64_t *coefficient, const struct fit_input *input,
                   char text[FIT_TEXT_BYTES]);
