#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/preload.h"

#define LIBRARY "/lib/libioseer.so"

static void check_join(const char *list, const char *runtime, const char *expected) {
    char out[256];
    preload_join(out, list, runtime, LIBRARY);
    assert_string_equal(out, expected);
}

static void test_join(void **state) {
    (void)state;
    check_join("", "", LIBRARY);
    check_join(LIBRARY, "", LIBRARY);
    check_join("a.so", "", "a.so:" LIBRARY);
    check_join(LIBRARY ":a.so", "", "a.so:" LIBRARY);
    check_join(" a.so  b.so:", "", "a.so:b.so:" LIBRARY);
    check_join("/lib/libioseer.so.old", "", "/lib/libioseer.so.old:" LIBRARY);
    check_join("", "libasan.so.8", "libasan.so.8 " LIBRARY);
    check_join("a.so", "libasan.so.8", "a.so:libasan.so.8 " LIBRARY);
    check_join("libasan.so.8", "libasan.so.8", "libasan.so.8:" LIBRARY);
}

static void check_forget(const char *before, const char *after) {
    char list[256];
    strcpy(list, before);
    preload_forget_runtime(list, LIBRARY);
    assert_string_equal(list, after);
}

static void test_forget(void **state) {
    (void)state;
    check_forget(LIBRARY, LIBRARY);
    check_forget("libasan.so.8 " LIBRARY, LIBRARY);
    check_forget("a.so:libasan.so.8 " LIBRARY, "a.so:" LIBRARY);
    check_forget("libasan.so.8:" LIBRARY, "libasan.so.8:" LIBRARY);
    check_forget("a.so", "a.so");
    check_forget("", "");
}

static void test_find(void **state) {
    (void)state;
    char path[64];
    assert_true(preload_find("./any", "/nowhere", path, sizeof path));
    assert_string_equal(path, "./any");
    assert_true(preload_find("sh", "/nowhere:/bin", path, sizeof path));
    assert_string_equal(path, "/bin/sh");
    assert_true(preload_find("sh", NULL, path, sizeof path));
    assert_false(preload_find("no-such-program", "/bin:", path, sizeof path));
    assert_false(preload_find("sh", "/bin", path, 4));
}

static void test_no_runtime(void **state) {
    (void)state;
    char name[PRELOAD_NAME_ROOM];
    const char *const files[] = {"/bin/sh", "/dev/null", "/", "/nowhere", "/proc/self/status"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        strcpy(name, "something");
        preload_runtime(files[i], name);
        assert_string_equal(name, "");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_forget),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_no_runtime),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
