// Whether one set of values lies above another, without an assumption about how they are distributed (the test of
// Wilcoxon, Mann and Whitney).
#pragma once

#include <stddef.h>

enum { RANK_TEST_MOST = 64 }; // values of both sets together

// The chance that values drawn from the same distribution give ranks of `above` that are so high or higher: exact, also
// with equal values. 1 if a set is empty or there are too many values.
double rank_test(const double *above, size_t above_count, const double *below, size_t below_count);

// Of a list, which is sorted by this.
double rank_median(double *value, size_t count);
// 1.4826 times the median distance from `median`: the standard deviation, if outliers did not count.
double rank_spread(const double *value, size_t count, double median);
