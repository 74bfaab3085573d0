#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/glob.h"

static void matches(void **state) {
    (void)state;
    assert_true(glob_match("", ""));
    assert_true(glob_match("*", ""));
    assert_true(glob_match("/a/*", "/a/b/c"));
    assert_true(glob_match("*.nc", "/data/x.nc.old.nc"));
    assert_true(glob_match("a*b*c", "aXbXbc"));
    assert_true(glob_match("?", "x"));
    assert_true(glob_match("[a-c]x", "bx"));
    assert_true(glob_match("[!a-c]x", "dx"));
    assert_true(glob_match("[]]", "]"));
    assert_true(glob_match("[a-]", "-"));
    assert_true(glob_match("\\*", "*"));
    assert_true(glob_match("\\", "\\"));
}

static void does_not_match(void **state) {
    (void)state;
    assert_false(glob_match("", "a"));
    assert_false(glob_match("a", ""));
    assert_false(glob_match("?", ""));
    assert_false(glob_match("a*b", "acd"));
    assert_false(glob_match("[a-c]", "d"));
    assert_false(glob_match("[!a]", "a"));
    assert_false(glob_match("[abc", "a"));
    assert_false(glob_match("\\*", "x"));
    assert_false(glob_match("*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(matches), cmocka_unit_test(does_not_match)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
