// The published model with the numbers of the thesis gives its tables: seconds, and bandwidths in MB per second.
#include "whatif/published.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

// Tables 4.3 and 4.5: 1024 iterations of 16 MB, 4 processes on each node.
static struct published workload(double sequential, double random) {
    return (struct published){.start = 5.39e-3,
                              .per_byte = 3.35e-2,
                              .message = 16,
                              .tau = 1,
                              .bytes = 1024 * 16,
                              .at_once = 4,
                              .sequential = sequential,
                              .random = random};
}

static const struct published_row {
    double sequential, random;
    double collective, individual; // Table 4.9
    double off;                    // by which the thesis differs from its own equations, as a fraction
} rows[] = {
    // Its T_IO of 273.20 s for the disk would be 59.97 MB/s, where Table 4.3 has 58.11.
    {58.11, 26.72, 411.78, 613.17, 0.022},
    {110.98, 101.86, 286.21, 160.84, 1e-4},
    // T_individual is that of the sequential bandwidth.
    {112.31, 112.31, 284.46, 145.88, 1e-4},
};

static void assert_near(double value, double expected, double fraction) {
    assert_true(fabs(value - expected) <= fraction * expected);
}

static void test_tables(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct published p = workload(rows[i].sequential, rows[i].random);
        assert_near(published_iterations(&p), 1024, 1e-12);
        assert_near(published_communication(&p), 138.58, 1e-3); // equation 4.6
        assert_near(published_collective(&p), rows[i].collective, rows[i].off + 1e-3);
        assert_near(published_individual(&p), rows[i].individual, 1e-4);
    }
}

// Table 4.10: 8 processes on each of 2 nodes.
static void test_fewer_nodes(void **state) {
    (void)state;
    struct published p = workload(110.98, 101.86);
    p.at_once = 8;
    assert_near(published_collective(&p), 216.58, 5e-3);
    p.sequential = 112.31;
    assert_near(published_collective(&p), 214.83, 5e-3);
}

// Without an exchange nothing is moved collectively; T_other is added once.
static void test_parts(void **state) {
    (void)state;
    struct published p = workload(100, 50);
    p.tau = 0;
    p.other = 3;
    assert_near(published_collective(&p), 1024 * 5.39e-3 / 4 + 3, 1e-12);
    assert_near(published_individual(&p), 1024 * 16 / 50.0 + 3, 1e-12);
    p.tau = 0.5;
    assert_near(published_collective_io(&p), 1024 * 16 * 0.5 / 100, 1e-12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_fewer_nodes),
        cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
