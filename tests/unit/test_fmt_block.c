#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "fmt/block.h"

static void test_header(void **state) {
    (void)state;
    uint8_t buffer[LOG_HEADER_BYTES];
    struct log_header in = {.version = LOG_VERSION, .min_reader = LOG_MIN_READER, .created_ns = 12345}, out;
    memcpy(in.job_id, "0123456789abcdef", 16);
    log_header_put(buffer, &in);
    assert_int_equal(log_header_get(buffer, &out), 0);
    uint8_t again[LOG_HEADER_BYTES];
    log_header_put(again, &out);
    assert_memory_equal(again, buffer, sizeof again);
    assert_memory_equal(out.job_id, in.job_id, 16);
    for (size_t i = 0; i < sizeof buffer; i++) {
        buffer[i] ^= 1;
        assert_true(log_header_get(buffer, &out) < 0);
        buffer[i] ^= 1;
    }
    in.min_reader = LOG_VERSION + 1;
    log_header_put(buffer, &in);
    assert_int_equal(log_header_get(buffer, &out), ERR_VERSION);
    in.min_reader = LOG_MIN_READER;
    in.features = 1ull << 63;
    log_header_put(buffer, &in);
    assert_int_equal(log_header_get(buffer, &out), ERR_VERSION);
}

static void test_trailer(void **state) {
    (void)state;
    uint8_t buffer[LOG_TRAILER_BYTES];
    uint64_t offset;
    log_trailer_put(buffer, 0x123456789abc);
    assert_int_equal(log_trailer_get(buffer, &offset), 0);
    assert_int_equal(offset, 0x123456789abc);
    for (size_t i = 0; i < sizeof buffer; i++) {
        buffer[i] ^= 0x80;
        assert_true(log_trailer_get(buffer, &offset) < 0);
        buffer[i] ^= 0x80;
    }
}

static struct log_block store(const uint8_t *raw, size_t len, struct bytes *stored) {
    struct log_block block = {
        .type = BLOCK_EVENTS,
        .stream = 3,
        .tid = 4,
        .events = 5,
        .flags = BLOCK_SORTED,
        .first_number = 6,
        .base = 7,
        .tick = 8,
        .start_ns = 9,
        .end_ns = 10,
    };
    stored->len = 0;
    assert_int_equal(log_block_store(&block, raw, len, stored), 0);
    assert_int_equal(block.raw_len, len);
    assert_int_equal(block.stored_len, stored->len);
    return block;
}

static void test_block(void **state) {
    (void)state;
    uint8_t raw[1000] = {0}, header[LOG_BLOCK_HEADER_BYTES], again[LOG_BLOCK_HEADER_BYTES];
    struct bytes stored = {0}, loaded = {0};
    struct log_block got;
    uint32_t random = 1;
    for (size_t len = 0; len <= sizeof raw; len += 250) {
        struct log_block block = store(raw, len, &stored); // shrinks, but for the empty one
        log_block_put(header, &block);
        assert_int_equal(log_block_get(header, &got), 0);
        log_block_put(again, &got);
        assert_memory_equal(again, header, sizeof again);
        assert_true(got.stream == 3 && got.tid == 4 && got.events == 5 && got.end_ns == 10);
        assert_int_equal(log_block_load(&got, stored.data, &loaded), 0);
        assert_int_equal(loaded.len, len);
        if (len) assert_memory_equal(loaded.data, raw, len);
    }
    for (size_t i = 0; i < sizeof raw; i++) raw[i] = (uint8_t)((random = random * 1664525 + 1013904223) >> 24);
    struct log_block block = store(raw, sizeof raw, &stored); // does not shrink
    assert_int_equal(block.stored_len, sizeof raw);
    assert_int_equal(log_block_load(&block, stored.data, &loaded), 0);
    assert_memory_equal(loaded.data, raw, sizeof raw);
    for (size_t i = 0; i < sizeof header; i++) {
        header[i] ^= 4;
        assert_true(log_block_get(header, &got) < 0);
        header[i] ^= 4;
    }
    bytes_free(&stored);
    bytes_free(&loaded);
}

// Wrong sizes under a good checksum.
static void test_lies(void **state) {
    (void)state;
    const uint8_t raw[1000] = {0};
    uint8_t header[LOG_BLOCK_HEADER_BYTES];
    struct bytes stored = {0}, loaded = {0};
    const struct log_block block = store(raw, sizeof raw, &stored);
    struct log_block lie = block, got;
    lie.raw_len = LOG_BLOCK_MAX_RAW + 1;
    log_block_put(header, &lie);
    assert_int_equal(log_block_get(header, &got), ERR_FORMAT);
    assert_int_equal(log_block_load(&lie, stored.data, &loaded), ERR_FORMAT);
    lie.raw_len = sizeof raw - 1;
    assert_int_equal(log_block_load(&lie, stored.data, &loaded), ERR_FORMAT);
    lie.raw_len = sizeof raw + 1;
    assert_int_equal(log_block_load(&lie, stored.data, &loaded), ERR_FORMAT);
    lie = block;
    lie.codec = 0;
    assert_int_equal(log_block_load(&lie, stored.data, &loaded), ERR_FORMAT);
    lie.codec = 9;
    assert_int_equal(log_block_load(&lie, stored.data, &loaded), ERR_FORMAT);
    for (size_t i = 0; i < stored.len; i++) {
        stored.data[i] ^= 1;
        assert_int_equal(log_block_load(&block, stored.data, &loaded), ERR_CHECKSUM);
        stored.data[i] ^= 1;
    }
    bytes_free(&stored);
    bytes_free(&loaded);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header),
        cmocka_unit_test(test_trailer),
        cmocka_unit_test(test_block),
        cmocka_unit_test(test_lies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
