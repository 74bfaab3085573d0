// What the way through FUSE costs, measured on requests that the tests make.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "target/clock.h"
#include "target/way.h"

struct request {
    const struct way *way;
    int64_t more_ns; // than it was asked to take
    unsigned left;   // until it fails
};

static int take_time(void *context)
{
    struct request *request = context;
    int64_t until_ns = clock_now_ns() + request->way->asked_wait_ns + request->more_ns;
    if (!request->left--) return -1;
    while (clock_now_ns() < until_ns) continue;
    return 0;
}

static void measures_what_comes_on_top(void **state)
{
    (void)state;
    struct way *way = way_make();
    struct request request = {way, 70000, 1000};
    assert_int_equal(way_cost_ns(way, 1000000), 0);
    way_measure(way, take_time, &request);
    assert_int_equal(way->asked_wait_ns, 0);
    for (int64_t wait_ns = 1000; wait_ns < 100000000; wait_ns *= 3) {
        assert_in_range(way_cost_ns(way, wait_ns), 70000, 200000);
    }
    way_drop(way);
}

static void is_nothing_where_it_cannot_be_measured(void **state)
{
    (void)state;
    struct way *way = way_make();
    struct request request = {way, 70000, 20};
    way_measure(way, take_time, &request);
    assert_int_equal(way->asked_wait_ns, 0);
    assert_int_equal(way_cost_ns(way, 1000000), 0);
    way_drop(way);
}

static void lies_between_the_points(void **state)
{
    (void)state;
    struct way *way = way_make();
    for (unsigned i = 0; i < WAY_POINTS; i++) way->point[i].cost_ns = 10000 * (i + 1);
    assert_int_equal(way_cost_ns(way, 0), 10000);
    assert_int_equal(way_cost_ns(way, way->point[1].wait_ns), 20000);
    assert_int_equal(way_cost_ns(way, (way->point[1].wait_ns + way->point[2].wait_ns) / 2), 25000);
    assert_int_equal(way_cost_ns(way, INT64_C(10000000000)), 30000);
    way_drop(way);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_what_comes_on_top),
        cmocka_unit_test(is_nothing_where_it_cannot_be_measured),
        cmocka_unit_test(lies_between_the_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
