// The parts of the catalogue that need no logs: the rank test against tables, what counts as slower under simulated
// noise, names of any bytes, jobs as bytes, and versions of the tables.
#include "catalogue/job.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "catalogue/names.h"
#include "catalogue/rank_test.h"
#include "catalogue/schema.h"
#include "catalogue/slower.h"

// --- the rank test

static void assert_near(double found, double wanted) {
    if (fabs(found - wanted) > 1e-9 * fabs(wanted) + 1e-15) fail_msg("%g, not %g", found, wanted);
}

static void rank_test_is_exact(void **state) {
    (void)state;
    const double high[] = {11, 12, 13, 14, 15}, low[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    assert_near(rank_test(high, 5, low, 10), 1.0 / 3003);
    assert_near(rank_test(low, 10, high, 5), 1);
    assert_near(rank_test(high, 1, low, 1), 0.5);
    // Of 6 ways to choose 2 of 4, sums of ranks of 6 or more: {2, 4}, {3, 4}.
    assert_near(rank_test((double[]){2, 4}, 2, (double[]){1, 3}, 2), 2.0 / 6);
}

static void rank_test_takes_equal_values(void **state) {
    (void)state;
    const double same[] = {7, 7, 7, 7};
    assert_near(rank_test(same, 2, same, 4), 1);
    // Ranks 1, 2.5, 2.5, 4: {2.5, 4} or more is reached by both choices of the 2.5.
    assert_near(rank_test((double[]){2, 9}, 2, (double[]){1, 2}, 2), 2.0 / 6);
    assert_near(rank_test(same, 0, same, 4), 1);
}

static void medians(void **state) {
    (void)state;
    double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2};
    assert_near(rank_median(odd, 3), 2);
    assert_near(rank_median(even, 4), 2.5);
    assert_near(rank_spread((double[]){1, 2, 3, 4, 1000}, 5, 3), 1.4826);
}

// --- slower

static uint64_t random_state;

static double uniform(void) {
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(random_state >> 34) + 0.5) / (1 << 30);
}

static double normal(void) { return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform()); }

// Noise as on a shared file system: a spread of 30 %, and now and then a run that takes five times as long.
static double noise(void) { return exp(0.3 * normal()) * (uniform() < 0.05 ? 5 : 1); }

enum { RUNS = 64, SERIES = 1000 };

// Latest first; the last `slow` runs take `factor` times as long.
static void make_runs(struct run run[RUNS], size_t slow, double factor) {
    for (size_t i = 0; i < RUNS; i++) {
        double time = 100e9 * noise() * (i < slow ? factor : 1);
        run[i] =
            (struct run){(int64_t)(RUNS - i), (int64_t)(RUNS - i) * 3600, (int64_t)time, (int64_t)(time / 4), 1 << 30};
    }
}

static size_t count_slower(size_t slow, double factor) {
    size_t found = 0;
    for (size_t i = 0; i < SERIES; i++) {
        struct run run[RUNS];
        struct slower slower;
        make_runs(run, slow, factor);
        found += slower_find(run, RUNS, SLOWER_RUN, &slower) > 0;
    }
    return found;
}

static void noise_is_not_slower(void **state) {
    (void)state;
    random_state = 1;
    size_t found = count_slower(0, 1);
    print_message("# of %d programs that did not change, %zu are called slower\n", SERIES, found);
    assert_true(found <= SERIES / 200);
}

static void slower_is_found(void **state) {
    (void)state;
    random_state = 2;
    size_t found = count_slower(20, 1.5);
    print_message("# of %d programs that take 1.5 times as long, %zu are found\n", SERIES, found);
    assert_true(found > SERIES * 55 / 100);
    found = count_slower(10, 2);
    print_message("# of %d programs that take twice as long for 10 runs, %zu are found\n", SERIES, found);
    assert_true(found > SERIES * 85 / 100);
}

static void slower_says_what(void **state) {
    (void)state;
    struct run run[20];
    struct slower slower;
    for (size_t i = 0; i < 20; i++)
        run[i] = (struct run){20 - (int64_t)i, 1000 - (int64_t)i, 10000000000 + (int64_t)i, 1, 500};
    for (size_t i = 0; i < 5; i++) run[i].run_ns *= 2;
    assert_int_equal(slower_find(run, 20, SLOWER_RUN, &slower), 1);
    assert_int_equal(slower.recent, 5);
    assert_int_equal(slower.earlier, 15);
    assert_int_equal(slower.since_ns, 996);
    assert_true(fabs(slower.factor - 2) < 1e-6);
    assert_int_equal(slower_find(run, 20, SLOWER_IO, &slower), 0);
    assert_int_equal(slower_find(run, 12, SLOWER_RUN, &slower), 0); // 7 earlier runs are too few
}

// Runs that take twice as long because they move four times as many bytes.
static void larger_is_not_slower(void **state) {
    (void)state;
    struct run run[30];
    struct slower slower;
    for (size_t i = 0; i < 30; i++)
        run[i] = (struct run){1, 1000 - (int64_t)i, i < 10 ? 2000000000 : 1000000000, 1, i < 10 ? 400 : 100};
    assert_int_equal(slower_find(run, 30, SLOWER_RUN, &slower), 0);
}

// --- names and jobs

static void names_come_back(void **state) {
    (void)state;
    static const char *const names[] = {"",
                                        "plain",
                                        "caf\xc3\xa9",
                                        "\xff\xfe",
                                        "a\x1a"
                                        "b",
                                        "\x1a",
                                        "\x1a"
                                        "ff",
                                        "tab\t\n\x1b[31m",
                                        "\xed\xa0\x80"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct bytes stored = {0};
        assert_int_equal(name_put(&stored, names[i]), 0);
        for (size_t k = 0; k + 1 < stored.len; k++) assert_true(stored.data[k] != 0);
        name_get((char *)stored.data);
        assert_string_equal((char *)stored.data, names[i]);
        bytes_free(&stored);
    }
}

static void make_job(struct job *job) {
    *job = (struct job){0};
    for (unsigned i = 0; i < JOBS_NUMBERS; i++) job->number[i] = (int64_t)i * 1000;
    for (unsigned i = 0; i < JOB_TEXTS; i++)
        assert_int_equal(job_set_text(job, (enum job_text)i, i ? "text" : NULL), 0);
    for (int i = 0; i < 40; i++) {
        const struct job_part part = {(enum part_kind)(i % PART_KINDS), "part", {i, -i}};
        assert_int_equal(job_add_part(job, &part), 0);
    }
}

static void jobs_are_bytes(void **state) {
    (void)state;
    struct job job, copy;
    struct bytes data = {0};
    make_job(&job);
    assert_int_equal(job_put(&data, &job), 0);
    assert_int_equal(job_get(&copy, data.data, data.len), 0);
    assert_memory_equal(job.number, copy.number, sizeof job.number);
    assert_int_equal(copy.parts, 40);
    assert_int_equal(copy.part[39].number[1], -39);
    job_free(&copy);
    for (size_t len = 0; len < data.len; len++) {
        uint8_t *cut = malloc(len + 1);
        memcpy(cut, data.data, len);
        assert_true(job_get(&copy, cut, len) < 0);
        job_free(&copy);
        free(cut);
    }
    job_free(&job);
    bytes_free(&data);
}

static void months_are_utc(void **state) {
    (void)state;
    struct job job = {0};
    job_set_start(&job, INT64_C(1767225599) * 1000000000); // the last second of 2025
    assert_int_equal(job.number[JOBS_MONTH], 202512);
    job_set_start(&job, INT64_C(1767225600) * 1000000000);
    assert_int_equal(job.number[JOBS_MONTH], 202601);
}

// --- versions

static int make_table(struct store *store, struct problem *problem) {
    return store_run(store, "CREATE TABLE first (value INTEGER)", NULL, 0, problem);
}

static int add_column(struct store *store, struct problem *problem) {
    return store_run(store, "ALTER TABLE first ADD COLUMN more INTEGER", NULL, 0, problem);
}

static int fail_late(struct store *store, struct problem *problem) {
    int code = store_run(store, "CREATE TABLE third (value INTEGER)", NULL, 0, problem);
    return code < 0 ? code : problem_set(problem, -EIO, "step", "it fails");
}

static void versions(void **state) {
    static schema_step *const steps[] = {make_table, add_column, fail_late};
    char path[] = "/tmp/ioseer-test-catalogue-XXXXXX";
    struct problem problem = {0};
    struct store *store;
    (void)state;
    close(mkstemp(path));
    assert_int_equal(store_open(&store, path, STORE_WRITES, &problem), 0);
    assert_int_equal(schema_open_steps(store, STORE_READS, steps, 1, &problem), ERR_NOTHING);
    assert_int_equal(schema_open_steps(store, STORE_WRITES, steps, 1, &problem), 0);
    assert_int_equal(schema_open_steps(store, STORE_READS, steps, 1, &problem), 0);
    assert_int_equal(schema_open_steps(store, STORE_READS, steps, 2, &problem), ERR_VERSION);
    assert_int_equal(schema_open_steps(store, STORE_WRITES, steps, 2, &problem), 0);
    assert_int_equal(store_run(store, "INSERT INTO first (value, more) VALUES (1, 2)", NULL, 0, &problem), 0);
    // An older ioseer, for reading and for writing.
    assert_int_equal(schema_open_steps(store, STORE_READS, steps, 1, &problem), ERR_VERSION);
    assert_int_equal(schema_open_steps(store, STORE_WRITES, steps, 1, &problem), ERR_VERSION);
    // A step that fails leaves the version before it, and none of its tables.
    assert_int_equal(schema_open_steps(store, STORE_WRITES, steps, 3, &problem), -EIO);
    assert_false(store->operations->has_table(store, "third"));
    assert_int_equal(schema_open_steps(store, STORE_WRITES, steps, 2, &problem), 0);
    store_close(store);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_test_is_exact),
        cmocka_unit_test(rank_test_takes_equal_values),
        cmocka_unit_test(medians),
        cmocka_unit_test(noise_is_not_slower),
        cmocka_unit_test(slower_is_found),
        cmocka_unit_test(slower_says_what),
        cmocka_unit_test(larger_is_not_slower),
        cmocka_unit_test(names_come_back),
        cmocka_unit_test(jobs_are_bytes),
        cmocka_unit_test(months_are_utc),
        cmocka_unit_test(versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
