#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "model/build/align.h"
#include "test_model_maker.h"

static struct ops_maker maker;
static struct segments segments;
static struct thread_segments of_thread[MAKER_THREADS + 1];
static struct align align;
static struct arena arena;
static char text[1 << 16];

static int start(void **state) {
    (void)state;
    maker_start(&maker, true);
    return 0;
}

static int end(void **state) {
    (void)state;
    align_free(&align);
    free(segments.segment);
    segments = (struct segments){0};
    arena_free(&arena);
    maker_free(&maker);
    return 0;
}

// --- phases as text: the ranks of each, and what the first of them does there

static size_t print_ranks(char *to, size_t room, const struct align_phase *phase) {
    size_t len = 0;
    for (size_t i = 0, next; i < phase->parts; i = next) {
        for (next = i + 1; next < phase->parts && phase->part[next].thread == phase->part[next - 1].thread + 1;) next++;
        len += (size_t)snprintf(to + len, room - len, i ? ",%u" : "%u", phase->part[i].thread);
        if (next - i > 1) len += (size_t)snprintf(to + len, room - len, "-%u", phase->part[next - 1].thread);
    }
    return len;
}

static void print_phases(void) {
    size_t len = 0;
    text[0] = 0;
    for (size_t i = 0; i < align.count; i++) {
        const struct align_phase *phase = &align.phase[i];
        const struct segment *segment = &segments.segment[phase->part[0].segment];
        len += (size_t)snprintf(text + len, sizeof text - len, "%s", i ? " / " : "");
        len += print_ranks(text + len, sizeof text - len, phase);
        len += (size_t)snprintf(text + len, sizeof text - len, " ");
        len += maker_print(text + len, sizeof text - len, segment->ops.item, segment->ops.count);
    }
}

static void cut_threads(void) {
    for (size_t i = 0; i < maker.recorded.count; i++) {
        of_thread[i].first = segments.count;
        assert_int_equal(segments_make(&segments, &maker.recorded, &maker.thread[i], MAKER_PAUSE_NS / 5, &arena), 0);
        of_thread[i].end = segments.count;
    }
}

// Every segment is in exactly one phase, and the segments of each thread keep their order.
static void check_order(void) {
    size_t next[MAKER_THREADS], parts = 0;
    for (size_t i = 0; i < maker.recorded.count; i++) next[i] = of_thread[i].first;
    for (size_t i = 0; i < align.count; i++) {
        for (size_t k = 0; k < align.phase[i].parts; k++) {
            const struct align_part *part = &align.phase[i].part[k];
            assert_int_equal(part->segment, next[part->thread]++);
            parts++;
        }
    }
    assert_int_equal(parts, segments.count);
}

static void assert_phases(const char *expected) {
    cut_threads();
    assert_int_equal(align_make(&align, &maker.recorded, &segments, of_thread), 0);
    check_order();
    print_phases();
    assert_string_equal(text, expected);
}

static void recorded(unsigned count, const char *words) {
    while (count--) maker_thread(&maker, words);
}

// --- known answers

static void one_rank_is_its_phases(void **state) {
    (void)state;
    recorded(1, "w0*8 r0*8");
    assert_phases("0 w8 / 0 r8");
}

static void equal_threads_go_together(void **state) {
    (void)state;
    recorded(4, "w0*8 | r0*8 | w0*8");
    assert_phases("0-3 w8 / 0-3 r8 / 0-3 w8");
}

static void some_ranks_take_a_phase_that_others_do_not(void **state) {
    (void)state;
    recorded(2, "w0*8 | W0*3 | r0*8");
    recorded(3, "w0*8 | r0*8");
    assert_phases("0-4 w8 / 0-1 W3 / 0-4 r8");
}

static void a_phase_before_all_others(void **state) {
    (void)state;
    recorded(1, "R0*3 | w0*8 | r0*8");
    recorded(3, "w0*8 | r0*8");
    assert_phases("0 R3 / 0-3 w8 / 0-3 r8");
}

static void a_header_of_the_first_rank_does_not_part_the_data(void **state) {
    (void)state;
    recorded(1, "w0:96 w1:64000*8 | r0*8");
    recorded(3, "w1:64000*8 | r0*8");
    assert_phases("0-3 w w8 / 0-3 r8");
}

static void a_header_by_another_call_does_not_either(void **state) {
    (void)state;
    recorded(1, "h0:96 w1:64000*8 | r0*8");
    recorded(3, "w1:64000*8 | r0*8");
    assert_phases("0-3 h w8 / 0-3 r8");
}

static void sizes_and_counts_may_differ(void **state) {
    (void)state;
    recorded(1, "w0*8 | r0*8");
    recorded(1, "w0:900*8 | r0:900*8");
    recorded(1, "w0*9 | r0*9");
    recorded(1, "w7:300 w44:200 w3:400 | r0*5");
    assert_phases("0-3 w8 / 0-3 r8");
}

static void different_orders_are_kept(void **state) {
    (void)state;
    recorded(2, "w0*8 | W0*8");
    recorded(1, "W0*8 | w0*8");
    assert_phases("0-1 w8 / 2 W8 / 0-1 W8 / 2 w8");
}

static void different_files_are_different_phases(void **state) {
    (void)state;
    recorded(2, "w0*8");
    recorded(2, "W0*8");
    assert_phases("0-1 w8 / 2-3 W8");
}

static void a_dump_that_one_rank_misses_is_found_by_the_clock(void **state) {
    (void)state;
    recorded(3, "w0*4 ||| w0*4 ||| w0*4 ||| w0*4");
    recorded(1, "w0*4 |||||| w0*4 ||| w0*4");
    assert_phases("0-3 w4 / 0-2 w4 / 0-3 w4 / 0-3 w4");
}

static void threads_that_communicate_less_lag_behind(void **state) {
    (void)state;
    recorded(2, "w0*4 |||| w0*4 |||| w0*4");
    recorded(1, "w0*4 || w0*4 || w0*4");
    recorded(1, "w0*4 ||||||| w0*4");
    assert_phases("0-3 w4 / 0-2 w4 / 0-3 w4");
}

static void what_happens_at_different_times_is_not_one_phase(void **state) {
    (void)state;
    recorded(1, "w0*8 | | | r0*8");
    recorded(1, "| w0*8 | | r0*8");
    recorded(1, "| | w0*8 | r0*8");
    assert_phases("0 w8 / 1 w8 / 2 w8 / 0-2 r8");
}

static void some_kinds_in_common_are_not_enough_at_another_time(void **state) {
    (void)state;
    recorded(3, "w0*8 | r0*8 | | w0*8");
    recorded(1, "w0*8 | | r0 w0 r1 w1 r2 w2 r3 w3 | w0*8");
    assert_phases("0-3 w8 / 0-2 r8 / 3 (r w)4 / 0-3 w8");
}

static void phases_of_some_ranks_lie_where_their_clock_is(void **state) {
    (void)state;
    recorded(2, "w0*4 | | r0*4 | |");
    recorded(1, "| W0*4 | | |");
    recorded(1, "| | | R0*4 |");
    assert_phases("0-1 w4 / 2 W4 / 0-1 r4 / 3 R4");
}

static void threads_without_transfers_join_the_first_phase(void **state) {
    (void)state;
    recorded(2, "w0*4 | r0*4");
    recorded(1, "O0 C0");
    assert_phases("0-2 w4 / 0-1 r4");
}

static void nobody_transfers(void **state) {
    (void)state;
    recorded(3, "O0 C0");
    assert_phases("0-2 ");
}

static void programs_are_apart(void **state) {
    (void)state;
    recorded(4, "w0*4");
    maker.recorded.programs = 2;
    maker.thread[2].program = maker.thread[3].program = 1;
    assert_phases("0-1 w4 / 2-3 w4");
}

// --- many

// Lanes of `each` segments that are all different, or of one kind only, made without folding anything.
static double align_seconds(size_t thread_count, size_t each, bool alike) {
    struct thread_ops *thread = calloc(thread_count, sizeof *thread);
    struct thread_segments *of = calloc(thread_count, sizeof *of);
    struct segment *segment = calloc(thread_count * each, sizeof *segment);
    uint64_t *tick = calloc(each, sizeof *tick);
    struct loops op = {.type = LOOPS_OP};
    for (size_t i = 0; i < thread_count * each; i++) {
        segment[i] = (struct segment){.first = i % each, .end = i % each + 1, .ops = {&op, 1}};
        segment[i].sizes = segment[i].shape = i * UINT64_C(0x9e3779b97f4a7c15);
        segment[i].kinds = alike ? 1 + (i % 3 == 0) : UINT64_C(1) << i % 61;
    }
    for (size_t i = 0; i < thread_count; i++) {
        thread[i] = (struct thread_ops){.rank = (uint32_t)i, .tick = tick, .transfers = each};
        of[i] = (struct thread_segments){i * each, (i + 1) * each};
    }
    struct recorded all = {.thread = thread, .count = thread_count, .program = maker.program, .programs = 1};
    struct segments them = {.segment = segment, .count = thread_count * each};
    clock_t begun = clock();
    assert_int_equal(align_make(&align, &all, &them, of), 0);
    double seconds = (double)(clock() - begun) / CLOCKS_PER_SEC;
    align_free(&align);
    free(thread);
    free(of);
    free(segment);
    free(tick);
    return seconds;
}

static void time_is_near_linear_in_threads(void **state) {
    (void)state;
    for (unsigned alike = 0; alike < 2; alike++) {
        double few = align_seconds(1000, 10, alike), many = align_seconds(8000, 10, alike);
        print_message("# 10 segments of %s each: %.3f s for 1000 recorded, %.3f s for 8000\n",
                      alike ? "few kinds" : "many kinds", few, many);
        assert_true(many < 24 * few + 0.5);
    }
    double longer = align_seconds(64, 2000, true);
    print_message("# 2000 segments of 64 recorded: %.3f s\n", longer);
    assert_true(longer < 5);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)
    const struct CMUnitTest tests[] = {
        TEST(one_rank_is_its_phases),
        TEST(equal_threads_go_together),
        TEST(some_ranks_take_a_phase_that_others_do_not),
        TEST(a_phase_before_all_others),
        TEST(a_header_of_the_first_rank_does_not_part_the_data),
        TEST(a_header_by_another_call_does_not_either),
        TEST(sizes_and_counts_may_differ),
        TEST(different_orders_are_kept),
        TEST(different_files_are_different_phases),
        TEST(a_dump_that_one_rank_misses_is_found_by_the_clock),
        TEST(threads_that_communicate_less_lag_behind),
        TEST(what_happens_at_different_times_is_not_one_phase),
        TEST(some_kinds_in_common_are_not_enough_at_another_time),
        TEST(phases_of_some_ranks_lie_where_their_clock_is),
        TEST(threads_without_transfers_join_the_first_phase),
        TEST(nobody_transfers),
        TEST(programs_are_apart),
        TEST(time_is_near_linear_in_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
