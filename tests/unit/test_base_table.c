#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/table.h"
#include "base/utf8.h"

static const struct table_column sizes[] = {
    {"NAME", TABLE_TEXT}, {"COUNT", TABLE_NUMBER}, {"SIZE", TABLE_UNIT}, {"FILE", TABLE_NAME}, {0}};

static struct table begin(FILE **out, char **text, size_t *len) {
    *out = open_memstream(text, len);
    return table_begin(*out, sizes);
}

static void end(struct table *t, char **text, const char *expected) {
    assert_int_equal(table_end(t), 0);
    fclose(t->out);
    assert_string_equal(*text, expected);
    free(*text);
}

static void add(struct table *t, const char *name, uint64_t count, uint64_t bytes, const char *file) {
    table_text(t, name);
    table_number(t, count);
    table_bytes(t, bytes);
    table_text(t, file);
    table_row(t);
}

static void widths_follow_the_cells(void **state) {
    (void)state;
    FILE *out;
    char *text;
    size_t len;
    struct table t = begin(&out, &text, &len);
    t.indent = 2;
    add(&t, "a-name-of-thirty-three-characters", 1, 1536 * 1024, "/tmp/x");
    add(&t, "b", 1234567, 512, "/tmp/y\n");
    table_text(&t, NULL);
    table_number_if(&t, false, 0);
    table_text(&t, "varies");
    table_row(&t);
    end(&t, &text,
        "  NAME                                 COUNT     SIZE  FILE\n"
        "  a-name-of-thirty-three-characters        1  1.5 MiB  /tmp/x\n"
        "  b                                  1234567  512 B    /tmp/y\\n\n"
        "  -                                        -   varies\n");
}

static void long_names_lose_their_middle(void **state) {
    (void)state;
    FILE *out;
    char *text;
    size_t len;
    struct table t = begin(&out, &text, &len);
    t.terminal_width = 46;
    add(&t, "é", 1, 1, "/home/someone/a/long/name/é/of/a/file");
    add(&t, "b", 1, 1, "/home/someone/short");
    end(&t, &text,
        "NAME  COUNT  SIZE  FILE\n"
        "é         1   1 B  /home/so…g/name/é/of/a/file\n"
        "b         1   1 B  /home/someone/short\n");
}

// Characters of two columns and of none.
static void columns_are_those_of_the_terminal(void **state) {
    (void)state;
    FILE *out;
    char *text;
    size_t len;
    struct table t = begin(&out, &text, &len);
    t.terminal_width = 35;
    add(&t, "日本", 1, 1, "/日本語日本語/u\u0308/x");
    add(&t, "b", 1, 1, "/日本語日本/x");
    end(&t, &text,
        "NAME  COUNT  SIZE  FILE\n"
        "日本      1   1 B  /日本…日本語/u\u0308/x\n"
        "b         1   1 B  /日本語日本/x\n");
    assert_int_equal(utf8_columns("a\xff\xc3"), 3); // bytes that are not UTF-8
    assert_int_equal(utf8_fitting("日本", 3), 3);
}

static void long_texts_take_several_lines(void **state) {
    static const struct table_column columns[] = {{"N", TABLE_NUMBER}, {"WHY", TABLE_TEXT}, {0}};
    (void)state;
    char *text;
    size_t len;
    struct table t = table_begin(open_memstream(&text, &len), columns);
    t.terminal_width = 24;
    table_number(&t, 1), table_text(&t, "the words of a long text are kept"), table_row(&t);
    table_number(&t, 2), table_text(&t, "short"), table_row(&t);
    end(&t, &text,
        "N  WHY\n"
        "1  the words of a long\n"
        "   text are kept\n"
        "2  short\n");
}

static void streams_print_each_row(void **state) {
    static const struct table_column columns[] = {
        {"START", TABLE_NUMBER}, {"OP", TABLE_TEXT}, {"SIZE", TABLE_NUMBER}, {"FILE", TABLE_NAME}, {0}};
    static const unsigned width[] = {12, 6, 4, 0};
    (void)state;
    char *text;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    struct table t = table_begin_stream(out, columns, width);
    table_seconds(&t, -1500000000);
    table_text(&t, "write");
    table_printf(&t, "%d", 100000);
    table_text(&t, "a");
    table_append(&t, " -> %s", "b\033");
    table_row(&t);
    fflush(out);
    assert_string_equal(text, "       START OP     SIZE  FILE\n"
                              "-1.500000000 write  100000  a -> b\\x1b\n");
    end(&t, &text,
        "       START OP     SIZE  FILE\n"
        "-1.500000000 write  100000  a -> b\\x1b\n");
}

static void empty_tables_have_a_header(void **state) {
    (void)state;
    FILE *out;
    char *text;
    size_t len;
    struct table t = begin(&out, &text, &len);
    end(&t, &text, "NAME  COUNT  SIZE  FILE\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_follow_the_cells),
        cmocka_unit_test(long_names_lose_their_middle),
        cmocka_unit_test(columns_are_those_of_the_terminal),
        cmocka_unit_test(long_texts_take_several_lines),
        cmocka_unit_test(streams_print_each_row),
        cmocka_unit_test(empty_tables_have_a_header),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
