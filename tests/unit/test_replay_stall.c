// How long a replay may take to begin.
#include "replay/stall.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/clock.h"

static bool is_stalled(double seconds, uint32_t np, double model_bytes) {
    char why[100];
    struct stall stall = {.path = "/dev/null", .limit = 1, .np = np, .model_bytes = model_bytes};
    stall.changed = clock_seconds() - seconds;
    return stall_found(&stall, why, sizeof why);
}

static void test_start(void **state) {
    (void)state;
    assert_false(is_stalled(9, 1, 0));
    assert_true(is_stalled(15, 1, 0));
}

// Processes share the processors while each reads the model.
static void test_large_model(void **state) {
    (void)state;
    assert_false(is_stalled(50, 1, 80e6));
    assert_true(is_stalled(100, 1, 80e6));
    assert_false(is_stalled(100, 4, 80e6));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_start), cmocka_unit_test(test_large_model)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
