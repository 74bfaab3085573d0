#include "model/build/solve.h"

#include <string.h>

#define PRIME 18446744073709551557u // 2^64 - 59

static uint64_t multiplied(uint64_t a, uint64_t b)
{
    return (uint64_t)((unsigned __int128)a * b % PRIME);
}

static uint64_t subtracted(uint64_t a, uint64_t b)
{
    return a >= b ? a - b : a + (PRIME - b);
}

// To the power of PRIME - 2, as Fermat says.
static uint64_t inverted(uint64_t a)
{
    uint64_t result = 1;
    for (uint64_t power = PRIME - 2; power; power >>= 1) {
        if (power & 1) result = multiplied(result, a);
        a = multiplied(a, a);
    }
    return result;
}

static uint64_t from_signed(int64_t number)
{
    return number >= 0 ? (uint64_t)number : PRIME - (-(uint64_t)number);
}

static int64_t to_signed(uint64_t number)
{
    return number <= PRIME / 2 ? (int64_t)number : -(int64_t)(PRIME - number);
}

void solve_begin(struct solve *solve, unsigned unknowns)
{
    memset(solve, 0, sizeof *solve);
    solve->unknowns = unknowns;
}

// Takes so much of the decided row away that the factor of this unknown becomes 0.
static void eliminate(const struct solve *solve, unsigned unknown, struct solve_row *row)
{
    const struct solve_row *decided = &solve->row[unknown];
    uint64_t mine = row->factor[unknown];
    uint64_t its = decided->factor[unknown];
    for (unsigned i = unknown; i < solve->unknowns; i++) {
        row->factor[i] = subtracted(multiplied(row->factor[i], its), multiplied(decided->factor[i], mine));
    }
    row->value = subtracted(multiplied(row->value, its), multiplied(decided->value, mine));
}

bool solve_add(struct solve *solve, const int64_t *factor, int64_t value)
{
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

void solve_end(const struct solve *solve, int64_t *unknown)
{
    uint64_t solution[SOLVE_MAX_UNKNOWNS] = {0};
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
