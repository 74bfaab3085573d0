// For which bandwidth, share of exchanged data and message size collective I/O is faster than independent I/O.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/json_out.h"

struct extended;
struct published;

enum { CROSSOVER_POINTS = 33 };

struct crossover_curve {
    double x[CROSSOVER_POINTS];
    double collective[CROSSOVER_POINTS]; // seconds
    double independent[CROSSOVER_POINTS];
    double crossing; // x; NAN: one of them wins everywhere
    bool wins_below; // collective I/O, below the crossing, or everywhere
    bool is_known;
};

struct crossover {
    struct crossover_curve bandwidth; // of this program, by the extended model: x is bytes per second
    struct crossover_curve tau;       // of this program, by the published model: x is the share of exchanged data
    struct crossover_curve message;   // the same for one iteration: x is its bytes, and the times are the cost of the
                                      // exchange and what it gains (as in Figure 4.4)
};

// The extended times of the program, collective and independent, on storage of `bandwidth`, and the parameters of the
// published model; NULL: not known.
void crossover_make(struct crossover *crossover, const struct extended *collective, const struct extended *independent,
                    double bandwidth, const struct published *published);
void crossover_write(const struct crossover *crossover, struct json_out *json);
