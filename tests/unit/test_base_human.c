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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(times),
        cmocka_unit_test(percentages),
        cmocka_unit_test(paragraphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
