#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "log/iter.h"
#include "log/stats.h"
#include "test_log_maker.h"

enum { SAMPLE_EVENTS = 11 };

static struct log_maker *sample_new(void) {
    struct log_maker *maker = maker_new();
    maker_sample(maker);
    maker_finish(maker);
    return maker;
}

static int take_nothing(const struct log_stats_record *record, void *context) {
    (void)context;
    assert_non_null(record->file);
    return 0;
}

// Reads everything in both ways; returns the number of events.
static size_t read_all(struct log *log) {
    struct log_iter *iter;
    const struct log_event *event;
    size_t count = 0;
    assert_int_equal(log_iter_open(&iter, log, NULL), 0);
    for (int more; (more = log_iter_next(iter, &event)) != 0; count++) {
        assert_int_equal(more, 1);
        assert_non_null(event->call->name);
        assert_non_null(event->process);
    }
    log_iter_close(iter);
    assert_int_equal(log_stats(log, NULL, take_nothing, NULL), 0);
    return count;
}

static void test_tables(void **state) {
    (void)state;
    struct log_maker *maker = sample_new();
    struct log *log;
    assert_int_equal(maker_open(&log, maker->log.data, maker->log.len), 0);
    assert_int_equal(log_events(log), SAMPLE_EVENTS);
    assert_int_equal(log_size_bytes(log), maker->log.len);
    assert_int_equal(log_job(log)->command.count, 2);
    assert_string_equal(log_job(log)->command.word[1], "-x");
    assert_int_equal(log_job(log)->start_ns, 1700000000000000000);
    assert_false(log_job(log)->complete);
    assert_int_equal(log_process_count(log), 2);
    const struct log_process *process = log_process_find(log, 2);
    assert_int_equal(process->pid, 12);
    assert_true(process->has_rank && process->rank == 0 && !log_process_find(log, 1)->has_rank);
    assert_int_equal(process->args.count, 3);
    assert_string_equal(process->args.word[0], "program");
    assert_string_equal(process->args.word[2], "");
    assert_string_equal(process->host, "host");
    assert_null(process->cwd);
    assert_false(process->has_end);
    assert_int_equal(log_file_count(log), 3);
    assert_string_equal(log_process_file(log, process, 3)->name, "/tmp/c");
    assert_null(log_process_file(log, process, 1)); // a number of the other process
    assert_null(log_file_find(log, 4));
    assert_int_equal(log_file_index(log, log_file_find(log, 2)), 1);
    assert_int_equal(log_loss_count(log), 1);
    assert_ptr_equal(log_loss_at(log, 0)->process, process);
    assert_int_equal(log_loss_at(log, 0)->count, 9);
    assert_string_equal(log_call_find(log, CALL_pread)->name, "pread");
    assert_null(log_call_find(log, 60000));
    assert_int_equal(log_place_count(log), 5);
    const struct log_health *health = log_health(log);
    assert_true(!health->truncated && !health->index_missing && !health->header_damaged && !health->bytes_skipped);
    assert_int_equal(read_all(log), SAMPLE_EVENTS);
    assert_int_equal(health->blocks_damaged, 0);
    log_close(log);
    maker_free(maker);
}

// A table of calls that differs from this build's: names decide, and traits are the log's.
static void test_other_calls(void **state) {
    (void)state;
    struct log_maker *maker = maker_new();
    static const char *const names[] = {"pwrite", "frobnicate"};
    for (unsigned i = 0; i < 2; i++) {
        fields_begin(&maker->records, RECORD_CALL);
        fields_number(&maker->records, CALL_ID, 5000 + i);
        fields_string(&maker->records, CALL_NAME, names[i]);
        fields_number(&maker->records, CALL_LAYER, LAYER_POSIX);
        fields_number(&maker->records, CALL_CLASS, CLASS_WRITE);
        fields_number(&maker->records, CALL_TRAITS, CALL_HAS_OFFSET | CALL_HAS_SIZE | CALL_TRANSFERS);
        fields_end(&maker->records);
    }
    maker_process(maker, 1, 1, 0);
    maker_stream(maker, 1, 1, 1);
    maker_flush_records(maker);
    struct stream_writer *writer = maker_begin(maker, 1, 0, 1000);
    stream_put_slot(writer, 0, 1, 5001, 0, 0, 0, 0);
    stream_put_plain(writer, 0, 0, 77, 1001, 1002);
    maker_end(maker, 1, true, 1001, 1002);
    struct log *log = maker_close(maker);
    assert_int_equal(log_call_find(log, 5000)->build_id, CALL_pwrite);
    assert_int_equal(log_call_find(log, 5001)->build_id, 0);
    struct log_iter *iter;
    const struct log_event *event;
    assert_int_equal(log_iter_open(&iter, log, NULL), 0);
    assert_int_equal(log_iter_next(iter, &event), 1);
    assert_string_equal(event->call->name, "frobnicate");
    assert_int_equal(event->raw.result, 77);
    log_iter_close(iter);
    log_close(log);
}

static void test_refused(void **state) {
    (void)state;
    struct log *log;
    assert_int_equal(log_open(&log, "/nowhere/at/all"), -ENOENT);
    assert_null(log);
    assert_int_equal(log_open(&log, "/"), -EISDIR);
    assert_int_equal(maker_open(&log, NULL, 0), ERR_FORMAT);
    const uint8_t text[200] = "This is no log.";
    assert_int_equal(maker_open(&log, text, 15), ERR_FORMAT);
    assert_int_equal(maker_open(&log, text, sizeof text), ERR_FORMAT);
    struct log_header header = {.version = LOG_VERSION + 1, .min_reader = LOG_VERSION + 1};
    uint8_t bytes[LOG_HEADER_BYTES];
    log_header_put(bytes, &header);
    assert_int_equal(maker_open(&log, bytes, sizeof bytes - 1), ERR_TRUNCATED);
    assert_int_equal(maker_open(&log, bytes, sizeof bytes), ERR_VERSION);
    header.min_reader = LOG_VERSION; // a newer writer that older readers can follow
    log_header_put(bytes, &header);
    assert_int_equal(maker_open(&log, bytes, sizeof bytes), 0);
    assert_true(log_health(log)->truncated);
    log_close(log);
}

// A log cut anywhere opens, has all complete blocks, and says that the rest is missing.
static void test_truncated(void **state) {
    (void)state;
    struct log_maker *maker = sample_new();
    size_t last_count = 0;
    for (size_t len = LOG_HEADER_BYTES; len < maker->log.len; len++) {
        struct log *log;
        assert_int_equal(maker_open(&log, maker->log.data, len), 0);
        assert_true(log_health(log)->truncated && log_health(log)->index_missing);
        size_t count = read_all(log);
        assert_true(count >= last_count);
        last_count = count;
        log_close(log);
    }
    assert_int_equal(last_count, SAMPLE_EVENTS);
    maker_free(maker);
}

// One block after the other is made unreadable, and the index too: the others are still found.
static void test_damaged_block(void **state) {
    (void)state;
    struct log_maker *maker = sample_new();
    struct log *whole;
    assert_int_equal(maker_open(&whole, maker->log.data, maker->log.len), 0);
    for (size_t i = 1; i < log_place_count(whole); i++) {
        const struct log_place *place = log_place_at(whole, i);
        for (unsigned in_header = 0; in_header < 2; in_header++) {
            struct log *log;
            size_t header_bytes = place->type == BLOCK_EVENTS ? LOG_BLOCK_HEADER_BYTES : LOG_SHORT_HEADER_BYTES;
            uint8_t *byte = maker->log.data + place->offset + (in_header ? 7 : header_bytes + 2);
            uint8_t *index_byte = maker->log.data + maker->log.len - LOG_TRAILER_BYTES - 1;
            *byte ^= 1;
            assert_int_equal(maker_open(&log, maker->log.data, maker->log.len), 0);
            assert_int_equal(read_all(log), SAMPLE_EVENTS - place->events);
            assert_int_equal(read_all(log), SAMPLE_EVENTS - place->events);
            assert_int_equal(log_health(log)->blocks_damaged, 1);
            assert_int_equal(log_health(log)->events_damaged, place->events);
            assert_true(log_health(log)->bytes_skipped > 0 && !log_health(log)->index_missing);
            if (place->process) {
                const struct log_process *process = log_process_at(log, place->process->index);
                assert_true(log_process_is_whole(process, (int64_t)place->start_ns - 1));
                assert_false(log_process_is_whole(process, (int64_t)place->start_ns));
            }
            log_close(log);

            *index_byte ^= 1;
            assert_int_equal(maker_open(&log, maker->log.data, maker->log.len), 0);
            assert_int_equal(read_all(log), SAMPLE_EVENTS - place->events);
            assert_true(log_health(log)->bytes_skipped > 0 && log_health(log)->index_missing);
            assert_false(log_health(log)->truncated);
            log_close(log);
            *index_byte ^= 1;
            *byte ^= 1;
        }
    }
    log_close(whole);
    maker_free(maker);
}

// Bytes that are no block lie between two blocks, long enough to fill the search's window.
static void test_noise(void **state) {
    (void)state;
    enum { NOISE_BYTES = 50000 };
    struct log_maker *maker = maker_new();
    maker_sample(maker);
    struct bytes noisy = {0};
    bytes_append(&noisy, maker->log.data, maker->log.len);
    for (unsigned i = 0; i < NOISE_BYTES; i++) bytes_append(&noisy, &(uint8_t){(uint8_t)(i * 7)}, 1);
    bytes_append(&noisy, maker->log.data + LOG_HEADER_BYTES, maker->log.len - LOG_HEADER_BYTES);
    struct log *log;
    assert_int_equal(maker_open(&log, noisy.data, noisy.len), 0);
    assert_int_equal(log_health(log)->bytes_skipped, NOISE_BYTES);
    assert_int_equal(read_all(log), 2 * SAMPLE_EVENTS);
    assert_int_equal(log_process_count(log), 2); // said twice
    log_close(log);
    bytes_free(&noisy);
    maker_free(maker);
}

// Changes one bit anywhere: a log that opens can be read to its end, and reports the damage.
static void test_flipped(void **state) {
    (void)state;
    struct log_maker *maker = sample_new();
    for (size_t i = 0; i < maker->log.len; i++) {
        struct log *log;
        maker->log.data[i] ^= (uint8_t)(1 << i % 8);
        int code = maker_open(&log, maker->log.data, maker->log.len);
        assert_true(code == 0 || i < 8);
        if (code == 0) {
            size_t count = read_all(log);
            const struct log_health *health = log_health(log);
            assert_true(count <= SAMPLE_EVENTS);
            assert_true(health->bytes_skipped || health->header_damaged || health->index_missing);
            log_close(log);
        }
        maker->log.data[i] ^= (uint8_t)(1 << i % 8);
    }
    maker_free(maker);
}

// Damage under good checksums: the payloads themselves are changed.
static void test_flipped_payload(void **state) {
    (void)state;
    struct log_maker *maker = sample_new();
    struct log *log;
    assert_int_equal(maker_open(&log, maker->log.data, maker->log.len), 0);
    struct bytes raw = {0};
    for (size_t i = 0; i < log_place_count(log); i++) {
        const struct log_place *place = log_place_at(log, i);
        struct log_block block;
        assert_int_equal(log_read_block(log, place, &block, &raw), 0);
        for (size_t bit = 0; bit < raw.len * 8; bit++) {
            struct log_maker *changed = maker_new();
            struct log *damaged;
            bytes_append(&changed->log, maker->log.data + LOG_HEADER_BYTES, place->offset - LOG_HEADER_BYTES);
            raw.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            maker_block(changed, &block, raw.data, raw.len);
            raw.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            uint64_t end = place->offset + place->stored_len +
                           (place->type == BLOCK_EVENTS ? LOG_BLOCK_HEADER_BYTES : LOG_SHORT_HEADER_BYTES);
            bytes_append(&changed->log, maker->log.data + end, maker->log.len - end);
            assert_int_equal(maker_open(&damaged, changed->log.data, changed->log.len), 0);
            read_all(damaged);
            log_close(damaged);
            maker_free(changed);
        }
    }
    bytes_free(&raw);
    log_close(log);
    maker_free(maker);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),    cmocka_unit_test(test_other_calls),     cmocka_unit_test(test_refused),
        cmocka_unit_test(test_truncated), cmocka_unit_test(test_damaged_block),   cmocka_unit_test(test_noise),
        cmocka_unit_test(test_flipped),   cmocka_unit_test(test_flipped_payload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
