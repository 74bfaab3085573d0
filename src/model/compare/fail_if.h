// Limits on what may change from A to B: `time>+10%`, `phase.bandwidth<-20% and phase.time>+50ms`, `structure`.
//
//   LIMIT     = CONDITION { "and" CONDITION }
//   CONDITION = "structure" | [ "phase." ] QUANTITY COMPARISON NUMBER
//   QUANTITY  = "time" | "other" | "weight" | "bandwidth" | "ops" | "phases"
//   NUMBER    = [ "+" | "-" ] digits [ "." digits ] [ "%" | unit ]
//
// A number with % is the change from A to B in percent of A; one with a sign is the change itself; one with neither is
// what B has. With "phase." the condition is checked for each phase, and all such conditions must hold for the same
// phase.
#pragma once

#include "model/compare/diff.h"

enum diff_quantity {
    QUANTITY_STRUCTURE,
    QUANTITY_TIME,  // seconds of transfers: the sum over phases of the slowest process's
    QUANTITY_OTHER, // the same, for opens and all other operations that are not transfers
    QUANTITY_WEIGHT,
    QUANTITY_BANDWIDTH,
    QUANTITY_OPS,
    QUANTITY_PHASES,
    QUANTITY_COUNT
};

const char *diff_quantity_name(enum diff_quantity quantity);

struct diff_values {
    double of[QUANTITY_COUNT]; // NaN if not known
};
struct diff_values diff_total(const struct model *model, const struct fingerprint *fingerprint);
struct diff_values diff_phase_values(const struct model *model, const struct fingerprint *fingerprint, uint32_t phase);

// The change from a to b in percent of a; from 0 to something else it is infinite.
double diff_percent(double a, double b);

enum { DIFF_LIMIT_CONDITIONS = 8 };

enum diff_comparison {
    COMPARE_GREATER,
    COMPARE_NOT_LESS,
    COMPARE_LESS,
    COMPARE_NOT_GREATER,
    COMPARE_EQUAL,
    COMPARE_OTHER
};

struct diff_condition {
    bool of_phase;
    enum diff_quantity quantity;
    enum diff_comparison comparison;
    bool is_change;
    bool is_percent;
    double number;
};

struct diff_limit {
    const char *text; // as it was given
    struct diff_condition condition[DIFF_LIMIT_CONDITIONS];
    size_t conditions;
};

// 0, or ERR_USAGE with the reason in words.
int diff_limit_parse(struct diff_limit *limit, const char *text, const char **why);

struct diff_finding {
    bool unknown; // it is about times, and a model has none
    bool holds;
    const struct diff_condition *condition; // the first one; one about phases if there is one
    uint32_t row;                           // the phase with the largest change; DIFF_NONE for the whole
    size_t rows;                            // phases for which it holds
    double a, b;
};
struct diff_finding diff_limit_check(const struct diff_limit *limit, const struct diff *diff);
