// Costs that are fitted to times: known ones are found again, and none is negative.
#include "measure/fit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_near(double found, double wanted) {
    if (fabs(found - wanted) > 1e-6 * fabs(wanted) + 1e-15) fail_msg("%g, not %g", found, wanted);
}

// Calls that differ in rounds, bytes and pieces, with the times of these costs, each `off` too long or too short.
static size_t make_times(struct fit_time time[], const double cost[FIT_MOST], double off) {
    static const double calls[][FIT_MOST] = {{1, 1, 1 << 18, 64},    {1, 1, 1 << 20, 2048}, {1, 4, 1 << 20, 16},
                                             {1, 16, 1 << 22, 1024}, {1, 1, 1 << 22, 4},    {1, 4, 1 << 24, 256},
                                             {1, 2, 1 << 22, 8192},  {1, 1, 1 << 24, 16}};
    size_t count = sizeof calls / sizeof *calls;
    for (size_t i = 0; i < count; i++) {
        time[i] = (struct fit_time){0};
        for (unsigned c = 0; c < FIT_MOST; c++) {
            time[i].count[c] = calls[i][c];
            time[i].seconds += cost[c] * calls[i][c];
        }
        time[i].seconds *= i % 2 ? 1 + off : 1 - off;
        time[i].scale = time[i].seconds;
    }
    return count;
}

static void known_costs(void **state) {
    static const double wanted[FIT_MOST] = {2e-5, 3e-4, 4e-10, 5e-8};
    struct fit_time time[8];
    double cost[FIT_MOST];
    (void)state;
    assert_near(fit_costs(time, make_times(time, wanted, 0), FIT_MOST, cost), 0);
    for (unsigned c = 0; c < FIT_MOST; c++) assert_near(cost[c], wanted[c]);
}

// With errors of 5 %, the fit is no further off than that.
static void known_costs_with_errors(void **state) {
    static const double wanted[FIT_MOST] = {2e-5, 3e-4, 4e-10, 5e-8};
    struct fit_time time[8];
    double cost[FIT_MOST];
    (void)state;
    double error = fit_costs(time, make_times(time, wanted, 0.05), FIT_MOST, cost);
    assert_true(error > 0 && error <= 0.0501);
    assert_true(fabs(cost[1] - wanted[1]) < 0.15 * wanted[1]); // rounds and bytes make most of these times
    assert_true(fabs(cost[2] - wanted[2]) < 0.15 * wanted[2]);
}

// A cost that would be negative is 0, and the others fit without it.
static void none_is_negative(void **state) {
    static const double wanted[FIT_MOST] = {2e-5, 3e-4, 4e-10, -1e-9};
    struct fit_time time[8];
    double cost[FIT_MOST];
    (void)state;
    double error = fit_costs(time, make_times(time, wanted, 0), FIT_MOST, cost);
    assert_true(cost[3] == 0);
    assert_true(error < 0.1);
    for (unsigned c = 0; c < FIT_MOST; c++) assert_true(cost[c] >= 0);
}

// A line through messages: those of 8 bytes count as much as those of 4 MiB.
static void line_of_messages(void **state) {
    struct fit_time time[8];
    double cost[FIT_MOST], bytes = 8;
    (void)state;
    for (unsigned i = 0; i < 8; i++, bytes *= 6.5)
        time[i] = (struct fit_time){{1, bytes}, 1e-6 + bytes * 2e-10, 1e-6 + bytes * 2e-10};
    assert_near(fit_costs(time, 8, 2, cost), 0);
    assert_near(cost[0], 1e-6);
    assert_near(cost[1], 2e-10);
}

// Times that do not tell two costs apart give them to one; without times nothing is known.
static void not_enough(void **state) {
    struct fit_time time[2] = {{{1, 5}, 1, 1}, {{1, 5}, 3, 3}};
    double cost[FIT_MOST] = {0};
    (void)state;
    assert_true(isfinite(fit_costs(time, 2, 2, cost)));
    assert_true(cost[0] == 0 || cost[1] == 0);
    assert_true(isinf(fit_costs(time, 0, 2, cost)));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_costs), cmocka_unit_test(known_costs_with_errors),
                                       cmocka_unit_test(none_is_negative), cmocka_unit_test(line_of_messages),
                                       cmocka_unit_test(not_enough)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
