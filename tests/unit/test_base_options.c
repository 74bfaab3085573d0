#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/options.h"

struct values {
    bool flag;
    bool quiet;
    const char *text;
    uint64_t number;
    uint64_t count;
    uint64_t size;
    double duration;
    struct option_list list, words;
    const char *choice, *choices;
};

// Parses the words (ended by NULL) after "verb"; `left` gets what remains.
static int parse(struct values *v, bool stop_at_word, const char *const *words, char **left, char problem[256]) {
    const struct option_row rows[] = {
        {"flag", 'f', OPTION_FLAG, &v->flag, NULL, "a flag"},
        {"quiet", 'q', OPTION_FLAG, &v->quiet, NULL, "another"},
        {"text", 't', OPTION_TEXT, &v->text, "WORD", "a text"},
        {"number", 0, OPTION_NUMBER, &v->number, "N", "a number"},
        {"count", 0, OPTION_COUNT, &v->count, "N", "a number from 1"},
        {"size", 0, OPTION_SIZE, &v->size, "SIZE", "a size"},
        {"duration", 0, OPTION_DURATION, &v->duration, "T", "a duration"},
        {"list", 'l', OPTION_LIST, &v->list, "WORD", "a list"},
        {"words", 0, OPTION_WORDS, &v->words, "WORD...", "words"},
        {"choice", 'c', OPTION_CHOICE, &v->choice, "none|some|all", "a choice"},
        {"choices", 0, OPTION_CHOICES, &v->choices, "some|all", "choices"},
        {0},
    };
    int argc = 1;
    left[0] = (char[]){"verb"};
    for (; words[argc - 1]; argc++) left[argc] = (char *)words[argc - 1];
    left[argc] = NULL;
    return options_parse(rows, stop_at_word, argc, left, problem);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void every_form(void **state) {
    (void)state;
    struct values v = {0};
    char *left[16];
    char problem[256];
    int count = parse(&v, false, WORDS("a", "-fq", "--text=x=y", "b", "--number", "12", "-lone", "-l", "two", "-"),
                      left, problem);
    assert_int_equal(count, 4);
    assert_string_equal(left[1], "a");
    assert_string_equal(left[2], "b");
    assert_string_equal(left[3], "-");
    assert_null(left[4]);
    assert_true(v.flag && v.quiet);
    assert_string_equal(v.text, "x=y");
    assert_int_equal(v.number, 12);
    assert_int_equal(v.list.count, 2);
    assert_string_equal(v.list.item[0], "one");
    assert_string_equal(v.list.item[1], "two");
    free(v.list.item);
}

static void words_up_to_the_next_option(void **state) {
    (void)state;
    struct values v = {0};
    char *left[16];
    char problem[256];
    assert_int_equal(parse(&v, false, WORDS("a", "--words", "b", "c", "-f", "d", "--words=e"), left, problem), 3);
    assert_string_equal(left[1], "a");
    assert_string_equal(left[2], "d");
    assert_int_equal(v.words.count, 3);
    assert_string_equal(v.words.item[1], "c");
    assert_string_equal(v.words.item[2], "e");
    assert_true(v.flag);
    free(v.words.item);
}

static void where_options_end(void **state) {
    (void)state;
    struct values v = {0};
    char *left[16];
    char problem[256];
    assert_int_equal(parse(&v, false, WORDS("a", "--", "-f", "--"), left, problem), 4);
    assert_string_equal(left[2], "-f");
    assert_string_equal(left[3], "--");
    assert_int_equal(parse(&v, true, WORDS("-q", "cmd", "-f"), left, problem), 3);
    assert_string_equal(left[1], "cmd");
    assert_string_equal(left[2], "-f");
    assert_int_equal(parse(&v, true, WORDS("--", "-cmd", "--", "-f"), left, problem), 4);
    assert_string_equal(left[1], "-cmd");
    assert_string_equal(left[2], "--");
    assert_false(v.flag);
    assert_true(v.quiet);
}

static void complaint(const char *word, const char *expected) {
    struct values v = {0};
    char *left[16];
    char problem[256];
    assert_int_equal(parse(&v, false, WORDS(word), left, problem), ERR_USAGE);
    assert_string_equal(problem, expected);
}

static void complaints(void **state) {
    (void)state;
    complaint("--nope", "--nope: unknown option");
    complaint("--nope=3", "--nope: unknown option");
    complaint("-fz", "-z: unknown option");
    complaint("--flag=1", "--flag: takes no value");
    complaint("--text", "--text: needs a value");
    complaint("-t", "-t: needs a value");
    complaint("--number=x", "--number x: not a whole number, 0 or more");
    complaint("--number=-1", "--number -1: not a whole number, 0 or more");
    complaint("--number=12x", "--number 12x: not a whole number, 0 or more");
    complaint("--count=0", "--count 0: not a whole number, 1 or more");
    complaint("--size=4Q", "--size 4Q: not a size (such as 4k, 16M, 1.5GiB, 100MB)");
    complaint("--duration=1d", "--duration 1d: not a duration (such as 10us, 5ms, 2s, 5min)");
    // However long the word, the problem stays one bounded line.
    char word[1000];
    memset(word, 'x', sizeof word);
    memcpy(word, "--", 2);
    word[sizeof word - 1] = 0;
    struct values v = {0};
    char *left[16];
    char problem[256];
    assert_int_equal(parse(&v, false, WORDS(word), left, problem), ERR_USAGE);
    assert_true(strlen(problem) < sizeof problem - 1);
}

static void sizes(void **state) {
    (void)state;
    uint64_t bytes;
    assert_int_equal(options_size("0", &bytes), 0);
    assert_int_equal(bytes, 0);
    assert_int_equal(options_size("4k", &bytes), 0);
    assert_int_equal(bytes, 4096);
    assert_int_equal(options_size("4K", &bytes), 0);
    assert_int_equal(bytes, 4096);
    assert_int_equal(options_size("16M", &bytes), 0);
    assert_int_equal(bytes, 16 << 20);
    assert_int_equal(options_size("2G", &bytes), 0);
    assert_int_equal(bytes, 2ull << 30);
    assert_int_equal(options_size("1m", &bytes), 0);
    assert_int_equal(bytes, 1 << 20);
    assert_int_equal(options_size("1MiB", &bytes), 0);
    assert_int_equal(bytes, 1 << 20);
    assert_int_equal(options_size("100MB", &bytes), 0);
    assert_int_equal(bytes, 100000000);
    assert_int_equal(options_size("512B", &bytes), 0);
    assert_int_equal(bytes, 512);
    assert_int_equal(options_size("1.5k", &bytes), 0);
    assert_int_equal(bytes, 1536);
    assert_int_equal(options_size("4.1MB", &bytes), 0);
    assert_int_equal(bytes, 4100000);
    assert_int_equal(options_size("18446744073709551615", &bytes), 0);
    assert_int_equal(bytes, UINT64_MAX);
    const char *bad[] = {"",
                         "k",
                         "-1",
                         "+1",
                         " 1",
                         "1kk",
                         "1Mb/s",
                         "1iB",
                         ".",
                         "17E",
                         "16.5E",
                         "1k ",
                         "18446744073709551616",
                         "17179869184G"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) assert_int_equal(options_size(bad[i], &bytes), ERR_USAGE);
}

static void durations(void **state) {
    (void)state;
    double seconds;
    assert_int_equal(options_duration("2", &seconds), 0);
    assert_true(seconds == 2);
    assert_int_equal(options_duration("2.5s", &seconds), 0);
    assert_true(seconds == 2.5);
    assert_int_equal(options_duration("5ms", &seconds), 0);
    assert_true(seconds == 5e-3);
    assert_int_equal(options_duration("10us", &seconds), 0);
    assert_true(seconds == 10 / 1e6);
    assert_int_equal(options_duration("5min", &seconds), 0);
    assert_true(seconds == 300);
    assert_int_equal(options_duration("1.5h", &seconds), 0);
    assert_true(seconds == 5400);
    assert_int_equal(options_duration("250ns", &seconds), 0);
    assert_true(seconds == 250 / 1e9);
    assert_int_equal(options_duration(".5", &seconds), 0);
    assert_true(seconds == 0.5);
    const char *bad[] = {"", ".", "s", "-1", "1e3", "0x10", "nan", "inf", "1m", "1s ", "1.2.3"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(options_duration(bad[i], &seconds), ERR_USAGE);
    }
}

static void choices_are_those_of_the_row(void **state) {
    (void)state;
    struct values v = {0};
    char *left[16], problem[256];
    assert_int_equal(parse(&v, false, WORDS("-csome", "--choices", "all,some", "-c", "all"), left, problem), 1);
    assert_string_equal(v.choice, "all");
    assert_string_equal(v.choices, "all,some");
    const char *bad[] = {"", "non", "nones", "some|all", "all,some", "|", "None"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(parse(&v, false, WORDS("--choice", bad[i]), left, problem), ERR_USAGE);
        assert_non_null(strstr(problem, ": must be none, some or all"));
    }
    const char *worse[] = {"", "none", "all,", ",all", "all,,some", "all some"};
    for (size_t i = 0; i < sizeof worse / sizeof *worse; i++)
        assert_int_equal(parse(&v, false, WORDS("--choices", worse[i]), left, problem), ERR_USAGE);
    assert_string_equal(problem, "--choices all some: must be some of some and all");
    assert_string_equal(v.choice, "all");
}

static void help_is_aligned(void **state) {
    (void)state;
    bool flag;
    const char *text;
    const struct option_row rows[] = {
        {"output", 'o', OPTION_TEXT, &text, "FILE", "where to"},
        {"json", 0, OPTION_FLAG, &flag, NULL, "as JSON"},
        {"kinds", 0, OPTION_CHOICES, &text, "one|another|a-third-that-is-long", "which"},
        {0},
    };
    char *printed = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&printed, &len);
    options_print(rows, out);
    fclose(out);
    assert_string_equal(printed, "  -o, --output FILE  where to\n"
                                 "      --json         as JSON\n"
                                 "      --kinds one|another|a-third-that-is-long,...\n"
                                 "                     which\n");
    free(printed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form),
        cmocka_unit_test(words_up_to_the_next_option),
        cmocka_unit_test(where_options_end),
        cmocka_unit_test(complaints),
        cmocka_unit_test(sizes),
        cmocka_unit_test(durations),
        cmocka_unit_test(choices_are_those_of_the_row),
        cmocka_unit_test(help_is_aligned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
