// Device samples: written and read again, and samples that are impossible.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "fmt/device_samples.h"

static const struct device_sample samples[] = {
    {.span_ns = 100000000, .count = {1, 2, 16, 4096, 50, 400}},
    {.span_ns = 0, .count = {0}},
    {.span_ns = UINT64_C(1) << 59, .count = {0, 0, UINT64_C(1) << 51, 0, 0, 1}},
};
enum { SAMPLES = sizeof samples / sizeof *samples };

static size_t put(uint8_t *out, const struct device_sample *sample, size_t count) {
    uint8_t *at = out;
    for (size_t i = 0; i < count; i++) at = device_sample_put(at, &sample[i]);
    return (size_t)(at - out);
}

static void samples_come_back(void **state) {
    (void)state;
    uint8_t bytes[SAMPLES * DEVICE_SAMPLE_MAX_BYTES];
    struct device_samples_in in = {bytes, bytes + put(bytes, samples, SAMPLES)};
    struct device_sample sample, sum;
    size_t count;
    assert_int_equal(device_samples_sum(in, &count, &sum), 0);
    assert_int_equal(count, SAMPLES);
    assert_int_equal(sum.span_ns, 100000000 + (UINT64_C(1) << 59));
    assert_int_equal(sum.count[DEVICE_SECTORS_READ], 16 + (UINT64_C(1) << 51));
    for (size_t i = 0; i < SAMPLES; i++) {
        assert_int_equal(device_samples_next(&in, &sample), 1);
        assert_memory_equal(&sample, &samples[i], sizeof sample);
    }
    assert_int_equal(device_samples_next(&in, &sample), 0);
}

static void a_sample_that_is_cut_off_is_damage(void **state) {
    (void)state;
    uint8_t bytes[DEVICE_SAMPLE_MAX_BYTES];
    size_t len = put(bytes, samples, 1);
    struct device_sample sum;
    size_t count;
    for (size_t shorter = 1; shorter < len; shorter++)
        assert_int_equal(device_samples_sum((struct device_samples_in){bytes, bytes + shorter}, &count, &sum),
                         ERR_FORMAT);
    assert_int_equal(device_samples_sum((struct device_samples_in){bytes, bytes}, &count, &sum), 0);
    assert_int_equal(count, 0);
}

static void sums_stay_in_range(void **state) {
    (void)state;
    uint8_t bytes[2 * DEVICE_SAMPLE_MAX_BYTES];
    struct device_sample sum;
    size_t count;
    for (unsigned i = 0; i <= DEVICE_COUNTERS; i++) {
        struct device_sample large[2] = {{0}, {0}};
        uint64_t *value[2] = {i < DEVICE_COUNTERS ? &large[0].count[i] : &large[0].span_ns,
                              i < DEVICE_COUNTERS ? &large[1].count[i] : &large[1].span_ns};
        *value[0] = UINT64_C(1) << (i < DEVICE_COUNTERS ? 52 : 60);
        assert_int_equal(
            device_samples_sum((struct device_samples_in){bytes, bytes + put(bytes, large, 2)}, &count, &sum), 0);
        *value[1] = 1;
        assert_int_equal(
            device_samples_sum((struct device_samples_in){bytes, bytes + put(bytes, large, 2)}, &count, &sum),
            ERR_FORMAT);
        *value[1] = UINT64_MAX;
        assert_int_equal(
            device_samples_sum((struct device_samples_in){bytes, bytes + put(bytes, large, 2)}, &count, &sum),
            ERR_FORMAT);
    }
}

static void means_are_over_the_time(void **state) {
    (void)state;
    assert_float_equal(device_utilisation(&samples[0]), 0.5, 1e-12);
    assert_float_equal(device_queue(&samples[0]), 4, 1e-12);
    assert_float_equal(device_utilisation(&samples[1]), 0, 0);
    assert_float_equal(device_queue(&samples[1]), 0, 0);
    struct device_sample rounded = {.span_ns = 9999999, .count[DEVICE_BUSY_MS] = 10};
    assert_float_equal(device_utilisation(&rounded), 1, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_come_back),
        cmocka_unit_test(a_sample_that_is_cut_off_is_damage),
        cmocka_unit_test(sums_stay_in_range),
        cmocka_unit_test(means_are_over_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
