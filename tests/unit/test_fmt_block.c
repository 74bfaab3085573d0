#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "fmt/block.h"
#include "fmt/fields.h"

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
    uint8_t buffer[LOG_OLD_TRAILER_BYTES] = {0}, *in = buffer + sizeof buffer - LOG_TRAILER_BYTES;
    const uint8_t *end = buffer + sizeof buffer;
    struct log_trailer trailer;
    for (uint32_t index_bytes = 0; index_bytes <= 0x12345678; index_bytes += 0x12345678) {
        log_trailer_put(in, index_bytes);
        for (size_t len = LOG_TRAILER_BYTES; len <= sizeof buffer; len += sizeof buffer - LOG_TRAILER_BYTES) {
            assert_int_equal(log_trailer_get(end, len, 0x20000000, &trailer), 0);
            assert_int_equal(trailer.bytes, LOG_TRAILER_BYTES);
            assert_int_equal(trailer.index_offset, 0x20000000 - LOG_TRAILER_BYTES - index_bytes);
            assert_int_equal(trailer.has_index, index_bytes != 0);
        }
    }
    assert_int_equal(log_trailer_get(end, sizeof buffer, 0x12345678, &trailer), ERR_FORMAT); // the log is too short
    for (uint8_t *at = in; at < end; at++) {
        *at ^= 0x80;
        assert_true(log_trailer_get(end, sizeof buffer, 0x20000000, &trailer) < 0);
        assert_true(log_trailer_get(end, LOG_TRAILER_BYTES, 0x20000000, &trailer) < 0);
        *at ^= 0x80;
    }
    assert_int_equal(log_trailer_get(end, LOG_TRAILER_BYTES - 1, 0x20000000, &trailer), ERR_TRUNCATED);
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
        assert_int_equal(log_block_get(header, sizeof header, &got), 0);
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
        assert_true(log_block_get(header, sizeof header, &got) < 0);
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
    assert_int_equal(log_block_get(header, sizeof header, &got), ERR_FORMAT);
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

static size_t put_records(uint8_t *out, size_t room, unsigned count) {
    struct fields_out fields = {.at = out, .end = out + room};
    for (unsigned i = 0; i < count; i++) {
        fields_begin(&fields, 3);
        fields_number(&fields, 1, i);
        fields_string(&fields, 2, "text");
        fields_end(&fields);
    }
    return (size_t)(fields.at - out);
}

// Blocks of records: as they are if there are few, else compressed.
static void test_short(void **state) {
    (void)state;
    uint8_t records[4096];
    struct bytes out = {0}, loaded = {0};
    for (unsigned count = 0; count < 200; count = count * 4 + 1) {
        struct log_block block = {.type = BLOCK_RECORDS}, got;
        size_t len = put_records(records, sizeof records, count);
        out.len = 0;
        assert_int_equal(bytes_append(&out, "before", 6), 0);
        assert_int_equal(log_block_append(&block, records, len, &out), 0);
        assert_int_equal(out.len, 6 + LOG_SHORT_HEADER_BYTES + block.stored_len);
        assert_int_equal(block.codec, count > 1 ? CODEC_SHARED : CODEC_NONE);
        for (size_t there = 0; there < LOG_SHORT_HEADER_BYTES; there++)
            assert_int_equal(log_block_get(out.data + 6, there, &got), ERR_TRUNCATED);
        assert_int_equal(log_block_search(out.data, out.len), 6);
        assert_int_equal(log_block_get(out.data + 6, LOG_SHORT_HEADER_BYTES, &got), 0);
        assert_true(got.type == BLOCK_RECORDS && got.header_bytes == LOG_SHORT_HEADER_BYTES && got.events == 0);
        const uint8_t *payload = out.data + 6 + got.header_bytes;
        assert_int_equal(log_block_load(&got, payload, &loaded), 0);
        assert_int_equal(loaded.len, len);
        if (len) assert_memory_equal(loaded.data, records, len);
        for (size_t i = 6; i < out.len; i++) {
            out.data[i] ^= 16;
            bool is_header = i < 6 + LOG_SHORT_HEADER_BYTES;
            if (is_header) assert_true(log_block_get(out.data + 6, LOG_SHORT_HEADER_BYTES, &got) < 0);
            if (!is_header) assert_int_equal(log_block_load(&got, payload, &loaded), ERR_CHECKSUM);
            out.data[i] ^= 16;
        }
    }
    bytes_free(&out);
    bytes_free(&loaded);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header), cmocka_unit_test(test_trailer), cmocka_unit_test(test_block),
        cmocka_unit_test(test_lies),   cmocka_unit_test(test_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
