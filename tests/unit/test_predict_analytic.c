// Times from the points of a profile made by hand.
#include "predict/analytic.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/err.h"

enum { KIB = 1 << 10, MIB = 1 << 20 };

// 1 ms per request and 100 MiB/s: 4 KiB take 1.039 ms, 1 MiB 11 ms. Random requests take 5 ms more.
static double request_of(uint64_t size, bool random) {
    return 0.001 + (double)size / (100.0 * MIB) + (random ? 0.005 : 0);
}

static struct system_point point_of(bool write, uint64_t size, enum system_mode mode, uint32_t np) {
    double bandwidth = (double)size * np / request_of(size, mode == MODE_RANDOM);
    return (struct system_point){.write = write,
                                 .size = size,
                                 .mode = mode,
                                 .np = np,
                                 .bandwidth = bandwidth,
                                 .low = bandwidth * 0.9,
                                 .high = bandwidth * 1.1,
                                 .stable = true};
}

static struct system_point points[6];
static struct system profile = {.point = points};

static int make_profile(void **state) {
    (void)state;
    profile.points = 0;
    points[profile.points++] = point_of(true, 4 * KIB, MODE_SEQUENTIAL, 1);
    points[profile.points++] = point_of(true, MIB, MODE_SEQUENTIAL, 1);
    points[profile.points++] = point_of(true, 4 * KIB, MODE_RANDOM, 1);
    points[profile.points++] = point_of(true, MIB, MODE_SEQUENTIAL, 4);
    points[profile.points++] = point_of(true, MIB, MODE_SEQUENTIAL, 1);
    points[4].warm = true;
    points[4].bandwidth *= 50;
    points[profile.points++] = point_of(true, MIB, MODE_SEQUENTIAL, 1);
    points[5].pause = request_of(MIB, false);
    points[5].bandwidth *= 4;
    return 0;
}

static struct io_class class_of(uint64_t size, enum system_mode mode, uint32_t np, uint64_t rep) {
    return (struct io_class){
        .write = true, .size = size, .mode = mode, .np = np, .concurrency = np, .bytes = size * np * rep};
}

static struct estimate estimate_of(const struct io_class *class) {
    struct estimate found;
    assert_int_equal(analytic_estimate(&profile, class, &found), 0);
    return found;
}

static void assert_near(double found, double wanted) {
    if (fabs(found - wanted) > 1e-6 * fabs(wanted)) fail_msg("%g, not %g", found, wanted);
}

static void at_a_point(void **state) {
    (void)state;
    struct io_class class = class_of(4 * KIB, MODE_SEQUENTIAL, 1, 10);
    struct estimate found = estimate_of(&class);
    assert_near(found.seconds.middle, 10 * request_of(4 * KIB, false));
    assert_near(found.seconds.high, 10 * request_of(4 * KIB, false) / 0.9);
    assert_near(found.seconds.low, 10 * request_of(4 * KIB, false) / 1.1);
    assert_false(found.extrapolated);
    assert_ptr_equal(found.below, &points[0]);
}

static void between_points(void **state) {
    (void)state;
    struct io_class class = class_of(256 * KIB, MODE_SEQUENTIAL, 1, 3);
    struct estimate found = estimate_of(&class);
    assert_near(found.seconds.middle, 3 * request_of(256 * KIB, false)); // a line between the points, as the truth is
    assert_false(found.extrapolated);
    assert_ptr_equal(found.above, &points[1]);
}

static void beyond_the_points(void **state) {
    (void)state;
    struct io_class large = class_of(8 * MIB, MODE_SEQUENTIAL, 1, 1), small = class_of(KIB, MODE_SEQUENTIAL, 1, 1);
    struct estimate found = estimate_of(&large);
    assert_near(found.seconds.middle, 8 * request_of(MIB, false)); // the bandwidth stays
    assert_true(found.extrapolated);
    assert_string_equal(found.reason, "larger than any point");
    found = estimate_of(&small);
    assert_near(found.seconds.middle, request_of(4 * KIB, false)); // the time stays
    assert_string_equal(found.reason, "smaller than any point");
}

static void other_ways(void **state) {
    (void)state;
    struct io_class random = class_of(4 * KIB, MODE_RANDOM, 1, 2), strided = class_of(MIB, MODE_STRIDED, 1, 2);
    assert_near(estimate_of(&random).seconds.middle, 2 * request_of(4 * KIB, true));
    struct estimate found = estimate_of(&strided);
    assert_near(found.seconds.middle, 2 * request_of(MIB, false));
    assert_string_equal(found.reason, "no points of this access mode");
}

// By these points, each of four processes had the full bandwidth; eight share that of four.
static void processes(void **state) {
    (void)state;
    struct io_class four = class_of(MIB, MODE_SEQUENTIAL, 4, 5), eight = class_of(MIB, MODE_SEQUENTIAL, 8, 5);
    assert_near(estimate_of(&four).seconds.middle, 5 * request_of(MIB, false));
    struct estimate found = estimate_of(&eight);
    assert_near(found.seconds.middle, 2 * 5 * request_of(MIB, false));
    assert_string_equal(found.reason, "no points of this number of processes");
}

// Threads use the storage as processes do, but the time of a process is that of all its threads.
static void threads(void **state) {
    (void)state;
    struct io_class class = class_of(MIB, MODE_SEQUENTIAL, 2, 5);
    class.concurrency = 4;
    struct estimate found = estimate_of(&class);
    assert_near(found.seconds.middle, 5 * request_of(MIB, false));
    assert_int_equal(found.below->np, 4);
    class.concurrency = 8;
    assert_near(estimate_of(&class).seconds.middle, 2 * 5 * request_of(MIB, false));
}

// After a pause as long as the request, it takes a quarter of its time; after half that pause, five eighths.
static void pauses(void **state) {
    (void)state;
    struct io_class class = class_of(MIB, MODE_SEQUENTIAL, 1, 8);
    assert_null(estimate_of(&class).rested);
    class.pause = request_of(MIB, false) / 2;
    struct estimate found = estimate_of(&class);
    assert_near(found.seconds.middle, 5 * request_of(MIB, false));
    assert_ptr_equal(found.rested, &points[5]);
    class.pause = 1;
    assert_near(estimate_of(&class).seconds.middle, 2 * request_of(MIB, false));
}

static void nothing_to_go_by(void **state) {
    (void)state;
    struct io_class class = class_of(MIB, MODE_SEQUENTIAL, 1, 1);
    struct estimate found;
    class.write = false;
    assert_int_equal(analytic_estimate(&profile, &class, &found), ERR_NOTHING);
}

static void words(void **state) {
    (void)state;
    char text[128];
    analytic_point_text(&points[3], text);
    assert_string_equal(text, "write 1 MiB sequential, 4 processes");
    analytic_point_text(&points[5], text);
    assert_string_equal(text, "write 1 MiB sequential, 1 process, after pauses");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_a_point),       cmocka_unit_test(between_points), cmocka_unit_test(beyond_the_points),
        cmocka_unit_test(other_ways),       cmocka_unit_test(processes),      cmocka_unit_test(threads),
        cmocka_unit_test(nothing_to_go_by), cmocka_unit_test(words),          cmocka_unit_test(pauses),
    };
    return cmocka_run_group_tests(tests, make_profile, NULL);
}
