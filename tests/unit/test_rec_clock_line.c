// The clocks of three hosts, each of which asks the next: what the last one adds to its times makes them the first
// one's.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "rec/mpi/clock_line.h"

enum { ROUNDS = 16 };

#define SECOND_NS INT64_C(1000000000)
#define EPOCH_NS (INT64_C(1795000000) * SECOND_NS)
#define HOUR_NS (3600 * SECOND_NS)

// A counter of 2 units per ns, too fast by `drift`; its time of day was too late by `ahead_ns` when it began.
struct host {
    double drift;
    int64_t ahead_ns;
};

static const struct host host[] = {{0, 0}, {20e-6, 700000000}, {-35e-6, -5 * SECOND_NS}};

static uint64_t units(const struct host *at, int64_t true_ns) {
    return (uint64_t)((double)(true_ns * 2) * (1 + at->drift));
}

static struct clock_map map_of(const struct host *at) {
    return (struct clock_map){.origin_ns = EPOCH_NS + at->ahead_ns, .span_units = 2, .span_ns = 1};
}

// Messages take 3 us at least; the longer ones say nothing.
static void ask(const struct host *asks, const struct host *answers, int64_t when_ns, struct clock_sample *sample) {
    for (unsigned i = 0; i < ROUNDS; i++) {
        int64_t there_ns = 3000 + (i * 7919 % 5) * 20000, back_ns = 3000 + (i * 104729 % 7) * 20000;
        int64_t sent_ns = when_ns + i * 300000;
        sample[i] = (struct clock_sample){.sent = units(asks, sent_ns),
                                          .received = units(answers, sent_ns + there_ns),
                                          .replied = units(answers, sent_ns + there_ns + 500),
                                          .answered = units(asks, sent_ns + there_ns + 500 + back_ns)};
    }
}

static struct clock_line line_of(const struct clock_line *above, unsigned asks, unsigned answers, bool has_early) {
    struct clock_sample early[ROUNDS], late[ROUNDS];
    struct clock_map theirs = map_of(&host[answers]), ours = map_of(&host[asks]);
    ask(&host[asks], &host[answers], SECOND_NS, early);
    ask(&host[asks], &host[answers], HOUR_NS, late);
    return clock_line_of(above, &ours, &theirs, (struct clock_seen){early, has_early ? ROUNDS : 0},
                         (struct clock_seen){late, ROUNDS});
}

static int64_t error_ns(const struct clock_line *line, const struct host *at, int64_t true_ns) {
    struct clock_map clock = map_of(at);
    uint64_t origin_ns = (uint64_t)clock.origin_ns;
    clock_line_move(line, &origin_ns, &clock);
    clock.origin_ns = 0;
    return (int64_t)origin_ns + clock_map_ns(&clock, units(at, true_ns)) - (EPOCH_NS + true_ns);
}

static void clocks_that_drift_agree(void **state) {
    (void)state;
    const struct clock_line root = {.is_known = true};
    const struct clock_line next = line_of(&root, 0, 1, true), last = line_of(&next, 1, 2, true);
    for (int64_t ns = 0; ns <= HOUR_NS; ns += HOUR_NS / 100) {
        assert_true(llabs(error_ns(&next, &host[1], ns)) < 4000);
        assert_true(llabs(error_ns(&last, &host[2], ns)) < 8000);
    }
    assert_true(llabs(error_ns(&root, &host[2], HOUR_NS)) > SECOND_NS); // as it is by itself
}

static void without_early_messages_the_end_is_right(void **state) {
    (void)state;
    const struct clock_line root = {.is_known = true};
    const struct clock_line line = line_of(&root, 0, 1, false);
    assert_true(llabs(error_ns(&line, &host[1], HOUR_NS)) < 4000);
    assert_true(llabs(error_ns(&line, &host[1], 0)) > 10000000); // 20e-6 of an hour
}

static void unknown_lines_change_nothing(void **state) {
    (void)state;
    const struct clock_line unknown = {0}, below = line_of(&unknown, 0, 1, true);
    struct clock_map clock = map_of(&host[1]);
    uint64_t origin_ns = 5;
    assert_int_equal(below.is_known, 0);
    clock_line_move(&below, &origin_ns, &clock);
    assert_int_equal(origin_ns, 5);
    assert_int_equal(clock.span_units, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_that_drift_agree),
        cmocka_unit_test(without_early_messages_the_end_is_right),
        cmocka_unit_test(unknown_lines_change_nothing),
    };
    return cmocka_run_group_tests_name("rec_clock_line", tests, NULL, NULL);
}
