// Lists of the summary of collective calls that are cut: what is left out is the least.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "summary/collectives.h"
#include "test_log_maker.h"

enum { RANKS = 5 };

static struct log *new_log(void) {
    struct log_maker *maker = maker_new();
    for (uint64_t i = 0; i < RANKS; i++) maker_process(maker, i + 1, 100 + i, i + 1);
    maker_numbers(maker, RECORD_PROCESS, PROCESS_ID, (uint64_t)9, PROCESS_PID, (uint64_t)109, PROCESS_RANK,
                  (uint64_t)RANKS + 1, PROCESS_TRACE_ENDED, (uint64_t)LOSS_TRACE_CAP, 0);
    maker_flush_records(maker);
    return maker_close(maker);
}

static char *json_of(const struct collectives *all, size_t most) {
    char *text;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    struct json_out *json = json_out_begin(out, 0);
    json->tight = true;
    collectives_json(all, NULL, json, most);
    assert_int_equal(json_out_end(json), 0);
    fclose(out);
    return text;
}

static char *text_of(const struct collectives *all) {
    char *text;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    assert_int_equal(collectives_text(all, NULL, SIZE_MAX, out), 0);
    fclose(out);
    return text;
}

// Rank 4 keeps the others waiting most: it is in the list, however short that is.
static void the_latest_comes_first(void **state) {
    (void)state;
    struct log *log = new_log();
    struct collectives all = {0};
    struct log_consumer consumer;
    assert_int_equal(collectives_begin(&all, log, &consumer), 0);
    for (unsigned i = 0; i < RANKS; i++) {
        all.in.process[i].last = 1;
        all.in.process[i].late_ns = i == RANKS - 1 ? 9 : i;
    }
    assert_int_equal(collectives_finish(&all), 0);
    char *text = json_of(&all, 2);
    const char *late = strstr(text, "\"late\":[{\"rank\":4,");
    assert_non_null(late);
    assert_non_null(strstr(late, "{\"rank\":3,"));
    assert_null(strstr(late, "{\"rank\":2,"));
    free(text);
    collectives_free(&all);
    log_close(log);
}

// Calls that are not matched count neither in bytes nor as a row of the table; aggregators are cut, and counted.
static void rows_and_aggregators(void **state) {
    (void)state;
    static const struct log_call call = {.id = 1, .name = "MPI_File_write_all", .class = CLASS_WRITE};
    static const struct log_call other = {.id = 2, .name = "MPI_File_sync", .class = CLASS_SYNC};
    struct log *log = new_log();
    struct collectives all = {0};
    struct log_consumer consumer;
    assert_int_equal(collectives_begin(&all, log, &consumer), 0);
    for (unsigned i = 0; i < RANKS; i++) {
        struct collective_call one = {.process = log_process_at(log, i),
                                      .call = &call,
                                      .bytes = 7,
                                      .is_matched = true,
                                      .rounds = 1,
                                      .is_aggregator = true,
                                      .ranks = RANKS};
        assert_int_equal(all.in.callback(&one, all.in.context), 0);
        one = (struct collective_call){.process = log_process_at(log, i), .call = i ? &call : &other, .bytes = 7};
        assert_int_equal(all.in.callback(&one, all.in.context), 0);
    }
    assert_int_equal(collectives_finish(&all), 0);
    assert_int_equal(all.rows, 2);
    assert_int_equal(all.divided, 1);
    assert_int_equal(all.row[0].bytes, 7 * RANKS);
    char *text = json_of(&all, 2);
    assert_non_null(strstr(text, "\"aggregator_count\":5,\"aggregators\":[0,1],"));
    free(text);
    text = text_of(&all);
    assert_non_null(strstr(text, "The trace of 1 process ended early"));
    free(text);
    collectives_free(&all);
    log_close(log);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_latest_comes_first),
                                       cmocka_unit_test(rows_and_aggregators)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
