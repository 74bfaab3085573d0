// Mounts and the counters of an NFS client, from lists in the kernel's form.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "fmt/fields.h"
#include "fmt/records.h"
#include "target/monitor/mount_watch.h"

static char list[64], stats[64];

static int set_up(void **state) {
    (void)state;
    strcpy(list, "/tmp/ioseer-test-XXXXXX");
    strcpy(stats, "/tmp/ioseer-test-XXXXXX");
    return close(mkstemp(list)) || close(mkstemp(stats));
}

static int tear_down(void **state) {
    (void)state;
    return unlink(list) || unlink(stats);
}

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static const char at_the_start[] =
    "device sysfs mounted on /sys with fstype sysfs\n"
    "device server:/a\\040b mounted on /mnt/a\\040b with fstype nfs4 statvers=1.1\n"
    "\topts:\trw,vers=4.2,rsize=1048576,hard,proto=tcp,addr=10.0.0.1\n"
    "\tage:\t12\n"
    "\tcaps:\tcaps=0xfffbc0b7,wtmult=512,dtsize=1048576,bsize=0,namlen=255\n"
    "\tsec:\tflavor=1,pseudoflavor=1\n"
    "\tevents:\t1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27\n"
    "\tbytes:\t100 200 300 400 500 600 7 8\n"
    "\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n"
    "\txprt:\ttcp 0 0 1 0 12 42 42 0 42 0 2 0 0\n"
    "\tper-op statistics\n"
    "\t        NULL: 1 1 0 44 24 0 0 0 0\n"
    "\t        READ: 10 11 1 1000 2000 3 40 50 0\n"
    "\t       WRITE: 5 5 0 10 20 30 40 50 0\n"
    "\n"
    "device server:/old mounted on /old with fstype nfs statvers=1.0\n"
    "\tbytes:\t1 1 1 1 1 1 0 0\n"
    "\tper-op statistics\n"
    "\t        READ: 9 9 0 9 9 9 9 9\n";

static const char at_the_end[] = "device server:/a\\040b mounted on /mnt/a\\040b with fstype nfs4 statvers=1.1\n"
                                 "\tbytes:\t110 220 300 400 500 660 7 8\n"
                                 "\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n"
                                 "\tper-op statistics\n"
                                 "\t        NULL: 1 1 0 44 24 0 0 0 0\n"
                                 "\t        READ: 30 33 2 3000 6000 6 80 100 0\n"
                                 "\t       WRITE: 2 2 0 1 2 3 4 5 0\n"
                                 "\t        NEW_ONE: 1 1 0 1 1 1 1 1 0 99\n"
                                 "\t        SHORT: 1 1\n"
                                 "\t        A_NAME_THAT_IS_LONGER_THAN_ANY_OPERATION: 1 1 1 1 1 1 1 1\n"
                                 "\tbroken line\n"
                                 "device tmpfs mounted on /tmp with fstype tmpfs\n"
                                 "\tbytes:\t9 9 9 9 9 9 9 9\n";

// Of the record about this mount; its fields by key, and requests of one kind.
struct found {
    unsigned records;
    struct field f[MOUNT_UNREAD_WHY + 1];
    unsigned operations;
    struct nfs_operation operation[8];
    uint64_t bytes[NFS_BYTES];
};

static struct found find(const struct bytes *records, const char *point) {
    struct found found = {0};
    struct fields_in in = fields_of(records), body;
    struct field f[MOUNT_UNREAD_WHY + 1], field;
    unsigned kind;
    while (fields_next_record(&in, &kind, &body) > 0) {
        assert_int_equal(kind, RECORD_MOUNT);
        assert_int_equal(fields_by_key(body, f, MOUNT_UNREAD_WHY + 1), 0);
        if (f[MOUNT_POINT].len != strlen(point) || memcmp(f[MOUNT_POINT].data, point, strlen(point))) continue;
        found.records++;
        memcpy(found.f, f, sizeof f);
        while (fields_next(&body, &field) > 0) {
            if (field.key == MOUNT_NFS_BYTES) found.bytes[field.number & 15] = field.number >> 4;
            if (field.key == MOUNT_NFS_OPERATION)
                assert_int_equal(nfs_operation_get(&found.operation[found.operations++], field.data, field.len), 0);
        }
    }
    return found;
}

static void assert_text(const struct field *field, const char *text) {
    assert_int_equal(field->len, strlen(text));
    assert_memory_equal(field->data, text, strlen(text));
}

static void differences_are_kept(void **state) {
    (void)state;
    struct mount_watch watch;
    struct bytes records = {0};
    write_file(list, "20 1 0:50 / /mnt/a\\040b rw - nfs4 server:/a\\040b rw,vers=4.2\n"
                     "21 1 0:51 / /old rw - nfs server:/old rw,vers=3\n");
    write_file(stats, at_the_start);
    mount_watch_start(&watch, list, stats);
    write_file(list, "20 1 0:50 / /mnt/a\\040b rw - nfs4 server:/a\\040b rw,vers=4.2\n"
                     "22 1 0:52 / /tmp rw - tmpfs tmpfs rw,size=1k\n");
    write_file(stats, at_the_end);
    assert_int_equal(mount_watch_stop(&watch, "here", &records), 0);

    struct found nfs = find(&records, "/mnt/a b"), old = find(&records, "/old"), tmp = find(&records, "/tmp");
    assert_int_equal(nfs.records, 1);
    assert_int_equal(nfs.f[MOUNT_DEVICE].number, makedev(0, 50));
    assert_text(&nfs.f[MOUNT_TYPE], "nfs4");
    assert_text(&nfs.f[MOUNT_SOURCE], "server:/a b");
    assert_text(&nfs.f[MOUNT_OPTIONS], "rw,vers=4.2");
    assert_text(&nfs.f[MOUNT_HOST], "here");
    const uint64_t bytes[NFS_BYTES] = {10, 20, 0, 0, 0, 60};
    assert_memory_equal(nfs.bytes, bytes, sizeof bytes);
    assert_int_equal(nfs.operations, 3); // no NULL, which did not happen meanwhile
    const uint64_t read[NFS_COUNTS] = {20, 22, 1, 2000, 4000, 3, 40, 50},
                   written[NFS_COUNTS] = {2, 2, 0, 1, 2, 3, 4, 5};
    assert_string_equal(nfs.operation[0].name, "READ");
    assert_memory_equal(nfs.operation[0].count, read, sizeof read);
    assert_string_equal(nfs.operation[1].name, "WRITE"); // its counters began again
    assert_memory_equal(nfs.operation[1].count, written, sizeof written);
    assert_string_equal(nfs.operation[2].name, "NEW_ONE");

    assert_int_equal(old.records, 1); // unmounted meanwhile
    assert_int_equal(old.operations, 0);
    assert_int_equal(tmp.records, 1);
    assert_int_equal(tmp.operations, 0);
    assert_int_equal(tmp.f[MOUNT_NFS_BYTES].key, 0);
    bytes_free(&records);
}

static void kernel_without_the_lists(void **state) {
    (void)state;
    struct mount_watch watch;
    struct bytes records = {0};
    mount_watch_start(&watch, "/nonexistent", "/nonexistent");
    assert_int_equal(mount_watch_stop(&watch, "here", &records), 0);
    assert_int_equal(records.len, 0);
    bytes_free(&records);
}

static void this_machine(void **state) {
    (void)state;
    struct mount_watch watch;
    struct bytes records = {0};
    mount_watch_start(&watch, "/proc/self/mountinfo", "/proc/self/mountstats");
    assert_int_equal(mount_watch_stop(&watch, "here", &records), 0);
    assert_true(find(&records, "/").records >= 1);
    bytes_free(&records);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences_are_kept),
        cmocka_unit_test(kernel_without_the_lists),
        cmocka_unit_test(this_machine),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
