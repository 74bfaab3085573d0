#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/glob.h"
#include "model/file_set.h"

static struct file_sets sets;

#define LENGTH(list) (sizeof(list) / sizeof *(list))

// Each name comes back from its set and index, and the members of a set are all different.
static void make(const char *const *names, size_t count) {
    assert_int_equal(file_sets_make(&sets, names, count), 0);
    for (size_t i = 0; i < count; i++) {
        assert_in_range(sets.place[i].set, 0, sets.set_count - 1);
        const struct file_set *set = &sets.set[sets.place[i].set];
        assert_in_range(sets.place[i].member, 0, set->member_count - 1);
        assert_int_equal(file_set_check(set), 0);
        char name[PATH_MAX];
        assert_int_equal(file_set_member_name(set, sets.place[i].member, name, sizeof name), strlen(names[i]));
        assert_string_equal(name, names[i]);
        if (set->number_count) assert_true(glob_match(set->pattern, names[i]));
    }
}

static void expect_number(const struct file_set *set, size_t at, uint64_t first, int64_t step, uint64_t every,
                          uint64_t count, unsigned width) {
    assert_in_range(at, 0, set->number_count - 1);
    const struct file_set_number *number = &set->number[at];
    assert_null(number->value);
    assert_int_equal(number->first, first);
    assert_int_equal(number->step, step);
    assert_int_equal(number->every, every);
    assert_int_equal(number->count, count);
    assert_int_equal(number->width, width);
}

static void expect_set(size_t at, const char *pattern, size_t members, size_t numbers) {
    assert_in_range(at, 0, sets.set_count - 1);
    assert_string_equal(sets.set[at].pattern, pattern);
    assert_int_equal(sets.set[at].member_count, members);
    assert_int_equal(sets.set[at].number_count, numbers);
}

static char **new_names(size_t count) {
    char **names = calloc(count, sizeof *names);
    for (size_t i = 0; i < count; i++) names[i] = calloc(1, 64);
    return names;
}

static void make_and_free(char **names, size_t count) {
    make((const char *const *)names, count);
    for (size_t i = 0; i < count; i++) free(names[i]);
    free(names);
}

static void one_number(void **state) {
    (void)state;
    char **names = new_names(16);
    for (unsigned i = 0; i < 16; i++) snprintf(names[i], 64, "/d/out.%u", (i * 7 + 3) % 16);
    make_and_free(names, 16);
    assert_int_equal(sets.set_count, 1);
    expect_set(0, "/d/out.*", 16, 1);
    expect_number(&sets.set[0], 0, 0, 1, 1, 16, 1);
    for (unsigned i = 0; i < 16; i++) assert_int_equal(sets.place[i].member, (i * 7 + 3) % 16);
    file_sets_free(&sets);
}

static void nothing_in_common(void **state) {
    (void)state;
    make(NULL, 0);
    assert_int_equal(sets.set_count, 0);
    file_sets_free(&sets);
    static const char *const names[] = {"/d/a", "/d/b1", "/e/b1", "", "7", "/d/b1x"};
    make(names, LENGTH(names));
    assert_int_equal(sets.set_count, LENGTH(names));
    for (size_t i = 0; i < LENGTH(names); i++) expect_set(sets.place[i].set, names[i], 1, 0);
    file_sets_free(&sets);
}

static void constant_numbers_stay(void **state) {
    (void)state;
    static const char *const names[] = {"/d/dump_0001/part-003.dat", "/d/dump_0001/part-001.dat"};
    make(names, LENGTH(names));
    assert_int_equal(sets.set_count, 1);
    expect_set(0, "/d/dump_0001/part-*.dat", 2, 1);
    expect_number(&sets.set[0], 0, 1, 2, 1, 2, 3);
    file_sets_free(&sets);
}

static void grid(void **state) {
    (void)state;
    char **names = new_names(3 * 4);
    for (unsigned i = 0; i < 3 * 4; i++) snprintf(names[i], 64, "/d/dump_%04u/part-%u", 5 * (i % 3), i / 3);
    make_and_free(names, 3 * 4);
    assert_int_equal(sets.set_count, 1);
    expect_set(0, "/d/dump_*/part-*", 12, 2);
    expect_number(&sets.set[0], 0, 0, 5, 4, 3, 4);
    expect_number(&sets.set[0], 1, 0, 1, 1, 4, 1);
    assert_int_equal(sets.place[1].member, 4); // dump 5, part 0
    file_sets_free(&sets);
}

// The dump's number twice, node = rank / 4, and the last dump breaks off.
static void numbers_that_depend_on_others(void **state) {
    (void)state;
    enum { COUNT = 2 * 16 + 5 };
    char **names = new_names(COUNT);
    for (unsigned i = 0; i < COUNT; i++) {
        unsigned dump = i / 16, rank = i % 16;
        snprintf(names[i], 64, "/d%u/n%u/r%02u.%u", dump, rank / 4, rank, dump);
    }
    make_and_free(names, COUNT);
    assert_int_equal(sets.set_count, 1);
    expect_set(0, "/d*/n*/r*.*", COUNT, 4);
    expect_number(&sets.set[0], 0, 0, 1, 16, 3, 1);
    expect_number(&sets.set[0], 1, 0, 1, 4, 4, 1);
    expect_number(&sets.set[0], 2, 0, 1, 1, 16, 2);
    expect_number(&sets.set[0], 3, 0, 1, 16, 3, 1);
    file_sets_free(&sets);
}

static void irregular_numbers_are_lists(void **state) {
    (void)state;
    static const char *const names[] = {
        "a7.1", "a7.2", "a9.1", "a9.2", "a900000000000000000.1", "a900000000000000000.2"};
    make(names, LENGTH(names));
    expect_set(0, "a*.*", 6, 2);
    const struct file_set_number *outer = &sets.set[0].number[0];
    assert_int_equal(outer->every, 2);
    assert_int_equal(outer->count, 3);
    assert_memory_equal(outer->value, ((uint64_t[]){7, 9, 900000000000000000}), 3 * sizeof(uint64_t));
    expect_number(&sets.set[0], 1, 1, 1, 1, 2, 1);
    file_sets_free(&sets);
    static const char *const gap[] = {"a0.0", "a0.1", "a1.1", "a2.5"};
    make(gap, LENGTH(gap));
    expect_set(0, "a*.*", 4, 2);
    assert_int_equal(sets.set[0].number[0].count, 4);
    assert_int_equal(sets.set[0].number[1].count, 4);
    file_sets_free(&sets);
}

static void descending(void **state) {
    (void)state;
    static const char *const names[] = {"a0.6", "a1.4", "a2.2", "a3.0"};
    make(names, LENGTH(names));
    expect_number(&sets.set[0], 1, 6, -2, 1, 4, 1);
    file_sets_free(&sets);
}

static void padding(void **state) {
    (void)state;
    static const char *const apart[] = {"x007", "x7", "x010", "x123", "x0008"};
    make(apart, LENGTH(apart));
    assert_int_equal(sets.set_count, 3);
    assert_int_equal(sets.place[0].set, sets.place[2].set);
    assert_int_equal(sets.place[1].set, sets.place[3].set);
    file_sets_free(&sets);
    static const char *const together[] = {"x098", "x099", "x100", "x1000"};
    make(together, LENGTH(together));
    assert_int_equal(sets.set_count, 1);
    assert_int_equal(sets.set[0].number[0].width, 3);
    file_sets_free(&sets);
    static const char *const two_widths[] = {"x098", "x0099", "x100", "x1000"};
    make(two_widths, LENGTH(two_widths));
    assert_int_equal(sets.set_count, 2);
    assert_int_equal(sets.place[2].set, sets.place[0].set);
    assert_int_equal(sets.place[3].set, sets.place[1].set);
    file_sets_free(&sets);
    static const char *const zeros[] = {"x0", "x00", "x000", "x1"};
    make(zeros, LENGTH(zeros));
    assert_int_equal(sets.set_count, 3);
    assert_int_equal(sets.place[0].set, sets.place[3].set);
    file_sets_free(&sets);
}

static void long_numbers_are_text(void **state) {
    (void)state;
    static const char *const names[] = {"a999999999999999998", "a999999999999999999", "a1000000000000000000",
                                        "a1000000000000000001"};
    make(names, LENGTH(names));
    assert_int_equal(sets.set_count, 3);
    expect_set(sets.place[0].set, "a*", 2, 1);
    expect_set(sets.place[2].set, names[2], 1, 0);
    file_sets_free(&sets);
}

static void odd_names(void **state) {
    (void)state;
    static const char *const names[] = {"/a*%d\\?[1", "/a*%d\\?[2", "/\xff\xfe.1", "/\xff\xfe.2", "/only*\\1"};
    make(names, LENGTH(names));
    assert_int_equal(sets.set_count, 3);
    expect_set(sets.place[0].set, "/a\\*%d\\\\\\?\\[*", 2, 1);
    expect_set(sets.place[2].set, "/\xff\xfe.*", 2, 1);
    expect_set(sets.place[4].set, names[4], 1, 0);
    file_sets_free(&sets);
}

static void equal_names_are_one_member(void **state) {
    (void)state;
    static const char *const names[] = {"b2", "a", "b1", "a", "b2", "b3"};
    make(names, LENGTH(names));
    assert_int_equal(sets.set_count, 2);
    expect_set(sets.place[1].set, "a", 1, 0);
    expect_set(sets.place[0].set, "b*", 3, 1);
    assert_int_equal(sets.place[0].member, 1);
    assert_int_equal(sets.place[4].member, 1);
    file_sets_free(&sets);
}

static void names_need_room(void **state) {
    (void)state;
    static const char *const names[] = {"b2", "b100"};
    make(names, LENGTH(names));
    char name[5];
    assert_int_equal(file_set_member_name(&sets.set[0], 1, name, 0), ERR_LIMIT);
    assert_int_equal(file_set_member_name(&sets.set[0], 1, name, 4), ERR_LIMIT);
    assert_int_equal(file_set_member_name(&sets.set[0], 1, name, 5), 4);
    assert_string_equal(name, "b100");
    file_sets_free(&sets);
}

static void sets_of_a_file_are_checked(void **state) {
    (void)state;
    struct file_set_number number = {.first = 1, .step = -2, .every = 1, .count = 3, .width = 1};
    struct file_set set = {.pattern = (char[]){"a*\\*"}, .member_count = 3, .number_count = 1, .number = &number};
    assert_int_equal(file_set_check(&set), 0);
    char name[32];
    assert_int_equal(file_set_member_name(&set, 1, name, sizeof name), 22); // wraps, harmlessly
    number.every = 0;
    assert_int_equal(file_set_check(&set), ERR_FORMAT);
    number.every = 1, number.count = 0;
    assert_int_equal(file_set_check(&set), ERR_FORMAT);
    number.count = 3, number.width = 21;
    assert_int_equal(file_set_check(&set), ERR_FORMAT);
    number.width = 1, set.pattern[1] = 'b';
    assert_int_equal(file_set_check(&set), ERR_FORMAT);
    set.pattern[1] = '*', set.pattern[3] = 0;
    assert_int_equal(file_set_check(&set), ERR_FORMAT);
    set.member_count = 0;
    assert_int_equal(file_set_check(&set), ERR_FORMAT);
}

// Short names of few letters collide in every possible way.
static void random_names(void **state) {
    (void)state;
    static const char letters[] = "0011279a/*\\\xff";
    enum { COUNT = 300, ROUNDS = 200 };
    uint64_t seed = 1;
    for (unsigned round = 0; round < ROUNDS; round++) {
        char **names = new_names(COUNT);
        for (unsigned i = 0; i < COUNT; i++) {
            seed = seed * 6364136223846793005 + 1442695040888963407;
            size_t len = (seed >> 33) % 8;
            for (size_t at = 0; at < len; at++) {
                seed = seed * 6364136223846793005 + 1442695040888963407;
                names[i][at] = letters[(seed >> 33) % (sizeof letters - 1)];
            }
        }
        make_and_free(names, COUNT);
        size_t members = 0;
        for (size_t i = 0; i < sets.set_count; i++) members += sets.set[i].member_count;
        assert_in_range(members, 1, COUNT);
        file_sets_free(&sets);
    }
}

static void many_names(void **state) {
    (void)state;
    enum { COUNT = 100000 };
    char **names = new_names(COUNT);
    for (unsigned i = 0; i < COUNT; i++) snprintf(names[i], 64, "/scratch/run/step%06u/rank.%u", i % 100, i / 100);
    make_and_free(names, COUNT);
    assert_int_equal(sets.set_count, 1);
    expect_number(&sets.set[0], 0, 0, 1, 1000, 100, 6);
    expect_number(&sets.set[0], 1, 0, 1, 1, 1000, 1);
    file_sets_free(&sets);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_number),
        cmocka_unit_test(nothing_in_common),
        cmocka_unit_test(constant_numbers_stay),
        cmocka_unit_test(grid),
        cmocka_unit_test(numbers_that_depend_on_others),
        cmocka_unit_test(irregular_numbers_are_lists),
        cmocka_unit_test(descending),
        cmocka_unit_test(padding),
        cmocka_unit_test(long_numbers_are_text),
        cmocka_unit_test(odd_names),
        cmocka_unit_test(equal_names_are_one_member),
        cmocka_unit_test(names_need_room),
        cmocka_unit_test(sets_of_a_file_are_checked),
        cmocka_unit_test(random_names),
        cmocka_unit_test(many_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
