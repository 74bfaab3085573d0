#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/varint.h"

static const uint64_t samples[] = {0, 1, 0x7f, 0x80, 0x3fff, 0x4000, UINT32_MAX, INT64_MAX, UINT64_MAX - 1, UINT64_MAX};

static void round_trip(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        uint8_t buffer[VARINT_MAX_BYTES];
        uint64_t value = ~samples[i];
        uint8_t *end = varint_put(buffer, samples[i]);
        assert_true(end <= buffer + sizeof buffer);
        assert_ptr_equal(varint_get(buffer, end, &value), end);
        assert_true(value == samples[i]);
        for (const uint8_t *cut = buffer; cut < end; cut++) assert_null(varint_get(buffer, cut, &value));
        assert_true(varint_fold(varint_unfold(samples[i])) == samples[i]);
    }
}

// Both ways to write give the same bytes, at every length.
static void wide(void **state) {
    (void)state;
    for (unsigned bits = 0; bits <= 64; bits++) {
        for (uint64_t less = 0; less < 2; less++) {
            uint64_t value = (bits == 64 ? 0 : (uint64_t)1 << bits) - less;
            uint8_t buffer[16], expected[16];
            size_t len = (size_t)(varint_put(expected, value) - expected);
            assert_ptr_equal(varint_put_wide(buffer, value), buffer + len);
            assert_memory_equal(buffer, expected, len);
        }
    }
}

static void too_long(void **state) {
    (void)state;
    const uint8_t eleven[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00};
    const uint8_t over_64_bits[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
    uint64_t value;
    assert_null(varint_get(eleven, eleven + sizeof eleven, &value));
    assert_null(varint_get(over_64_bits, over_64_bits + sizeof over_64_bits, &value));
}

static void folding(void **state) {
    (void)state;
    assert_int_equal(varint_fold(0), 0);
    assert_int_equal(varint_fold(-1), 1);
    assert_int_equal(varint_fold(1), 2);
    assert_int_equal(varint_fold(-2), 3);
    assert_true(varint_unfold(UINT64_MAX) == INT64_MIN);
}

static void growing_bytes(void **state) {
    (void)state;
    struct bytes b = {0};
    for (unsigned i = 0; i < 10000; i++) assert_int_equal(bytes_append_varint(&b, i), 0);
    const uint8_t *at = b.data;
    for (unsigned i = 0; i < 10000; i++) {
        uint64_t value;
        at = varint_get(at, b.data + b.len, &value);
        assert_non_null(at);
        assert_int_equal(value, i);
    }
    assert_ptr_equal(at, b.data + b.len);
    assert_null(bytes_reserve(&b, SIZE_MAX - 8));
    bytes_free(&b);
    assert_null(b.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip), cmocka_unit_test(wide),          cmocka_unit_test(too_long),
        cmocka_unit_test(folding),    cmocka_unit_test(growing_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
