#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rec/name_pattern.h"

static void expect(const char *name, size_t kept, const char *pattern) {
    char out[NAME_PATTERN_MAX] = "";
    size_t len = name_pattern(out, name, strlen(name), kept);
    assert_int_equal(len, pattern ? strlen(pattern) : 0);
    if (pattern) assert_string_equal(out, pattern);
}

static void numbers_are_stars(void **state) {
    (void)state;
    expect("/dump_0001/part-07.dat", 0, "/dump_*/part-*.dat");
    expect("/0/12/345", 0, "/*/*/*");
    expect("/rank12step3", 0, "/rank*step*");
    expect("/x_1.5_\xc3\xa9"
           "2",
           0, "/x_*.*_\xc3\xa9*");
    expect("", 0, NULL);
    expect("/a/b.c", 0, NULL);
}

static void checksums_are_one_star(void **state) {
    (void)state;
    expect("/objects/4b/825dc642cb6eb9a0", 0, "/objects/*b/*");
    expect("/1B4E28BA-2fa1-11d2-883f-0016d3cca427", 0, "/*-*-*-*-*");
    expect("/beef/face", 0, NULL);
    expect("/b12", 0, "/b*");
}

static void extensions_stay(void **state) {
    (void)state;
    expect("/out7.h5", 0, "/out*.h5");
    expect("/film.mp4", 0, NULL);
    expect("/out.o1234", 0, "/out.o*");
    expect("/out.7", 0, "/out.*");
    expect("/lib.h5/x", 0, "/lib.h*/x");
}

static void the_beginning_stays(void **state) {
    (void)state;
    expect("/run7/step8", 5, "/run7/step*");
    expect("/run7/step8", 11, NULL);
}

static void long_names_have_none(void **state) {
    (void)state;
    char name[NAME_PATTERN_MAX + 1];
    memset(name, '1', sizeof name);
    name[NAME_PATTERN_MAX - 1] = 0;
    expect(name, 0, "*");
    memset(name, '1', sizeof name);
    name[NAME_PATTERN_MAX] = 0;
    expect(name, 0, NULL);
    memset(name, 'x', NAME_PATTERN_MAX);
    expect(name, 0, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_stars),    cmocka_unit_test(checksums_are_one_star),
        cmocka_unit_test(extensions_stay),      cmocka_unit_test(the_beginning_stays),
        cmocka_unit_test(long_names_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
