// Statistics of a few repeated measurements.
#pragma once

#include <stddef.h>

#include "base/json_out.h"

struct interval {
    double middle, low, high;
};

// Writes the members `key` (the middle), "low" and "high".
void interval_write(struct json_out *json, const char *key, const struct interval *interval);

// The median and its 95 % interval by order statistics; for fewer than six values, their range. Sorts the values.
struct interval statistics_median(double *value, size_t count);

// The median, and an interval that contains 95 % of further values if all come from one normal distribution (Student's
// t). `systematic` is an error that all values share, as a fraction of the median; it widens the interval. The values
// are times: the low end is as many times smaller than the median as the high end is larger. Sorts the values.
struct interval statistics_next(double *value, size_t count, double systematic);

// Half of the mean's 95 % interval, as a fraction of the mean; infinite for fewer than two values.
double statistics_uncertainty(const double *value, size_t count);

// Standard deviation / mean; 0 for fewer than two values.
double statistics_variation(const double *value, size_t count);
