#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fmt/fields.h"

static size_t put_sample(uint8_t *buffer, size_t len) {
    static const char long_text[300] = {[0 ... 299] = 'x'};
    struct fields_out out = {.at = buffer, .end = buffer + len};
    fields_begin(&out, 7);
    fields_number(&out, 1, UINT64_MAX);
    fields_signed(&out, 2, -5);
    fields_string(&out, 3, "text");
    fields_end(&out);
    fields_begin(&out, 300);
    fields_bytes(&out, 1000, long_text, sizeof long_text);
    fields_bytes(&out, 1, NULL, 0);
    fields_end(&out);
    fields_begin(&out, 8);
    fields_end(&out);
    return out.overflow ? 0 : (size_t)(out.at - buffer);
}

static void test_round_trip(void **state) {
    (void)state;
    uint8_t buffer[512];
    struct fields_in in = {.at = buffer, .end = buffer + put_sample(buffer, sizeof buffer)}, body;
    unsigned kind;
    struct field field;
    assert_int_equal(fields_next_record(&in, &kind, &body), 1);
    assert_int_equal(kind, 7);
    assert_int_equal(fields_next(&body, &field), 1);
    assert_int_equal(field.key, 1);
    assert_true(field.number == UINT64_MAX && !field.is_bytes);
    assert_int_equal(fields_next(&body, &field), 1);
    assert_int_equal(field.number, 9); // -5, folded
    assert_int_equal(fields_next(&body, &field), 1);
    assert_true(field.is_bytes && field.len == 4);
    assert_memory_equal(field.data, "text", 4);
    assert_int_equal(fields_next(&body, &field), 0);

    assert_int_equal(fields_next_record(&in, &kind, &body), 1);
    assert_int_equal(kind, 300);
    assert_int_equal(fields_next(&body, &field), 1);
    assert_true(field.key == 1000 && field.len == 300 && field.data[299] == 'x');
    assert_int_equal(fields_next(&body, &field), 1);
    assert_true(field.is_bytes && field.len == 0);

    assert_int_equal(fields_next_record(&in, &kind, &body), 1);
    assert_int_equal(kind, 8);
    assert_int_equal(fields_next(&body, &field), 0);
    assert_int_equal(fields_next_record(&in, &kind, &body), 0);
}

// A record that does not fit leaves those before it whole.
static void test_overflow(void **state) {
    (void)state;
    uint8_t buffer[512];
    size_t whole = put_sample(buffer, sizeof buffer);
    for (size_t len = 0; len < whole; len++) {
        struct fields_out out = {.at = buffer, .end = buffer + len};
        fields_begin(&out, 1);
        fields_string(&out, 1, "kept");
        fields_end(&out);
        uint8_t *kept = out.at;
        fields_begin(&out, 2);
        while (!out.overflow) fields_string(&out, 1, "too much");
        fields_end(&out);
        assert_true(out.overflow);
        assert_ptr_equal(out.at, kept);
        assert_int_equal(put_sample(buffer, len), 0);
    }
}

static void read_all(struct fields_in in) {
    struct fields_in body;
    struct field field;
    unsigned kind;
    while (fields_next_record(&in, &kind, &body) > 0) {
        while (fields_next(&body, &field) > 0) assert_true(field.len <= 512);
    }
}

static void test_damage(void **state) {
    (void)state;
    uint8_t buffer[512];
    size_t len = put_sample(buffer, sizeof buffer);
    for (size_t i = 0; i < len; i++) {
        read_all((struct fields_in){.at = buffer, .end = buffer + i});
        for (unsigned bit = 0; bit < 8; bit++) {
            buffer[i] ^= (uint8_t)(1 << bit);
            read_all((struct fields_in){.at = buffer, .end = buffer + len});
            buffer[i] ^= (uint8_t)(1 << bit);
        }
    }
}

static void test_copy(void **state) {
    (void)state;
    uint8_t from[64], to[64];
    struct fields_out out = {.at = from, .end = from + sizeof from};
    fields_number(&out, 3, 70000);
    fields_string(&out, 4, "text");
    size_t len = (size_t)(out.at - from);
    fields_number(&out, 5, 300); // the copy's source is cut off inside this one
    struct fields_out copy = {.at = to, .end = to + sizeof to};
    fields_copy(&copy, (struct fields_in){.at = from, .end = out.at - 1});
    assert_int_equal(copy.at - to, len);
    assert_memory_equal(to, from, len);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
