#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "report/page.h"
#include "test_log_maker.h"

static size_t event_blocks(const struct log *log) {
    size_t count = 0;
    for (size_t i = 0; i < log_place_count(log); i++) count += log_place_at(log, i)->type == BLOCK_EVENTS;
    return count;
}

// The sample has two processes, three streams, calls inside each other and a rank.
static void reads_each_block_once(void **state) {
    (void)state;
    struct log_maker *maker = maker_new();
    maker_sample(maker);
    struct log *log = maker_close(maker);
    struct page page;
    char *text;
    size_t len;
    assert_int_equal(page_gather(&page, &(struct summary_source){.log = log, .path = "sample.ioseer"}, NULL), 0);
    assert_int_equal(page_json_memory(&page, &text, &len), 0);
    assert_true(page.has_model && page.model.bytes > 0);
    assert_non_null(strstr(text, "\"slowest\""));
    assert_int_equal(event_blocks(log), 4);
    assert_int_equal(log_blocks_read(log), event_blocks(log));
    free(text);
    page_free(&page);
    log_close(log);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_each_block_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
