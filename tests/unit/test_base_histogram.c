#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/histogram.h"

static void buckets_follow_each_other(void **state) {
    (void)state;
    for (unsigned i = 0; i + 1 < HISTOGRAM_BUCKETS; i++) {
        uint64_t start = histogram_bucket_start(i), next = histogram_bucket_start(i + 1);
        assert_true(start < next);
        struct histogram one = {0};
        histogram_add(&one, start);
        histogram_add(&one, next - 1);
        assert_int_equal(one.bucket[i], 2);
    }
}

static void extremes(void **state) {
    (void)state;
    struct histogram values = {0};
    assert_int_equal(histogram_quantile(&values, 0.5), 0);
    histogram_add(&values, UINT64_MAX);
    assert_int_equal(histogram_quantile(&values, 0.99), UINT64_MAX);
    histogram_add(&values, 0);
    assert_int_equal(histogram_quantile(&values, 0), 0);
    assert_int_equal(values.bucket[HISTOGRAM_BUCKETS - 1], 1);
}

static void quantiles(void **state) {
    (void)state;
    struct histogram even = {0}, odd = {0};
    for (uint64_t i = 1; i <= 100000; i++) histogram_add(i % 2 ? &odd : &even, i);
    histogram_join(&even, &odd);
    assert_int_equal(even.count, 100000);
    assert_int_equal(even.smallest, 1);
    assert_int_equal(even.largest, 100000);
    assert_int_equal(even.sum, UINT64_C(5000050000));
    for (unsigned percent = 1; percent <= 100; percent++) {
        double exact = 1000.0 * percent, told = (double)histogram_quantile(&even, percent / 100.0);
        assert_true(told >= exact * 0.999 && told <= exact * 1.032);
    }
    assert_int_equal(histogram_quantile(&even, 1), 100000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_follow_each_other),
        cmocka_unit_test(extremes),
        cmocka_unit_test(quantiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
