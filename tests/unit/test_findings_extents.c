#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "findings/extents.h"

static void test_plain(void **state) {
    (void)state;
    struct extents extents = {0};
    uint64_t before;
    assert_int_equal(extents_add(&extents, 100, 50, &before), 0);
    assert_int_equal(before, 0);
    assert_int_equal(extents_add(&extents, 150, 50, &before), 0); // meets it
    assert_int_equal(before, 0);
    assert_int_equal(extents.count, 1);
    assert_int_equal(extents_overlap(&extents, 0, 1000), 100);
    assert_int_equal(extents_add(&extents, 120, 200, &before), 0);
    assert_int_equal(before, 80);
    assert_int_equal(extents_overlap(&extents, 310, 100), 10);
    assert_int_equal(extents_add(&extents, UINT64_MAX - 5, 100, &before), 0); // past the end of all files
    assert_int_equal(before, 0);
    extents_free(&extents);
}

static uint64_t total(const uint8_t *map, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) sum += map[i];
    return sum;
}

// Compares with a map of bytes.
static void test_random(void **state) {
    (void)state;
    enum { BYTES = 3000, ROUNDS = 2000 };
    static uint8_t map[BYTES];
    struct extents extents = {0};
    uint32_t random = 1;
    for (unsigned round = 0; round < ROUNDS; round++) {
        random = random * 1103515245 + 12345;
        uint64_t start = random >> 8 & 2047, bytes = (random >> 20 & 63) + 1, before, there = 0;
        for (uint64_t i = start; i < start + bytes; i++) there += map[i];
        assert_int_equal(extents_overlap(&extents, start, bytes), there);
        if (round % 3 == 0) {
            assert_int_equal(extents_remove(&extents, start, bytes), 0);
            memset(map + start, 0, bytes);
            assert_int_equal(extents_overlap(&extents, start, bytes), 0);
            assert_int_equal(extents_overlap(&extents, 0, BYTES), total(map, BYTES));
            continue;
        }
        assert_int_equal(extents_add(&extents, start, bytes, &before), 0);
        assert_int_equal(before, there);
        memset(map + start, 1, bytes);
        for (size_t i = 1; i < extents.count; i++) assert_true(extents.extent[i - 1].end < extents.extent[i].start);
    }
    extents_free(&extents);
}

// Too many pieces: the list is dropped, not guessed.
static void test_limit(void **state) {
    (void)state;
    struct extents extents = {0};
    uint64_t before = 1;
    for (uint64_t i = 0; i <= EXTENTS_MOST; i++) assert_int_equal(extents_add(&extents, i * 10, 5, &before), 0);
    assert_true(extents.given_up);
    assert_int_equal(extents_add(&extents, 0, 5, &before), 0);
    assert_int_equal(before, 0);
    extents_free(&extents);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
