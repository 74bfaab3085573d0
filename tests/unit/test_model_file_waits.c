#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>

#include "calls.h"
#include "model/build/build.h"
#include "test_model_maker.h"

enum { WRITE_US = 1000, BETWEEN_US = 10 };

static struct ops_maker maker;
static struct model model;
static struct building b;

static int set_up(void **state) {
    (void)state;
    maker_start(&maker, false);
    model = (struct model){0};
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    maker_free(&maker);
    maker_start(&maker, false);
    model_free(&model);
    return 0;
}

static void begin(unsigned threads) {
    for (uint32_t i = 0; i < threads; i++) {
        maker_alloc(&maker.thread[i]);
        maker.thread[i].number = i;
    }
    maker.recorded.count = threads;
}

// The same for processes with one thread each.
static void begin_processes(unsigned count) {
    begin(count);
    for (uint32_t i = 0; i < count; i++) {
        maker.thread[i].number = 0;
        maker.thread[i].rank = i;
    }
}

// An operation of a thread on one of the files; the time when it ends.
static int64_t act_on(int64_t file, unsigned thread, char letter, int64_t start_us, int64_t us) {
    struct thread_ops *ops = &maker.thread[thread];
    bool other = maker_is_other(letter);
    size_t at = other ? ops->others : ops->transfers;
    maker_op(ops, &(struct op){.kind = (uint32_t)letter, .at[AT_MEMBER] = file}, &(struct thread_gap){0}, false);
    (other ? ops->other_time : ops->time)[at] =
        (struct op_time){.start_ns = start_us * 1000, .duration_ns = us * 1000, .think_ns = INT64_C(1000000000)};
    return start_us + us;
}

static int64_t act(unsigned thread, char letter, int64_t start_us, int64_t us) {
    return act_on(0, thread, letter, start_us, us);
}

static int64_t write_some(unsigned thread, unsigned count, int64_t at_us) {
    for (unsigned i = 0; i < count; i++) at_us = act(thread, 'w', at_us, WRITE_US) + BETWEEN_US;
    return at_us - BETWEEN_US;
}

static void find(void) {
    b = (struct building){.model = &model, .recorded = maker.recorded};
    assert_int_equal(build_file_waits(&b), 0);
    for (size_t i = 0; i < model.waits; i++) { // as readers of a model want it
        const struct model_wait *wait = &model.wait[i];
        for (size_t at = 0; at < wait->count; at++) {
            assert_true(wait->op[at] > (at ? wait->op[at - 1] : 0));
            assert_true(wait->done[at] >= (at ? wait->done[at - 1] : 1));
        }
    }
}

// Threads are those of a process, or the only ones of their processes.
static void expect_row(size_t place, uint32_t thread, uint32_t behind, size_t count, const int64_t *op,
                       const int64_t *done) {
    const struct model_wait *wait = &model.wait[place];
    assert_int_equal(wait->rank + wait->thread, thread);
    assert_int_equal(wait->behind_rank + wait->behind, behind);
    assert_int_equal(wait->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(wait->op[i], op[i]);
        assert_int_equal(wait->done[i], done[i]);
    }
}

// One thread opens a file, two others use it, the first closes it when they have: once is enough to know that the
// open is first and the close last.
static void test_close(void **state) {
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
}

// Every round has its own open and close, not only the last one.
static void test_close_in_rounds(void **state) {
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

// A thread does not wait twice for the same operation: of two files, the one used last is closed first.
static void test_close_of_two(void **state) {
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

// Threads that each open the same file do not wait for each other; a thread that closes a file that it did not open
// waits.
static void test_close_of_ones_own(void **state) {
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

// The end of an asynchronous transfer is not seen: a close does not wait for it, but it waits for the open.
static void test_asynchronous(void **state) {
    (void)state;
    maker.kind['w'].nonblocking = true;
    begin(2);
    int64_t at = write_some(0, 5, act(1, 'O', 0, 100) + 1000);
    act(1, 'C', at + 1000, 10);
    find();
    assert_int_equal(model.waits, 1);
    expect_row(0, 0, 1, 1, (int64_t[]){1}, (int64_t[]){1});
}

// Barriers are not counted. Neither barriers nor failed calls use a file.
static void test_barriers_and_failures(void **state) {
    (void)state;
    maker.kind['S'].error = 5;
    begin(2);
    int64_t at = act(1, 'B', act(1, 'O', act(1, 'B', 0, 10), 100), 10);
    at = act(0, 'S', at, 10);
    at = write_some(0, 2, at + 1000);
    act(0, 'S', at, 10);
    act(1, 'C', at + 1000, 10);
    find();
    assert_int_equal(model.waits, 2);
    expect_row(0, 0, 1, 1, (int64_t[]){2}, (int64_t[]){1});
    expect_row(1, 1, 0, 1, (int64_t[]){2}, (int64_t[]){3});
}

static void use_names(void) {
    maker.kind['O'].flags = O_CREAT;
    maker.kind['O'].call_id = CALL_open;
    maker.kind['S'] = (struct op_kind){.call = "unlink", .class = CLASS_META, .call_id = CALL_unlink};
    maker.kind['C'] = (struct op_kind){.call = "stat", .class = CLASS_META, .call_id = CALL_stat};
}

// An open waits for the one that made the file, also if it is before the removal; the removal waits for the open.
static void test_names(void **state) {
    (void)state;
    for (unsigned processes = 0; processes < 2; processes++) {
        if (processes) tear_down(state);
        use_names();
        (processes ? begin_processes : begin)(2);
        act(1, 'O', 0, 10);
        act(0, 'O', 100, 10);
        act(1, 'S', 200, 10);
        act(0, 'O', 300, 10);
        act(1, 'S', 400, 10);
        act(0, 'C', 405, 10); // during the removal: it found the name, so it was first
        find();
        assert_int_equal(model.waits, 2);
        expect_row(0, 0, 1, 2, (int64_t[]){1, 2}, (int64_t[]){1, 2});
        expect_row(1, 1, 0, 2, (int64_t[]){2, 3}, (int64_t[]){1, 3});
        model_free(&model);
        model = (struct model){0};
    }
}

// Ranks of MPI have synchronisations instead.
static void test_names_with_mpi(void **state) {
    (void)state;
    use_names();
    begin_processes(2);
    maker.program[0].is_mpi = true;
    act(1, 'O', 0, 10);
    act(0, 'C', 100, 10);
    find();
    assert_int_equal(model.waits, 0);
}

// Of two calls that overlap, the result of the lookup tells which one was first, also if the lookup began earlier.
static void test_names_at_the_same_time(void **state) {
    (void)state;
    use_names();
    maker.kind['B'] = (struct op_kind){.call = "stat", .class = CLASS_META, .call_id = CALL_stat, .error = ENOENT};
    begin_processes(4);
    act(0, 'O', 100, 100);
    act(1, 'B', 50, 100);  // did not find it: first
    act(2, 'C', 60, 100);  // found it: waits for the one that began later
    act(3, 'B', 150, 100); // the file is made, since another has found it: nothing can be said
    find();
    assert_int_equal(model.waits, 2);
    expect_row(0, 0, 1, 1, (int64_t[]){1}, (int64_t[]){1});
    expect_row(1, 2, 0, 1, (int64_t[]){1}, (int64_t[]){1});
}

// Lookups that nothing changed before need no waits, and a change waits once for each of many that look up.
static void test_many_lookups(void **state) {
    (void)state;
    use_names();
    begin_processes(3);
    for (unsigned i = 0; i < 100; i++) act(i % 2, 'C', 10 * i, 5);
    act(2, 'S', 2000, 10);
    for (unsigned i = 0; i < 10; i++) act(2, 'S', 3000 + 20 * i, 10);
    find();
    assert_int_equal(model.waits, 2);
    expect_row(0, 2, 0, 1, (int64_t[]){1}, (int64_t[]){50});
    expect_row(1, 2, 1, 1, (int64_t[]){1}, (int64_t[]){50});
}

// A process that has not opened a file got it from another one.
static void test_inherited(void **state) {
    (void)state;
    begin_processes(2);
    write_some(1, 3, act(0, 'O', 0, 100) + 1000);
    act(0, 'C', 90000, 10);
    find();
    assert_int_equal(model.waits, 1); // each process has its own descriptor: a close waits for no other
    expect_row(0, 1, 0, 1, (int64_t[]){1}, (int64_t[]){1});
}

// --- sizes

static void transfer(unsigned process, char letter, int64_t start_us, int64_t offset, int64_t size, int64_t missing) {
    struct thread_ops *ops = &maker.thread[process];
    act(process, letter, start_us, 10);
    int64_t *at = ops->transfer[ops->transfers - 1].at;
    at[AT_OFFSET] = offset;
    at[AT_SIZE] = size;
    at[AT_SHORT] = missing;
}

// A process reads what another has added: it waits for the write that reached so far. One that sees the end is before
// the next write.
static void test_sizes(void **state) {
    (void)state;
    maker.kind['r'].set = maker.kind['w'].set = 0;
    begin_processes(2);
    act(0, 'O', 0, 5);
    act(1, 'O', 10, 5);
    for (int64_t i = 0; i < 4; i++) transfer(0, 'w', 100 + 10 * i, 100 * i, 100, 0);
    transfer(1, 'r', 200, 100, 100, 0);
    transfer(1, 'r', 300, 0, 200, 0); // what it has waited for
    transfer(1, 'r', 400, 300, 200, 100);
    transfer(0, 'w', 500, 0, 400, 0); // nothing new
    transfer(0, 'w', 600, 400, 1, 0);
    find();
    assert_int_equal(model.waits, 2);
    expect_row(0, 0, 1, 1, (int64_t[]){7}, (int64_t[]){4});
    expect_row(1, 1, 0, 2, (int64_t[]){2, 4}, (int64_t[]){3, 5});
}

// Whoever cuts a file off waits for those that read it; whoever sees its end waits for the cut.
static void test_cutting(void **state) {
    (void)state;
    maker.kind['S'] = (struct op_kind){.call = "ftruncate", .class = CLASS_META, .layer = LAYER_POSIX};
    maker.kind['S'].call_id = CALL_ftruncate;
    begin_processes(2);
    for (unsigned i = 0; i < 2; i++) act(i, 'O', 10 * i, 5);
    transfer(0, 'w', 100, 0, 100, 0);
    transfer(1, 'r', 200, 0, 100, 0);
    act(0, 'S', 300, 10);
    transfer(1, 'r', 400, 0, 100, 100);
    find();
    assert_int_equal(model.waits, 2);
    expect_row(0, 0, 1, 1, (int64_t[]){3}, (int64_t[]){2});
    expect_row(1, 1, 0, 2, (int64_t[]){2, 3}, (int64_t[]){2, 3});
}

static void test_one_thread(void **state) {
    (void)state;
    begin(1);
    write_some(0, 10, 0);
    find();
    assert_int_equal(model.waits, 0);
}

#define A_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        A_TEST(test_one_thread),
        A_TEST(test_asynchronous),
        A_TEST(test_barriers_and_failures),
        A_TEST(test_close),
        A_TEST(test_close_in_rounds),
        A_TEST(test_close_of_two),
        A_TEST(test_close_of_ones_own),
        A_TEST(test_names),
        A_TEST(test_names_with_mpi),
        A_TEST(test_names_at_the_same_time),
        A_TEST(test_many_lookups),
        A_TEST(test_inherited),
        A_TEST(test_sizes),
        A_TEST(test_cutting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
