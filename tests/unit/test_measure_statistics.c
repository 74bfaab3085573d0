// Medians and intervals, against values of statistical tables.
#include "measure/statistics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_near(double found, double wanted) {
    if (fabs(found - wanted) > 1e-3 * fabs(wanted) + 1e-12) fail_msg("%g, not %g", found, wanted);
}

static void median_and_its_interval(void **state) {
    (void)state;
    double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2}, nine[] = {9, 1, 8, 2, 7, 3, 6, 4, 5};
    struct interval found = statistics_median(odd, 3);
    assert_near(found.middle, 2);
    assert_near(found.low, 1);
    assert_near(found.high, 3);
    assert_near(statistics_median(even, 4).middle, 2.5);
    found = statistics_median(nine, 9); // the second and the eighth of nine hold the median in 96 % of all cases
    assert_near(found.middle, 5);
    assert_near(found.low, 2);
    assert_near(found.high, 8);
}

static void nothing_and_one(void **state) {
    (void)state;
    double one[] = {7};
    assert_near(statistics_median(one, 0).middle, 0);
    assert_near(statistics_median(one, 1).high, 7);
    assert_true(isinf(statistics_uncertainty(one, 1)));
    assert_near(statistics_variation(one, 1), 0);
    struct interval next = statistics_next(one, 1, 0.1);
    assert_near(next.low, 7 / 1.1); // as many times shorter as longer
    assert_near(next.high, 7.7);
}

static void spread(void **state) {
    (void)state;
    double value[] = {9, 10, 11}; // standard deviation 1, t of 2 degrees of freedom 4.303
    assert_near(statistics_variation(value, 3), 0.1);
    assert_near(statistics_uncertainty(value, 3), 4.303 / sqrt(3) / 10);
    assert_near(statistics_next(value, 3, 0).high, 10 + 4.303 * sqrt(4.0 / 3));
    assert_near(statistics_next(value, 3, 0.5).high, 10 + sqrt(4.303 * 4.303 * 4 / 3 + 25));
    struct interval wide = statistics_next(value, 3, 2); // times are not negative
    assert_near(wide.low, 100 / wide.high);
    assert_true(wide.low > 0);
}

// Of many samples from a known distribution, 95 % of the next values lie in the interval.
static void holds_the_next_value(void **state) {
    (void)state;
    uint64_t seed = 1;
    unsigned inside = 0, tries = 4000;
    for (unsigned i = 0; i < tries; i++) {
        double value[8];
        for (unsigned k = 0; k < 8; k++) {
            double sum = 0; // of twelve uniform numbers: nearly normal
            for (unsigned n = 0; n < 12; n++) {
                seed = seed * 6364136223846793005u + 1442695040888963407u;
                sum += (double)(seed >> 11) / 9007199254740992.0;
            }
            value[k] = 100 + sum;
        }
        struct interval next = statistics_next(value, 7, 0);
        inside += value[7] >= next.low && value[7] <= next.high;
    }
    assert_in_range(inside, tries * 93 / 100, tries * 97 / 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(median_and_its_interval),
        cmocka_unit_test(nothing_and_one),
        cmocka_unit_test(spread),
        cmocka_unit_test(holds_the_next_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
