#include <errno.h>
#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/json_in.h"
#include "base/json_out.h"

static struct json_in in;
static struct json_in_error error;

// Parses a copy of exactly this length, so that the sanitizers find a read past its end.
static int parse_bytes(const char *text, size_t len) {
    char *copy = malloc(len ? len : 1);
    memcpy(copy, text, len);
    int code = json_in_parse(&in, copy, len, &error);
    free(copy);
    return code;
}

static void parse(const char *text) {
    assert_int_equal(parse_bytes(text, strlen(text)), 0);
    assert_non_null(in.root);
}

static void refuse(const char *text, int code, unsigned line, unsigned column) {
    assert_int_equal(parse_bytes(text, strlen(text)), code);
    assert_null(in.root);
    assert_null(in.arena.block);
    assert_int_not_equal(error.message[0], 0);
    assert_int_equal(error.line, line);
    assert_int_equal(error.column, column);
}

static void nesting(void **state) {
    (void)state;
    parse(" {\"a\": [1, null, true, false, []],\r\n\t\"b\":{}, \"\" : {\"c\":[[2]]}} ");
    assert_int_equal(json_in_type(in.root), JSON_OBJECT);
    assert_int_equal(json_in_length(in.root), 3);
    assert_string_equal(json_in_key(in.root, 0), "a");
    assert_string_equal(json_in_key(in.root, 2), "");
    assert_null(json_in_key(in.root, 3));
    const struct json_value *a = json_in_member(in.root, "a");
    assert_ptr_equal(a, json_in_at(in.root, 0));
    assert_int_equal(json_in_type(a), JSON_ARRAY);
    assert_int_equal(json_in_length(a), 5);
    assert_null(json_in_key(a, 0));
    assert_null(json_in_at(a, 5));
    bool flag = false;
    assert_int_equal(json_in_type(json_in_at(a, 1)), JSON_NULL);
    assert_int_equal(json_in_bool(json_in_at(a, 2), &flag), 0);
    assert_true(flag);
    assert_int_equal(json_in_bool(json_in_at(a, 3), &flag), 0);
    assert_false(flag);
    assert_int_equal(json_in_type(json_in_at(a, 4)), JSON_ARRAY);
    assert_int_equal(json_in_length(json_in_at(a, 4)), 0);
    const struct json_value *b = json_in_member(in.root, "b");
    assert_int_equal(b->line, 2);
    assert_int_equal(json_in_length(b), 0);
    const struct json_value *c = json_in_member(json_in_member(in.root, ""), "c");
    int64_t two;
    assert_int_equal(json_in_int64(json_in_at(json_in_at(c, 0), 0), &two), 0);
    assert_int_equal(two, 2);
    assert_null(json_in_member(in.root, "d"));
    assert_null(json_in_member(a, "a"));
    json_in_free(&in);
}

static void expect_double(const char *text, double value) {
    double got;
    parse(text);
    assert_int_equal(json_in_type(in.root), JSON_DOUBLE);
    assert_int_equal(json_in_double(in.root, &got), 0);
    assert_true(got == value);
    json_in_free(&in);
}

static void numbers(void **state) {
    (void)state;
    parse("[0, -1, -9223372036854775808, 9223372036854775807, 9223372036854775808, 18446744073709551615]");
    static const int64_t integers[] = {0, -1, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < 4; i++) {
        int64_t value;
        assert_int_equal(json_in_int64(json_in_at(in.root, i), &value), 0);
        assert_true(value == integers[i]);
    }
    int64_t value;
    uint64_t natural;
    double real;
    assert_int_equal(json_in_int64(json_in_at(in.root, 4), &value), ERR_FORMAT);
    assert_int_equal(json_in_uint64(json_in_at(in.root, 4), &natural), 0);
    assert_true(natural == (uint64_t)INT64_MAX + 1);
    assert_int_equal(json_in_uint64(json_in_at(in.root, 5), &natural), 0);
    assert_true(natural == UINT64_MAX);
    assert_int_equal(json_in_uint64(json_in_at(in.root, 3), &natural), 0);
    assert_true(natural == INT64_MAX);
    assert_int_equal(json_in_uint64(json_in_at(in.root, 2), &natural), ERR_FORMAT);
    assert_int_equal(json_in_double(json_in_at(in.root, 2), &real), 0);
    assert_true(real == (double)INT64_MIN);
    assert_int_equal(json_in_double(json_in_at(in.root, 5), &real), 0);
    assert_true(real == 0x1p64);
    json_in_free(&in);
    expect_double("18446744073709551616", 0x1p64);
    expect_double("-9223372036854775809", -0x1p63);
    expect_double("-0", 0);
    expect_double("0.1", 0.1);
    expect_double("1e2", 100);
    expect_double("-1.5E+3", -1500);
    expect_double("0e-0", 0);
    expect_double("1e-999", 0);
}

static void bad_numbers(void **state) {
    (void)state;
    refuse("01", ERR_FORMAT, 1, 3);
    refuse("-", ERR_TRUNCATED, 1, 2);
    refuse("-x", ERR_FORMAT, 1, 2);
    refuse("+1", ERR_FORMAT, 1, 1);
    refuse(".5", ERR_FORMAT, 1, 1);
    refuse("1.", ERR_TRUNCATED, 1, 3);
    refuse("[1.]", ERR_FORMAT, 1, 4);
    refuse("1e", ERR_TRUNCATED, 1, 3);
    refuse("[1e+]", ERR_FORMAT, 1, 5);
    refuse("1e999", ERR_FORMAT, 1, 6);
    refuse("0x10", ERR_FORMAT, 1, 2);
    refuse("NaN", ERR_FORMAT, 1, 1);
    refuse("Infinity", ERR_FORMAT, 1, 1);
    char digits[1000];
    memset(digits, '1', sizeof digits);
    assert_int_equal(parse_bytes(digits, sizeof digits), ERR_LIMIT);
}

static void string_is(const char *text, const char *bytes) {
    const char *got;
    size_t len;
    parse(text);
    assert_int_equal(json_in_text(in.root, &got, &len), 0);
    assert_string_equal(got, bytes);
    assert_int_equal(len, strlen(bytes));
    json_in_free(&in);
}

static void strings(void **state) {
    (void)state;
    string_is("\"\"", "");
    string_is("\"plain\"", "plain");
    string_is("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t");
    string_is("\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\"", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    string_is("\"\\ud800\\udc80\\udbff\\udfff\"", "\xf0\x90\x82\x80\xf4\x8f\xbf\xbf");
    string_is("\"\\udc80x\\udcff\\uDCE2\"", "\x80x\xff\xe2");
    // Raw bytes, UTF-8 or not.
    string_is("\"caf\xc3\xa9 \xff\xc3 \x7f\"", "caf\xc3\xa9 \xff\xc3 \x7f");
}

static void bad_strings(void **state) {
    (void)state;
    refuse("\"abc", ERR_TRUNCATED, 1, 1);
    refuse("\"abc\\", ERR_TRUNCATED, 1, 1);
    refuse("\"abc\\\"", ERR_TRUNCATED, 1, 1);
    refuse("\"a\nb\"", ERR_FORMAT, 1, 3);
    refuse("\"a\\x\"", ERR_FORMAT, 1, 3);
    refuse("\"\\u0000\"", ERR_FORMAT, 1, 2);
    refuse("\"\\u12\"", ERR_FORMAT, 1, 2);
    refuse("\"\\u12g4\"", ERR_FORMAT, 1, 2);
    refuse("\"\\ud83d\"", ERR_FORMAT, 1, 2);
    refuse("\"\\ud83dx\\ude00\"", ERR_FORMAT, 1, 2);
    refuse("\"\\ud83d\\u0041\"", ERR_FORMAT, 1, 2);
    refuse("\"\\ude00\"", ERR_FORMAT, 1, 2);
    refuse("\"\\udc7f\"", ERR_FORMAT, 1, 2);
    assert_int_equal(parse_bytes("\"a\0b\"", 5), ERR_FORMAT);
    assert_int_equal(parse_bytes("\"a\\\0\"", 5), ERR_FORMAT);
}

static void bad_structure(void **state) {
    (void)state;
    refuse("", ERR_TRUNCATED, 1, 1);
    refuse(" \n ", ERR_TRUNCATED, 2, 2);
    refuse("[", ERR_TRUNCATED, 1, 2);
    refuse("[1", ERR_TRUNCATED, 1, 3);
    refuse("[1,", ERR_TRUNCATED, 1, 4);
    refuse("[1,]", ERR_FORMAT, 1, 4);
    refuse("[1 2]", ERR_FORMAT, 1, 4);
    refuse("[1}", ERR_FORMAT, 1, 3);
    refuse("]", ERR_FORMAT, 1, 1);
    refuse("{", ERR_TRUNCATED, 1, 2);
    refuse("{\"a\"}", ERR_FORMAT, 1, 5);
    refuse("{\"a\":}", ERR_FORMAT, 1, 6);
    refuse("{\"a\":1,}", ERR_FORMAT, 1, 8);
    refuse("{a:1}", ERR_FORMAT, 1, 2);
    refuse("{1:1}", ERR_FORMAT, 1, 2);
    refuse("nul", ERR_FORMAT, 1, 1);
    refuse("[true\n,\n  trux]", ERR_FORMAT, 3, 3);
    refuse("1 2", ERR_FORMAT, 1, 3);
    refuse("[1] // no", ERR_FORMAT, 1, 5);
    refuse("\xef\xbb\xbf[1]", ERR_FORMAT, 1, 1);
    assert_int_equal(parse_bytes("1\0", 2), ERR_FORMAT);
}

static void keys_are_unique(void **state) {
    (void)state;
    refuse("{\"a\": 1,\n \"b\": 2,\n \"\\u0061\": 3}", ERR_FORMAT, 3, 0);
    enum { MEMBERS = 100000, LONGEST = 20 };
    char *text = malloc(MEMBERS * LONGEST);
    size_t len = 0;
    for (unsigned i = 0; i < MEMBERS; i++) {
        len += (size_t)sprintf(text + len, "%s\"k%u\":%u\n", i ? "," : "{", i * 7919 % MEMBERS, i);
    }
    strcpy(text + len, "}");
    parse(text);
    assert_int_equal(json_in_length(in.root), MEMBERS);
    assert_string_equal(json_in_key(in.root, 1), "k7919");
    json_in_free(&in);
    strcpy(text + len, ",\"k5\":0}");
    refuse(text, ERR_FORMAT, MEMBERS + 1, 0);
    free(text);
}

static void depth(void **state) {
    (void)state;
    enum { TOO_DEEP = 100000 };
    char *text = malloc(TOO_DEEP);
    memset(text, '[', TOO_DEEP);
    memset(text + JSON_IN_MAX_DEPTH, ']', JSON_IN_MAX_DEPTH);
    assert_int_equal(parse_bytes(text, 2 * JSON_IN_MAX_DEPTH), 0);
    json_in_free(&in);
    memset(text, '[', TOO_DEEP);
    assert_int_equal(parse_bytes(text, TOO_DEEP), ERR_LIMIT);
    free(text);
}

static void needs(void **state) {
    (void)state;
    parse("{\"n\": -3, \"x\": 2.5,\n \"name\": \"a\", \"list\": [],\n \"yes\": true, \"in\": {}}");
    int64_t integer;
    uint64_t natural;
    double real;
    bool flag;
    const char *text;
    const struct json_value *value;
    assert_int_equal(json_in_need_int64(in.root, "n", &integer, &error), 0);
    assert_int_equal(integer, -3);
    assert_int_equal(json_in_need_double(in.root, "n", &real, &error), 0);
    assert_int_equal(json_in_need_bool(in.root, "yes", &flag, &error), 0);
    assert_int_equal(json_in_need_text(in.root, "name", &text, NULL, &error), 0);
    assert_string_equal(text, "a");
    assert_int_equal(json_in_need_array(in.root, "list", &value, &error), 0);
    assert_int_equal(json_in_need_object(in.root, "in", &value, &error), 0);
    assert_int_equal(json_in_need_uint64(in.root, "n", &natural, &error), ERR_FORMAT);
    assert_string_equal(error.message, "\"n\" is not an integer of 64 bits without a sign");
    assert_int_equal(error.line, 1);
    assert_int_equal(json_in_need_array(in.root, "name", &value, &error), ERR_FORMAT);
    assert_string_equal(error.message, "\"name\" is not an array");
    assert_int_equal(error.line, 2);
    assert_int_equal(json_in_need_int64(in.root, "rep", &integer, &error), ERR_NOTHING);
    assert_string_equal(error.message, "there is no \"rep\"");
    assert_int_equal(json_in_need_object(NULL, "rep", &value, &error), ERR_NOTHING);
    assert_int_equal(json_in_fail(&error, json_in_member(in.root, "yes"), "%s", "no"), ERR_FORMAT);
    assert_int_equal(error.line, 3);
    json_in_free(&in);
}

static void files(void **state) {
    (void)state;
    assert_int_equal(json_in_read(&in, "/nowhere/at/all", &error), -ENOENT);
    assert_int_equal(error.line, 0);
    assert_int_equal(json_in_read(&in, "/", &error), -EISDIR);
    assert_int_equal(json_in_read(&in, "/dev/null", &error), ERR_TRUNCATED);
    char name[] = "/tmp/ioseer-json-XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "[1, 2]\n", 7), 7);
    close(fd);
    assert_int_equal(json_in_read(&in, name, &error), 0);
    assert_int_equal(json_in_length(in.root), 2);
    json_in_free(&in);
    unlink(name);
}

// Every byte but zero, in pairs: valid and invalid UTF-8, escapes, control characters.
static void put_byte_pairs(struct json_out *out) {
    for (unsigned a = 1; a < 256; a++) {
        for (unsigned b = 1; b < 256; b++) json_bytes(out, (char[]){(char)a, (char)b}, 2);
    }
}

static void expect_byte_pairs(const struct json_value *list) {
    assert_int_equal(json_in_length(list), 255 * 255);
    for (unsigned i = 0; i < 255 * 255; i++) {
        const char *text;
        size_t len;
        assert_int_equal(json_in_text(json_in_at(list, i), &text, &len), 0);
        assert_int_equal(len, 2);
        assert_memory_equal(text, ((char[]){(char)(1 + i / 255), (char)(1 + i % 255)}), 2);
    }
}

static void round_trip(void **state) {
    (void)state;
    static const double reals[] = {0.1, 1.0 / 3, DBL_MAX, DBL_MIN, 4.9406564584124654e-324, -1e300, 3.0};
    enum { REALS = sizeof reals / sizeof *reals };
    char *text;
    size_t len;
    FILE *stream = open_memstream(&text, &len);
    struct json_out *out = json_out_begin(stream, 2);
    json_object(out);
    json_key(out, "reals");
    json_array(out);
    for (size_t i = 0; i < REALS; i++) json_double(out, reals[i]);
    json_close(out);
    json_key(out, "pairs");
    json_array(out);
    put_byte_pairs(out);
    json_close(out);
    json_key(out, "most");
    json_unsigned(out, UINT64_MAX);
    json_key(out, "least");
    json_signed(out, INT64_MIN);
    json_close(out);
    assert_int_equal(json_out_end(out), 0);
    fclose(stream);

    assert_int_equal(json_in_parse(&in, text, len, &error), 0);
    free(text);
    for (size_t i = 0; i < REALS; i++) {
        double value;
        assert_int_equal(json_in_double(json_in_at(json_in_member(in.root, "reals"), i), &value), 0);
        assert_true(value == reals[i]);
    }
    expect_byte_pairs(json_in_member(in.root, "pairs"));
    uint64_t most;
    int64_t least;
    assert_int_equal(json_in_need_uint64(in.root, "most", &most, &error), 0);
    assert_true(most == UINT64_MAX);
    assert_int_equal(json_in_need_int64(in.root, "least", &least, &error), 0);
    assert_true(least == INT64_MIN);
    json_in_free(&in);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nesting),         cmocka_unit_test(numbers),     cmocka_unit_test(bad_numbers),
        cmocka_unit_test(strings),         cmocka_unit_test(bad_strings), cmocka_unit_test(bad_structure),
        cmocka_unit_test(keys_are_unique), cmocka_unit_test(depth),       cmocka_unit_test(needs),
        cmocka_unit_test(files),           cmocka_unit_test(round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
