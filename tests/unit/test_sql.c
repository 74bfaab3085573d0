// Which blocks of a log a statement reads. Answers are compared elsewhere (tests/query).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sql/sql.h"
#include "test_log_maker.h"

enum { PROCESSES = 3, BLOCKS = 5, EVENTS = 10, BLOCK_UNITS = 1000 };

// Each process has one file of its own and writes in its blocks; the last block reads. Blocks of all processes cover
// the same times: block n begins at n * 2 us.
static struct log *make_log(void) {
    struct log_maker *maker = maker_new();
    char name[16] = "/file0";
    for (uint64_t id = 1; id <= PROCESSES; id++) {
        name[5] = (char)('0' + id);
        maker_process(maker, id, 100 + id, id);
        maker_file(maker, id, name, id);
        maker_stream(maker, id, id, 1);
    }
    maker_flush_records(maker);
    for (uint32_t id = 1; id <= PROCESSES; id++) {
        for (unsigned b = 0; b < BLOCKS; b++) {
            bool is_last = b + 1 == BLOCKS;
            uint64_t start = 1000 + b * BLOCK_UNITS;
            struct stream_writer *writer = maker_begin(maker, id, b * EVENTS, start);
            memset(maker->class_count, 0, sizeof maker->class_count);
            maker->class_count[is_last ? CLASS_READ : CLASS_WRITE] = EVENTS;
            stream_put_slot(writer, 0, 1, is_last ? CALL_pread : CALL_pwrite, id, 1, 0, 0);
            for (unsigned i = 0; i < EVENTS; i++)
                stream_put_plain(writer, 0, i * 8, 8, start + i * 50 + 1, start + i * 50 + 20);
            maker_end(maker, EVENTS, true, start, start + BLOCK_UNITS - 1);
        }
    }
    return maker_close(maker);
}

struct answer {
    size_t rows;
    int64_t first;
};

static int skip_columns(void *context, const char *const *name, size_t count) {
    (void)context, (void)name, (void)count;
    return 0;
}

static int keep_first(void *context, const struct sql_value *value, size_t count) {
    struct answer *answer = context;
    if (count && !answer->rows++) answer->first = value[0].integer;
    return 0;
}

static void reads_few_blocks(void **state) {
    static const struct {
        const char *condition;
        int64_t events;
        uint64_t blocks;
    } cases[] = {
        {"1", PROCESSES * BLOCKS * EVENTS, PROCESSES * BLOCKS},
        {"rank = 1", BLOCKS * EVENTS, BLOCKS},
        {"rank IN (0, 2)", 2 * BLOCKS * EVENTS, 2 * BLOCKS},
        {"rank = 7", 0, 0},
        {"pid = 102", BLOCKS * EVENTS, BLOCKS},
        {"start < 0.0000019", PROCESSES * EVENTS, PROCESSES},
        {"start BETWEEN 0.0000021 AND 0.0000039", PROCESSES * (EVENTS - 1), PROCESSES},
        {"start > 0.0000081 AND rank = 0", EVENTS - 1, 1},
        {"class = 'read'", PROCESSES * EVENTS, PROCESSES},
        {"class IN ('read', 'open')", PROCESSES * EVENTS, PROCESSES},
        {"class = 'sync'", 0, 0},
        {"op = 'pread'", PROCESSES * EVENTS, PROCESSES},
        {"layer = 'mpiio'", 0, PROCESSES * BLOCKS}, // the index knows classes only
        {"layer IN ('posix', 'stdio') AND class = 'read' AND rank = 1", EVENTS, 1},
        {"file = '/file2'", BLOCKS * EVENTS, BLOCKS},
        {"file LIKE '/FILE2'", BLOCKS * EVENTS, BLOCKS},
        {"file GLOB '/f*[13]'", 2 * BLOCKS * EVENTS, 2 * BLOCKS},
        {"file = '/none'", 0, 0},
        {"file = '/file1' AND class = 'read'", EVENTS, 1},
        {"id = (2 << 32) + 3", 1, BLOCKS},
        {"id = (2 << 32) + 43", 1, BLOCKS},
        {"id = (9 << 32)", 0, 0},
        {"server = 1", 0, PROCESSES * BLOCKS},
    };
    struct log *log = make_log();
    struct problem problem = {0};
    struct sql *sql;
    char statement[200];
    (void)state;
    assert_int_equal(sql_open(&sql, &(struct summary_source){.log = log, .path = "log"}, &problem), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct answer answer = {0};
        const struct sql_sink sink = {&answer, skip_columns, keep_first};
        uint64_t before = log_blocks_read(log);
        snprintf(statement, sizeof statement, "SELECT count(*) FROM events WHERE %s", cases[i].condition);
        assert_int_equal(sql_run(sql, statement, &sink, &problem), 0);
        assert_int_equal(answer.first, cases[i].events);
        assert_int_equal(log_blocks_read(log) - before, cases[i].blocks);
    }
    sql_close(sql);
    log_close(log);
}

// A join reads the events once, and finds the rows of the other table.
static void joins_read_once(void **state) {
    struct log *log = make_log();
    struct problem problem = {0};
    struct sql *sql;
    struct answer answer = {0};
    const struct sql_sink sink = {&answer, skip_columns, keep_first};
    (void)state;
    assert_int_equal(sql_open(&sql, &(struct summary_source){.log = log, .path = "log"}, &problem), 0);
    assert_int_equal(sql_run(sql, "SELECT count(*) FROM files", &sink, &problem), 0);
    assert_int_equal(answer.first, PROCESSES);
    uint64_t before = log_blocks_read(log);
    const char *join = "SELECT count(*) FROM files JOIN events ON file = name JOIN processes p ON p.pid = events.pid";
    answer = (struct answer){0};
    assert_int_equal(sql_run(sql, join, &sink, &problem), 0);
    assert_int_equal(answer.first, PROCESSES * BLOCKS * EVENTS);
    assert_int_equal(log_blocks_read(log) - before, PROCESSES * BLOCKS);
    sql_close(sql);
    log_close(log);
}

// What is first wanted is read first: with a limit, the rest is never read.
static void ordered_by_start_for_nothing(void **state) {
    struct log *log = make_log();
    struct problem problem = {0};
    struct sql *sql;
    struct answer answer = {0};
    const struct sql_sink sink = {&answer, skip_columns, keep_first};
    (void)state;
    assert_int_equal(sql_open(&sql, &(struct summary_source){.log = log, .path = "log"}, &problem), 0);
    assert_int_equal(sql_run(sql, "SELECT id FROM events ORDER BY start LIMIT 5", &sink, &problem), 0);
    assert_int_equal(answer.rows, 5);
    assert_in_range(log_blocks_read(log), PROCESSES, 3 * PROCESSES); // a batch may be longer
    sql_close(sql);
    log_close(log);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_few_blocks), cmocka_unit_test(joins_read_once),
                                       cmocka_unit_test(ordered_by_start_for_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
