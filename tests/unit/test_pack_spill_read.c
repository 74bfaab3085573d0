#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "pack/spill_read.h"
#include "test_pack_image.h"

static int spill_fd = -1; // a file in memory, for one image after the other

static void save_image(const uint8_t *data, size_t len) {
    if (spill_fd < 0) spill_fd = memfd_create("spill", MFD_CLOEXEC);
    assert_int_equal(ftruncate(spill_fd, 0), 0);
    assert_int_equal(pwrite(spill_fd, data, len, 0), len);
}

static int read_image(const uint8_t *data, size_t len, struct spill *spill) {
    save_image(data, len);
    return spill_read_file(spill_fd, spill);
}

static void reads_header_and_chunks(void **state) {
    (void)state;
    struct image image = image_new();
    image_put_file(image_chunk(&image, CHUNK_RECORDS), 1, "/a");
    struct spill_chunk *events = image_chunk(&image, CHUNK_EVENTS);
    image_put_run(events, 1, 1, 3, 100);
    events->tally.left_out[1][LEFT_OUT_PIPE] = 7;

    struct spill spill;
    assert_int_equal(read_image(image.data, image.len, &spill), 0);
    assert_int_equal(spill.count, 2);
    assert_int_equal(spill.piece[0].chunk.kind, CHUNK_RECORDS);
    assert_int_equal(spill.piece[1].chunk.kind, CHUNK_EVENTS);
    assert_int_equal(spill.piece[1].chunk.tid, 77);
    assert_int_equal(spill.piece[1].chunk.used, events->used);
    assert_int_equal(spill.tally.left_out[1][LEFT_OUT_PIPE], 7);
    assert_int_equal(spill.damaged_bytes, 0);

    struct bytes payload = {0};
    assert_int_equal(spill_read_payload(&spill, &spill.piece[1], &payload), 0);
    assert_memory_equal(payload.data, image_payload(events), events->used);
    bytes_free(&payload);
    spill_read_free(&spill);
    free(image.data);
}

static void refuses_what_is_no_spill(void **state) {
    (void)state;
    struct image image = image_new();
    struct spill_header *header = image_header(&image);
    struct spill spill;
    assert_int_equal(read_image(image.data, 0, &spill), ERR_NOTHING);
    assert_int_equal(read_image(image.data, 100, &spill), ERR_TRUNCATED);
    header->version = SPILL_VERSION + 1;
    assert_int_equal(read_image(image.data, image.len, &spill), ERR_VERSION);
    header->version = SPILL_VERSION;
    header->unit_shift = 64;
    assert_int_equal(read_image(image.data, image.len, &spill), ERR_FORMAT);
    header->unit_shift = 0;
    header->header_bytes = 1;
    assert_int_equal(read_image(image.data, image.len, &spill), ERR_FORMAT);
    header->magic = 12345;
    assert_int_equal(read_image(image.data, image.len, &spill), ERR_FORMAT);
    header->magic = 0; // made, and no further
    assert_int_equal(read_image(image.data, image.len, &spill), ERR_NOTHING);
    free(image.data);
}

static void every_truncation_is_survived(void **state) {
    (void)state;
    struct image image = image_new();
    image_put_file(image_chunk(&image, CHUNK_RECORDS), 1, "/a");
    image_put_run(image_chunk(&image, CHUNK_EVENTS), 1, 1, 50, 100);
    for (size_t len = 0; len <= 3 * 4096; len += 13) {
        struct spill spill;
        struct bytes payload = {0};
        if (read_image(image.data, len, &spill) == 0) {
            for (size_t i = 0; i < spill.count; i++) {
                assert_int_equal(spill_read_payload(&spill, &spill.piece[i], &payload), 0);
            }
        }
        bytes_free(&payload);
        spill_read_free(&spill);
    }
    free(image.data);
}

static void hostile_sizes_are_not_believed(void **state) {
    (void)state;
    static const uint32_t sizes[] = {0, 1, 255, 256, 257, 4095, 1u << 20, UINT32_MAX - 4095, UINT32_MAX};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    for (unsigned i = 0; i < SIZES; i++) {
        for (unsigned j = 0; j < SIZES; j++) {
            struct image image = image_new();
            struct spill_chunk *chunk = image_chunk(&image, CHUNK_EVENTS);
            chunk->bytes = sizes[i];
            chunk->used = sizes[j];
            image_header(&image)->next = UINT64_MAX - i;
            struct spill spill;
            struct bytes payload = {0};
            assert_int_equal(read_image(image.data, image.len, &spill), 0);
            for (size_t k = 0; k < spill.count; k++) {
                assert_true(spill.piece[k].offset + spill.piece[k].chunk.used <= image.len);
                assert_int_equal(spill_read_payload(&spill, &spill.piece[k], &payload), 0);
            }
            assert_int_equal(spill_read_records_again(&spill), 0);
            bytes_free(&payload);
            spill_read_free(&spill);
            free(image.data);
        }
    }
}

static void finds_chunks_behind_damage(void **state) {
    (void)state;
    struct image image = image_new();
    struct spill_chunk *damaged = image_chunk(&image, CHUNK_EVENTS);
    image_chunk(&image, CHUNK_EVENTS)->magic = 0; // claimed and never begun: no damage
    image_put_run(image_chunk(&image, CHUNK_EVENTS), 1, 1, 2, 100);
    damaged->magic = 99;
    struct spill spill;
    assert_int_equal(read_image(image.data, image.len, &spill), 0);
    assert_int_equal(spill.count, 1);
    assert_int_equal(spill.piece[0].offset, 3 * 4096 + SPILL_CHUNK_HEADER_BYTES);
    assert_int_equal(spill.damaged_bytes, SPILL_ALIGN);
    spill_read_free(&spill);
    free(image.data);
}

static void records_of_a_running_process_are_renewed(void **state) {
    (void)state;
    struct image image = image_new();
    struct spill_chunk *records = image_chunk(&image, CHUNK_RECORDS);
    image_put_file(records, 1, "/a");
    image_put_run(image_chunk(&image, CHUNK_EVENTS), 1, 1, 2, 100);
    struct spill spill;
    assert_int_equal(read_image(image.data, image.len, &spill), 0);
    image_put_file(records, 2, "/b");
    image_put_file(image_chunk(&image, CHUNK_RECORDS), 3, "/c");
    image_put_run(image_chunk(&image, CHUNK_EVENTS), 1, 3, 2, 100);
    save_image(image.data, image.len);
    assert_int_equal(spill_read_records_again(&spill), 0);
    assert_int_equal(spill.count, 3); // the first events, both chunks of records, not the later events
    assert_int_equal(spill.piece[0].chunk.kind, CHUNK_EVENTS);
    assert_int_equal(spill.piece[1].chunk.used, records->used);
    assert_int_equal(spill.piece[2].chunk.kind, CHUNK_RECORDS);
    spill_read_free(&spill);
    free(image.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_header_and_chunks),      cmocka_unit_test(refuses_what_is_no_spill),
        cmocka_unit_test(every_truncation_is_survived), cmocka_unit_test(hostile_sizes_are_not_believed),
        cmocka_unit_test(finds_chunks_behind_damage),   cmocka_unit_test(records_of_a_running_process_are_renewed),
    };
    return cmocka_run_group_tests_name("pack_spill_read", tests, NULL, NULL);
}
