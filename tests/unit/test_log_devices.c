// Device samples from a monitor's file in the spill directory into a log, and read from it.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "pack/pack.h"
#include "test_log_maker.h"
#include "test_pack_image.h"

enum { FILES_DEVICE = 42, OTHER_DEVICE = 43 };

static const uint8_t two_samples[] = {100, 1, 2, 3, 4, 5, 6, 50, 1, 1, 1, 1, 1, 1};

static void put_device(struct fields_out *out, const char *name, uint64_t under, const uint8_t *samples, size_t len) {
    fields_begin(out, RECORD_DEVICE);
    if (name) fields_string(out, DEVICE_NAME, name);
    fields_number(out, DEVICE_NUMBER, 7);
    fields_string(out, DEVICE_HOST, "");
    fields_number(out, DEVICE_MONO_NS, 1000000500);
    fields_number(out, DEVICE_EPOCH_NS, 1000000500);
    fields_number(out, DEVICE_UNDER, 7);
    fields_number(out, DEVICE_UNDER, under);
    fields_bytes(out, DEVICE_SAMPLES, samples, len);
    fields_end(out);
}

static void save(const char *folder, const char *name, const void *data, size_t len) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, len), len);
    close(fd);
}

static void save_process(const char *folder) {
    struct image image = image_new();
    struct spill_chunk *chunk = image_chunk(&image, CHUNK_RECORDS);
    struct fields_out out = image_fields(chunk);
    fields_begin(&out, RECORD_FILE);
    fields_number(&out, FILE_ID, 1);
    fields_string(&out, FILE_NAME, "/data");
    fields_number(&out, FILE_DEVICE, FILES_DEVICE);
    fields_end(&out);
    chunk->used = (uint32_t)(out.at - image_payload(chunk));
    save(folder, "a.spill", image.data, image.len);
    free(image.data);
}

static struct log *pack(const char *folder, const char *log_path) {
    struct pack_result result;
    struct log *log;
    assert_int_equal(pack_directory(NULL, folder, log_path, NULL, &result), 0);
    assert_int_equal(log_open(&log, log_path), 0);
    unlink(log_path);
    return log;
}

static void devices_under_the_files_are_kept(void **state) {
    (void)state;
    char folder[] = "/tmp/ioseer-test-XXXXXX", log_path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(log_path, sizeof log_path, "%s.log", folder);
    uint8_t data[4096];
    struct fields_out out = {.at = data, .end = data + sizeof data};
    put_device(&out, "sda", FILES_DEVICE, two_samples, sizeof two_samples);
    put_device(&out, "sdb", OTHER_DEVICE, two_samples, sizeof two_samples);
    put_device(&out, "cut", FILES_DEVICE, two_samples, sizeof two_samples - 1);
    put_device(&out, NULL, FILES_DEVICE, two_samples, sizeof two_samples);
    put_device(&out, "sdc", FILES_DEVICE, NULL, 0);
    size_t whole = (size_t)(out.at - data);
    save_process(folder);
    save(folder, "one" PACK_DEVICES_SUFFIX, data, whole);
    save(folder, "half" PACK_DEVICES_SUFFIX, data, whole / 10); // its writer was killed
    save(folder, "none" PACK_DEVICES_SUFFIX, data, 0);
    struct log *log = pack(folder, log_path);
    pack_remove_directory(folder);

    assert_int_equal(log_health(log)->records_damaged, 0);
    assert_int_equal(log_device_count(log), 2);
    const struct log_device *device = log_device_at(log, 0);
    assert_string_equal(device->name, "sda");
    assert_null(device->host);
    assert_int_equal(device->number, 7);
    assert_int_equal(device->start_ns, 500);
    assert_int_equal(device->sample_count, 2);
    assert_int_equal(device->sum.span_ns, 150);
    assert_int_equal(device->sum.count[DEVICE_QUEUE_MS], 7);
    assert_string_equal(log_device_at(log, 1)->name, "sdc");
    assert_int_equal(log_device_at(log, 1)->sample_count, 0);
    log_close(log);
}

static void maker_device(struct log_maker *maker, uint64_t id, const uint8_t *samples, size_t len) {
    fields_begin(&maker->records, RECORD_DEVICE);
    fields_number(&maker->records, DEVICE_ID, id);
    fields_string(&maker->records, DEVICE_NAME, "sda");
    fields_bytes(&maker->records, DEVICE_SAMPLES, samples, len);
    fields_end(&maker->records);
}

static void damaged_samples_are_counted_and_passed_over(void **state) {
    (void)state;
    struct log_maker *maker = maker_new();
    uint8_t too_large[2 * DEVICE_SAMPLE_MAX_BYTES], *at = too_large;
    const struct device_sample large = {.span_ns = 1, .count[DEVICE_SECTORS_READ] = UINT64_C(1) << 52};
    at = device_sample_put(device_sample_put(at, &large), &large);
    maker_device(maker, 1, two_samples, sizeof two_samples);
    maker_device(maker, 2, two_samples, sizeof two_samples - 1);
    maker_device(maker, 3, too_large, (size_t)(at - too_large));
    maker_numbers(maker, RECORD_DEVICE, DEVICE_ID, UINT64_C(4), DEVICE_SAMPLES, UINT64_C(5), 0); // a number, not bytes
    maker_device(maker, 1, two_samples, 7); // on the same one: replaces it
    maker_flush_records(maker);
    struct log *log = maker_close(maker);
    assert_int_equal(log_health(log)->records_damaged, 3);
    assert_int_equal(log_device_count(log), 1);
    assert_int_equal(log_device_at(log, 0)->sample_count, 1);
    log_close(log);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_under_the_files_are_kept),
        cmocka_unit_test(damaged_samples_are_counted_and_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
