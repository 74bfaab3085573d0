// Costs that are at least 0, from times.
#pragma once

#include <stddef.h>

enum { FIT_MOST = 4 }; // costs

struct fit_time {
    double count[FIT_MOST]; // of what each cost is paid for
    double seconds;
    double scale; // by which its error is divided: those of short times then count as much as those of long ones
};

// Finds the costs, none of them negative, with the least sum of squared errors, each in its scale. Returns the mean
// error (in its scale); infinite without times.
double fit_costs(const struct fit_time *time, size_t times, size_t costs, double cost[FIT_MOST]);
