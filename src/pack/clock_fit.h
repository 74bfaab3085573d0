// How the clock of another host runs against the job's, from calls of that host inside calls of the job's: each pair
// says that what must be added to the other clock is at least the difference of the starts and at most that of the
// ends.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct clock_pair {
    int64_t start_ns, end_ns; // of the inner call, on the other clock
    int64_t from_ns, to_ns;   // of the call around it
};

enum { CLOCK_KNOTS = 65 };

// What to add to the other clock: linear between the knots, and beyond them as next to the end.
struct clock_fit {
    struct clock_knot {
        double ns; // on the other clock
        double offset_ns;
    } knot[CLOCK_KNOTS];
    unsigned knots;
    double error_ns; // of what is added, at most
};

// Changes the array of pairs. Leaves out up to a twentieth of them, if these contradict all others. ERR_NOTHING if
// the pairs contradict each other nevertheless, or there is none.
int clock_fit(struct clock_fit *fit, struct clock_pair *pair, size_t count);

double clock_fit_offset(const struct clock_fit *fit, double ns);
// The line through its ends: of a clock that is not steered, all of it.
double clock_fit_drift(const struct clock_fit *fit);
double clock_fit_start(const struct clock_fit *fit); // the offset at 0
