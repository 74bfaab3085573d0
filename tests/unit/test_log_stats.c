#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "log/stats.h"
#include "test_log_maker.h"

struct taken {
    size_t count;
    struct log_stats_record record[8];
};

static int take(const struct log_stats_record *record, void *context) {
    struct taken *taken = context;
    assert_true(taken->count < 8);
    taken->record[taken->count++] = *record;
    return 0;
}

static int64_t integer(const struct log_stats_record *record, const char *name) {
    struct counters_value values[COUNTERS_MAX_VALUES];
    size_t count = counters_list(&record->counters, &(struct counters_module){.layer = record->layer}, values);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(values[i].name, name) == 0) return values[i].integer;
    }
    fail_msg("no counter is called %s", name);
    return 0;
}

static void test_sample(void **state) {
    (void)state;
    struct log_maker *maker = maker_new();
    maker_sample(maker);
    struct log *log = maker_close(maker);
    struct taken taken = {0};
    assert_int_equal(log_stats(log, NULL, take, &taken), 0);
    assert_int_equal(taken.count, 4);
    const struct log_stats_record *a = &taken.record[0], *b = &taken.record[1], *c = &taken.record[3];
    assert_string_equal(a->file->name, "/data/a");
    assert_true(a->layer == LAYER_POSIX && a->process->pid == 11 && !a->has_rank);
    assert_int_equal(integer(a, "POSIX_OPENS"), 1);
    assert_int_equal(integer(a, "POSIX_WRITES"), 2);
    assert_int_equal(integer(a, "POSIX_CONSEC_WRITES"), 1);
    assert_int_equal(a->counters.value[COUNTER_WRITE_TIME], 40);
    assert_string_equal(b->file->name, "/data/b");
    assert_int_equal(integer(b, "POSIX_BYTES_READ"), 300);
    assert_int_equal(taken.record[2].layer, LAYER_STDIO);
    assert_int_equal(integer(&taken.record[2], "STDIO_BYTES_WRITTEN"), 20);
    assert_true(c->has_rank && c->rank == 0);
    assert_int_equal(integer(c, "POSIX_ACCESS1_ACCESS"), 50);
    assert_int_equal(integer(c, "POSIX_ACCESS1_COUNT"), 4);

    taken.count = 0;
    assert_int_equal(log_stats(log, &(struct log_filter){.file_glob = "/tmp/*"}, take, &taken), 0);
    assert_int_equal(taken.count, 1);
    taken.count = 0;
    assert_int_equal(log_stats(log, &(struct log_filter){.has_pid = true, .pid = 12}, take, &taken), 0);
    assert_int_equal(taken.count, 1);
    log_close(log);
}

static void test_rename(void **state) {
    (void)state;
    struct log_maker *maker = maker_new();
    maker_process(maker, 1, 1, 0);
    maker_file(maker, 1, "/old", 1);
    maker_file(maker, 2, "/new", 1);
    maker_stream(maker, 1, 1, 1);
    maker_flush_records(maker);
    struct stream_writer *writer = maker_begin(maker, 1, 0, 1000);
    struct stream_put_extra extra = {0};
    stream_put_attribute(&extra, ATTRIBUTE_FILE2, 2);
    stream_put_slot(writer, 0, 1, CALL_rename, 1, 0, 0, 0);
    stream_put_extended(writer, 0, 0, 0, 1001, 1002, &extra);
    extra.flags = EVENT_ERROR; // does not count
    extra.error = 13;
    stream_put_extended(writer, 0, 0, 0, 1003, 1004, &extra);
    maker_end(maker, 2, true, 1001, 1004);
    struct log *log = maker_close(maker);
    struct taken taken = {0};
    assert_int_equal(log_stats(log, NULL, take, &taken), 0);
    assert_int_equal(taken.count, 2);
    assert_int_equal(integer(&taken.record[0], "POSIX_RENAME_SOURCES"), 1);
    assert_int_equal(integer(&taken.record[0], "POSIX_RENAMED_FROM"), 0);
    assert_int_equal(integer(&taken.record[1], "POSIX_RENAME_TARGETS"), 1);
    assert_true((uint64_t)integer(&taken.record[1], "POSIX_RENAMED_FROM") == taken.record[0].file->record_id);
    log_close(log);
}

// The events of a trace that ended and the counters after it are one record.
static void test_stored(void **state) {
    (void)state;
    struct log_maker *maker = maker_new();
    maker_process(maker, 3, 1, 0);
    maker_file(maker, 1, "/f", 3);
    maker_file(maker, 2, "/g", 3);
    maker_stream(maker, 1, 3, 1);
    struct spill_counters entry = {.file = 1, .layer = LAYER_POSIX};
    for (unsigned i = 2; i < 5; i++) {
        const struct counters_input in = {
            .call = CALL_pwrite, .offset = i * 10, .has_offset = true, .result = 10, .start = 1000 * i, .duration = 5};
        counters_add(&entry.counters, &in);
    }
    counters_put(&maker->records, 3, &entry);
    entry.file = 2;
    memset(&entry.counters, 0, sizeof entry.counters);
    const struct counters_input renamed = {.call = CALL_rename, .is_target = true, .renamed_from = 1};
    counters_add(&entry.counters, &renamed);
    counters_put(&maker->records, 3, &entry);
    counters_put(&maker->records, 9, &entry); // of a process that is not there
    maker_flush_records(maker);
    struct stream_writer *writer = maker_begin(maker, 1, 0, 1000);
    stream_put_slot(writer, 0, 1, CALL_pwrite, 1, 0, 0, 0);
    stream_put_plain(writer, 0, 0, 10, 1001, 1002);
    stream_put_plain(writer, 0, 10, 10, 1003, 1004);
    maker_end(maker, 2, true, 1001, 1004);
    struct log *log = maker_close(maker);
    struct taken taken = {0};
    assert_int_equal(log_stats(log, NULL, take, &taken), 0);
    assert_int_equal(taken.count, 2);
    assert_int_equal(integer(&taken.record[0], "POSIX_WRITES"), 5);
    assert_int_equal(integer(&taken.record[0], "POSIX_CONSEC_WRITES"), 4);
    assert_int_equal(integer(&taken.record[0], "POSIX_ACCESS1_COUNT"), 5);
    assert_int_equal(integer(&taken.record[0], "POSIX_STRIDE1_COUNT"), 0); // all are 0
    assert_int_equal(integer(&taken.record[0], "POSIX_MAX_BYTE_WRITTEN"), 49);
    assert_true((uint64_t)integer(&taken.record[1], "POSIX_RENAMED_FROM") == taken.record[0].file->record_id);
    log_close(log);
}

// The most frequent size comes last, long after all candidates are taken.
static void test_common_sizes(void **state) {
    (void)state;
    struct log_maker *maker = maker_new();
    maker_process(maker, 1, 1, 0);
    maker_file(maker, 1, "/f", 1);
    maker_stream(maker, 1, 1, 1);
    maker_flush_records(maker);
    struct stream_writer *writer = maker_begin(maker, 1, 0, 1000);
    stream_put_slot(writer, 0, 1, CALL_pread, 1, 0, 0, 0);
    for (unsigned i = 0; i < 1000; i++) stream_put_plain(writer, 0, i, 1 + i % 500, 1000 + i, 1000 + i);
    for (unsigned i = 0; i < 5; i++) stream_put_plain(writer, 0, 0, 777, 3000 + i, 3000 + i);
    stream_put_plain(writer, 0, 0, 400, 4000, 4000);
    maker_end(maker, 1006, true, 1000, 4000);
    struct log *log = maker_close(maker);
    struct taken taken = {0};
    assert_int_equal(log_stats(log, NULL, take, &taken), 0);
    assert_int_equal(integer(&taken.record[0], "POSIX_ACCESS1_ACCESS"), 777);
    assert_int_equal(integer(&taken.record[0], "POSIX_ACCESS1_COUNT"), 5);
    assert_int_equal(integer(&taken.record[0], "POSIX_ACCESS2_ACCESS"), 400);
    assert_int_equal(integer(&taken.record[0], "POSIX_ACCESS2_COUNT"), 3);
    assert_int_equal(integer(&taken.record[0], "POSIX_ACCESS3_ACCESS"), 500);
    assert_int_equal(integer(&taken.record[0], "POSIX_ACCESS3_COUNT"), 2);
    log_close(log);
}

enum { FILES = 40, ROUNDS = 50 };

static int take_counters(const struct log_stats_record *record, void *context) {
    struct counters *of_file = context;
    of_file[record->file->index] = record->counters;
    return 0;
}

// Files in turn, with more sizes and strides than there are candidates.
static struct log *make_turns(void) {
    char name[16];
    struct log_maker *maker = maker_new();
    maker_process(maker, 1, 11, 0);
    maker_stream(maker, 1, 1, 1);
    for (uint32_t id = 1; id <= FILES; id++) {
        snprintf(name, sizeof name, "/data/%u", id);
        maker_file(maker, id, name, 1);
    }
    maker_flush_records(maker);
    struct stream_writer *writer = maker_begin(maker, 1, 0, 1000);
    uint64_t now = 1000;
    for (uint32_t i = 0; i < FILES * ROUNDS; i++, now += 10) {
        uint32_t round = i / FILES;
        stream_put_slot(writer, 0, 1, round % 3 ? CALL_pwrite : CALL_pread, i % FILES + 1, 1, 0, 0);
        stream_put_plain(writer, 0, round * round * 100, 10 + round, now + 1, now + 5);
    }
    maker_end(maker, FILES * ROUNDS, true, 1001, now);
    return maker_close(maker);
}

static void test_packed(void **state) {
    (void)state;
    struct log *log = make_turns();
    struct counters *of_file = calloc(2 * FILES, sizeof *of_file), *of_packed = of_file + FILES;
    assert_int_equal(log_stats(log, NULL, take_counters, of_file), 0);
    struct log_stats_request packed = {.log = log, .callback = take_counters, .context = of_packed, .most_slots = 1};
    assert_int_equal(log_stats_visit(&packed), 0);
    assert_int_equal(of_file[FILES - 1].value[COUNTER_READS], (ROUNDS + 2) / 3);
    assert_memory_equal(of_file, of_packed, FILES * sizeof *of_file);
    assert_int_equal(packed.slots, 0);
    free(of_file);
    log_close(log);
}

static int take_one(const struct log_stats_record *record, void *context) {
    (void)record;
    ++*(int *)context;
    return -7;
}

static void test_ended_early(void **state) {
    (void)state;
    struct log_maker *maker = maker_new();
    maker_sample(maker);
    struct log *log = maker_close(maker);
    int count = 0;
    assert_int_equal(log_stats(log, NULL, take_one, &count), -7);
    assert_int_equal(count, 1);
    log_close(log);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sample),       cmocka_unit_test(test_rename),      cmocka_unit_test(test_stored),
        cmocka_unit_test(test_common_sizes), cmocka_unit_test(test_ended_early), cmocka_unit_test(test_packed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
