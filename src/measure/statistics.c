#include "measure/statistics.h"

#include <math.h>
#include <stdlib.h>

#include "base/json_keys.h"
#include "base/order.h"

void interval_write(struct json_out *json, const char *key, const struct interval *interval) {
    json_members(json, m_double(key, interval->middle), m_double("low", interval->low),
                 m_double("high", interval->high));
}

static double median_of_sorted(const double *value, size_t count) {
    if (!count) return 0;
    return count % 2 ? value[count / 2] : (value[count / 2 - 1] + value[count / 2]) / 2;
}

struct interval statistics_median(double *value, size_t count) {
    if (!count) return (struct interval){0};
    qsort(value, count, sizeof *value, order_double);
    double half = 0.98 * sqrt((double)count);
    size_t low = count < 6 || (double)count / 2 < half ? 0 : (size_t)floor((double)count / 2 - half);
    return (struct interval){median_of_sorted(value, count), value[low], value[count - 1 - low]};
}

static double mean_of(const double *value, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += value[i];
    return count ? sum / (double)count : 0;
}

static double deviation_of(const double *value, size_t count) {
    double mean = mean_of(value, count), sum = 0;
    if (count < 2) return 0;
    for (size_t i = 0; i < count; i++) sum += (value[i] - mean) * (value[i] - mean);
    return sqrt(sum / (double)(count - 1));
}

// Student's t for 95 %, by degrees of freedom.
static double student(size_t freedom) {
    static const double table[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                   2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                                   2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
    if (!freedom) return INFINITY;
    return freedom <= sizeof table / sizeof *table ? table[freedom - 1] : 1.96 + 2.4 / (double)freedom;
}

struct interval statistics_next(double *value, size_t count, double systematic) {
    if (!count) return (struct interval){0};
    qsort(value, count, sizeof *value, order_double);
    double middle = median_of_sorted(value, count), common = systematic * middle, chance = 0;
    if (count > 1) {
        chance = student(count - 1) * deviation_of(value, count) * sqrt(1 + 1 / (double)count);
    }
    double half = sqrt(chance * chance + common * common);
    // As many times shorter as longer: a time is never 0.
    return (struct interval){middle, middle > 0 ? middle * middle / (middle + half) : 0, middle + half};
}

double statistics_uncertainty(const double *value, size_t count) {
    double mean = mean_of(value, count);
    if (count < 2 || mean <= 0) return INFINITY;
    return student(count - 1) * deviation_of(value, count) / sqrt((double)count) / mean;
}

double statistics_variation(const double *value, size_t count) {
    double mean = mean_of(value, count);
    return mean > 0 ? deviation_of(value, count) / mean : 0;
}
