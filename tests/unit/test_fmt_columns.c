// Records become columns, and the same records come back.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "fmt/columns.h"
#include "fmt/fields.h"

enum { ROOM = 64 << 10, MOST = 1 << 20 };

struct made {
    uint8_t data[ROOM];
    size_t len;
    struct bytes columns, again;
};

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

static void check(struct made *made) {
    made->columns.len = made->again.len = 0;
    assert_int_equal(bytes_append(&made->again, "x", 1), 0);
    assert_int_equal(columns_from_records(made->data, made->len, &made->columns), 0);
    assert_int_equal(columns_to_records(made->columns.data, made->columns.len, MOST, &made->again), 0);
    assert_int_equal(made->again.len, 1 + made->len);
    if (made->len) assert_memory_equal(made->again.data + 1, made->data, made->len);
}

static void put_field(struct fields_out *out, unsigned key) {
    char text[16] = "abcdefgh";
    uint64_t value = next_random() >> next_random() % 64;
    if (key % 3 == 0)
        fields_bytes(out, key, text, value % 9);
    else
        fields_number(out, key, value);
}

static void test_any_records(void **state) {
    (void)state;
    struct made *made = calloc(1, sizeof *made);
    for (unsigned round = 0; round < 300; round++) {
        struct fields_out out = {.at = made->data, .end = made->data + ROOM};
        unsigned count = (unsigned)(next_random() % 60), kinds = 1 + round % 4, keys = 1 + round % 7;
        for (unsigned i = 0; i < count; i++) {
            fields_begin(&out, (unsigned)(next_random() % kinds) * 1000);
            for (unsigned j = (unsigned)(next_random() % keys); j > 0; j--)
                put_field(&out, j * (round % 5 ? 1 : (unsigned)(next_random() % 3 * 100000000)));
            fields_end(&out);
        }
        made->len = (size_t)(out.at - made->data);
        check(made);
    }
    bytes_free(&made->columns);
    bytes_free(&made->again);
    free(made);
}

static void put_like(struct made *made, unsigned count) {
    struct fields_out out = {.at = made->data, .end = made->data + ROOM};
    for (unsigned i = 0; i < count; i++) {
        fields_begin(&out, 2);
        fields_number(&out, 1, i + 1);
        fields_string(&out, 4, "a host with a long name");
        fields_number(&out, 8, UINT64_C(1000000000000) + i * 20);
        fields_number(&out, 9, UINT64_C(1000000000005) + i * 20);
        fields_end(&out);
    }
    made->len = (size_t)(out.at - made->data);
}

// One number that is like the one before it, or beside it, takes a byte.
static void test_differences(void **state) {
    (void)state;
    struct made *made = calloc(1, sizeof *made);
    put_like(made, 1000);
    check(made);
    const size_t least = 1000 * (1 + 1 + 24 + 1 + 1); // group, number, length and text, two times
    assert_in_range(made->columns.len, least, least + 60);
    bytes_free(&made->columns);
    bytes_free(&made->again);
    free(made);
}

// Whatever the bytes are, they are read without harm, and no more comes out than is allowed.
static void test_damage(void **state) {
    (void)state;
    struct made *made = calloc(1, sizeof *made);
    put_like(made, 5);
    check(made);
    assert_int_equal(columns_to_records(made->columns.data, made->columns.len, made->len - 1, &made->again),
                     ERR_FORMAT);
    for (size_t len = 0; len < made->columns.len; len++)
        assert_int_equal(columns_to_records(made->columns.data, len, MOST, &made->again), ERR_FORMAT);
    for (size_t bit = 0; bit < made->columns.len * 8; bit++) {
        made->columns.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        int code = columns_to_records(made->columns.data, made->columns.len, MOST, &made->again);
        assert_true(code == 0 || code == ERR_FORMAT);
        made->columns.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_int_equal(bytes_append(&made->columns, "", 1), 0);
    assert_int_equal(columns_to_records(made->columns.data, made->columns.len, MOST, &made->again), ERR_FORMAT);
    assert_int_equal(columns_from_records(made->data, made->len - 1, &made->columns), ERR_FORMAT);
    bytes_free(&made->columns);
    bytes_free(&made->again);
    free(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_records),
        cmocka_unit_test(test_differences),
        cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
