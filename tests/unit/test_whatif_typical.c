// Typical storage has the times that emulated storage of that kind takes, and collective I/O is worth it on a disk
// only.
#include "whatif/typical.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "whatif/extended.h"

enum { KIB = 1 << 10, MIB = 1 << 20, RANKS = 4, CALLS = 8 };

static struct system make(const char *preset, uint32_t np) {
    struct system system;
    assert_int_equal(typical_system(&speed_preset_named(preset)->settings, np, &system), 0);
    return system;
}

static double seconds(const struct system *system, struct request_row row) {
    struct io_counts counts = {.row = &row, .rows = 1, .np = row.np};
    struct extended result;
    assert_int_equal(extended_estimate(&counts, &(struct prices){system, NULL}, &result), 0);
    return result.seconds.middle;
}

static void assert_near(double value, double wanted) { assert_true(fabs(value - wanted) < 0.02 * wanted); }

static void test_all_presets(void **state) {
    (void)state;
    for (const struct typical *typical = typical_storage; typical->preset; typical++) {
        const struct speed_preset *preset = speed_preset_named(typical->preset);
        assert_non_null(preset);
        struct system system = make(typical->preset, 3);
        assert_true(system.peak_read > 0.9 * (double)preset->settings.read_bandwidth);
        assert_true(system.peak_read <= (double)preset->settings.read_bandwidth);
        for (size_t i = 0; i < system.points; i++) assert_true(system.point[i].bandwidth > 0);
        system_free(&system);
    }
}

static void test_a_disk(void **state) {
    (void)state;
    struct system disk = make("hdd", RANKS);
    struct request_row row = {.write = true, .size = 14 * MIB, .mode = MODE_SEQUENTIAL, .np = 1, .count = 10};
    assert_near(seconds(&disk, row), 1); // 140 MiB/s
    row.size = KIB;
    assert_near(seconds(&disk, row), 10 * 0.0002);
    row.mode = MODE_RANDOM;
    assert_near(seconds(&disk, row), 10 * 0.0082);
    row.np = RANKS; // they come in turns, and each one seeks
    assert_near(seconds(&disk, row), 10 * (RANKS * 0.008 + 0.0002));
    row.mode = MODE_SEQUENTIAL;
    row.shared = true;
    assert_near(seconds(&disk, row), 10 * (RANKS * 0.008 + 0.0002));
    system_free(&disk);
}

static void test_flash(void **state) {
    (void)state;
    struct system flash = make("ssd", RANKS);
    struct request_row row = {.size = 4 * KIB, .mode = MODE_RANDOM, .np = RANKS, .count = 10};
    assert_near(seconds(&flash, row), 10 * 0.000102); // latencies pass at the same time
    row.size = 50 * MIB;
    assert_near(seconds(&flash, row), 10 * RANKS * 0.1); // the bandwidth is shared
    system_free(&flash);
}

// What interleaved calls of 64 KiB take with and without an exchange.
static double gain(const char *preset) {
    struct accesses accesses = {.item = calloc(RANKS * CALLS, sizeof *accesses.item), .share = 1};
    const struct library library = {.romio = true, .nodes = 1, .np = RANKS};
    struct system system = make(preset, RANKS);
    struct system_mpiio mpiio = typical_mpiio(RANKS, 1);
    double took[2];
    for (uint32_t i = 0; i < RANKS * CALLS; i++) {
        uint32_t rank = i / CALLS, call = i % CALLS;
        accesses.item[accesses.count++] = (struct access){.rank = rank,
                                                          .number = call,
                                                          .write = true,
                                                          .mpiio = true,
                                                          .position = (call * RANKS + rank) * 64 * KIB,
                                                          .bytes = 64 * KIB};
    }
    for (unsigned i = 0; i < 2; i++) {
        struct variant variant = {.interface = i ? VARIANT_COLLECTIVE : VARIANT_INDEPENDENT};
        struct io_counts counts;
        struct extended result;
        assert_int_equal(counts_of(&accesses, &variant, &library, &counts), 0);
        assert_int_equal(extended_estimate(&counts, &(struct prices){&system, &mpiio}, &result), 0);
        took[i] = result.seconds.middle;
        counts_free(&counts);
    }
    system_free(&system);
    free(accesses.item);
    return took[0] - took[1];
}

static void test_collective_calls(void **state) {
    (void)state;
    assert_true(gain("hdd") > 0.1); // 32 seeks, or none but the first
    assert_true(gain("nvm") < 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_presets), cmocka_unit_test(test_a_disk),
                                       cmocka_unit_test(test_flash), cmocka_unit_test(test_collective_calls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
