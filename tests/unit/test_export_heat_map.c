#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "calls.h"
#include "export/heat_map.h"

enum { MS = 1000000 };

static const struct log_call write_call = {.build_id = CALL_pwrite}, read_call = {.build_id = CALL_pread};

static struct log_event event_of(const struct log_call *call, int64_t start_ms, int64_t ms, int64_t bytes) {
    return (struct log_event){
        .call = call, .start_ns = start_ms * MS, .duration_ns = ms * MS, .raw = {.result = bytes, .has_result = true}};
}

static void bins_double_with_the_run(void **state) {
    (void)state;
    static const struct {
        int64_t run_ms, width_ms;
        unsigned bins;
    } rows[] = {{0, 100, 1}, {99, 100, 1}, {19999, 100, 200}, {20000, 200, 101}, {25000, 200, 126}, {100000, 800, 126}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct heat_maps maps;
        heat_begin(&maps, rows[i].run_ms * MS);
        assert_int_equal(maps.width_ns, rows[i].width_ms * MS);
        assert_int_equal(maps.bins, rows[i].bins);
        heat_free(&maps);
    }
}

static void bytes_spread_over_the_time_of_a_call(void **state) {
    (void)state;
    struct heat_maps maps;
    struct heat heat = {0};
    heat_begin(&maps, INT64_C(25000) * MS);
    const struct log_event spread = event_of(&write_call, 100, 400, 1000);
    assert_int_equal(heat_add(&heat, &maps, &spread), 0);
    assert_int_equal(heat.bytes[0], 250);
    assert_int_equal(heat.bytes[1], 500);
    assert_int_equal(heat.bytes[2], 250);
    // Rounding loses nothing.
    const struct log_event odd = event_of(&write_call, 10000, 1000, 7);
    assert_int_equal(heat_add(&heat, &maps, &odd), 0);
    uint64_t sum = 0;
    for (unsigned i = 3; i < maps.bins; i++) sum += heat.bytes[i];
    assert_int_equal(sum, 7);
    // Times outside of the run.
    const struct log_event early = event_of(&read_call, -300, 100, 5), late = event_of(&read_call, 30000, 500, 6);
    assert_int_equal(heat_add(&heat, &maps, &early), 0);
    assert_int_equal(heat_add(&heat, &maps, &late), 0);
    assert_int_equal(heat.bytes[maps.bins], 5);
    assert_int_equal(heat.bytes[2 * maps.bins - 1], 6);
    free(heat.bytes);
    heat_free(&maps);
}

static void processes_of_a_rank_add_up(void **state) {
    (void)state;
    struct heat_maps maps;
    heat_begin(&maps, 0);
    for (int i = 0; i < 3; i++) {
        struct heat heat = {0};
        const struct log_event event = event_of(&write_call, 0, 1, 10);
        assert_int_equal(heat_add(&heat, &maps, &event), 0);
        assert_int_equal(heat_join(&maps, &heat, HEAT_POSIX, i / 2), 0);
        assert_null(heat.bytes);
    }
    assert_int_equal(maps.rows, 2);
    assert_int_equal(maps.row[0].heat.bytes[0], 20);
    assert_int_equal(maps.row[1].heat.bytes[0], 10);
    heat_free(&maps);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bins_double_with_the_run),
        cmocka_unit_test(bytes_spread_over_the_time_of_a_call),
        cmocka_unit_test(processes_of_a_rank_add_up),
    };
    return cmocka_run_group_tests_name("export_heat_map", tests, NULL, NULL);
}
