// What is counted for accesses made by hand, and what the extended model makes of it.
#include "whatif/counts.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "whatif/extended.h"
#include "whatif/sieving.h"

enum { KIB = 1 << 10, MIB = 1 << 20, RANKS = 4, CALLS = 8 };

static const struct library romio = {.romio = true, .nodes = 1, .np = RANKS};

// Each rank makes CALLS calls of `bytes`; in turns they fill the file, or each rank fills its block.
static struct accesses make(bool write, bool collective, bool turns, uint64_t bytes) {
    struct accesses made = {.item = calloc(RANKS * CALLS, sizeof *made.item), .share = 1};
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        for (uint32_t call = 0; call < CALLS; call++) {
            uint64_t place = turns ? call * RANKS + rank : rank * CALLS + call;
            made.item[made.count++] = (struct access){.rank = rank,
                                                      .number = call,
                                                      .write = write,
                                                      .mpiio = true,
                                                      .collective = collective,
                                                      .position = place * bytes,
                                                      .bytes = bytes};
            made.bytes += bytes;
        }
    }
    return made;
}

static struct io_counts count(struct accesses accesses, struct variant variant) {
    struct io_counts counts;
    assert_int_equal(counts_of(&accesses, &variant, &romio, &counts), 0);
    free(accesses.item);
    return counts;
}

static double bytes_of(const struct io_counts *counts, bool write) {
    double sum = 0;
    for (size_t i = 0; i < counts->rows; i++) {
        const struct request_row *row = &counts->row[i];
        if (row->write == write) sum += (double)row->size * row->count * row->np;
    }
    return sum;
}

static const double total = (double)RANKS * CALLS * 256 * KIB;

// ROMIO exchanges only what is interleaved, unless it is told to.
static void test_automatic(void **state) {
    (void)state;
    struct io_counts counts = count(make(true, true, false, 256 * KIB), (struct variant){0});
    assert_int_equal(counts.mpiio[1].calls, CALLS);
    assert_int_equal(counts.mpiio[1].exchanges, 0);
    assert_int_equal(counts.rows, 1);
    assert_int_equal(counts.row->np, RANKS);
    assert_int_equal(counts.row->size, 256 * KIB);
    counts_free(&counts);
}

static void test_exchange(void **state) {
    (void)state;
    struct io_counts counts =
        count(make(true, true, true, 256 * KIB), (struct variant){.interface = VARIANT_COLLECTIVE});
    assert_int_equal(counts.mpiio[1].exchanges, CALLS);
    assert_int_equal(counts.mpiio[1].rounds, CALLS); // of 1 MiB each
    assert_int_equal(counts.mpiio[1].pieces, RANKS * CALLS);
    assert_int_equal(counts.mpiio[1].holes, 0);
    assert_int_equal(counts.mpiio[1].bytes, (uint64_t)total);
    assert_int_equal(counts.mpiio[1].crossing, (uint64_t)total * 3 / 4); // the aggregator has its own part
    assert_true(fabs(bytes_of(&counts, true) - total) < 1);
    assert_true(bytes_of(&counts, false) == 0);
    counts_free(&counts);
}

// A call over 8 blocks of a rank has 2 MiB for each of them: rounds with a smaller buffer, more aggregators.
static void test_rounds(void **state) {
    (void)state;
    struct variant variant = {.interface = VARIANT_COLLECTIVE, .cb_buffer = 512 * KIB, .cb_nodes = 2};
    struct io_counts counts = count(make(false, true, true, MIB), variant);
    assert_int_equal(counts.mpiio[0].rounds, CALLS * 4);
    assert_int_equal(counts.mpiio[0].aggregators, 2);
    for (size_t i = 0; i < counts.rows; i++) assert_int_equal(counts.row[i].np, 2);
    counts_free(&counts);
}

// Scattered blocks of collective calls: the part of the file between them is read and written again.
static void test_holes(void **state) {
    (void)state;
    struct io_counts counts =
        count(make(true, true, false, 256 * KIB), (struct variant){.interface = VARIANT_COLLECTIVE});
    assert_int_equal(counts.mpiio[1].exchanges, CALLS);
    assert_int_equal(counts.mpiio[1].holes, CALLS - 1); // the first call finds an empty file
    double range = (double)(3 * CALLS + 1) * 256 * KIB; // of a call
    assert_true(fabs(bytes_of(&counts, true) - CALLS * range) < 1);
    double read = 0;
    for (unsigned call = 1; call < CALLS; call++) read += range - 256 * KIB; // up to the end of the file
    assert_true(fabs(bytes_of(&counts, false) - read) < 1);
    counts_free(&counts);
}

static void test_requests(void **state) {
    (void)state;
    struct io_counts counts = count(make(true, false, false, 256 * KIB), (struct variant){.request = MIB});
    assert_int_equal(counts.rows, 1);
    assert_int_equal(counts.row->size, MIB);
    assert_true(fabs(counts.row->count - CALLS / 4) < 1e-9);
    counts_free(&counts);
    counts = count(make(true, false, true, 256 * KIB), (struct variant){.request_factor = 0.5});
    assert_int_equal(counts.row->size, 128 * KIB);
    assert_true(fabs(counts.row->count - CALLS * 2) < 1e-9);
    counts_free(&counts);
    counts = count(make(true, false, true, 256 * KIB), (struct variant){.own_files = true});
    assert_false(counts.row->shared);
    assert_int_equal(counts.row->mode, MODE_STRIDED); // the places in the file stay
    counts_free(&counts);
}

// Windows of writers that overlap are done one after the other. Others are written one after the other, too, while they
// are read for other ranks.
static void test_sieving(void **state) {
    (void)state;
    struct window apart[RANKS], same[RANKS];
    struct sieved_writes result;
    for (uint32_t i = 0; i < RANKS; i++) {
        apart[i] = (struct window){.offset = (int64_t)i * MIB, .bytes = MIB, .rank = i};
        same[i] = (struct window){.offset = (int64_t)i * 8, .bytes = MIB, .rank = i};
    }
    assert_int_equal(sieving_take_turns(&(struct sieving){apart, RANKS}, &result), 0);
    assert_true(fabs(result.at_once - 1) < 1e-9); // nothing is read: all write
    assert_int_equal(sieving_take_turns(&(struct sieving){same, RANKS}, &result), 0);
    assert_true(fabs(result.at_once - 1) < 1e-9);
    assert_true(fabs(result.written - RANKS * (double)MIB) < 1);
    assert_true(result.read > 2.9 * MIB && result.read < 3 * MIB); // the first one finds an empty file
    struct window far[4] = {{.bytes = MIB},
                            {.offset = MIB, .bytes = MIB},
                            {.bytes = MIB, .rank = 1},
                            {.offset = 8, .bytes = MIB, .rank = 1}};
    assert_int_equal(sieving_take_turns(&(struct sieving){far, 4}, &result), 0);
    assert_true(result.at_once > 1 && result.at_once < 2); // one reads where the other one has been
}

// 10 ms for each request of 1 MiB, whoever makes it: the sum of all parts.
static void test_extended(void **state) {
    (void)state;
    struct system_point point = {
        .write = true, .size = MIB, .mode = MODE_SEQUENTIAL, .np = 1, .bandwidth = 100.0 * MIB};
    struct system system = {.point = &point, .points = 1};
    struct system_mpiio mpiio = {.np = RANKS,
                                 .collective[1] = {.per_call = 0.001, .per_round = 0.002, .per_piece = 0.0001}};
    struct extended result;
    struct io_counts counts =
        count(make(true, true, true, 256 * KIB), (struct variant){.interface = VARIANT_COLLECTIVE});
    assert_int_equal(extended_estimate(&counts, &(struct prices){&system, &mpiio}, &result), 0);
    assert_true(fabs(result.storage - CALLS * 0.01) < 1e-6);
    assert_true(fabs(result.agreeing - CALLS * 0.003) < 1e-9);
    assert_true(fabs(result.shuffling - RANKS * CALLS * 0.0001) < 1e-9);
    assert_true(result.seconds.low < result.seconds.middle && result.seconds.middle < result.seconds.high);
    assert_true(fabs(result.seconds.middle - result.storage - result.agreeing - result.shuffling) < 1e-9);
    counts_free(&counts);
    system.storage.processors = 2; // of four aggregators two work at the same time
    counts =
        count(make(true, true, true, 256 * KIB), (struct variant){.interface = VARIANT_COLLECTIVE, .cb_nodes = RANKS});
    assert_int_equal(extended_estimate(&counts, &(struct prices){&system, &mpiio}, &result), 0);
    assert_true(fabs(result.shuffling - RANKS * CALLS * 0.0001 / 2) < 1e-9);
    counts_free(&counts);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_automatic), cmocka_unit_test(test_exchange), cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_holes),     cmocka_unit_test(test_requests), cmocka_unit_test(test_sieving),
        cmocka_unit_test(test_extended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
