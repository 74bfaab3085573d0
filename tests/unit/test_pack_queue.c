// Many blocks of events, which a thread stores, with records in between.
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "fmt/records.h"
#include "pack/log_writer.h"

enum { BLOCKS = 200, RECORDS_EACH = 10, RAW_BYTES = 100000 };

static char path[] = "/tmp/ioseer-test-XXXXXX";

static int setup(void **state) {
    (void)state;
    setenv("IOSEER_THREADS", "2", 1); // also on one processor
    return mkdtemp(path) && chdir(path) == 0 ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    unlink("log");
    return chdir("/") || rmdir(path);
}

// Some blocks shrink, others do not.
static void fill(uint8_t *raw, unsigned number) {
    uint64_t random = number + 1;
    for (size_t i = 0; i < RAW_BYTES; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        raw[i] = (uint8_t)(number % 3 ? random >> 60 : random >> 56);
    }
    memcpy(raw, &number, sizeof number);
}

static int write_blocks(struct log_writer *w) {
    static uint8_t raw[RAW_BYTES];
    for (unsigned i = 0; i < BLOCKS; i++) {
        if (i % RECORDS_EACH == 0) {
            struct fields_out *out = log_writer_begin(w, RECORD_CALLSITE, 32);
            fields_number(out, CALLSITE_ID, i);
            log_writer_end(w);
        }
        struct log_block block = {.type = BLOCK_EVENTS, .stream = 1, .events = i};
        fill(raw, i);
        int code = log_writer_events(w, &block, raw, sizeof raw, &(struct log_summary){.process = 1});
        if (code) return code;
    }
    return log_writer_publish(w, true);
}

static void blocks_and_records_keep_their_order(void **state) {
    (void)state;
    static uint8_t expected[RAW_BYTES];
    struct log_writer w;
    assert_int_equal(log_writer_open(&w, "log", &(struct log_header){.version = 1}), 0);
    assert_int_equal(write_blocks(&w), 0);
    uint64_t len = w.offset;
    log_writer_abandon(&w);

    uint8_t *data = malloc(len);
    int fd = open("log", O_RDONLY);
    assert_int_equal(read(fd, data, len), len);
    close(fd);
    unsigned events = 0, records = 0;
    struct bytes raw = {0};
    struct log_block block;
    for (uint64_t at = LOG_HEADER_BYTES; at < len - LOG_TRAILER_BYTES; at += block.header_bytes + block.stored_len) {
        assert_int_equal(log_block_get(data + at, len - at, &block), 0);
        assert_int_equal(log_block_load(&block, data + at + block.header_bytes, &raw), 0);
        if (block.type == BLOCK_EVENTS) {
            fill(expected, events);
            assert_int_equal(block.events, events++);
            assert_int_equal(raw.len, RAW_BYTES);
            assert_memory_equal(raw.data, expected, RAW_BYTES);
        } else if (block.type == BLOCK_RECORDS) {
            assert_int_equal(events, records++ * RECORDS_EACH);
        }
    }
    assert_int_equal(events, BLOCKS);
    assert_int_equal(records, BLOCKS / RECORDS_EACH);
    bytes_free(&raw);
    free(data);
}

static void an_error_of_the_thread_is_an_error(void **state) {
    (void)state;
    struct rlimit before, limit;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = BLOCKS * RAW_BYTES / 4;
    struct log_writer w;
    assert_int_equal(log_writer_open(&w, "log", &(struct log_header){.version = 1}), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    int code = write_blocks(&w);
    setrlimit(RLIMIT_FSIZE, &before);
    log_writer_abandon(&w);
    assert_true(code < 0);
    struct stat status;
    assert_int_equal(stat("log", &status), 0); // the one of before
    assert_int_equal(unlink("log"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_and_records_keep_their_order),
        cmocka_unit_test(an_error_of_the_thread_is_an_error),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
