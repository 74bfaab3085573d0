// What a few repeated measurements say.
#pragma once

#include <stddef.h>

struct interval {
    double middle, low, high;
};

// The median and its 95 % interval by order statistics; of fewer than six values all of them. Sorts the values.
struct interval statistics_median(double *value, size_t count);

// Where 95 % of further values lie if all come from one normal distribution (Student's t), around the median. What
// measurements have in common by mistake is `systematic`, a fraction of the median, and adds to it. Sorts the values.
struct interval statistics_next(double *value, size_t count, double systematic);

// Half of the mean's 95 % interval, as a fraction of the mean; infinite for fewer than two values.
double statistics_uncertainty(const double *value, size_t count);

// Standard deviation / mean; 0 for fewer than two values.
double statistics_variation(const double *value, size_t count);
