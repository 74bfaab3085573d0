#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/lookup.h"

static void keeps_everything(void **state) {
    (void)state;
    struct lookup lookup = {0};
    assert_int_equal(lookup_find(&lookup, 0), LOOKUP_NONE);
    for (uint32_t i = 0; i < 10000; i++) assert_int_equal(lookup_set(&lookup, (uint64_t)i << 20, i), 0);
    for (uint32_t i = 0; i < 10000; i++) assert_int_equal(lookup_find(&lookup, (uint64_t)i << 20), i);
    assert_int_equal(lookup_set(&lookup, 0, 7), 0);
    assert_int_equal(lookup_find(&lookup, 0), 7);
    assert_int_equal(lookup.count, 10000);
    assert_int_equal(lookup_find(&lookup, 5), LOOKUP_NONE);
    lookup_free(&lookup);
}

static void can_be_emptied(void **state) {
    (void)state;
    struct lookup lookup = {0};
    lookup_clear(&lookup);
    assert_int_equal(lookup_set(&lookup, UINT64_MAX, 1), 0);
    lookup_clear(&lookup);
    assert_int_equal(lookup_find(&lookup, UINT64_MAX), LOOKUP_NONE);
    assert_int_equal(lookup_set(&lookup, UINT64_MAX, 2), 0);
    assert_int_equal(lookup_find(&lookup, UINT64_MAX), 2);
    lookup_free(&lookup);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_everything),
        cmocka_unit_test(can_be_emptied),
    };
    return cmocka_run_group_tests_name("base_lookup", tests, NULL, NULL);
}
