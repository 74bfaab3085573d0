#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "log/iter.h"
#include "log/private.h"
#include "test_log_maker.h"

static struct log *open_sample(void) {
    struct log_maker *maker = maker_new();
    maker_sample(maker);
    return maker_close(maker);
}

#define ID(stream, number) ((uint64_t)(stream) << 32 | (number))

// The ids as "stream.number", in the order in which they come.
static void check(struct log *log, const struct log_filter *filter, const char *expected) {
    char found[256] = "";
    struct log_iter *iter;
    const struct log_event *event;
    int more;
    assert_int_equal(log_iter_open(&iter, log, filter), 0);
    while ((more = log_iter_next(iter, &event)) > 0) {
        size_t len = strlen(found);
        snprintf(found + len, sizeof found - len, "%s%u.%u", len ? " " : "", (unsigned)(event->id >> 32),
                 (unsigned)event->id);
    }
    assert_int_equal(more, 0);
    assert_string_equal(found, expected);
    log_iter_close(iter);
}

static void test_order(void **state) {
    (void)state;
    struct log *log = open_sample();
    check(log, NULL, "1.0 3.0 1.1 3.1 1.2 2.0 3.2 1.3 3.3 2.2 2.1");
    log_close(log);
}

static void test_event(void **state) {
    (void)state;
    struct log *log = open_sample();
    struct log_iter *iter;
    const struct log_event *event;
    assert_int_equal(log_iter_open(&iter, log, &(struct log_filter){.process = log_process_find(log, 1)}), 0);
    assert_int_equal(log_iter_next(iter, &event), 1);
    assert_string_equal(event->call->name, "open");
    assert_string_equal(event->line, "main.c:12");
    assert_int_equal(event->start_ns, 20);
    assert_int_equal(event->duration_ns, 20);
    assert_int_equal(event->call_time_ns, 20);
    assert_false(event->has_parent);
    assert_int_equal(log_iter_next(iter, &event), 1);
    assert_string_equal(event->call->name, "fwrite");
    assert_string_equal(event->file->name, "/data/a");
    assert_null(event->line);
    assert_false(event->has_parent);
    assert_int_equal(log_iter_next(iter, &event), 1);
    assert_true(event->has_parent);
    assert_int_equal(event->parent, ID(1, 1));
    assert_int_equal(event->raw.result, 10);
    assert_int_equal(log_iter_next(iter, &event), 1); // in the other stream, which says whose child it is
    assert_int_equal(event->id, ID(2, 0));
    assert_int_equal(event->parent, ID(1, 1));
    log_iter_close(iter); // with blocks still under way
    log_close(log);
}

static void test_filters(void **state) {
    (void)state;
    struct log *log = open_sample();
    check(log, &(struct log_filter){.layers = 1u << LAYER_STDIO}, "1.1");
    check(log, &(struct log_filter){.classes = 1u << CLASS_OPEN | 1u << CLASS_READ}, "1.0 2.0 2.2 2.1");
    check(log, &(struct log_filter){.has_pid = true, .pid = 12}, "3.0 3.1 3.2 3.3");
    check(log, &(struct log_filter){.has_rank = true, .rank = 0}, "3.0 3.1 3.2 3.3");
    check(log, &(struct log_filter){.file_glob = "*/b"}, "2.0 2.2 2.1");
    check(log, &(struct log_filter){.has_from = true, .from_ns = 150}, "3.3 2.2 2.1");
    check(log, &(struct log_filter){.has_to = true, .to_ns = 30}, "1.0 3.0");
    check(log, &(struct log_filter){.has_from = true, .from_ns = 60, .has_to = true, .to_ns = 70}, "1.1 3.1");
    check(log, &(struct log_filter){.has_rank = true, .rank = 1}, "");
    log_close(log);
}

// Many streams whose blocks overlap, some of them not sorted: events still come in the order of time.
static void test_many_streams(void **state) {
    (void)state;
    enum { STREAMS = 40, BLOCKS = 5, EVENTS = 50 };
    struct log_maker *maker = maker_new();
    maker_process(maker, 1, 1, 0);
    maker_file(maker, 1, "/f", 1);
    for (unsigned s = 0; s < STREAMS; s++) maker_stream(maker, s, 1, s);
    maker_flush_records(maker);
    srand(2);
    for (unsigned s = 0; s < STREAMS; s++) {
        uint64_t now = 1000 + (uint64_t)rand() % 5000;
        for (unsigned b = 0; b < BLOCKS; b++) {
            bool sorted = rand() % 2;
            uint64_t first = UINT64_MAX;
            struct stream_writer *writer = maker_begin(maker, s, b * EVENTS, now);
            stream_put_slot(writer, 0, 1, CALL_pread, 1, 1, 0, 0);
            for (unsigned i = 0; i < EVENTS; i++) {
                uint64_t start = now + (uint64_t)rand() % 20 - (sorted || now < 1100 ? 0 : 60);
                if (start < first) first = start;
                stream_put_extended(writer, 0, i, 1, start, now + 30, &(const struct stream_put_extra){0});
                now += 30;
            }
            maker_end(maker, EVENTS, sorted, first, now);
        }
    }
    maker_finish(maker);
    struct log *log;
    struct log_iter *iter;
    const struct log_event *event;
    assert_int_equal(maker_open(&log, maker->log.data, maker->log.len), 0);
    assert_int_equal(log_events(log), STREAMS * BLOCKS * EVENTS);
    assert_int_equal(log_iter_open(&iter, log, NULL), 0);
    int64_t last_ns = 0;
    size_t count = 0;
    for (; log_iter_next(iter, &event) == 1; count++) {
        assert_true(event->start_ns >= last_ns);
        last_ns = event->start_ns;
    }
    assert_int_equal(count, STREAMS * BLOCKS * EVENTS);
    log_iter_close(iter);
    log_close(log);
    maker_free(maker);
}

// Opening an iterator for each of many processes must not scan the blocks of all processes each time.
static void test_places_of_a_process(void **state) {
    (void)state;
    enum { PROCESSES = 30, ROUNDS = 3 };
    struct log_maker *maker = maker_new();
    for (unsigned p = 0; p < PROCESSES; p++) {
        maker_process(maker, p + 1, 100 + p, 0);
        maker_stream(maker, p, p + 1, 1);
    }
    maker_stream(maker, PROCESSES, 999, 1); // of an unknown process
    maker_flush_records(maker);
    for (unsigned i = 0; i < ROUNDS * (PROCESSES + 1); i++) {
        unsigned stream = i % (PROCESSES + 1);
        if (stream == 7) continue; // a process without events
        struct stream_writer *writer = maker_begin(maker, stream, i / (PROCESSES + 1), 1000 + i);
        stream_put_slot(writer, 0, 1, CALL_pread, 1, 1, 0, 0);
        stream_put_plain(writer, 0, 0, 1, 1000 + i, 1001 + i);
        maker_end(maker, 1, true, 1000 + i, 1001 + i);
    }
    maker_finish(maker);
    struct log *log;
    const struct log_place *const *places;
    assert_int_equal(maker_open(&log, maker->log.data, maker->log.len), 0);
    assert_int_equal(log_event_places(log, NULL, &places), ROUNDS * (PROCESSES - 1));
    for (unsigned p = 0; p < PROCESSES; p++) {
        const struct log_process *process = log_process_find(log, p + 1);
        size_t count = log_event_places(log, process, &places);
        assert_int_equal(count, p == 7 ? 0 : ROUNDS);
        for (size_t i = 0; i < count; i++) {
            assert_ptr_equal(places[i]->process, process);
            assert_true(i == 0 || places[i]->offset > places[i - 1]->offset);
        }
    }
    log_close(log);
    maker_free(maker);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_event),
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_many_streams),
        cmocka_unit_test(test_places_of_a_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
