// The job and the result come back as they were written, and a file with missing or extra keys is refused.
#include "replay/contract.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char path[] = "/tmp/ioseer-contract.XXXXXX";

static int make_file(void **state) {
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state) {
    (void)state;
    return unlink(path);
}

static const struct replay_job job = {.model = "/m \"1\"",
                                      .directory = "/d\xff",
                                      .result = "/r",
                                      .phases = "1,3-5",
                                      .variant = "posix",
                                      .task = TASK_PREPARE,
                                      .cache = CACHE_WARM,
                                      .program = 2,
                                      .np = 1000000,
                                      .think = true,
                                      .null = true,
                                      .delay_ns = UINT64_MAX,
                                      .delay_rate = 2.5e9,
                                      .seconds = 1.5};

static void test_job(void **state) {
    struct replay_job read = {0};
    struct json_in memory;
    struct json_in_error error;
    (void)state;
    assert_int_equal(contract_write_job(&job, path), 0);
    assert_int_equal(contract_read_job(&read, &memory, path, &error), 0);
    assert_string_equal(read.model, job.model);
    assert_string_equal(read.directory, job.directory);
    assert_string_equal(read.phases, job.phases);
    assert_string_equal(read.variant, job.variant);
    assert_null(read.progress);
    assert_int_equal(read.task, TASK_PREPARE);
    assert_int_equal(read.cache, CACHE_WARM);
    assert_int_equal(read.np, 1000000);
    assert_true(read.think && read.null && !read.verify);
    assert_true(read.delay_ns == UINT64_MAX && read.delay_rate == 2.5e9 && read.seconds == 1.5);
    json_in_free(&memory);
}

static void test_result(void **state) {
    struct replay_phase phases[] = {{.time = 1.5, .others = 0.25}, {.time = 0.5, .latency_p99 = 1e-6}};
    static struct replay_timing timing = {
        .kind = TIMING_COLLECTIVE, .write = true, .bytes = 7, .rounds = 2, .pieces = 3, .seconds = 0.5, .memory = 0.25};
    struct replay_result result = {.phase = phases, .phases = 2, .failed = 3, .message_bandwidth = 1e9}, read;
    result.timing = &timing;
    result.timings = 1;
    strcpy(result.library, "romio");
    struct json_in_error error;
    (void)state;
    strcpy(result.first_failure, "open: /x\n: No such file");
    assert_int_equal(contract_write_result(&result, path), 0);
    assert_int_equal(contract_read_result(&read, path, &error), 0);
    assert_int_equal(read.phases, 2);
    assert_memory_equal(read.phase, phases, sizeof phases);
    assert_true(read.total == 2 && read.failed == 3 && read.message_bandwidth == 1e9);
    assert_string_equal(read.first_failure, result.first_failure);
    assert_int_equal(read.timings, 1);
    assert_memory_equal(read.timing, &timing, sizeof timing);
    assert_string_equal(read.library, "romio");
    free(read.phase);
    free(read.timing);
}

// Writes the job with one text replaced, and returns why it is refused.
static const char *refusal(const char *old, const char *new) {
    static struct json_in_error error;
    struct json_in memory;
    struct replay_job read;
    char text[4096] = "";
    assert_int_equal(contract_write_job(&job, path), 0);
    FILE *file = fopen(path, "r+");
    size_t length = fread(text, 1, sizeof text - 1, file);
    char *at = strstr(text, old);
    assert_non_null(at);
    rewind(file);
    assert_int_equal(ftruncate(fileno(file), 0), 0);
    fprintf(file, "%.*s%s%.*s", (int)(at - text), text, new, (int)(text + length - at - strlen(old)), at + strlen(old));
    fclose(file);
    assert_true(contract_read_job(&read, &memory, path, &error) < 0);
    return error.message;
}

static void test_refused(void **state) {
    (void)state;
    assert_string_equal(refusal("\"think\"", "\"thick\""), "thick is an unknown key");
    assert_non_null(strstr(refusal("  \"drop\": false,\n", ""), "drop"));
    assert_non_null(strstr(refusal("\"np\": 1000000", "\"np\": 4294967296"), "np is too large"));
    assert_non_null(strstr(refusal("\"np\": 1000000", "\"np\": 0"), "out of range"));
    assert_non_null(strstr(refusal("\"phases\": \"1,3-5\"", "\"phases\": 7"), "phases is not a text"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_job), cmocka_unit_test(test_result),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
