#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "calls.h"
#include "fmt/counters.h"
#include "fmt/records.h"

static void add(struct counters *c, uint32_t call, uint64_t offset, int64_t result, uint64_t start, uint64_t duration) {
    const struct counters_input in = {
        .call = call,
        .block_size = 4096,
        .offset = offset,
        .has_offset = true,
        .result = result,
        .start = start,
        .duration = duration,
    };
    counters_add(c, &in);
}

static struct counters_value value_of(const struct counters *c, unsigned layer, const char *name) {
    struct counters_value values[COUNTERS_MAX_VALUES];
    size_t count = counters_list(c, &(struct counters_module){.layer = layer}, values);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(values[i].name, name) == 0) return values[i];
    }
    fail_msg("no counter is called %s", name);
    return values[0];
}

static unsigned layer_of(const char *name) {
    if (strncmp(name, "MPIIO", 5) == 0) return LAYER_MPIIO;
    return strncmp(name, "STDIO", 5) ? LAYER_POSIX : LAYER_STDIO;
}

static int64_t integer(const struct counters *c, const char *name) {
    struct counters_value value = value_of(c, layer_of(name), name);
    assert_false(value.is_real);
    return value.integer;
}

static double real(const struct counters *c, const char *name) {
    struct counters_value value = value_of(c, layer_of(name), name);
    assert_true(value.is_real);
    return value.real;
}

static void test_sequence(void **state) {
    (void)state;
    struct counters c = {0};
    add(&c, CALL_open, 0, 3, 100, 10);
    add(&c, CALL_write, 0, 100, 200, 10);     // not sequential: the last byte was 0
    add(&c, CALL_write, 100, 100, 300, 10);   // consecutive
    add(&c, CALL_write, 1000, 100, 400, 30);  // sequential, stride 800
    add(&c, CALL_write, 0, 50, 500, 10);      // back
    add(&c, CALL_pread, 0, 1024, 600, 10);    // switch
    add(&c, CALL_pread, 1024, 1025, 700, 10); // consecutive
    add(&c, CALL_open, 0, 3, 800, 10);        // forgets the last bytes
    add(&c, CALL_pread, 2049, 0, 900, 10);    // sequential; stride 0 because the last byte is 0
    assert_int_equal(integer(&c, "POSIX_OPENS"), 2);
    assert_int_equal(integer(&c, "POSIX_WRITES"), 4);
    assert_int_equal(integer(&c, "POSIX_READS"), 3);
    assert_int_equal(integer(&c, "POSIX_BYTES_WRITTEN"), 350);
    assert_int_equal(integer(&c, "POSIX_BYTES_READ"), 2049);
    assert_int_equal(integer(&c, "POSIX_MAX_BYTE_WRITTEN"), 1099);
    assert_int_equal(integer(&c, "POSIX_MAX_BYTE_READ"), 2048);
    assert_int_equal(integer(&c, "POSIX_SEQ_WRITES"), 2);
    assert_int_equal(integer(&c, "POSIX_CONSEC_WRITES"), 1);
    assert_int_equal(integer(&c, "POSIX_SEQ_READS"), 2);
    assert_int_equal(integer(&c, "POSIX_CONSEC_READS"), 1);
    assert_int_equal(integer(&c, "POSIX_RW_SWITCHES"), 1);
    assert_int_equal(integer(&c, "POSIX_FILE_ALIGNMENT"), 4096);
    assert_int_equal(integer(&c, "POSIX_FILE_NOT_ALIGNED"), 4);
    assert_int_equal(integer(&c, "POSIX_MEM_ALIGNMENT"), 8);
    assert_int_equal(integer(&c, "POSIX_STRIDE1_STRIDE"), 800); // the six of 0 do not count
    assert_int_equal(integer(&c, "POSIX_STRIDE1_COUNT"), 1);
    assert_int_equal(integer(&c, "POSIX_STRIDE2_COUNT"), 0);
    assert_int_equal(integer(&c, "POSIX_ACCESS1_ACCESS"), 100);
    assert_int_equal(integer(&c, "POSIX_ACCESS1_COUNT"), 3);
    assert_int_equal(integer(&c, "POSIX_ACCESS2_ACCESS"), 1025); // as often as 1024 and 50, but larger
    assert_int_equal(integer(&c, "POSIX_ACCESS4_ACCESS"), 50);   // an access of 0 bytes does not count
    assert_int_equal(integer(&c, "POSIX_MAX_WRITE_TIME_SIZE"), 100);
    assert_true(real(&c, "POSIX_F_MAX_WRITE_TIME") == 30e-9);
    assert_true(real(&c, "POSIX_F_OPEN_START_TIMESTAMP") == 100e-9);
    assert_true(real(&c, "POSIX_F_OPEN_END_TIMESTAMP") == 810e-9);
    assert_true(real(&c, "POSIX_F_CLOSE_START_TIMESTAMP") == 0);
}

static void test_bins(void **state) {
    (void)state;
    static const struct {
        int64_t size;
        const char *name;
    } cases[] = {
        {0, "POSIX_SIZE_READ_0_100"},
        {100, "POSIX_SIZE_READ_0_100"},
        {101, "POSIX_SIZE_READ_100_1K"},
        {1024, "POSIX_SIZE_READ_100_1K"},
        {1025, "POSIX_SIZE_READ_1K_10K"},
        {10240, "POSIX_SIZE_READ_1K_10K"},
        {102400, "POSIX_SIZE_READ_10K_100K"},
        {1 << 20, "POSIX_SIZE_READ_100K_1M"},
        {4 << 20, "POSIX_SIZE_READ_1M_4M"},
        {10 << 20, "POSIX_SIZE_READ_4M_10M"},
        {100 << 20, "POSIX_SIZE_READ_10M_100M"},
        {1 << 30, "POSIX_SIZE_READ_100M_1G"},
        {(1 << 30) + 1, "POSIX_SIZE_READ_1G_PLUS"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct counters c = {0};
        add(&c, CALL_read, 0, cases[i].size, 0, 0);
        assert_int_equal(integer(&c, cases[i].name), 1);
    }
}

// A call that began before the last one of its kind ended adds only what lies after that end.
static void test_overlap(void **state) {
    (void)state;
    struct counters c = {0};
    add(&c, CALL_read, 0, 1, 100, 50);
    add(&c, CALL_read, 0, 1, 120, 50);  // 20 more
    add(&c, CALL_read, 0, 1, 130, 10);  // nothing
    add(&c, CALL_write, 0, 1, 100, 70); // another kind
    add(&c, CALL_fsync, 0, 0, 170, 5);  // counts as writing
    add(&c, CALL_lseek, 0, 0, 100, 7);
    add(&c, CALL_mmap, 0, 0, 100, 1000); // no time
    assert_true(real(&c, "POSIX_F_READ_TIME") == 70e-9);
    assert_true(real(&c, "POSIX_F_WRITE_TIME") == 75e-9);
    assert_true(real(&c, "POSIX_F_META_TIME") == 7e-9);
    assert_int_equal(integer(&c, "POSIX_FSYNCS"), 1);
    assert_int_equal(integer(&c, "POSIX_SEEKS"), 1);
    assert_int_equal(integer(&c, "POSIX_MMAPS"), 1);
}

static void test_roles(void **state) {
    (void)state;
    struct counters c = {0};
    static const uint32_t stats[] = {CALL_stat, CALL_lstat, CALL_fstat, CALL_fstatat, CALL_statx};
    for (size_t i = 0; i < 5; i++) add(&c, stats[i], 0, 0, 0, 0);
    add(&c, CALL_dup2, 0, 4, 0, 0);
    add(&c, CALL_fileno, 0, 4, 0, 0);
    add(&c, CALL_mkstemp, 0, 4, 0, 0);
    add(&c, CALL_fdatasync, 0, 0, 0, 0);
    add(&c, CALL_opendir, 0, 0, 0, 0);
    struct counters_input rename = {.call = CALL_rename};
    counters_add(&c, &rename);
    rename.is_target = true;
    rename.renamed_from = 77;
    counters_add(&c, &rename);
    struct counters_input fcntl_call = {.call = CALL_fcntl, .flags = F_DUPFD_CLOEXEC};
    counters_add(&c, &fcntl_call);
    fcntl_call.flags = F_GETFL;
    counters_add(&c, &fcntl_call);
    assert_int_equal(integer(&c, "POSIX_STATS"), 5);
    assert_int_equal(integer(&c, "POSIX_DUPS"), 2);
    assert_int_equal(integer(&c, "POSIX_FILENOS"), 1);
    assert_int_equal(integer(&c, "POSIX_OPENS"), 4);
    assert_int_equal(integer(&c, "POSIX_FDSYNCS"), 1);
    assert_int_equal(integer(&c, "POSIX_RENAME_SOURCES"), 1);
    assert_int_equal(integer(&c, "POSIX_RENAME_TARGETS"), 1);
    assert_int_equal(integer(&c, "POSIX_RENAMED_FROM"), 77);
    assert_int_equal(counters_layer(CALL_fileno, 0), LAYER_POSIX);
    assert_int_equal(counters_layer(CALL_fwrite, 0), LAYER_STDIO);
    assert_int_equal(counters_layer(CALL_unlink, 0), LAYER_NONE);
    assert_int_equal(counters_layer(CALL_fcntl, F_GETFL), LAYER_NONE);
    assert_int_equal(counters_layer(UINT32_MAX, 0), LAYER_NONE);

    struct counters stdio = {0};
    add(&stdio, CALL_fdopen, 0, 0, 0, 0);
    add(&stdio, CALL_fwrite, 10, 5, 0, 0);
    add(&stdio, CALL_fflush, 0, 0, 0, 0);
    assert_int_equal(integer(&stdio, "STDIO_OPENS"), 1);
    assert_int_equal(integer(&stdio, "STDIO_FDOPENS"), 1);
    assert_int_equal(integer(&stdio, "STDIO_FLUSHES"), 1);
    assert_int_equal(integer(&stdio, "STDIO_MAX_BYTE_WRITTEN"), 14);
    struct counters_value values[COUNTERS_MAX_VALUES];
    assert_int_equal(counters_list(&stdio, &(struct counters_module){.layer = LAYER_STDIO}, values), 14 + 15);
    assert_int_equal(counters_list(&stdio, &(struct counters_module){.layer = LAYER_POSIX}, values), 69 + 17);
    assert_int_equal(counters_list(&stdio, &(struct counters_module){.layer = LAYER_HDF5}, values), 3 + 5);
    const struct counters_module datasets = {.layer = LAYER_HDF5, .is_object = true};
    assert_int_equal(counters_list(&stdio, &datasets, values), 94 + 17);
    assert_int_equal(counters_list(&stdio, &(struct counters_module){.layer = LAYER_PNETCDF}, values), 9 + 8);
    const struct counters_module variables = {.layer = LAYER_PNETCDF, .is_object = true};
    assert_int_equal(counters_list(&stdio, &variables, values), 120 + 17);
    assert_int_equal(counters_list(&stdio, &(struct counters_module){.layer = LAYER_DISK}, values), 0);
}

// Calls in turn, some of them overlapping the next one of another kind.
static void add_random(struct counters *c, unsigned seed) {
    static const uint32_t calls[] = {CALL_pread, CALL_pwrite, CALL_pread, CALL_pwrite, CALL_open, CALL_lseek};
    unsigned random = seed * 2654435761u;
    add(c, calls[(random >> 8) % 6], (random >> 12) % 5 * 512, (random >> 16) % 3 * 512, 1000 + seed * 10,
        (random >> 20) % 9 + 1);
}

// Two parts give the whole when joined, wherever the seam is.
static void test_merge(void **state) {
    (void)state;
    enum { CALLS = 60 };
    struct counters whole = {0};
    for (unsigned i = 0; i < CALLS; i++) add_random(&whole, i);
    for (unsigned seam = 0; seam <= CALLS; seam++) {
        struct counters first = {0}, second = {0};
        for (unsigned i = 0; i < seam; i++) add_random(&first, i);
        for (unsigned i = seam; i < CALLS; i++) add_random(&second, i);
        struct counters_common left_out[2] = {{.used = 0}, {.used = 0}};
        counters_merge(&first, &second, left_out);
        struct counters_value expected[COUNTERS_MAX_VALUES], got[COUNTERS_MAX_VALUES];
        size_t count = counters_list(&whole, &(struct counters_module){.layer = LAYER_POSIX}, expected);
        counters_list(&first, &(struct counters_module){.layer = LAYER_POSIX}, got);
        for (size_t i = 0; i < count; i++) {
            if (got[i].integer != expected[i].integer || got[i].real != expected[i].real)
                fail_msg("seam %u: %s is %lld %g, not %lld %g", seam, got[i].name, (long long)got[i].integer,
                         got[i].real, (long long)expected[i].integer, expected[i].real);
        }
    }
}

static void test_merge_overlap(void **state) {
    (void)state;
    struct counters first = {0}, second = {0};
    add(&first, CALL_read, 0, 10, 100, 50);
    add(&second, CALL_read, 10, 10, 130, 40); // 20 of it lie after the first one's end
    counters_merge(&first, &second, NULL);
    assert_true(real(&first, "POSIX_F_READ_TIME") == 70e-9);
    assert_int_equal(integer(&first, "POSIX_CONSEC_READS"), 1);
}

static void test_many_values(void **state) {
    (void)state;
    struct counters c = {0}, later = {0};
    unsigned missed = 0;
    for (unsigned i = 0; i < 40; i++) {
        const struct counters_input in = {.call = CALL_read, .result = i};
        missed += counters_add(&c, &in) & MISSED_SIZE;
        add(&later, CALL_read, 0, 100 + i % 10, 0, 0);
    }
    assert_int_equal(missed, 40 - COUNTERS_CANDIDATES);
    struct counters_common left_out[2] = {{.used = 0}, {.used = 0}};
    counters_merge(&c, &later, left_out);
    assert_int_equal(left_out[0].used, 10);
    assert_int_equal(left_out[0].count[0], 4);
    assert_int_equal(integer(&c, "POSIX_ACCESS1_ACCESS"), COUNTERS_CANDIDATES - 1); // the largest that has a place
}

static void test_record(void **state) {
    (void)state;
    uint8_t buffer[COUNTERS_MAX_RECORD];
    struct spill_counters in = {.file = 7, .layer = LAYER_POSIX}, out;
    for (unsigned i = 0; i < 60; i++) add_random(&in.counters, i);
    struct fields_out fields = {.at = buffer, .end = buffer + sizeof buffer};
    counters_put(&fields, 5, &in);
    assert_false(fields.overflow);
    struct fields_in records = {.at = buffer, .end = fields.at}, body;
    unsigned kind;
    uint32_t process;
    assert_int_equal(fields_next_record(&records, &kind, &body), 1);
    assert_int_equal(kind, RECORD_COUNTERS);
    assert_int_equal(counters_get(body, &process, &out), 0);
    assert_int_equal(process, 5);
    assert_memory_equal(&in, &out, sizeof in);

    memset(&in.counters, 0xff, sizeof in.counters);                         // the largest
    for (unsigned i = 0; i < COUNTER_COUNT; i++) in.counters.value[i] -= i; // and none the same as another
    in.counters.sizes.used = in.counters.strides.used = COUNTERS_CANDIDATES;
    fields = (struct fields_out){.at = buffer, .end = buffer + sizeof buffer};
    counters_put(&fields, UINT32_MAX, &in);
    assert_false(fields.overflow);
    for (size_t len = 0; len < (size_t)(fields.at - buffer); len++)
        counters_get((struct fields_in){.at = buffer + 3, .end = buffer + 3 + len}, &process, &out);
}

static void test_clock(void **state) {
    (void)state;
    const struct clock_map clock = {.origin_units = 1000, .origin_ns = 50, .span_units = 1, .span_ns = 4};
    struct counters c = {0};
    add(&c, CALL_read, 0, 10, 1100, 25);
    counters_to_ns(&c, &clock);
    assert_true(real(&c, "POSIX_F_READ_START_TIMESTAMP") == 450e-9);
    assert_true(real(&c, "POSIX_F_READ_END_TIMESTAMP") == 550e-9);
    assert_true(real(&c, "POSIX_F_READ_TIME") == 100e-9);
    assert_true(real(&c, "POSIX_F_OPEN_START_TIMESTAMP") == 0);
}

static void test_mpiio(void **state) {
    (void)state;
    struct counters c = {0};
    struct counters_input open = {.call = CALL_MPI_File_open, .flags = 9, .comm_size = 4, .start = 100, .duration = 50};
    counters_add(&c, &open);
    open.comm_size = 1;
    open.has_hints = true;
    counters_add(&c, &open);
    add(&c, CALL_MPI_File_set_view, 0, 0, 200, 10);
    add(&c, CALL_MPI_File_set_info, 0, 0, 210, 10);
    add(&c, CALL_MPI_File_seek, 0, 0, 220, 10); // does not count
    add(&c, CALL_MPI_File_write_at, 0, 100, 300, 10);
    add(&c, CALL_MPI_File_write_shared, 0, 100, 310, 10);
    add(&c, CALL_MPI_File_write_ordered, 0, 2000, 320, 40);
    add(&c, CALL_MPI_File_write_all, 0, 100, 360, 10);
    add(&c, CALL_MPI_File_iwrite_all, 0, 101, 365, 10);
    add(&c, CALL_MPI_File_read_ordered_begin, 0, 5, 400, 10);
    add(&c, CALL_MPI_File_iread_shared, 0, 5, 410, 10);
    add(&c, CALL_MPI_File_sync, 0, 0, 500, 7);
    add(&c, CALL_MPI_File_close, 0, 0, 600, 3);
    static const struct {
        const char *name;
        int64_t value;
    } expected[] = {
        {"MPIIO_INDEP_OPENS", 1},
        {"MPIIO_COLL_OPENS", 1},
        {"MPIIO_INDEP_WRITES", 2},
        {"MPIIO_COLL_WRITES", 2},
        {"MPIIO_NB_WRITES", 1},
        {"MPIIO_SPLIT_WRITES", 0},
        {"MPIIO_SPLIT_READS", 1},
        {"MPIIO_NB_READS", 1},
        {"MPIIO_INDEP_READS", 0},
        {"MPIIO_SYNCS", 1},
        {"MPIIO_HINTS", 2},
        {"MPIIO_VIEWS", 1},
        {"MPIIO_MODE", 9},
        {"MPIIO_BYTES_WRITTEN", 2401},
        {"MPIIO_BYTES_READ", 10},
        {"MPIIO_RW_SWITCHES", 1},
        {"MPIIO_SIZE_WRITE_AGG_0_100", 3},
        {"MPIIO_SIZE_WRITE_AGG_100_1K", 1},
        {"MPIIO_ACCESS1_ACCESS", 100},
        {"MPIIO_ACCESS1_COUNT", 3},
        {"MPIIO_MAX_WRITE_TIME_SIZE", 2000},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(integer(&c, expected[i].name), expected[i].value);
    assert_true(real(&c, "MPIIO_F_WRITE_TIME") == 82e-9); // the overlap of two is left out; the sync is in
    assert_true(real(&c, "MPIIO_F_META_TIME") == 73e-9);
    assert_true(real(&c, "MPIIO_F_CLOSE_END_TIMESTAMP") == 603e-9);
    assert_int_equal(counters_layer(CALL_MPI_File_seek, 0), LAYER_NONE);
    assert_int_equal(counters_layer(CALL_MPI_File_sync, 0), LAYER_MPIIO);
}

// Ranks run at the same time: their times add up in full, and calls of different ranks are not compared.
static void test_ranks(void **state) {
    (void)state;
    struct counters first = {0}, second = {0};
    add(&first, CALL_pwrite, 0, 100, 100, 50);
    add(&second, CALL_pread, 100, 100, 110, 30);
    add(&second, CALL_pwrite, 100, 100, 150, 30);
    counters_merge_rank(&first, &second, NULL);
    assert_int_equal(integer(&first, "POSIX_WRITES"), 2);
    assert_int_equal(integer(&first, "POSIX_RW_SWITCHES"), 1);
    assert_int_equal(integer(&first, "POSIX_CONSEC_WRITES"), 0);
    assert_true(real(&first, "POSIX_F_WRITE_TIME") == 80e-9);
    assert_true(real(&first, "POSIX_F_WRITE_START_TIMESTAMP") == 100e-9);
    assert_true(real(&first, "POSIX_F_WRITE_END_TIMESTAMP") == 180e-9);

    const struct counters_ranks ranks = {
        .fastest = {3, 10, 500}, .slowest = {1, 20, 1500}, .variance_time = 0.25, .variance_bytes = 25};
    struct counters_value values[COUNTERS_MAX_VALUES];
    size_t count = counters_list(&first, &(struct counters_module){.layer = LAYER_MPIIO, .ranks = &ranks}, values);
    assert_int_equal(count, 51 + 17);
    assert_string_equal(values[47].name, "MPIIO_FASTEST_RANK");
    assert_true(values[47].integer == 3 && values[50].integer == 20);
    assert_true(values[count - 3].real == 1500e-9 && values[count - 1].real == 25);
}

static struct counters_ranks read_ranks(const uint8_t *record, size_t len, const struct counters *c) {
    struct fields_in in = {record, record + len}, body;
    struct counters_ranks ranks;
    unsigned kind;
    assert_int_equal(fields_next_record(&in, &kind, &body), 1);
    assert_int_equal(counters_get_ranks(body, c, &ranks), 0);
    return ranks;
}

// What is written of the ranks comes back, and old logs have it in another form.
static void test_ranks_written(void **state) {
    (void)state;
    struct counters c = {0};
    c.value[COUNTER_BYTES_READ] = 1000;
    c.value[COUNTER_BYTES_WRITTEN] = 11;
    c.value[COUNTER_WRITE_TIME] = 5000;
    const struct counters_ranks all[] = {
        {.count = 1, .fastest = {7, 1011, 5000}, .slowest = {7, 1011, 5000}},
        {.count = 4, .fastest = {3, 252, 1250}, .slowest = {0, 252, 1250}}, // all the same: nothing behind the ranks
        {.count = 4,
         .fastest = {3, 0, 1},
         .slowest = {0, 1011, 4000},
         .variance_time = 1e-7 / 3,
         .variance_bytes = 1.0 / 3},
        {.count = 4, .fastest = {3, 0, 1}, .slowest = {0, 1011, 4000}, .variance_bytes = 4484199},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        uint8_t record[256];
        struct fields_out out = {.at = record, .end = record + sizeof record};
        fields_begin(&out, RECORD_COUNTERS);
        counters_put_ranks(&out, &c, &all[i]);
        fields_end(&out);
        const struct counters_ranks got = read_ranks(record, (size_t)(out.at - record), &c);
        assert_memory_equal(&got, &all[i], sizeof got);
    }
    const uint8_t old[] = {4, 3, 0,    1,    0, 0xf3, 7, 0xa0, 31, 0, 0,    0,   0,
                           0, 0, 0xd0, 0x3f, 0, 0,    0, 0,    0,  0, 0x39, 0x40};
    uint8_t record[64];
    struct fields_out out = {.at = record, .end = record + sizeof record};
    fields_begin(&out, RECORD_COUNTERS);
    fields_bytes(&out, COUNTERS_OLD_RANKS, old, sizeof old);
    fields_end(&out);
    const struct counters_ranks got = read_ranks(record, (size_t)(out.at - record), &c);
    assert_true(got.count == 4 && got.fastest.rank == 3 && got.fastest.bytes == 0 && got.fastest.time == 1);
    assert_true(got.slowest.rank == 0 && got.slowest.bytes == 1011 && got.slowest.time == 4000);
    assert_true(got.variance_time == 0.25 && got.variance_bytes == 25);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sequence),    cmocka_unit_test(test_bins),   cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_roles),       cmocka_unit_test(test_merge),  cmocka_unit_test(test_merge_overlap),
        cmocka_unit_test(test_many_values), cmocka_unit_test(test_record), cmocka_unit_test(test_clock),
        cmocka_unit_test(test_mpiio),       cmocka_unit_test(test_ranks),  cmocka_unit_test(test_ranks_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
