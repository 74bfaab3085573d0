// Integer solutions of a few linear equations, taken in one at a time.
//
// The arithmetic is modulo the largest prime below 2^64: no fractions, no overflow, and unknowns from -2^63+30 to
// 2^63-30 come out as they are. What has no such solution comes out as some other numbers, so the caller must put the
// result into the equations.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { SOLVE_MAX_UNKNOWNS = 6 };

// One for each unknown that is decided: its own factor is not 0, those of the unknowns before it are.
struct solve_row {
    uint64_t factor[SOLVE_MAX_UNKNOWNS];
    uint64_t value;
};

struct solve {
    unsigned unknowns;
    bool decided[SOLVE_MAX_UNKNOWNS];
    struct solve_row row[SOLVE_MAX_UNKNOWNS];
};

void solve_begin(struct solve *solve, unsigned unknowns);
// Sum of factor[i] * unknown[i] = value. False where this contradicts the equations before.
bool solve_add(struct solve *solve, const int64_t *factor, int64_t value);
// Unknowns that the equations leave open are 0.
void solve_end(const struct solve *solve, int64_t *unknown);
