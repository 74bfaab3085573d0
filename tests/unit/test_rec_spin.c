#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>
#include <pthread.h>

#include "base/clock.h"
#include "rec/recorder.h"

struct recorder recorder;

enum { THREADS = 2, OWNER = 7, TURNS = 20000 };

struct shared {
    _Atomic uint32_t lock;
    int inside;
    int turns;
    bool together;
};

static void enter(struct shared *shared) {
    spin_lock_as(&shared->lock, OWNER);
    shared->together |= shared->inside++ > 0;
    shared->turns++;
    shared->inside--;
    spin_unlock(&shared->lock);
}

static void *enter_often(void *shared) {
    for (int i = 0; i < TURNS; i++) enter(shared);
    return NULL;
}

static void run_threads(struct shared *shared) {
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&thread[i], NULL, enter_often, shared), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    assert_false(shared->together);
    assert_int_equal(shared->turns, THREADS * TURNS);
    assert_int_equal(shared->lock, 0);
}

static void one_at_a_time(void **state) {
    (void)state;
    run_threads(&(struct shared){0});
}

static void owner_before_a_fork(void **state) {
    (void)state;
    struct shared shared = {.lock = OWNER - 1};
    uint64_t start_ns = clock_ns(CLOCK_MONOTONIC);
    enter(&shared);
    assert_true(clock_ns(CLOCK_MONOTONIC) - start_ns < SPIN_PATIENCE_NS / 2);
}

// All wait for an owner that never comes back. One of them takes the lock over; for the others it is held as before.
static void owner_that_left(void **state) {
    (void)state;
    struct shared shared = {.lock = OWNER};
    uint64_t start_ns = clock_ns(CLOCK_MONOTONIC);
    run_threads(&shared);
    assert_true(clock_ns(CLOCK_MONOTONIC) - start_ns > SPIN_PATIENCE_NS);
}

static void lock_that_was_taken_over(void **state) {
    (void)state;
    _Atomic uint32_t lock = 1 | SPIN_TURN;
    assert_false(spin_try(&lock)); // generation 0
    recorder.generation = 1;
    assert_true(spin_try(&lock));
    recorder.generation = 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_at_a_time),
        cmocka_unit_test(owner_before_a_fork),
        cmocka_unit_test(owner_that_left),
        cmocka_unit_test(lock_that_was_taken_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
