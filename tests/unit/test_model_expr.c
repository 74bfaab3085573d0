#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "model/expr.h"

static const struct expr_variables variables = {.idp = 5, .np = 16, .ph = 3, .rs = 4096};

// The value, or the code of the step that fails.
static int64_t result(const char *text) {
    struct expr *expr;
    int64_t value = 0;
    int code = expr_parse(text, &expr);
    if (code < 0) return code;
    code = expr_eval(expr, &variables, &value);
    expr_free(expr);
    return code < 0 ? code : value;
}

static void values(void **state) {
    (void)state;
    assert_int_equal(result("0"), 0);
    assert_int_equal(result("idP"), 5);
    assert_int_equal(result(" idP * 8 * rs "), 5 * 8 * 4096);
    assert_int_equal(result("idP*rs + np*rs*(ph-1)"), 5 * 4096 + 16 * 4096 * 2);
    assert_int_equal(result("(idP+1)*8*rs - 2*rs"), 46 * 4096);
    assert_int_equal(result("(idP/4)*1024 + (idP%4)*64"), 1024 + 64);
    assert_int_equal(result("(idP+np-1)/np"), 1);
    assert_int_equal(result("9223372036854775807"), INT64_MAX);
    assert_int_equal(result("-9223372036854775807-1"), INT64_MIN);
}

static void order(void **state) {
    (void)state;
    assert_int_equal(result("1+2*3"), 7);
    assert_int_equal(result("(1+2)*3"), 9);
    assert_int_equal(result("10-4-3"), 3);
    assert_int_equal(result("100/10/5"), 2);
    assert_int_equal(result("17/4%3"), 1);
    assert_int_equal(result("17%10*2"), 14);
    assert_int_equal(result("-2*3"), -6);
    assert_int_equal(result("2*-3"), -6);
    assert_int_equal(result("2--3"), 5);
    assert_int_equal(result("---idP"), -5);
    assert_int_equal(result("-(2-5)"), 3);
}

// Down, not towards zero.
static void division(void **state) {
    (void)state;
    assert_int_equal(result("7/2"), 3);
    assert_int_equal(result("7%2"), 1);
    assert_int_equal(result("(-7)/2"), -4);
    assert_int_equal(result("(-7)%2"), 1);
    assert_int_equal(result("7/(-2)"), -4);
    assert_int_equal(result("7%(-2)"), -1);
    assert_int_equal(result("(-8)/2"), -4);
    assert_int_equal(result("(-8)%2"), 0);
    assert_int_equal(result("(-7)/(-2)"), 3);
}

static void not_expressions(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",     " ",    "-",    "+1",  "1+",   "1 2", "2idP",  "idP idP", "idp",   "idPx", "n",    "()",   "(1", "1)",
        "(1))", "1**2", "1//2", "1.5", "0x10", "a",   "rs(1)", "(1)2",    "1\t+1", "np_",  "1+1;", "\xff", "%1",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_int_equal(result(bad[i]), ERR_FORMAT);
}

static void out_of_range(void **state) {
    (void)state;
    assert_int_equal(result("9223372036854775808"), -ERANGE);
    assert_int_equal(result("99999999999999999999999999"), -ERANGE);
    assert_int_equal(result("9223372036854775807+1"), -ERANGE);
    assert_int_equal(result("-9223372036854775807-2"), -ERANGE);
    assert_int_equal(result("4611686018427387904*2"), -ERANGE);
    assert_int_equal(result("-(-9223372036854775807-1)"), -ERANGE);
    assert_int_equal(result("(-9223372036854775807-1)/(-1)"), -ERANGE);
    assert_int_equal(result("(-9223372036854775807-1)%(-1)"), -ERANGE);
    assert_int_equal(result("1/0"), -EDOM);
    assert_int_equal(result("1%(idP-5)"), -EDOM);
}

// Fills text with `count` times `piece`, then `end`.
static const char *repeated(const char *piece, size_t count, const char *end) {
    static char text[3 * EXPR_MAX_BYTES];
    size_t len = strlen(piece);
    for (size_t i = 0; i < count; i++) memcpy(text + i * len, piece, len);
    strcpy(text + count * len, end);
    return text;
}

static void limits(void **state) {
    (void)state;
    assert_int_equal(result(repeated("1+", EXPR_MAX_BYTES / 2 - 1, "1")), EXPR_MAX_BYTES / 2);
    assert_int_equal(result(repeated("1+", EXPR_MAX_BYTES / 2, "1")), ERR_LIMIT);
    assert_int_equal(result(repeated("-", EXPR_MAX_BYTES - 2, "1")), 1);
    assert_int_equal(result(repeated("(", EXPR_MAX_BYTES, "")), ERR_LIMIT);
    assert_int_equal(result(repeated("(", EXPR_MAX_NESTING, "")), ERR_FORMAT);

    // The deepest possible stack.
    char text[EXPR_MAX_BYTES] = "";
    for (int i = 0; i < EXPR_MAX_NESTING; i++) strcat(text, "1+1*(");
    strcat(text, "1+1*1");
    for (int i = 0; i < EXPR_MAX_NESTING; i++) strcat(text, ")");
    assert_int_equal(result(text), EXPR_MAX_NESTING + 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),          cmocka_unit_test(order),        cmocka_unit_test(division),
        cmocka_unit_test(not_expressions), cmocka_unit_test(out_of_range), cmocka_unit_test(limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
