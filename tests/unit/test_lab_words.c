#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "lab/words.h"

static void expect(const char *line, size_t count, const char *const *word) {
    struct text_list words = {0};
    assert_int_equal(lab_words(&words, line), 0);
    assert_int_equal(words.count, count);
    for (size_t i = 0; i < count; i++) assert_string_equal(words.text[i], word[i]);
    text_list_free(&words);
}
#define EXPECT(line, ...)                                                                                              \
    expect(line, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), (const char *const[]){__VA_ARGS__})

static void words_are_as_in_a_shell(void **state) {
    (void)state;
    expect("", 0, NULL);
    expect(" \t\n", 0, NULL);
    EXPECT("a", "a");
    EXPECT("  a  b\tc\nd ", "a", "b", "c", "d");
    EXPECT("'a b' \"c d\"", "a b", "c d");
    EXPECT("a'b c'd\"e f\"g", "ab cde fg");
    EXPECT("'' \"\" x", "", "", "x");
    EXPECT("a\\ b \\'c\\\" \\\\", "a b", "'c\"", "\\");
    EXPECT("\"a\\\"b\\\\c\\d\"", "a\"b\\c\\d");
    EXPECT("'a\\b\"c'", "a\\b\"c");
}

static void nothing_is_expanded(void **state) {
    (void)state;
    EXPECT("$HOME `x` $(y) * ~ # ; | & > {a,b}", "$HOME", "`x`", "$(y)", "*", "~", "#", ";", "|", "&", ">", "{a,b}");
    EXPECT("\"$HOME\"", "$HOME");
}

static void what_is_not_closed_is_an_error(void **state) {
    static const char *const lines[] = {"'", "\"", "a 'b", "\"a\\\"", "a\\", "'a' \"b'"};
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct text_list words = {0};
        assert_int_equal(lab_words(&words, lines[i]), ERR_USAGE);
        text_list_free(&words);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(words_are_as_in_a_shell), cmocka_unit_test(nothing_is_expanded),
                                       cmocka_unit_test(what_is_not_closed_is_an_error)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
