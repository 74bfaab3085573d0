#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/human.h"

static void sizes(void **state) {
    (void)state;
    assert_string_equal(human_bytes(0).text, "0 B");
    assert_string_equal(human_bytes(1023).text, "1023 B");
    assert_string_equal(human_bytes(1024).text, "1.0 KiB");
    assert_string_equal(human_bytes(5 << 18).text, "1.3 MiB"); // 1.25
    assert_string_equal(human_bytes(9 << 18).text, "2.3 MiB"); // 2.25
    assert_string_equal(human_bytes((1 << 20) - 1).text, "1.0 MiB");
    assert_string_equal(human_bytes(UINT64_MAX).text, "16.0 EiB");
    assert_string_equal(human_bandwidth(512.7).text, "513 B/s");
}

static void times(void **state) {
    (void)state;
    assert_string_equal(human_seconds(0).text, "0 s");
    assert_string_equal(human_seconds(1).text, "0.001 us");
    assert_string_equal(human_seconds(999).text, "0.999 us");
    assert_string_equal(human_seconds(1005).text, "1.01 us");
    assert_string_equal(human_seconds(2125).text, "2.13 us");
    assert_string_equal(human_seconds(9994).text, "9.99 us");
    assert_string_equal(human_seconds(9995).text, "10.0 us");
    assert_string_equal(human_seconds(99950).text, "100 us");
    assert_string_equal(human_seconds(999499).text, "999 us");
    assert_string_equal(human_seconds(999500).text, "1.00 ms");
    assert_string_equal(human_seconds(999500000).text, "1.00 s");
    assert_string_equal(human_seconds(-1125000000).text, "-1.13 s");
    assert_string_equal(human_seconds(86400500000000).text, "86401 s");
    assert_string_equal(human_time(0.001).text, "1.00 ms");
}

static void long_times(void **state) {
    (void)state;
    assert_string_equal(human_long_time(7199).text, "7199 s");
    assert_string_equal(human_long_time(7200).text, "2.0 h");
    assert_string_equal(human_long_time(99.96 * 3600).text, "100 h");
    assert_string_equal(human_long_time(1e13).text, "2,777,777,778 h"); // more nanoseconds than an integer has
}

static void percentages(void **state) {
    (void)state;
    assert_string_equal(human_percent(0).text, "0.0 %");
    assert_string_equal(human_percent(0.29).text, "29.0 %");
    assert_string_equal(human_percent(0.12345).text, "12.3 %");
    assert_string_equal(human_percent(0.9997).text, "99.9 %");
    assert_string_equal(human_percent(1).text, "100.0 %");
    assert_string_equal(human_percent(1.2345).text, "123.5 %");
}

static void paragraphs(void **state) {
    (void)state;
    char *text = NULL, words[3 * HUMAN_LINE] = "";
    size_t len = 0;
    for (int i = 0; i < 30; i++) strcat(words, i ? " word" : "word");
    FILE *out = open_memstream(&text, &len);
    human_paragraph(out, "- ", words);
    human_paragraph(out, "  ", "Short.");
    fclose(out);
    assert_memory_equal(text, "- word word", 11);
    assert_int_equal(strcspn(text, "\n"), 96); // one more word would end at 101
    assert_memory_equal(text + 96, "\n  word word", 12);
    assert_string_equal(text + len - 9, "  Short.\n");
    free(text);
}

static void name_is(const char *name, const char *wanted) {
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    human_print_name(out, name);
    fclose(out);
    assert_string_equal(text, wanted);
    free(text);
}

static void names(void **state) {
    (void)state;
    name_is("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xc2\xa0", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xc2\xa0");
    name_is("a\n\t\x1b[31m\x7f", "a\\n\\t\\x1b[31m\\x7f");
    name_is("\xc2\x9b"
            "1m \x9b \xff",
            "\\xc2\\x9b1m \\x9b \xff");
    name_is("exe.\xe2\x80\xaegpj", "exe.\\xe2\\x80\xaegpj"); // shown as exe.jpg
    name_is("\xe2\x81\xa6 \xd8\x9c \xe2\x80\x8f", "\\xe2\\x81\xa6 \\xd8\\x9c \\xe2\\x80\\x8f");
    name_is("\xe2\x80\x93 \xe2\x81\xaa \xd8\xa7 \xe2\x82", "\xe2\x80\x93 \xe2\x81\xaa \xd8\xa7 \xe2\\x82");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),       cmocka_unit_test(times),      cmocka_unit_test(long_times),
        cmocka_unit_test(percentages), cmocka_unit_test(paragraphs), cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
