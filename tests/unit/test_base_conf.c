#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/conf.h"

static void lines(void **state) {
    (void)state;
    static const char text[] = "# comment\n\n  log_dir =  /a b/c \r\nbare\n=x\nempty=\nlast = a = b";
    static const struct {
        unsigned number;
        const char *key, *value;
    } wanted[] = {{3, "log_dir", "/a b/c"}, {4, "", NULL}, {5, "", "x"}, {6, "empty", ""}, {7, "last", "a = b"}};
    const char *at = text;
    struct conf_line line;
    unsigned number = 0;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        assert_true(conf_next(&at, text + strlen(text), &number, &line));
        assert_int_equal(line.number, wanted[i].number);
        assert_int_equal(line.key_len, strlen(wanted[i].key));
        assert_memory_equal(line.key, wanted[i].key, line.key_len);
        if (!wanted[i].value) continue;
        assert_int_equal(line.value_len, strlen(wanted[i].value));
        assert_memory_equal(line.value, wanted[i].value, line.value_len);
    }
    assert_false(conf_next(&at, text + strlen(text), &number, &line));
}

static void the_last_one_counts(void **state) {
    (void)state;
    static const char text[] = "a = 1\nab = 2\na = 3\n";
    struct conf_line line;
    assert_true(conf_find(text, text + strlen(text), "a", &line));
    assert_int_equal(line.number, 3);
    assert_false(conf_find(text, text + strlen(text), "abc", &line));
    assert_false(conf_find(text, text, "a", &line));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines), cmocka_unit_test(the_last_one_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
