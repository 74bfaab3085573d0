// What findings are made of: the division of time among calls, and the comparisons. The findings themselves are tested
// with recorded programs (tests/report).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "findings/facts.h"
#include "findings/limits.h"
#include "test_log_maker.h"

enum { US = 1000, MS = 1000000 };

static const int64_t SECOND = INT64_C(1000000000);

static void assert_about(double value, double expected) {
    assert_true(value > expected * 0.98 && value < expected * 1.02);
}

// --- time

struct parts {
    double of[4], late[4];
};

static void collect(struct wall *wall, int64_t to_ns, struct parts *parts) {
    struct wall_call ended;
    while (wall_next_end(wall, to_ns, &ended)) {
        parts->of[ended.grain] += ended.part_ns;
        parts->late[ended.grain] += ended.late_ns;
    }
}

static void test_time_is_divided(void **state) {
    (void)state;
    struct wall wall = {0};
    struct parts parts = {0};
    assert_int_equal(wall_begin(&wall, &(struct wall_call){.end_ns = 100, .grain = 0}), 0);
    collect(&wall, 40, &parts);
    assert_int_equal(wall_begin(&wall, &(struct wall_call){.end_ns = 140, .grain = 1}), 0);
    collect(&wall, 200, &parts); // nothing from 140 to 200
    assert_int_equal(wall_begin(&wall, &(struct wall_call){.end_ns = 210, .grain = 2}), 0);
    collect(&wall, INT64_MAX, &parts);
    assert_about(parts.of[0], 40 + 30);
    assert_about(parts.of[1], 30 + 40);
    assert_about(parts.of[2], 10);
    assert_about(wall.any_ns, 150);
    wall_free(&wall);
}

static struct wall with_meetings(size_t count) {
    return (struct wall){.meeting = calloc(count, sizeof(struct wall_meeting)), .meetings = count};
}

// Two ranks in a collective call, the second comes later, and one of them makes a request.
static void test_calls_of_mpi_get_what_requests_leave(void **state) {
    (void)state;
    struct wall wall = with_meetings(1);
    struct parts parts = {0};
    struct wall_call call = {.end_ns = 100, .grain = 0, .is_mpi = true, .meeting = 1};
    assert_int_equal(wall_begin(&wall, &call), 0);
    collect(&wall, 20, &parts);
    call.grain = 1;
    assert_int_equal(wall_begin(&wall, &call), 0);
    collect(&wall, 30, &parts);
    assert_int_equal(wall_begin(&wall, &(struct wall_call){.end_ns = 80, .grain = 2}), 0);
    collect(&wall, INT64_MAX, &parts);
    assert_about(parts.of[0], 20 + 15);
    assert_about(parts.late[0], 20);
    assert_about(parts.of[1], 15);
    assert_about(parts.of[2], 50);
    assert_about(wall.any_ns, 100);
    wall_free(&wall);
}

// Collective calls on two files, of one rank each; and two rounds of one file, of which a rank leaves the first early.
static void test_who_is_late(void **state) {
    (void)state;
    struct wall wall = with_meetings(3);
    struct parts parts = {0};
    struct wall_call call = {.end_ns = 100, .grain = 0, .is_mpi = true, .meeting = 1};
    assert_int_equal(wall_begin(&wall, &call), 0);
    collect(&wall, 50, &parts);
    call = (struct wall_call){.end_ns = 150, .grain = 0, .is_mpi = true, .meeting = 2};
    assert_int_equal(wall_begin(&wall, &call), 0);
    collect(&wall, 200, &parts);
    assert_true(parts.late[0] == 0);
    call = (struct wall_call){.end_ns = 260, .grain = 1, .is_mpi = true, .meeting = 3};
    assert_int_equal(wall_begin(&wall, &call), 0);
    collect(&wall, 220, &parts);
    call = (struct wall_call){.end_ns = 230, .grain = 2, .is_mpi = true, .meeting = 3};
    assert_int_equal(wall_begin(&wall, &call), 0);
    collect(&wall, 240, &parts);
    call = (struct wall_call){.end_ns = 300, .grain = 3, .is_mpi = true, .meeting = 3, .round = 1};
    assert_int_equal(wall_begin(&wall, &call), 0);
    collect(&wall, INT64_MAX, &parts);
    assert_about(parts.late[1], 20);
    assert_true(parts.late[2] == 0 && parts.late[3] == 0);
    wall_free(&wall);
}

// A rank's time is also told apart from that of other processes.
static void test_time_of_ranks(void **state) {
    (void)state;
    struct wall wall = {0};
    struct parts parts = {0};
    assert_int_equal(wall_begin(&wall, &(struct wall_call){.end_ns = 100, .is_rank = true}), 0);
    collect(&wall, 60, &parts);
    assert_int_equal(wall_begin(&wall, &(struct wall_call){.end_ns = 400}), 0);
    collect(&wall, INT64_MAX, &parts);
    assert_about(wall.any_rank_ns, 100);
    assert_about(wall.any_ns, 400);
    wall_free(&wall);
}

// Random calls: their parts always add up to the time with any call.
static void test_parts_add_up(void **state) {
    (void)state;
    struct wall wall = with_meetings(1);
    struct parts parts = {0};
    uint32_t random = 1;
    int64_t now_ns = 0, until_ns = 0, any_ns = 0;
    for (unsigned i = 0; i < 5000; i++) {
        random = random * 1103515245 + 12345;
        now_ns += random >> 16 & 63;
        int64_t end_ns = now_ns + (random >> 8 & 255);
        collect(&wall, now_ns, &parts);
        const struct wall_call call = {
            .end_ns = end_ns, .grain = i % 4, .is_mpi = i % 3 == 0, .meeting = i % 6 == 0, .round = i / 12};
        assert_int_equal(wall_begin(&wall, &call), 0);
        if (end_ns > until_ns) {
            any_ns += end_ns - (now_ns > until_ns ? now_ns : until_ns);
            until_ns = end_ns;
        }
    }
    collect(&wall, INT64_MAX, &parts);
    assert_about(wall.any_ns, (double)any_ns);
    assert_about(parts.of[0] + parts.of[1] + parts.of[2] + parts.of[3], (double)any_ns);
    wall_free(&wall);
}

// --- comparisons

static void test_typical(void **state) {
    (void)state;
    static struct facts_cell cell;
    for (unsigned i = 0; i < 99; i++) facts_cell_add(&cell, 1, 10 * US);
    facts_cell_add(&cell, 1, SECOND); // a pause
    assert_about((double)facts_typical_ns(&cell), 10 * US);
    assert_about((double)facts_quantile_ns(&cell, 0.25), 10 * US);
    assert_about((double)facts_quantile_ns(&cell, 0.995), (double)SECOND);
    assert_true(facts_at_memory_speed(&cell));
    assert_int_equal(facts_size(0), 0);
    assert_int_equal(facts_size(65535), FACTS_SMALL_SIZE - 1);
    assert_int_equal(facts_size(65536), FACTS_SMALL_SIZE);
    assert_int_equal(facts_size(UINT64_MAX), FACTS_SIZES - 1);
}

static struct facts_spread spread(unsigned count, double low, double high) {
    struct facts_spread spread = {0};
    for (unsigned i = 0; i < count; i++) facts_spread_add(&spread, i % 2 ? low : high);
    return spread;
}

static void test_a_difference_must_be_sure(void **state) {
    (void)state;
    struct facts_spread fast = spread(100, 9 * US, 11 * US), slow = spread(100, 18 * US, 22 * US);
    assert_about(facts_factor(&slow, &fast), 2);
    assert_true(facts_factor(&fast, &slow) <= 1);
    struct facts_spread few = spread(LIMIT_COMPARED_CALLS - 1, 18 * US, 22 * US);
    assert_true(facts_factor(&few, &fast) <= 1);
    struct facts_spread wide = spread(20, 1 * US, 400 * US); // twice as slow, but anything from fast to slow
    assert_true(facts_factor(&wide, &fast) <= 1);
    struct facts_spread paused = spread(100, 9 * US, 11 * US);
    facts_spread_add(&paused, (double)SECOND); // one pause of a second
    assert_true(facts_factor(&paused, &fast) < LIMIT_SLOWER);
}

// --- collective calls

// A file that is open twice: by all ranks, and by this one alone. Which calls wait for others depends on the handle.
static void test_alone_by_handle(void **state) {
    (void)state;
    static const struct log_call open = {.layer = LAYER_MPIIO, .class = CLASS_OPEN, .traits = CALL_COLLECTIVE};
    static const struct log_call write = {.layer = LAYER_MPIIO, .class = CLASS_WRITE, .traits = CALL_COLLECTIVE};
    struct log_maker *maker = maker_new();
    maker_process(maker, 1, 11, 1);
    maker_file(maker, 1, "/data/a", 1);
    maker_flush_records(maker);
    struct log *log = maker_close(maker);
    struct facts facts;
    assert_int_equal(facts_init(&facts, log), 0);
    for (uint32_t i = 0; i < 4; i++) {
        const uint64_t attribute[ATTRIBUTE_LIMIT] = {[ATTRIBUTE_COMM_SIZE] = i == 0 ? 3 : 1};
        const struct log_event event = {.id = i + 1,
                                        .start_ns = i,
                                        .process = log_process_at(log, 0),
                                        .call = i < 2 ? &open : &write,
                                        .file = log_file_at(log, 0),
                                        .raw = {.attribute = attribute,
                                                .attribute_mask = i < 2 ? 1u << ATTRIBUTE_COMM_SIZE : 0,
                                                .has_result = true,
                                                .result = 8 << i,
                                                .handle = 1 + i % 2}};
        assert_int_equal(facts_add(&facts, &event), 0);
    }
    const struct facts_sum *sums = facts.process[0].mpi[FACTS_WRITE];
    assert_int_equal(sums[1].bytes, 8 << 2);
    assert_int_equal(sums[0].bytes, 8 << 3);
    facts_free(&facts);
    log_close(log);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time_is_divided), cmocka_unit_test(test_calls_of_mpi_get_what_requests_leave),
        cmocka_unit_test(test_who_is_late),     cmocka_unit_test(test_alone_by_handle),
        cmocka_unit_test(test_time_of_ranks),   cmocka_unit_test(test_parts_add_up),
        cmocka_unit_test(test_typical),         cmocka_unit_test(test_a_difference_must_be_sure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
