#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/build/build.h"
#include "test_model_maker.h"

enum { WRITE_US = 1000, WAKE_US = 40, BETWEEN_US = 10 };

static struct lanes_maker maker;
static struct model model;
static struct building b;
static unsigned seed;

static int set_up(void **state)
{
    (void)state;
    maker_start(&maker, false);
    model = (struct model){0};
    seed = 1;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    maker_free(&maker);
    maker_start(&maker, false);
    model_free(&model);
    return 0;
}

static void begin(unsigned threads)
{
    for (uint32_t i = 0; i < threads; i++) {
        maker_alloc(&maker.lane[i]);
        maker.lane[i].thread = i;
    }
    maker.lanes.count = threads;
}

// An operation of a thread on one of the files; the time when it ends.
static int64_t act_on(int64_t file, unsigned thread, char letter, int64_t start_us, int64_t us)
{
    struct lane *lane = &maker.lane[thread];
    bool other = maker_is_other(letter);
    size_t at = other ? lane->others : lane->transfers;
    maker_op(lane, &(struct op){.kind = (uint32_t)letter, .at[AT_MEMBER] = file}, &(struct lane_gap){0}, false);
    (other ? lane->other_time : lane->time)[at] =
        (struct op_time){.start_ns = start_us * 1000, .duration_ns = us * 1000, .think_ns = INT64_C(1000000000)};
    return start_us + us;
}

static int64_t act(unsigned thread, char letter, int64_t start_us, int64_t us)
{
    return act_on(0, thread, letter, start_us, us);
}

static int64_t write_slowly(unsigned thread, unsigned count, int64_t at_us, int64_t us)
{
    for (unsigned i = 0; i < count; i++) at_us = act(thread, 'w', at_us, us) + BETWEEN_US;
    return at_us - BETWEEN_US;
}

static int64_t write_some(unsigned thread, unsigned count, int64_t at_us)
{
    return write_slowly(thread, count, at_us, WRITE_US);
}

static void find(void)
{
    b = (struct building){.model = &model, .lanes = maker.lanes};
    assert_int_equal(build_waits(&b), 0);
    for (size_t i = 0; i < model.waits; i++) { // as readers of a model want it
        const struct model_wait *wait = &model.wait[i];
        for (size_t at = 0; at < wait->count; at++) {
            assert_true(wait->op[at] > (at ? wait->op[at - 1] : 0));
            assert_true(wait->done[at] >= (at ? wait->done[at - 1] : 1));
            assert_true(wait->after_ns[at] >= 0);
        }
    }
}

static void expect_row(size_t place, uint32_t thread, uint32_t behind, size_t count, const int64_t *op,
                       const int64_t *done)
{
    const struct model_wait *wait = &model.wait[place];
    assert_int_equal(wait->thread, thread);
    assert_int_equal(wait->behind, behind);
    assert_int_equal(wait->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(wait->op[i], op[i]);
        assert_int_equal(wait->done[i], done[i]);
    }
}

static int64_t later(int64_t a, int64_t b_us)
{
    return a > b_us ? a : b_us;
}

// One thread opens a file; two write parts of it, of which now one takes longer, now the other; the first makes each
// step durable.
static void test_steps(void **state)
{
    (void)state;
    begin(3);
    int64_t at = act(2, 'O', 0, 100) + 300;
    for (unsigned step = 0; step < 3; step++) {
        int64_t first = write_some(0, 10, at), second = write_slowly(1, 10, at, step == 1 ? 1300 : 800);
        at = act(2, 'S', later(first, second) + WAKE_US, 700) + WAKE_US;
    }
    find();
    assert_int_equal(model.waits, 6);
    expect_row(0, 0, 1, 2, (int64_t[]){11, 21}, (int64_t[]){10, 20});
    expect_row(1, 0, 2, 3, (int64_t[]){1, 11, 21}, (int64_t[]){1, 2, 3});
    expect_row(2, 1, 0, 2, (int64_t[]){11, 21}, (int64_t[]){10, 20});
    expect_row(3, 1, 2, 3, (int64_t[]){1, 11, 21}, (int64_t[]){1, 2, 3});
    expect_row(4, 2, 0, 3, (int64_t[]){2, 3, 4}, (int64_t[]){10, 20, 30});
    expect_row(5, 2, 1, 3, (int64_t[]){2, 3, 4}, (int64_t[]){10, 20, 30});
    assert_int_equal(model.wait[4].after_ns[0], WAKE_US * 1000);
    for (unsigned i = 0; i < 30; i++) assert_int_equal(maker.lane[0].time[i].waits, i % 10 == 0);
}

// As above in memory: the step is durable at once, and the pauses of those that wait for that are too short to be seen
// as waits alone.
static void test_short_answers(void **state)
{
    (void)state;
    begin(3);
    int64_t at = act(2, 'O', 0, 1) + 50;
    for (unsigned step = 0; step < 3; step++) {
        int64_t first = write_slowly(0, 100, at, 20), second = write_slowly(1, 100, at, 21);
        at = act(2, 'S', act(2, 'S', later(first, second) + WAKE_US, 1) + 1, 1) + WAKE_US;
    }
    find();
    assert_int_equal(model.waits, 4);
    expect_row(0, 0, 2, 3, (int64_t[]){1, 101, 201}, (int64_t[]){1, 3, 5});
    expect_row(1, 1, 2, 3, (int64_t[]){1, 101, 201}, (int64_t[]){1, 3, 5});
    expect_row(2, 2, 0, 3, (int64_t[]){2, 4, 6}, (int64_t[]){100, 200, 300});
    expect_row(3, 2, 1, 3, (int64_t[]){2, 4, 6}, (int64_t[]){100, 200, 300});
    assert_int_equal(model.wait[0].after_ns[1], WAKE_US * 1000);
}

// Two threads meet after each part of their work, and one of them is late.
static void test_meetings(void **state)
{
    (void)state;
    begin(2);
    int64_t at = 0;
    for (unsigned step = 0; step < 6; step++) {
        int64_t first = write_some(0, 4, at), second = write_some(1, step % 2 ? 3 : 6, at);
        at = later(first, second) + WAKE_US;
    }
    find();
    assert_int_equal(model.waits, 2);
    expect_row(0, 0, 1, 5, (int64_t[]){5, 9, 13, 17, 21}, (int64_t[]){6, 9, 15, 18, 24});
    expect_row(1, 1, 0, 5, (int64_t[]){7, 10, 16, 19, 25}, (int64_t[]){4, 8, 12, 16, 20});
}

// What one thread reads is worked on by another that it starts then.
static void test_beginning(void **state)
{
    (void)state;
    begin(2);
    int64_t at = 0;
    for (unsigned i = 0; i < 20; i++) at = act(1, 'r', at, 5000) + BETWEEN_US;
    write_some(0, 10, at + WAKE_US);
    find();
    assert_int_equal(model.waits, 1);
    expect_row(0, 0, 1, 1, (int64_t[]){1}, (int64_t[]){20});
    assert_int_equal(model.wait[0].after_ns[0], (WAKE_US + BETWEEN_US) * 1000);
}

static int64_t any(int64_t from, int64_t to)
{
    seed = seed * 1103515245 + 12345;
    return from + (int64_t)(seed >> 16) % (to - from);
}

static bool finds_waits_of_strangers(unsigned from_seed, unsigned count)
{
    set_up(NULL);
    seed = from_seed;
    begin(4);
    for (unsigned thread = 0; thread < 4; thread++) {
        int64_t at = any(0, 5000);
        for (unsigned i = 0; i < count; i++) at = act(thread, 'w', at, any(300, 900)) + any(1000, 9000);
    }
    find();
    bool found = model.waits > 0;
    tear_down(NULL);
    return found;
}

// Of threads that have nothing to do with each other few are said to wait, however short they are.
static void test_strangers(void **state)
{
    static const unsigned counts[] = {2, 5, 10, 30, 300};
    (void)state;
    for (unsigned c = 0; c < sizeof counts / sizeof *counts; c++) {
        unsigned found = 0;
        for (unsigned i = 1; i <= 100; i++) found += finds_waits_of_strangers(i, counts[c]);
        assert_in_range(found, 0, 20); // one thread in twenty, of four
    }
}

// A barrier of MPI lies in the pause: what comes behind it waits.
static void test_barrier(void **state)
{
    (void)state;
    begin(2);
    int64_t at = 0;
    for (unsigned step = 0; step < 5; step++) {
        int64_t end = write_some(0, 10, at);
        if (step) act(1, 'B', end, 0);
        at = act(1, 'S', end + WAKE_US, 700) + WAKE_US;
    }
    find();
    assert_int_equal(model.waits, 2);
    expect_row(1, 1, 0, 5, (int64_t[]){1, 2, 3, 4, 5}, (int64_t[]){10, 20, 30, 40, 50});
    for (unsigned i = 0; i < 9; i++) assert_true(maker.lane[1].other_time[i].waits);
}

// One thread opens a file, two others use it, the first closes it when they have: once is enough to know that the
// open is first and the close last.
static void test_close(void **state)
{
    (void)state;
    begin(3);
    int64_t opened = act(2, 'O', 0, 100), first = write_some(0, 5, opened + 1000);
    write_some(1, 3, opened + 2000);
    act(2, 'C', first + 9000, 10);
    find();
    assert_int_equal(model.waits, 4);
    expect_row(0, 0, 2, 1, (int64_t[]){1}, (int64_t[]){1});
    expect_row(1, 1, 2, 1, (int64_t[]){1}, (int64_t[]){1});
    expect_row(2, 2, 0, 1, (int64_t[]){2}, (int64_t[]){5});
    expect_row(3, 2, 1, 1, (int64_t[]){2}, (int64_t[]){3});
    const int64_t after_us[] = {1000, 2000, 9000, 9000};
    for (unsigned i = 0; i < 4; i++) assert_int_equal(model.wait[i].after_ns[0], after_us[i] * 1000);
}

// Again and again: each time has an open before and a close behind, not only the last one.
static void test_close_in_rounds(void **state)
{
    (void)state;
    begin(2);
    for (int64_t at = 0, round = 0; round < 3; round++) {
        at = write_some(0, 2, act(1, 'O', at, 100) + 1000);
        at = act(1, 'C', at + 9000, 10) + 9000;
    }
    find();
    assert_int_equal(model.waits, 2);
    expect_row(0, 0, 1, 3, (int64_t[]){1, 3, 5}, (int64_t[]){1, 3, 5});
    expect_row(1, 1, 0, 3, (int64_t[]){2, 4, 6}, (int64_t[]){2, 4, 6});
}

// What was waited for is not waited for again: of two files the one used last is closed first.
static void test_close_of_two(void **state)
{
    (void)state;
    begin(2);
    act_on(0, 1, 'O', 0, 10);
    act_on(1, 1, 'O', 20, 10);
    act_on(0, 0, 'w', 1000, 100);
    act_on(1, 0, 'w', 2000, 100);
    act_on(1, 1, 'C', 9000, 10);
    act_on(0, 1, 'C', 9020, 10);
    for (unsigned i = 0; i < 100; i++) act_on(0, 1, 'C', 9040 + 20 * i, 10);
    find();
    assert_int_equal(model.waits, 2);
    expect_row(0, 0, 1, 2, (int64_t[]){1, 2}, (int64_t[]){1, 2});
    expect_row(1, 1, 0, 1, (int64_t[]){3}, (int64_t[]){2});
}

// Threads that open the same file each for itself have nothing to do with each other; one that closes what it did not
// open has.
static void test_close_of_ones_own(void **state)
{
    (void)state;
    begin(3);
    for (unsigned thread = 0; thread < 2; thread++) write_some(thread, 2, act(thread, 'O', 40 * thread, 10) + 1000);
    act(1, 'C', 90000, 10);
    act(2, 'C', 190000, 10);
    find();
    assert_int_equal(model.waits, 2);
    expect_row(0, 2, 0, 1, (int64_t[]){1}, (int64_t[]){3});
    expect_row(1, 2, 1, 1, (int64_t[]){1}, (int64_t[]){3});
}

// A thread that has done something else since did not wait: its pause is as long as it was, without what it
// communicated, and still counted as one.
static void test_close_later(void **state)
{
    (void)state;
    begin(2);
    act(1, 'O', 0, 100);
    write_some(0, 3, 1000);
    act(1, 'S', 50000, 700);
    act(1, 'C', 6000000, 10);
    find();
    assert_int_equal(model.waits, 2);
    expect_row(1, 1, 0, 1, (int64_t[]){3}, (int64_t[]){3});
    assert_int_equal(model.wait[1].after_ns[0], maker.lane[1].other_time[2].think_ns);
    assert_false(maker.lane[1].other_time[2].waits);
}

// Nobody sees an asynchronous transfer end.
static void test_asynchronous(void **state)
{
    (void)state;
    maker.kind['w'].nonblocking = true;
    begin(2);
    int64_t at = 0;
    for (unsigned step = 0; step < 5; step++) at = act(1, 'S', write_some(0, 10, at) + WAKE_US, 700) + WAKE_US;
    find();
    assert_int_equal(model.waits, 1);
    expect_row(0, 0, 1, 4, (int64_t[]){11, 21, 31, 41}, (int64_t[]){1, 2, 3, 4});
}

// One works for long between its writes, another writes all the time.
static void test_worker_and_writer(void **state)
{
    (void)state;
    begin(2);
    write_some(0, 3000, 0);
    for (unsigned i = 0; i < 200; i++) act(1, 'w', 12345 + i * 15000 + any(0, 2000), WRITE_US);
    find();
    assert_int_equal(model.waits, 0);
}

static void test_one_thread(void **state)
{
    (void)state;
    begin(1);
    write_some(0, 10, 0);
    find();
    assert_int_equal(model.waits, 0);
}

#define A_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        A_TEST(test_steps),
        A_TEST(test_short_answers),
        A_TEST(test_meetings),
        A_TEST(test_beginning),
        A_TEST(test_strangers),
        A_TEST(test_worker_and_writer),
        A_TEST(test_one_thread),
        A_TEST(test_barrier),
        A_TEST(test_asynchronous),
        A_TEST(test_close),
        A_TEST(test_close_in_rounds),
        A_TEST(test_close_of_two),
        A_TEST(test_close_of_ones_own),
        A_TEST(test_close_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
