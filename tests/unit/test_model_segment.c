#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/build/segment.h"
#include "test_model_maker.h"

static struct ops_maker maker;
static struct segments segments;
static struct arena arena;
static char text[1 << 16];

static void forget(void) {
    free(segments.segment);
    segments = (struct segments){0};
    arena_free(&arena);
    maker_free(&maker);
    maker_start(&maker, maker.program[0].is_mpi);
}

static void cut(const char *words) {
    const struct thread_ops *thread = maker_thread(&maker, words);
    assert_int_equal(segments_make(&segments, &maker.recorded, thread, MAKER_PAUSE_NS / 5, &arena), 0);
}

// Every transfer and every other operation is in exactly one segment, in order.
static void check_order(void) {
    const struct thread_ops *thread = &maker.thread[0];
    size_t next = 0, next_other = 0;
    for (size_t i = 0; i < segments.count; i++) {
        const struct segment *segment = &segments.segment[i];
        uint64_t ops = 0, bytes = 0;
        assert_int_equal(segment->first, next);
        assert_int_equal(segment->other_first, next_other);
        for (size_t k = 0; k < segment->ops.count; k++) ops += segment->ops.item[k].ops;
        assert_int_equal(ops, segment->end - segment->first);
        for (size_t k = segment->first; k < segment->end; k++) {
            bytes += (uint64_t)(thread->transfer[k].at[AT_SIZE] - thread->transfer[k].at[AT_SHORT]);
        }
        assert_int_equal(segment->bytes, bytes);
        next = segment->end;
        next_other = segment->other_end;
    }
    assert_int_equal(next, thread->transfers);
    assert_int_equal(next_other, thread->others);
}

// Segments as text, each with what separates it from the one before: `|` communication, `_` a pause, `/` only another
// pattern. Operations other than transfers come after a comma.
static void print_segments(void) {
    size_t len = 0;
    text[0] = 0;
    for (size_t i = 0; i < segments.count; i++) {
        const struct segment *segment = &segments.segment[i];
        const char *before[] = {
            [CUT_START] = "", [CUT_PATTERN] = " / ", [CUT_COMMUNICATION] = " | ", [CUT_PAUSE] = " _ "};
        len += (size_t)snprintf(text + len, sizeof text - len, "%s", before[segment->cut]);
        len += maker_print(text + len, sizeof text - len, segment->ops.item, segment->ops.count);
        if (!segment->others.count) continue;
        len += (size_t)snprintf(text + len, sizeof text - len, ", ");
        len += maker_print(text + len, sizeof text - len, segment->others.item, segment->others.count);
    }
}

#define assert_cuts(words, expected)                                                                                   \
    do {                                                                                                               \
        forget();                                                                                                      \
        cut(words);                                                                                                    \
        check_order();                                                                                                 \
        print_segments();                                                                                              \
        assert_string_equal(text, expected);                                                                           \
    } while (0)

static int start_mpi(void **state) {
    (void)state;
    maker_start(&maker, true);
    return 0;
}

static int start_plain(void **state) {
    (void)state;
    maker_start(&maker, false);
    return 0;
}

static int end(void **state) {
    (void)state;
    forget();
    maker_free(&maker);
    return 0;
}

// --- cuts

static void a_thread_without_transfers_is_one_segment(void **state) {
    (void)state;
    assert_cuts("", "");
    assert_int_equal(segments.count, 1);
    assert_cuts("O0 C0", ", O C");
}

static void data_that_moves_cuts(void **state) {
    (void)state;
    assert_cuts("w0 | w1 | w2", "w | w | w");
    assert_cuts("w0*4 | w4*4 | w8*4", "w4 | w4 | w4");
    assert_cuts("| w0*4 w4*4", "w8");
}

static void barriers_and_pauses_do_not_cut_with_mpi(void **state) {
    (void)state;
    assert_cuts("= w0 = w1 = w2 = w3", "w4");
    assert_cuts("w0 _ w1 _ w2 _ w3", "w4");
}

static void madbench_has_five_phases(void **state) {
    (void)state;
    assert_cuts(
        "w0 = w1 = w2 = w3 = w4 = w5 = w6 = w7 = r0 = r1 = w0 = r2 = w1 = r3 = w2 = r4 = w3 = r5 = w4 = r6 = w5 "
        "= r7 = w6 = w7 = r0 = r1 = r2 = r3 = r4 = r5 = r6 = r7",
        "w8 / r2 / (w r)6 / w2 / r8");
}

static void pauses_cut_without_mpi(void **state) {
    (void)state;
    assert_cuts("w0*4 _ w4*4 _ w8*4", "w4 _ w4 _ w4");
    assert_cuts("w0*2 _ w2*2 _ w4*2", "w2 _ w2 _ w2");
    assert_cuts("w0*4 | w4*4", "w8"); // there is no communication
}

static void each_operation_after_a_pause_is_a_dump(void **state) {
    (void)state;
    assert_cuts("w0 _ w1 _ w2 _ w3", "w _ w _ w _ w");
    assert_cuts("w0 _ w1", "w _ w");
}

// In a slow program, a pause cuts if it is ten times the usual one.
static void slow_programs_need_longer_pauses(void **state) {
    (void)state;
    struct thread_ops *thread = maker_thread(&maker, "w0*10 w10*10");
    for (size_t i = 1; i < 20; i++) thread->gap[i].idle_ns = MAKER_PAUSE_NS / 10;
    thread->gap[10].idle_ns = MAKER_PAUSE_NS / 2;
    assert_int_equal(segments_make(&segments, &maker.recorded, thread, MAKER_PAUSE_NS / 5, &arena), 0);
    assert_int_equal(segments.count, 1);
    segments.count = 0;
    thread->gap[10].idle_ns = MAKER_PAUSE_NS * 2;
    assert_int_equal(segments_make(&segments, &maker.recorded, thread, MAKER_PAUSE_NS / 5, &arena), 0);
    assert_int_equal(segments.count, 2);
}

// --- what belongs together

static void patterns_are_phases(void **state) {
    (void)state;
    assert_cuts("w0*8 r0*8", "w8 / r8");
    assert_cuts("w0*8 w100:5000*8", "w8 / w8");
    assert_cuts("w0*8 W0*8", "w8 / W8");
    assert_cuts("w0*8 r0 r9 w100 w200", "w8 / r2 / w2");
}

static void the_rest_of_a_file_belongs_to_what_came_before(void **state) {
    (void)state;
    assert_cuts("r0*8 r8:700", "r8 r");
    assert_cuts("r0*8 r8:1000-300", "r8 r");
    assert_cuts("r0*8 r8:1000-1000", "r8 r");
    assert_cuts("r0*8 r8:1000-1000 r8:1000-1000", "r8 r2");
    assert_cuts("r0 W0 r1 W1 r2 W2 r3 W3 r4:700 W4:700 r@4700:700-700", "(r W)4 r W r");
    assert_cuts("r0*8 r8", "r9");
    assert_cuts("r0*8 r9:700", "r8 / r"); // not where it ended
}

static void ends_of_files_are_no_phases(void **state) {
    (void)state;
    assert_cuts("r0:1000-1000", "r");
    assert_cuts("r0*3 r3:1000-1000 w0*5", "r3 r / w5");
    assert_cuts("r0:1000-300/0 r0:1000-1000/0 r0:1000-200/1 r0:1000-1000/1", "r r r r");
}

static void what_follows_no_rule_is_one_phase(void **state) {
    (void)state;
    assert_cuts("w0 w7:1300 w100:1700 w55:2000", "w w w w");
    assert_cuts("w0 w7:1300 w100:1700 r0*6", "w w w / r6");
    assert_cuts("w0 w7:1300 w100:1700 w55:2000 r9 r3:1500 r80:1600", "w w w w / r r r");
    assert_cuts("w9 w3 w17 w4 w80 w2 w33 w5 r9 r3 r17 r4 r80 r2 r33 r5", "[8] / [8]");
}

static void the_same_rule_from_different_places_is_one_phase(void **state) {
    (void)state;
    assert_cuts("w500*8 w10*8 w333*8 w47*8", "w8 w8 w8 w8");
    assert_cuts("w500*8 w10*8 w333*9 w47*8", "(w8)2 / w9 / w8");
}

static void small_requests_go_with_large_ones(void **state) {
    (void)state;
    assert_cuts("w0:96 w1:64000*8", "w w8");
    assert_cuts("w1:64000*8 w0:96", "w8 w");
    assert_cuts("w0:96 w9:40 w1:64000*8 w0:96 w5:12", "w w w8 w w");
    assert_cuts("w0:96 r1:64000*8 w3:96", "w r8 w");
    assert_cuts("W0:96 w1:64000*8", "W / w8");        // of another file
    assert_cuts("w0:9600 w1:64000*8", "w / w8");      // not so small
    assert_cuts("w0:96*999 w96:1600*8", "w999 / w8"); // small, but many
    assert_cuts("w0:96 w1:64000*8 w900:96 w2000:32000*8", "w w8 / w w8");
}

static void headers_among_data_stay_with_their_loop(void **state) {
    (void)state;
    assert_cuts("w0:96 w1:64000 w100:96 w101:64000 w200:96 w201:64000 w300:96 w301:64000", "(w w)4");
}

static void many_items_are_one_phase_but_for_what_is_large(void **state) {
    (void)state;
    char words[4096];
    size_t len = 0;
    for (int i = 0; i < 24; i++) {
        len += (size_t)snprintf(words + len, sizeof words - len, "%c%d:%d*%d ", "rwRW"[i * i % 7 % 4], i * i * 31,
                                1000 + i * 13, 5 + i % 3);
    }
    forget();
    cut(words);
    check_order();
    assert_int_equal(segments.count, 1);
    snprintf(words + len, sizeof words - len, "w9:1300*2000 r0:1000*5 W0:2000*5");
    forget();
    cut(words);
    check_order();
    assert_int_equal(segments.count, 3);
}

// --- small accesses with communication between them

static void small_accesses_are_gathered(void **state) {
    (void)state;
    // lines of a script, and a log beside it
    assert_cuts("R0:30 | W0:30 | R@30:17 | W@30:70 | w0:64000*8", "R W R W | w8");
    assert_cuts("w0:64000*8 | W0:30 | W@30:40 | R0:50", "w8 | W W R");
    assert_cuts("w0:64000*8 | W0:30 | W@30:30 | W@60:30 | R0:50", "w8 | W | W | W | R"); // a family
    assert_cuts("w0:64000*8 | W0:30 | W@30:30 | R0:50", "w8 | W2 R");                    // only two
    assert_cuts("w0:64000*8 | W0:30*6 | R0:50", "w8 | W6 R");                            // a loop
    assert_cuts("w0:64000*8 | W0:5000 | W9:5000", "w8 | W | W");                         // not so small
    assert_cuts("w0:16000 | W0:2000 | R0:2000", "w | W | R");                            // not so much smaller
    assert_cuts("w0:64000*8 | W0:30 | w0:64000*8", "w8 | W | w8");                       // alone between others
    assert_cuts("w0:64000*8 | C0 | O0 W0:30 | C0 O0 R0:9", "w8 | W R, (C O)2");
}

static void small_accesses_of_a_file_go_with_its_data(void **state) {
    (void)state;
    assert_cuts("r0:8 | r0:16 | r@16:80 | r1:64000*8 | r0:96", "r r r r8 r");
    assert_cuts("w1:64000*8 | w0:96 | r0:8 | r0:16 | r1:64000*8", "w8 w | r r r8");
    assert_cuts("w1:64000*8 | w0:96 | W0:30 | r0:8 | r1:64000*8", "w8 w | W | r r8");
    assert_cuts("w0:8 | w1:64000*8 r1:64000*8 | r0:8", "w w8 / r8 r");
    // the loops of the data stay, and the clock is theirs
    assert_cuts("w0:1000 | w1:64000 w65:64000 w129:64000", "w w3");
    assert_int_equal(segments.segment[0].clock, 1);
}

static void families_keep_their_phases(void **state) {
    (void)state;
    assert_cuts("w0:8 | w1:64000*8 | w0:8 | w1:64000*8", "w w8 | w w8");
    assert_cuts("w0:8 | w1:64000*8 | w0:9 | w1:64000*8 | w0:8", "w | w8 | w | w8 | w");
}

// Without large data: nothing repeats in the first program, but in the second.
static void many_different_small_accesses_are_one_phase(void **state) {
    (void)state;
    char words[1024];
    for (int repeats = 0; repeats <= 1; repeats++) {
        size_t len = 0, changes = repeats ? 5 : 20;
        for (size_t i = 0; i < 20; i++)
            len +=
                (size_t)snprintf(words + len, sizeof words - len, "w%zu:%zu | ", i * i * 31 % 97, 9 + i % changes * 3);
        forget();
        cut(words);
        check_order();
        assert_int_equal(segments.count, repeats ? 20 : 1);
    }
}

// --- what is not a transfer

static void others_lie_where_they_were(void **state) {
    (void)state;
    assert_cuts("O0 w0*4 C0", "w4, O C");
    assert_cuts("O0 w0*4 S0 C0 O0 r0*4 C0", "w4, O S C / r4, O C");
    assert_cuts("O0 w0*4 C0 | O0 w0*4 C0", "w4, O C | w4, O C");
    assert_cuts("O0 w0 S0 w1 S0 w2 S0 w3 S0 C0", "w4, O S4 C");
}

static void what_ends_a_phase_stays_with_it(void **state) {
    (void)state;
    assert_cuts("O0 w0*4 B0 S0 B0 C0 B0 r0*4", "w4, O B S B C / r4, B");
    assert_cuts("w0*4 | S0 w4*4", "w4 | w4, S"); // after the communication
    assert_cuts("w0*4 S0 | w4*4", "w4, S | w4");
}

int main(void) {
#define MPI(name) cmocka_unit_test_setup_teardown(name, start_mpi, end)
#define PLAIN(name) cmocka_unit_test_setup_teardown(name, start_plain, end)
    const struct CMUnitTest tests[] = {
        MPI(a_thread_without_transfers_is_one_segment),
        MPI(data_that_moves_cuts),
        MPI(barriers_and_pauses_do_not_cut_with_mpi),
        MPI(madbench_has_five_phases),
        PLAIN(pauses_cut_without_mpi),
        PLAIN(each_operation_after_a_pause_is_a_dump),
        PLAIN(slow_programs_need_longer_pauses),
        MPI(patterns_are_phases),
        MPI(the_rest_of_a_file_belongs_to_what_came_before),
        MPI(ends_of_files_are_no_phases),
        MPI(what_follows_no_rule_is_one_phase),
        MPI(the_same_rule_from_different_places_is_one_phase),
        MPI(small_requests_go_with_large_ones),
        MPI(headers_among_data_stay_with_their_loop),
        MPI(many_items_are_one_phase_but_for_what_is_large),
        MPI(small_accesses_are_gathered),
        MPI(small_accesses_of_a_file_go_with_its_data),
        MPI(families_keep_their_phases),
        MPI(many_different_small_accesses_are_one_phase),
        MPI(others_lie_where_they_were),
        MPI(what_ends_a_phase_stays_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
