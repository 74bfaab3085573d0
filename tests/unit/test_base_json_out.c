#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json_out.h"

static struct json_out *json;
static char *printed;
static size_t printed_len;
static FILE *out;

static void begin(unsigned unfold) {
    out = open_memstream(&printed, &printed_len);
    json = json_out_begin(out, unfold);
}

static void expect(const char *text) {
    assert_int_equal(json_out_end(json), 0);
    fclose(out);
    assert_string_equal(printed, text);
    free(printed);
}

static void nesting(void **state) {
    (void)state;
    begin(0);
    json_object(json);
    json_key(json, "a");
    json_array(json);
    json_unsigned(json, 1);
    json_null(json);
    json_bool(json, true);
    json_bool(json, false);
    json_array(json);
    json_close(json);
    json_close(json);
    json_key(json, "b");
    json_object(json);
    json_close(json);
    json_close(json);
    expect("{\"a\": [1, null, true, false, []], \"b\": {}}\n");
}

static void some_on_one_line(void **state) {
    (void)state;
    begin(JSON_OUT_MAX_DEPTH);
    json_array(json);
    json_fold(json);
    json_object(json);
    json_key(json, "a");
    json_fold(json);
    json_array(json);
    json_unsigned(json, 1);
    json_close(json);
    json_key(json, "b");
    json_unsigned(json, 2);
    json_close(json);
    json_array(json);
    json_unsigned(json, 3);
    json_close(json);
    json_close(json);
    expect("[\n  {\"a\": [1], \"b\": 2},\n  [\n    3\n  ]\n]\n");
}

static void as_deep_as_it_goes(void **state) {
    (void)state;
    char text[2 * JSON_OUT_MAX_DEPTH + 2];
    begin(0);
    for (unsigned i = 1; i < JSON_OUT_MAX_DEPTH; i++) json_array(json);
    for (unsigned i = 1; i < JSON_OUT_MAX_DEPTH; i++) json_close(json);
    memset(text, '[', JSON_OUT_MAX_DEPTH - 1);
    memset(text + JSON_OUT_MAX_DEPTH - 1, ']', JSON_OUT_MAX_DEPTH - 1);
    strcpy(text + 2 * (JSON_OUT_MAX_DEPTH - 1), "\n");
    expect(text);
}

static void one_member_a_line(void **state) {
    (void)state;
    begin(1);
    json_array(json);
    for (unsigned i = 0; i < 2; i++) {
        json_object(json);
        json_key(json, "i");
        json_unsigned(json, i);
        json_close(json);
    }
    json_close(json);
    expect("[\n  {\"i\": 0},\n  {\"i\": 1}\n]\n");
    begin(1);
    json_array(json);
    json_close(json);
    expect("[]\n");
}

static void numbers(void **state) {
    (void)state;
    begin(0);
    json_array(json);
    json_unsigned(json, UINT64_MAX);
    json_signed(json, INT64_MIN);
    json_signed(json, -1);
    json_signed(json, 0);
    json_double(json, 0.1);
    json_double(json, 1.0 / 3);
    json_double(json, NAN);
    json_double(json, -INFINITY);
    json_close(json);
    expect("[18446744073709551615, -9223372036854775808, -1, 0, 0.1, 0.33333333333333331, null, null]\n");
}

static void seconds(void **state) {
    (void)state;
    begin(0);
    json_array(json);
    json_seconds(json, 0);
    json_seconds(json, 1);
    json_seconds(json, 1500000000);
    json_seconds(json, -250000000);
    json_seconds(json, 1700000000123456789);
    json_close(json);
    expect("[0.0, 0.000000001, 1.5, -0.25, 1700000000.123456789]\n");
}

static void string_becomes(const char *bytes, size_t len, const char *text) {
    begin(0);
    json_bytes(json, bytes, len);
    expect(text);
}

#define STRING(bytes, text) string_becomes(bytes, sizeof bytes - 1, text)

static void strings(void **state) {
    (void)state;
    STRING("plain", "\"plain\"\n");
    STRING("a \"b\" \\ \n\t\x01\x7f\0", "\"a \\\"b\\\" \\\\ \\n\\t\\u0001\x7f\\u0000\"\n");
    STRING("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"\n");
    // Not UTF-8: a lone byte, a cut-off sequence, an overlong form, a surrogate, past the last character.
    STRING("\xff", "\"\\udcff\"\n");
    STRING("\x80x", "\"\\udc80x\"\n");
    STRING("\xc3", "\"\\udcc3\"\n");
    STRING("\xe2\x82", "\"\\udce2\\udc82\"\n");
    STRING("\xc0\xaf", "\"\\udcc0\\udcaf\"\n");
    STRING("\xe0\x80\xaf", "\"\\udce0\\udc80\\udcaf\"\n");
    STRING("\xed\xa0\x80", "\"\\udced\\udca0\\udc80\"\n");
    STRING("\xf4\x90\x80\x80", "\"\\udcf4\\udc90\\udc80\\udc80\"\n");
    STRING("\xc3(", "\"\\udcc3(\"\n");
    begin(0);
    json_text(json, NULL);
    expect("null\n");
    begin(0);
    json_object(json);
    json_key_text(json, "a \"b\"\xff");
    json_unsigned(json, 1);
    json_close(json);
    expect("{\"a \\\"b\\\"\\udcff\": 1}\n");
}

static void long_strings(void **state) {
    (void)state;
    size_t len = 3 * JSON_OUT_BUFFER_BYTES + 5;
    char *text = malloc(len + 1);
    memset(text, 'x', len);
    text[len] = 0;
    begin(0);
    json_text(json, text);
    assert_int_equal(json_out_end(json), 0);
    fclose(out);
    assert_int_equal(printed_len, len + 3);
    assert_memory_equal(printed + 1, text, len);
    free(printed);
    free(text);
}

static void full_device(void **state) {
    (void)state;
    FILE *full = fopen("/dev/full", "w");
    if (!full) skip();
    json = json_out_begin(full, 0);
    json_array(json);
    for (unsigned i = 0; i < JSON_OUT_BUFFER_BYTES; i++) json_unsigned(json, i);
    json_close(json);
    assert_int_equal(json_out_end(json), -ENOSPC);
    fclose(full);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nesting),           cmocka_unit_test(some_on_one_line), cmocka_unit_test(as_deep_as_it_goes),
        cmocka_unit_test(one_member_a_line), cmocka_unit_test(numbers),          cmocka_unit_test(seconds),
        cmocka_unit_test(strings),           cmocka_unit_test(long_strings),     cmocka_unit_test(full_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
