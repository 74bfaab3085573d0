// Two programs on two servers: the first uses both in turn, the second only server 0, and for a while both at once.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/err.h"
#include "interference/interference.h"
#include "test_log_maker.h"

enum { BEGIN = 1000, SHARED = 5000, SHARED_END = 9000, PLAIN = 100, SLOWED = 300, BYTES = 4096 };

struct request {
    unsigned server;
    uint64_t start, duration; // clock units of 2 ns
    bool is_lookup;           // moves no data
};

static void assert_near(double value, double expected, double most) { assert_true(fabs(value - expected) <= most); }

static struct log *make_log(const char *command, const char *file, const struct request *request, size_t count) {
    static uint64_t start_ns = 1700000000000000000; // each run has another one
    struct log_maker *maker = maker_new();
    fields_begin(&maker->records, RECORD_JOB);
    fields_string(&maker->records, JOB_COMMAND, command);
    fields_number(&maker->records, JOB_START_NS, start_ns++);
    fields_end(&maker->records);
    fields_begin(&maker->records, RECORD_STACK);
    fields_string(&maker->records, STACK_NAME, "stack");
    fields_string(&maker->records, STACK_MOUNT, "/mnt");
    fields_number(&maker->records, STACK_SERVERS, 2);
    fields_end(&maker->records);
    maker_process(maker, 1, 11, 0);
    fields_begin(&maker->records, RECORD_FILE);
    fields_number(&maker->records, FILE_ID, 1);
    fields_string(&maker->records, FILE_NAME, file);
    fields_end(&maker->records);
    maker_numbers(maker, RECORD_PROCESS_FILE, LINK_PROCESS, (uint64_t)1, LINK_LOCAL, (uint64_t)1, LINK_GLOBAL,
                  (uint64_t)1, 0);
    maker_stream(maker, 1, 1, 1);
    maker_flush_records(maker);
    struct stream_writer *writer = maker_begin(maker, 1, 0, BEGIN);
    stream_put_slot(writer, 0, 1, CALL_net_writev, 1, 0, 0, 0);
    stream_put_slot(writer, 1, 1, CALL_net_lookup, 1, 0, 0, 0);
    for (size_t i = 0; i < count; i++) {
        struct stream_put_extra extra = {0};
        stream_put_attribute(&extra, ATTRIBUTE_SERVER, request[i].server);
        stream_put_extended(writer, request[i].is_lookup, i * BYTES, request[i].is_lookup ? 0 : BYTES, request[i].start,
                            request[i].start + request[i].duration, &extra);
    }
    maker->block.flags = BLOCK_BELOW;
    maker_end(maker, (uint32_t)count, false, request[0].start, request[count - 1].start + request[count - 1].duration);
    return maker_close(maker);
}

// In turn on both servers; slower on server 0 while the other program is there.
static struct log *make_first(const char *file, uint64_t slowed) {
    struct request request[80];
    uint64_t at = BEGIN;
    for (unsigned i = 0; i < 80; i++) {
        bool is_slow = i % 2 == 0 && at >= SHARED && at < SHARED_END;
        request[i] = (struct request){.server = i % 2, .start = at, .duration = is_slow ? slowed : PLAIN};
        at += request[i].duration;
    }
    return make_log("first", file, request, 80);
}

static struct log *make_second(uint64_t duration) {
    struct request request[20];
    for (unsigned i = 0; i < 20; i++) request[i] = (struct request){.start = SHARED + i * 200, .duration = duration};
    return make_log("second", "/mnt/b/file", request, 20);
}

static void with_runs_alone(void **state) {
    (void)state;
    struct interference_job job[] = {
        {.name = "a", .log = make_first("/mnt/a/sub/file", SLOWED), .alone = make_first("/mnt/a/sub/file", PLAIN)},
        {.name = "b", .log = make_second(200), .alone = make_second(PLAIN)}};
    struct interference in = {.job = job, .jobs = 2};
    struct problem problem = {0};
    assert_int_equal(interference_find(&in, &problem), 0);
    assert_int_equal(in.servers, 2);
    assert_int_equal(in.overloaded, 0);
    assert_int_equal(in.mover, 0);
    assert_false(in.by_pinning);
    assert_string_equal(job[0].load.place, "a");
    // The first program's ten requests from 5000 to 9000 on server 0 take 200 units more each, 400 ns.
    assert_near(job[0].lost_seconds, 10 * 400e-9, 1e-12);
    assert_near(job[0].slowdown, (80 * 200e-9 + 10 * 400e-9) / (80 * 200e-9), 1e-9);
    assert_near(job[0].gain_high, 10 * 400e-9, 1e-12);
    assert_true(job[0].gain_low < job[0].gain_high);
    assert_near(in.server[1].overload, 1, 1e-9);
    assert_true(in.server[0].overload > 2);
    assert_near(in.server[0].share[0], 40. / 60, 1e-9);
    assert_near(in.server[1].share[1], 0, 1e-9);
    assert_non_null(strstr(in.advice, "--avoid 'a=0'"));
    interference_free(&in);
    for (size_t i = 0; i < 2; i++) log_close(job[i].log), log_close(job[i].alone);
}

static void from_undisturbed_requests(void **state) {
    (void)state;
    struct interference_job job[] = {{.name = "a", .log = make_first("/mnt/file", SLOWED)},
                                     {.name = "b", .log = make_second(200)}};
    struct interference in = {.job = job, .jobs = 2};
    struct problem problem = {0};
    assert_int_equal(interference_find(&in, &problem), 0);
    assert_int_equal(in.overloaded, 0);
    assert_near(job[0].lost_seconds, 10 * 400e-9, 1e-12);
    assert_true(isnan(job[0].alone_time));
    assert_non_null(strstr(in.advice, "--avoid 'DIR=0'"));
    interference_free(&in);
    for (size_t i = 0; i < 2; i++) log_close(job[i].log);
}

// The second program keeps its server so busy that its own requests take ten times as long, alone or not.
static void a_crowd_delays_a_few(void **state) {
    (void)state;
    struct interference_job job[] = {
        {.name = "a", .log = make_first("/mnt/a/file", SLOWED), .alone = make_first("/mnt/a/file", PLAIN)},
        {.name = "b", .log = make_second(10 * PLAIN + 10), .alone = make_second(10 * PLAIN)}};
    struct interference in = {.job = job, .jobs = 2};
    struct problem problem = {0};
    assert_int_equal(interference_find(&in, &problem), 0);
    assert_int_equal(in.overloaded, 0);
    assert_int_equal(in.server[0].victim, 0);
    assert_true(in.server[0].overload > 2);
    interference_free(&in);
    for (size_t i = 0; i < 2; i++) log_close(job[i].log), log_close(job[i].alone);
}

// Four requests at a time.
static struct log *make_threads(void) {
    struct request request[240];
    uint64_t at = BEGIN;
    for (unsigned i = 0; i < 240; i++) {
        request[i] = (struct request){.start = at, .duration = at >= SHARED && at < SHARED_END ? SLOWED : PLAIN};
        if (i % 4 == 3) at += request[i].duration;
    }
    return make_log("threads", "/mnt/a/file", request, 240);
}

static void threads_share_the_time(void **state) {
    (void)state;
    struct interference_job job[] = {{.name = "a", .log = make_threads()}, {.name = "b", .log = make_second(200)}};
    struct interference in = {.job = job, .jobs = 2};
    struct problem problem = {0};
    assert_int_equal(interference_find(&in, &problem), 0);
    // Fourteen times, four requests take 400 ns longer at once.
    assert_near(job[0].lost_seconds, 14 * 400e-9, 1e-9);
    assert_near(in.server[0].lost_seconds, job[0].lost_seconds, 1e-12); // nothing is known of the other one
    assert_true(job[0].slowdown > 1);
    interference_free(&in);
    for (size_t i = 0; i < 2; i++) log_close(job[i].log);
}

// The first program has its data on server 1 and only looks for names on server 0, where the second one is slow.
static void names_are_no_data(void **state) {
    (void)state;
    struct request request[80];
    for (unsigned i = 0; i < 80; i++) request[i] = (struct request){i % 2, BEGIN + i * 2 * PLAIN, PLAIN, i % 2 == 0};
    struct interference_job job[] = {
        {.name = "a", .log = make_log("first", "/mnt/a/file", request, 80)},
        {.name = "b", .log = make_second(200), .alone = make_second(PLAIN), .alone_name = "c"}};
    struct interference in = {.job = job, .jobs = 2};
    struct problem problem = {0};
    assert_int_equal(interference_find(&in, &problem), 0);
    assert_true(in.server[0].shared_seconds > 0);
    assert_true(in.server[0].overload > 1.5);
    assert_int_equal(in.overloaded, -1);
    interference_free(&in);
    for (size_t i = 0; i < 2; i++) log_close(job[i].log);
    log_close(job[1].alone);
}

// Forty requests to server 0 that take twice as long as alone, eight to server 1 that take four times as long.
static struct log *make_uneven(bool is_alone) {
    struct request request[48];
    uint64_t at = SHARED;
    for (unsigned i = 0; i < 48; i++) {
        unsigned server = i >= 40;
        request[i] = (struct request){server, at, is_alone ? PLAIN : server ? 4 * PLAIN : 2 * PLAIN, false};
        at += request[i].duration;
    }
    return make_log("uneven", "/mnt/a/file", request, 48);
}

static struct log *make_on_both(void) {
    struct request request[128];
    for (unsigned i = 0; i < 128; i++) request[i] = (struct request){i % 2, SHARED + i / 2 * 200, 200, false};
    return make_log("both", "/mnt/b/file", request, 128);
}

static void a_few_slow_requests_are_not_the_worst(void **state) {
    (void)state;
    struct interference_job job[] = {{.name = "a", .log = make_uneven(false), .alone = make_uneven(true)},
                                     {.name = "b", .log = make_on_both(), .alone = make_on_both()}};
    struct interference in = {.job = job, .jobs = 2};
    struct problem problem = {0};
    assert_int_equal(interference_find(&in, &problem), 0);
    assert_true(in.server[1].overload > 1.5 * in.server[0].overload);
    assert_true(in.server[0].lost_seconds > in.server[1].lost_seconds);
    assert_int_equal(in.overloaded, -1);
    interference_free(&in);
    for (size_t i = 0; i < 2; i++) log_close(job[i].log), log_close(job[i].alone);
}

static void a_run_beside_itself(void **state) {
    (void)state;
    struct log *log = make_second(PLAIN), *other = make_second(PLAIN);
    struct interference_job twice[] = {{.name = "a", .log = log}, {.name = "b", .log = log}};
    struct interference_job alone[] = {{.name = "a", .log = log},
                                       {.name = "b", .log = other, .alone = log, .alone_name = "c"}};
    struct interference in[] = {{.job = twice, .jobs = 2}, {.job = alone, .jobs = 2}};
    const char *const what[] = {"a", "c"};
    for (size_t i = 0; i < 2; i++) {
        struct problem problem = {0};
        assert_int_equal(interference_find(&in[i], &problem), ERR_NOTHING);
        assert_string_equal(problem.what, what[i]);
        interference_free(&in[i]);
    }
    log_close(log);
    log_close(other);
}

static void no_server_in_the_way(void **state) {
    (void)state;
    struct interference_job job[] = {{.name = "a", .log = make_first("/mnt/file", PLAIN)},
                                     {.name = "b", .log = make_first("/mnt/file", PLAIN)}};
    struct interference in = {.job = job, .jobs = 2};
    struct problem problem = {0};
    assert_int_equal(interference_find(&in, &problem), 0);
    assert_int_equal(in.overloaded, -1);
    assert_true(isnan(job[0].lost_seconds)); // nothing was undisturbed
    assert_non_null(strstr(in.advice, "--alone"));
    interference_free(&in);
    for (size_t i = 0; i < 2; i++) log_close(job[i].log);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_runs_alone),      cmocka_unit_test(from_undisturbed_requests),
        cmocka_unit_test(a_crowd_delays_a_few), cmocka_unit_test(threads_share_the_time),
        cmocka_unit_test(names_are_no_data),    cmocka_unit_test(a_few_slow_requests_are_not_the_worst),
        cmocka_unit_test(a_run_beside_itself),  cmocka_unit_test(no_server_in_the_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
