// Clocks of other hosts: whatever the pairs say, the true offset is within the stated error, or none is stated.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/err.h"
#include "pack/clock_fit.h"

#define SECOND INT64_C(1000000000)
#define US INT64_C(1000)

enum { MOST = 20000 };

static struct clock_pair pair[MOST];

static double dice(void) { return (double)random() / ((double)RAND_MAX + 1); }

// How much the job's clock is ahead of the server's, by the server's.
struct clock {
    double offset_ns, drift;
    double turn_ns, more_drift; // from a time on
};

static double truth(const struct clock *clock, double ns) {
    double after = ns > clock->turn_ns ? ns - clock->turn_ns : 0;
    return clock->offset_ns + clock->drift * ns + (clock->turn_ns > 0 ? clock->more_drift * after : 0);
}

// Latencies of a network: at least 20 us each way, rarely much more.
static int64_t latency(void) { return 20 * US - (int64_t)(30 * (double)US * log(1 - dice())); }

static void make(const struct clock *clock, size_t count, int64_t span_ns) {
    for (size_t i = 0; i < count; i++) {
        int64_t start = (int64_t)(dice() * (double)span_ns), end = start + 10 * US + (int64_t)(dice() * 500e3);
        pair[i] = (struct clock_pair){start, end, start + (int64_t)truth(clock, (double)start) - latency(),
                                      end + (int64_t)truth(clock, (double)end) + latency()};
    }
}

static void is_within(const struct clock_fit *fit, const struct clock *clock, int64_t span_ns, double most_ns) {
    assert_true(fit->error_ns >= 0);
    assert_true(fit->error_ns <= most_ns);
    for (int i = 0; i <= 1000; i++) {
        double ns = fit->knot[0].ns + (fit->knot[fit->knots - 1].ns - fit->knot[0].ns) * i / 1000;
        assert_true(ns <= (double)span_ns);
        assert_true(fabs(clock_fit_offset(fit, ns) - truth(clock, ns)) <= fit->error_ns + 1);
    }
}

static void test_constant(void **state) {
    (void)state;
    struct clock_fit fit;
    const struct clock clock = {.offset_ns = -3600e9};
    make(&clock, 2000, SECOND);
    assert_int_equal(clock_fit(&fit, pair, 2000), 0);
    is_within(&fit, &clock, SECOND, 25e3);
    assert_true(fabs(clock_fit_drift(&fit)) < 1e-5);
}

static void test_drift(void **state) {
    (void)state;
    struct clock_fit fit;
    const double drifts[] = {50e-6, -50e-6, 1e-7, 9e-4};
    for (unsigned i = 0; i < 4; i++) {
        const struct clock clock = {.offset_ns = 7200e9, .drift = drifts[i]};
        make(&clock, 10000, 600 * SECOND);
        assert_int_equal(clock_fit(&fit, pair, 10000), 0);
        assert_int_equal(fit.knots, 2);
        is_within(&fit, &clock, 600 * SECOND, 30e3);
        assert_true(fabs(clock_fit_drift(&fit) - drifts[i]) < 1e-7 + 1e-12);
        assert_true(fabs(clock_fit_start(&fit) - clock.offset_ns) < 60e3);
    }
}

// NTP changes the rate in the middle.
static void test_steered(void **state) {
    (void)state;
    struct clock_fit fit;
    const struct clock clock = {.offset_ns = 1e9, .drift = 20e-6, .turn_ns = 251e9, .more_drift = 3e-6};
    make(&clock, 20000, 600 * SECOND);
    assert_int_equal(clock_fit(&fit, pair, 20000), 0);
    assert_true(fit.knots > 2);
    is_within(&fit, &clock, 600 * SECOND, 150e3);
}

static void test_outliers(void **state) {
    (void)state;
    struct clock_fit fit;
    const struct clock clock = {.offset_ns = -5e9, .drift = 50e-6};
    const double by[] = {1e9, 2e6, 300e3};
    for (unsigned kind = 0; kind < 3; kind++) {
        make(&clock, 10000, 600 * SECOND);
        for (size_t i = 0; i < 300; i++) {
            int64_t moved = (int64_t)((dice() < 0.5 ? -1 : 1) * by[kind] * (1 + dice()));
            pair[(size_t)(dice() * 10000)].from_ns += moved;
        }
        for (size_t i = 0; i < 10000; i++) {
            if (pair[i].to_ns - pair[i].from_ns < pair[i].end_ns - pair[i].start_ns)
                pair[i].to_ns = pair[i].from_ns + SECOND;
        }
        assert_int_equal(clock_fit(&fit, pair, 10000), 0);
        is_within(&fit, &clock, 600 * SECOND, 60e3);
    }
}

static void test_contradictions(void **state) {
    (void)state;
    struct clock_fit fit;
    const struct clock one = {.offset_ns = 0};
    assert_int_equal(clock_fit(&fit, pair, 0), ERR_NOTHING);
    make(&one, 1000, SECOND);
    for (size_t i = 0; i < 1000; i += 2) pair[i].from_ns += SECOND, pair[i].to_ns += SECOND;
    assert_int_equal(clock_fit(&fit, pair, 1000), ERR_NOTHING);
    make(&one, 2, SECOND / 1000);
    pair[0].from_ns += SECOND, pair[0].to_ns += SECOND;
    assert_int_equal(clock_fit(&fit, pair, 2), ERR_NOTHING);
    make(&one, 1000, 10 * SECOND);
    for (size_t i = 0; i < 1000; i++) { // a clock that was set
        if (pair[i].start_ns > 5 * SECOND) pair[i].from_ns += SECOND, pair[i].to_ns += SECOND;
    }
    assert_int_equal(clock_fit(&fit, pair, 1000), ERR_NOTHING);
}

// Few pairs, short runs: the error grows, and holds.
static void test_any(void **state) {
    (void)state;
    struct clock_fit fit;
    for (int i = 0; i < 500; i++) {
        const struct clock clock = {.offset_ns = (dice() - 0.5) * 1e12, .drift = (dice() - 0.5) * 1e-3};
        size_t count = 1 + (size_t)(dice() * dice() * 300);
        int64_t span = US + (int64_t)(pow(dice(), 4) * 600e9);
        make(&clock, count, span);
        assert_int_equal(clock_fit(&fit, pair, count), 0);
        is_within(&fit, &clock, span, 1e9);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constant), cmocka_unit_test(test_drift),          cmocka_unit_test(test_steered),
        cmocka_unit_test(test_outliers), cmocka_unit_test(test_contradictions), cmocka_unit_test(test_any),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
