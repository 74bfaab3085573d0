// The overhead of FUSE, measured with requests that the tests make.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "target/emulate/overhead.h"

struct request {
    const struct overhead *overhead;
    int64_t more_ns; // than it was asked to take
    unsigned left;   // until it fails
};

static int take_time(void *context) {
    struct request *request = context;
    int64_t until_ns = clock_now_ns() + request->overhead->asked_wait_ns + request->more_ns;
    if (!request->left--) return -1;
    while (clock_now_ns() < until_ns) continue;
    return 0;
}

static void measures_what_comes_on_top(void **state) {
    (void)state;
    struct overhead *overhead = overhead_new();
    struct request request = {overhead, 70000, 1000};
    assert_int_equal(overhead_cost_ns(overhead, 1000000), 0);
    overhead_measure(overhead, take_time, &request);
    assert_int_equal(overhead->asked_wait_ns, 0);
    for (int64_t wait_ns = 1000; wait_ns < 100000000; wait_ns *= 3) {
        assert_in_range(overhead_cost_ns(overhead, wait_ns), 70000, 200000);
    }
    overhead_free(overhead);
}

static void is_nothing_where_it_cannot_be_measured(void **state) {
    (void)state;
    struct overhead *overhead = overhead_new();
    struct request request = {overhead, 70000, 20};
    overhead_measure(overhead, take_time, &request);
    assert_int_equal(overhead->asked_wait_ns, 0);
    assert_int_equal(overhead_cost_ns(overhead, 1000000), 0);
    overhead_free(overhead);
}

static void lies_between_the_points(void **state) {
    (void)state;
    struct overhead *overhead = overhead_new();
    for (unsigned i = 0; i < OVERHEAD_POINTS; i++) overhead->point[i].cost_ns = 10000 * (i + 1);
    assert_int_equal(overhead_cost_ns(overhead, 0), 10000);
    assert_int_equal(overhead_cost_ns(overhead, overhead->point[1].wait_ns), 20000);
    assert_int_equal(overhead_cost_ns(overhead, (overhead->point[1].wait_ns + overhead->point[2].wait_ns) / 2), 25000);
    assert_int_equal(overhead_cost_ns(overhead, INT64_C(10000000000)), 10000 * OVERHEAD_POINTS);
    overhead_free(overhead);
}

// --- what clients show

// A client that waits for `wait_ns` comes back late if the wait was shortened too little, and early if too much.
static struct client_interval interval_of(const struct overhead *overhead, int64_t wait_ns, int64_t real_ns) {
    return (struct client_interval){
        .left_ns = wait_ns, .late_ns = real_ns - overhead_cost_ns(overhead, wait_ns), .ran_ns = 10000};
}

static struct overhead *made_overhead(void) {
    struct overhead *overhead = overhead_new();
    for (unsigned i = 0; i < OVERHEAD_POINTS; i++) {
        overhead->point[i].cost_ns = 40000;
        overhead->point[i].run_ns = 10000;
    }
    return overhead;
}

enum { ROUNDS = 2000, WAIT_NS = 300000 };

static void follows_what_clients_show(void **state) {
    (void)state;
    const int64_t real_ns[] = {90000, 15000, 40000};
    struct overhead *overhead = made_overhead();
    for (unsigned change = 0; change < 3; change++) {
        for (unsigned i = 0; i < ROUNDS; i++) {
            struct client_interval interval = interval_of(overhead, WAIT_NS, real_ns[change]);
            if (i % 4 == 0) interval.late_ns += 400000; // a few come much later
            overhead_learn(overhead, &interval);
        }
        assert_in_range(overhead_cost_ns(overhead, WAIT_NS), real_ns[change] - 3000, real_ns[change] + 3000);
    }
    overhead_free(overhead);
}

static void leaves_to_clients_what_is_theirs(void **state) {
    (void)state;
    struct overhead *overhead = made_overhead();
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct client_interval interval = interval_of(overhead, WAIT_NS, 40000);
        int64_t own_ns = i % 2 ? 150000 : 0, waited_ns = i % 3 ? 250000 : 0;
        interval.ran_ns += own_ns;
        interval.waited_ns = waited_ns;
        interval.server_ns = own_ns; // the server ran, too, but a client that computes competes with itself
        interval.late_ns += own_ns + waited_ns;
        overhead_learn(overhead, &interval);
    }
    assert_in_range(overhead_cost_ns(overhead, WAIT_NS), 37000, 43000);
    overhead_free(overhead);
}

static void takes_upon_itself_where_the_server_had_the_processor(void **state) {
    (void)state;
    struct overhead *overhead = made_overhead();
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct client_interval interval = interval_of(overhead, WAIT_NS, 40000 + 50000);
        interval.waited_ns = 50000;
        interval.server_ns = 80000;
        overhead_learn(overhead, &interval);
    }
    assert_in_range(overhead_cost_ns(overhead, WAIT_NS), 87000, 93000);
    overhead_free(overhead);
}

static void learn(struct overhead *overhead, unsigned times, int64_t left_ns, int64_t late_ns) {
    for (unsigned i = 0; i < times; i++)
        overhead_learn(overhead, &(struct client_interval){.left_ns = left_ns, .late_ns = late_ns});
}

// If the overhead exceeds the wait, or is much too long, the correction stays bounded.
static void learns_no_more_than_can_be_taken_off(void **state) {
    (void)state;
    struct overhead *overhead = made_overhead();
    learn(overhead, 100 * ROUNDS, 50000, 30000);
    assert_in_range(overhead_cost_ns(overhead, 50000), 40000, 51000);
    learn(overhead, ROUNDS, 9000000, 900000);
    learn(overhead, ROUNDS, 9000000, 9000000);
    assert_int_equal(overhead_cost_ns(overhead, 9000000), 200000);
    learn(overhead, 40, 9000000, -150000);
    assert_int_equal(overhead_cost_ns(overhead, 9000000), 0);
    learn(overhead, ROUNDS, 0, 150000);
    learn(overhead, ROUNDS, -1000000, 150000);
    assert_in_range(overhead_cost_ns(overhead, 50000), 40000, 51000);
    overhead_free(overhead);
}

// Short waits and long waits have separate corrections.
static void learns_for_each_length(void **state) {
    (void)state;
    const int64_t wait_ns[] = {100000, 6000000}, real_ns[] = {20000, 150000};
    struct overhead *overhead = made_overhead();
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct client_interval interval = interval_of(overhead, wait_ns[i % 2], real_ns[i % 2]);
        overhead_learn(overhead, &interval);
    }
    for (unsigned i = 0; i < 2; i++) {
        assert_in_range(overhead_cost_ns(overhead, wait_ns[i]), real_ns[i] - 11000, real_ns[i] + 11000);
    }
    overhead_free(overhead);
}

// A client that ran and waited too long to have slept tells nothing.
static void learns_not_from_the_impossible(void **state) {
    (void)state;
    struct overhead *overhead = made_overhead();
    for (unsigned i = 0; i < ROUNDS; i++) {
        overhead_learn(overhead, &(struct client_interval){.left_ns = WAIT_NS, .late_ns = 20000, .ran_ns = WAIT_NS});
        overhead_learn(overhead, &(struct client_interval){.left_ns = WAIT_NS, .late_ns = 20000, .waited_ns = WAIT_NS});
        overhead_learn(overhead, &(struct client_interval){.left_ns = WAIT_NS, .late_ns = 9000000, .ran_ns = 8900000});
    }
    assert_int_equal(overhead_cost_ns(overhead, WAIT_NS), 40000);
    overhead_free(overhead);
}

// What is learned takes effect one request later. Many that learn at once must not overshoot.
static void many_at_once_are_calm(void **state) {
    (void)state;
    enum { CLIENTS = 64, LONG_NS = 2000000 };
    struct overhead *overhead = made_overhead();
    int64_t taken_ns = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        int64_t before_ns = taken_ns;
        taken_ns = overhead_cost_ns(overhead, LONG_NS);
        for (int64_t client = 0; client < CLIENTS; client++) {
            int64_t real_ns = 100000 + 300 * (client - CLIENTS / 2);
            overhead_learn(overhead, &(struct client_interval){
                                         .left_ns = LONG_NS, .late_ns = real_ns - before_ns, .under_way = CLIENTS});
        }
        if (i > ROUNDS / 2) assert_in_range(taken_ns, 80000, 120000);
    }
    overhead_free(overhead);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_what_comes_on_top),
        cmocka_unit_test(is_nothing_where_it_cannot_be_measured),
        cmocka_unit_test(lies_between_the_points),
        cmocka_unit_test(follows_what_clients_show),
        cmocka_unit_test(leaves_to_clients_what_is_theirs),
        cmocka_unit_test(takes_upon_itself_where_the_server_had_the_processor),
        cmocka_unit_test(learns_no_more_than_can_be_taken_off),
        cmocka_unit_test(learns_for_each_length),
        cmocka_unit_test(learns_not_from_the_impossible),
        cmocka_unit_test(many_at_once_are_calm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
