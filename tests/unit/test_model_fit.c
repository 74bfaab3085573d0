#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "base/err.h"
#include "model/expr.h"
#include "model/fit.h"

enum { MAX_POINTS = 100000 };
#define MIB 1048576

static struct fit_point points[MAX_POINTS];

// The points that an expression gives for these ranks and phases.
struct range {
    int64_t np;
    int64_t rs;
    int64_t first, end, step; // of ranks; end 0 is np, step 0 is 1
    int64_t phases;           // 0 is 1
};

static struct fit_input made_by(const char *text, struct range range) {
    struct fit_input input = {.point = points, .np = range.np, .rs = range.rs};
    struct expr *expr;
    assert_int_equal(expr_parse(text, &expr), 0);
    for (int64_t ph = 1; ph <= (range.phases ? range.phases : 1); ph++) {
        for (int64_t idp = range.first; idp < (range.end ? range.end : range.np); idp += range.step ? range.step : 1) {
            struct expr_variables variables = {.idp = idp, .np = range.np, .ph = ph, .rs = range.rs};
            struct fit_point *point = &points[input.count++];
            *point = (struct fit_point){.idp = idp, .ph = ph};
            assert_int_equal(expr_eval(expr, &variables, &point->value), 0);
        }
    }
    expr_free(expr);
    return input;
}

static struct fit_input of_ranks(const int64_t *values, int64_t count, int64_t rs) {
    struct fit_input input = {.point = points, .count = (size_t)count, .np = count, .rs = rs};
    for (int64_t i = 0; i < count; i++) points[i] = (struct fit_point){.idp = i, .ph = 1, .value = values[i]};
    return input;
}

static void assert_fits(const struct fit_input *input, const char *expected) {
    char text[FIT_TEXT_BYTES];
    assert_int_equal(fit_expression(input, text), 0);
    assert_string_equal(text, expected);
}

static void assert_table(const struct fit_input *input) {
    char text[FIT_TEXT_BYTES];
    assert_int_equal(fit_expression(input, text), ERR_NOTHING);
}

static void assert_same(const char *text, struct range range) {
    struct fit_input input = made_by(text, range);
    assert_fits(&input, text);
}

static void assert_becomes(const char *text, struct range range, const char *expected) {
    struct fit_input input = made_by(text, range);
    assert_fits(&input, expected);
}

static void linear(void **state) {
    (void)state;
    struct range sixteen = {.np = 16, .rs = 32 * MIB};
    assert_same("0", sixteen);
    assert_same("rs", sixteen);
    assert_same("2*rs", sixteen);
    assert_same("64", sixteen);
    assert_same("-64", sixteen);
    assert_same("idP", sixteen);
    assert_same("idP*rs", sixteen);
    assert_same("idP*8*rs", sixteen);
    assert_same("idP*8*rs + 6*rs", sixteen);
    assert_same("idP*8*rs - 2*rs", sixteen);
    assert_same("idP*1000 + 64", sixteen);
    assert_same("5*rs - idP*rs", sixteen);
    assert_same("-idP*7 - 1", sixteen);
    assert_becomes("(idP+1)*8*rs - 2*rs", sixteen, "idP*8*rs + 6*rs");
    assert_becomes("idP*np*rs", sixteen, "idP*16*rs");
    assert_same("idP*4096", (struct range){.np = 2});
    assert_same("idP*4096", (struct range){.np = 9, .rs = 1});
}

static void phases(void **state) {
    (void)state;
    struct range dumps = {.np = 16, .rs = 2662400, .phases = 40};
    assert_becomes("rs*idP + rs*(ph-1) + rs*(np-1)*(ph-1)", dumps, "idP*rs + np*rs*(ph-1)");
    assert_same("idP*rs + 3*np*rs*(ph-1)", dumps);
    assert_same("idP*rs + np*rs*(ph-1) + 64", dumps);
    assert_same("idP*rs + 5*rs*(ph-1)", dumps);
    assert_same("idP*40*rs + rs*(ph-1)", dumps);
    assert_same("np*rs*(ph-1)", dumps);
    assert_same("(ph-1)", dumps);
    assert_same("1000*(ph-1) - 7", dumps);
    assert_same("idP*rs*(ph-1)", dumps);
    assert_same("idP*100 + idP*3*(ph-1) + 8*(ph-1) + 1", dumps);
    assert_same("idP*rs - np*rs*(ph-1)", dumps);
    assert_same("rs*(ph-1)", (struct range){.np = 1, .rs = 4096, .phases = 3});
    assert_same("(idP/4)*1024 + (idP%4)*64 + np*rs*(ph-1)", dumps);
    assert_same("((idP+np-1)/np)*100 + np*rs*(ph-1)", dumps);
}

static void rounds_of_phases(void **state) {
    (void)state;
    struct range dumps = {.np = 4, .rs = 4096, .phases = 20};
    assert_same("((ph-1)/5)", dumps); // members of a set of files
    assert_same("idP*rs + np*rs*((ph-1)%5)", dumps);
    assert_same("idP*rs + 1000000*((ph-1)/9) + np*rs*((ph-1)%9) + 64", dumps); // the last round is not complete
    assert_same("8*((ph-1)/2) - ((ph-1)%2)", (struct range){.np = 1, .phases = 5});
    // Two rounds are two rules.
    struct fit_input input = made_by("idP*rs + np*rs*((ph-1)%10)", dumps);
    assert_table(&input);
    input = made_by("idP*rs + np*rs*((ph-1)%5)", dumps);
    points[77].value++;
    assert_table(&input);
}

static void np_not_in_rank_terms(void **state) {
    (void)state;
    struct fit_input input = made_by("idP*3*np*rs + np*rs", (struct range){.np = 16, .rs = 4096});
    assert_fits(&input, "idP*48*rs + 16*rs");
}

static void grids(void **state) {
    (void)state;
    assert_same("(idP/4)*1024 + (idP%4)*64", (struct range){.np = 16, .rs = 100});
    assert_same("(idP/4)*40*rs + (idP%4)*rs", (struct range){.np = 16, .rs = 100});
    assert_same("(idP%4)*64", (struct range){.np = 16});
    assert_same("(idP/4)*64 + 3", (struct range){.np = 16});
    assert_same("(idP/2)*100 + (idP%2)", (struct range){.np = 4});
    assert_same("(idP/3)*100 - (idP%3)*2", (struct range){.np = 9});
    assert_same("(idP/16)*4096 + (idP/4%4)*512 + (idP%4)*64", (struct range){.np = 64});
    assert_same("(idP/4)*4096 + (idP/2%2)*512 + (idP%2)*64 + 1", (struct range){.np = 8});
    assert_same("(idP/15)*999 + (idP/5%3)*77 + (idP%5)", (struct range){.np = 100});
    assert_same("(idP/7)*100 + (idP%7)", (struct range){.np = 64});
}

static void pieces(void **state) {
    (void)state;
    assert_same("((idP+np-1)/np)*4096", (struct range){.np = 16});
    assert_same("((idP+np-1)/np)", (struct range){.np = 4});
    assert_same("idP*64 + ((idP+np-1)/np)*4096 + 8", (struct range){.np = 16});
    assert_same("((idP+1)/np)*4096 + 1", (struct range){.np = 16});
    assert_same("idP*64 - ((idP+1)/np)*10", (struct range){.np = 16});
    assert_same("idP*64 + ((idP+np-1)/np)*4 - ((idP+1)/np)*10", (struct range){.np = 16});
    assert_same("idP*10 + ((idP+np-37)/np)*5", (struct range){.np = 64});
    // 100 blocks for 16 ranks: four have 7, the others 6.
    assert_same("idP*7*rs - (idP-4)*((idP+np-4)/np)*rs", (struct range){.np = 16, .rs = 512});
    assert_same("idP*3 + ((idP+np-6)/np)*1000 + (idP-6)*((idP+np-6)/np)*4", (struct range){.np = 16});
}

static void some_ranks(void **state) {
    (void)state;
    assert_same("idP*rs", (struct range){.np = 64, .rs = 4096, .first = 3, .step = 7});
    assert_same("(idP/4)*1001", (struct range){.np = 64, .step = 4});
    assert_same("(idP/8)*1001 + (idP%8)*5", (struct range){.np = 64, .first = 10, .end = 50});
    assert_same("idP*5 + ((idP+np-9)/np)*100", (struct range){.np = 16, .first = 8});
    assert_same("77", (struct range){.np = 64, .first = 5, .end = 6});
    // One rank per phase: rank and phase cannot be distinguished, so the rank is used.
    for (int64_t i = 0; i < 8; i++) points[i] = (struct fit_point){.idp = i, .ph = i + 1, .value = i * 100};
    struct fit_input input = {.point = points, .count = 8, .np = 8, .rs = 100};
    assert_fits(&input, "idP*rs");
}

static void by_accident(void **state) {
    (void)state;
    const int64_t three[] = {0, 5, 7};
    const int64_t four[] = {0, 1, 2, 90};
    const int64_t five[] = {3, 1, 4, 1, 5};
    struct fit_input input = of_ranks(three, 3, 0);
    assert_table(&input);
    input = of_ranks(four, 4, 0);
    assert_fits(&input, "idP + ((idP+1)/np)*87");
    input = of_ranks(five, 5, 0);
    assert_table(&input);
    // More phases do not confirm a grid of ranks.
    for (int64_t i = 0; i < 30; i++) {
        points[i] = (struct fit_point){.idp = i % 3, .ph = i / 3 + 1, .value = three[i % 3] + i / 3};
    }
    input = (struct fit_input){.point = points, .count = 30, .np = 3};
    assert_table(&input);
}

static void odd_points(void **state) {
    (void)state;
    char text[FIT_TEXT_BYTES];
    struct fit_input input = {.point = points, .np = 4};
    assert_table(&input);
    input.count = 1;
    points[0] = (struct fit_point){.idp = 3, .ph = 9, .value = -5};
    assert_fits(&input, "-5");
    points[1] = points[0];
    input.count = 2;
    assert_fits(&input, "-5");
    points[1].value = 6;
    assert_table(&input);

    for (unsigned i = 0; i < 40; i++) points[i] = (struct fit_point){.idp = i % 4, .ph = 1, .value = i % 4 * 9};
    input.count = 40;
    assert_fits(&input, "idP*9");
    points[39].value++;
    assert_table(&input);
    points[39].value--;

    points[7].idp = 4;
    assert_int_equal(fit_expression(&input, text), ERR_USAGE);
    points[7].idp = -1;
    assert_int_equal(fit_expression(&input, text), ERR_USAGE);
    points[7].idp = 3;
    points[7].ph = 0;
    assert_int_equal(fit_expression(&input, text), ERR_USAGE);
    points[7].ph = 1;
    input.np = 0;
    assert_int_equal(fit_expression(&input, text), ERR_USAGE);
}

static void large_values(void **state) {
    (void)state;
    const int64_t top = (int64_t)1 << 62;
    const int64_t two[] = {0, top};
    const int64_t far[] = {INT64_MIN, INT64_MAX};
    const int64_t tops[] = {top, top, top};
    const int64_t wild[] = {top, -top, INT64_MAX, INT64_MIN, 0, -top + 1, top - 1, 1, INT64_MAX, 17};
    struct fit_input input = of_ranks(two, 2, 0);
    assert_fits(&input, "idP*4611686018427387904");
    input.rs = top;
    assert_fits(&input, "idP*rs");
    input = of_ranks(tops, 3, 3);
    assert_fits(&input, "4611686018427387904");
    input = of_ranks(far, 2, 0); // the slope has 64 bits
    assert_table(&input);
    input = of_ranks(wild, 10, 2);
    assert_table(&input);
    assert_same("idP*46116860184273879 - 4611686018427387904", (struct range){.np = 100});
    assert_same("(idP/10)*461168601842738790 + (idP%10)*3", (struct range){.np = 100});
    // The points lie so far from rank 0 that the constant would not fit.
    input = (struct fit_input){.point = points, .count = 2, .np = 1000};
    points[0] = (struct fit_point){.idp = 998, .ph = 1, .value = -top};
    points[1] = (struct fit_point){.idp = 999, .ph = 1, .value = top};
    assert_table(&input);
}

static uint64_t random_state = 1;

static int64_t random_below(int64_t end) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((random_state >> 33) % (uint64_t)end);
}

static int64_t random_coefficient(int64_t rs) {
    int64_t number = random_below(4) ? random_below(100000) + 1 : -random_below(1000) - 1;
    return random_below(2) ? number : number * rs;
}

// One form each, with letters for the numbers: a to e coefficients, m and n sides or starts of blocks.
static const char *const forms[] = {
    "a",
    "a*idP + b",
    "a*(ph-1) + b",
    "a*idP + b*(ph-1) + c",
    "a*idP + b*idP*(ph-1) + c*(ph-1) + d",
    "a*(idP%m) + b*(idP/m) + c",
    "a*(idP%m) + b*(idP/m) + c + e*(ph-1)",
    "a*(idP%m) + b*(idP/m%n) + c*(idP/(m*n)) + d",
    "a*(idP%m) + b*(idP/m%n) + c*(idP/(m*n)) + d + e*(ph-1)",
    "a*((idP+np-1)/np) + b*idP + c",
    "a*((idP+1)/np) + b*idP + c + e*(ph-1)",
    "a*((idP+1)/np) + b*idP + c*((idP+np-1)/np) + d",
    "a*((idP+np-m)/np) + b*idP + c + e*(ph-1)",
    "a*(idP-m)*((idP+np-m)/np) + b*idP + c",
    "a*(idP-m)*((idP+np-m)/np) + b*idP + c*((idP+np-m)/np) + d",
};

// Puts numbers for the letters of a form.
static void fill_in(const char *form, int64_t m, int64_t n, int64_t rs, char *text, size_t room) {
    size_t len = 0;
    for (const char *at = form; *at; at++) {
        bool is_word = at[0] == 'i' || at[0] == 'p' || (at[0] == 'n' && at[1] == 'p');
        if (is_word) {
            size_t word = at[0] == 'i' ? 3 : 2;
            len += (size_t)snprintf(text + len, room - len, "%.*s", (int)word, at);
            at += word - 1;
        } else if (*at == 'm' || *at == 'n') {
            len += (size_t)snprintf(text + len, room - len, "%lld", (long long)(*at == 'm' ? m : n));
        } else if (*at >= 'a' && *at <= 'e') {
            len += (size_t)snprintf(text + len, room - len, "(%lld)", (long long)random_coefficient(rs));
        } else {
            len += (size_t)snprintf(text + len, room - len, "%c", *at);
        }
    }
}

static void shuffle(size_t count) {
    for (size_t i = count; i > 1; i--) {
        size_t other = (size_t)random_below((int64_t)i);
        struct fit_point point = points[i - 1];
        points[i - 1] = points[other];
        points[other] = point;
    }
}

static void assert_exact(const struct fit_input *input, const char *text) {
    struct expr *expr;
    assert_int_equal(expr_parse(text, &expr), 0);
    for (size_t i = 0; i < input->count; i++) {
        const struct fit_point *point = &input->point[i];
        struct expr_variables variables = {.idp = point->idp, .np = input->np, .ph = point->ph, .rs = input->rs};
        int64_t value;
        assert_int_equal(expr_eval(expr, &variables, &value), 0);
        assert_int_equal(value, point->value);
    }
    expr_free(expr);
}

static void any_form(void **state) {
    (void)state;
    for (int round = 0; round < 1500; round++) {
        const char *form = forms[(size_t)round % (sizeof forms / sizeof *forms)];
        int64_t m = 2 + random_below(6);
        int64_t n = 2 + random_below(4);
        struct range range = {.np = m * n * (2 + random_below(4)), .rs = 1 + random_below(5000)};
        if (random_below(3) == 0) range.np += random_below(5);
        range.phases = 1 + random_below(5);
        char made[512], text[FIT_TEXT_BYTES];
        fill_in(form, m, n, range.rs, made, sizeof made);
        struct fit_input input = made_by(made, range);
        if (random_below(2)) shuffle(input.count);
        int code = fit_expression(&input, text);
        if (code != 0) fail_msg("%s of %lld processes: %s", made, (long long)range.np, err_text(code));
        assert_exact(&input, text);
    }
}

// For any values, the result is right or nothing.
static void any_points(void **state) {
    (void)state;
    for (int round = 0; round < 3000; round++) {
        struct fit_input input = {.point = points, .np = 1 + random_below(40), .rs = random_below(20)};
        input.count = (size_t)(1 + random_below(60));
        int64_t different = 1 + random_below(6);
        int shift = (int)random_below(61);
        for (size_t i = 0; i < input.count; i++) {
            int64_t value = (random_below(different) - different / 2) * ((int64_t)1 << shift);
            points[i] = (struct fit_point){.idp = random_below(input.np), .ph = 1 + random_below(3), .value = value};
        }
        char text[FIT_TEXT_BYTES];
        int code = fit_expression(&input, text);
        if (code == 0) {
            assert_exact(&input, text);
        } else {
            assert_int_equal(code, ERR_NOTHING);
        }
    }
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// Generous limits: work that is quadratic in ranks would take minutes.
static void many_ranks(void **state) {
    (void)state;
    struct range all = {.np = MAX_POINTS, .rs = 4096};
    char text[FIT_TEXT_BYTES];
    double start = seconds();
    assert_same("idP*8*rs + rs", all);
    assert_same("(idP/1000)*1000001 + (idP/20%50)*777 + (idP%20)*3", all);
    assert_same("idP*8*rs + ((idP+1)/np)*5", all);
    assert_same("idP*8*rs + ((idP+np-77777)/np)*5", all);
    print_message("# fits of %d ranks: %.3f s\n", MAX_POINTS, seconds() - start);

    all.np = 83160; // has 128 divisors
    struct fit_input input = made_by("idP*8*rs", all);
    for (size_t i = 0; i < input.count; i++) points[i].value += random_below(2);
    double random_start = seconds();
    assert_int_equal(fit_expression(&input, text), ERR_NOTHING);
    print_message("# no fit of random values: %.3f s\n", seconds() - random_start);
    input = made_by("idP*8*rs", all);
    for (size_t i = 1; i < 5; i++) points[i * 16001].value++;
    double outliers_start = seconds();
    assert_int_equal(fit_expression(&input, text), ERR_NOTHING);
    print_message("# no fit of a line with outliers: %.3f s\n", seconds() - outliers_start);
    assert_true(seconds() - start < 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear),
        cmocka_unit_test(phases),
        cmocka_unit_test(rounds_of_phases),
        cmocka_unit_test(np_not_in_rank_terms),
        cmocka_unit_test(grids),
        cmocka_unit_test(pieces),
        cmocka_unit_test(some_ranks),
        cmocka_unit_test(by_accident),
        cmocka_unit_test(odd_points),
        cmocka_unit_test(large_values),
        cmocka_unit_test(any_form),
        cmocka_unit_test(any_points),
        cmocka_unit_test(many_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
