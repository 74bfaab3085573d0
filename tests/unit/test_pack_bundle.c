// Bundles: what comes out is what went in, and nothing that is read from one is trusted.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "pack/bundle.h"
#include "pack/spill_read.h"
#include "test_pack_image.h"

enum { HEAD_BYTES = 32, RESERVE_BYTES = 1 << 20 };

static int new_file(const void *data, size_t len) {
    int fd = memfd_create("test", MFD_CLOEXEC);
    assert_int_equal(write(fd, data, len), len);
    return fd;
}

// As the recorder leaves it: what is behind the last chunk is a hole.
static struct image new_spill(const char *name) {
    struct image image = image_new();
    image_put_file(image_chunk(&image, CHUNK_RECORDS), 1, name);
    image_put_run(image_chunk(&image, CHUNK_EVENTS), 1, 1, 3, 100);
    return image;
}

static void add(int bundle, const struct image *image, const char *name) {
    int fd = new_file(image->data, image->len);
    assert_int_equal(ftruncate(fd, (off_t)image->len + RESERVE_BYTES), 0);
    assert_int_equal(bundle_add(bundle, fd, name), 0);
    close(fd);
}

static void same_bytes(int bundle, const struct bundle_entry *entry, const struct image *image) {
    size_t len = ((const struct spill_header *)image->data)->next;
    uint8_t *bytes = malloc(len);
    int fd = bundle_open(bundle, entry);
    assert_true(fd >= 0);
    assert_int_equal(entry->len, len);
    assert_int_equal(pread(fd, bytes, len, 0), len);
    assert_memory_equal(bytes, image->data, len);
    struct spill spill;
    assert_int_equal(spill_read_file(fd, &spill), 0);
    assert_int_equal(spill.count, 2);
    assert_int_equal(spill.damaged_bytes, 0);
    spill_read_free(&spill);
    close(fd);
    free(bytes);
}

static void gives_back_what_it_got(void **state) {
    (void)state;
    struct image one = new_spill("/one"), two = new_spill("/two");
    struct bundle_entry entry;
    uint64_t offset = 0;
    int bundle = new_file("", 0);
    add(bundle, &one, "a.1.1.spill");
    add(bundle, &two, "a.2.2.spill");
    assert_int_equal(bundle_next(bundle, &offset, &entry), 1);
    assert_string_equal(entry.name, "a.1.1.spill");
    same_bytes(bundle, &entry, &one);
    assert_int_equal(bundle_next(bundle, &offset, &entry), 1);
    assert_string_equal(entry.name, "a.2.2.spill");
    same_bytes(bundle, &entry, &two);
    assert_int_equal(bundle_next(bundle, &offset, &entry), 0);
    close(bundle);
    free(one.data);
    free(two.data);
}

static void leaves_out_what_has_not_begun(void **state) {
    (void)state;
    static const uint8_t zeros[SPILL_HEADER_BYTES];
    struct bundle_entry entry;
    uint64_t offset = 0;
    int bundle = new_file("", 0), empty = new_file("", 0), blank = new_file(zeros, sizeof zeros);
    assert_int_equal(bundle_add(bundle, empty, "a.1.1.spill"), 0);
    assert_int_equal(bundle_add(bundle, blank, "a.2.2.spill"), 0);
    assert_int_equal(bundle_next(bundle, &offset, &entry), 0);
    close(bundle);
    close(empty);
    close(blank);
}

// A damaged spill file goes along as it is.
static void keeps_damage(void **state) {
    (void)state;
    struct bundle_entry entry;
    uint64_t offset = 0;
    int bundle = new_file("", 0), damaged = new_file("damaged!", 8);
    assert_int_equal(bundle_add(bundle, damaged, "a.1.1.spill"), 0);
    assert_int_equal(bundle_next(bundle, &offset, &entry), 1);
    assert_int_equal(entry.len, 8);
    int fd = bundle_open(bundle, &entry);
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_size, 8);
    close(fd);
    close(damaged);
    close(bundle);
}

// How many entries can be read to the end.
static int count_good(int bundle) {
    struct bundle_entry entry;
    uint64_t offset = 0, before = 0;
    int good = 0;
    for (; bundle_next(bundle, &offset, &entry) > 0; before = offset) {
        assert_true(offset > before);
        int fd = bundle_open(bundle, &entry);
        good += fd >= 0;
        if (fd >= 0) close(fd);
    }
    return good;
}

static uint8_t *bundle_of_two(size_t *len) {
    struct image image = new_spill("/file");
    struct stat status;
    int bundle = new_file("", 0);
    add(bundle, &image, "a.1.1.spill");
    add(bundle, &image, "a.2.2.spill");
    assert_int_equal(fstat(bundle, &status), 0);
    *len = (size_t)status.st_size;
    uint8_t *bytes = malloc(*len);
    assert_int_equal(pread(bundle, bytes, *len, 0), *len);
    close(bundle);
    free(image.data);
    return bytes;
}

static void reads_what_is_there_of_one_that_is_cut_off(void **state) {
    (void)state;
    size_t len;
    uint8_t *bytes = bundle_of_two(&len);
    for (size_t cut = 0; cut <= len; cut++) {
        int bundle = new_file(bytes, cut);
        assert_int_equal(count_good(bundle), cut == len ? 2 : cut >= len / 2 ? 1 : 0);
        close(bundle);
    }
    free(bytes);
}

// Each bit of the first entry, turned over: it is refused, or has become another name.
static void notices_damage(void **state) {
    (void)state;
    size_t len;
    uint8_t *bytes = bundle_of_two(&len);
    size_t name_end = HEAD_BYTES + strlen("a.1.1.spill");
    for (size_t bit = 0; bit < len / 2 * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        int bundle = new_file(bytes, len);
        int good = count_good(bundle);
        bool is_in_name = bit / 8 >= HEAD_BYTES && bit / 8 < name_end;
        assert_true(good <= (is_in_name ? 2 : 1) || bit / 8 >= name_end);
        close(bundle);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    free(bytes);
}

static void refuses_names_that_lead_elsewhere(void **state) {
    (void)state;
    size_t len;
    struct bundle_entry entry;
    uint64_t offset = 0;
    uint8_t *bytes = bundle_of_two(&len);
    bytes[HEAD_BYTES + 1] = '/';
    int bundle = new_file(bytes, len);
    assert_int_equal(bundle_next(bundle, &offset, &entry), ERR_FORMAT);
    close(bundle);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_back_what_it_got), cmocka_unit_test(leaves_out_what_has_not_begun),
        cmocka_unit_test(keeps_damage),           cmocka_unit_test(reads_what_is_there_of_one_that_is_cut_off),
        cmocka_unit_test(notices_damage),         cmocka_unit_test(refuses_names_that_lead_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
