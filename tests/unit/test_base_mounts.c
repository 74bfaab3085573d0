#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mounts.h"

static const char list[] = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
                           "30 22 8:1 /sub /data rw - ext4 /dev/sda1 rw\n"
                           "31 22 0:50 / /with\\040space rw shared:2 master:1 - fuse.sshfs host:/ rw\n"
                           "nonsense\n"
                           "32 22 0:51 / /no-type rw\n"
                           "33 22 8:1 / /data rw - xfs /dev/sda1 rw\n";

static const struct mount *find(const struct mounts *mounts, uint64_t device, const char *name) {
    return mounts_find(mounts, device, name, strlen(name));
}

static void the_innermost_mount_of_the_device_counts(void **state) {
    (void)state;
    char path[] = "/tmp/ioseer-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, list, sizeof list - 1), sizeof list - 1);
    close(fd);
    struct mounts mounts;
    assert_int_equal(mounts_read(&mounts, path), 0);
    unlink(path);
    assert_int_equal(mounts.count, 4);
    assert_string_equal(find(&mounts, makedev(8, 1), "/database")->point, "/");
    assert_string_equal(find(&mounts, makedev(8, 1), "/data/file")->type, "xfs");
    assert_string_equal(find(&mounts, makedev(8, 1), "/data")->point, "/data");
    assert_string_equal(find(&mounts, makedev(0, 50), "/with space/file")->type, "fuse.sshfs");
    assert_null(find(&mounts, makedev(0, 50), "/elsewhere"));
    assert_null(find(&mounts, makedev(9, 9), "/data/file"));
    assert_null(find(&mounts, makedev(8, 1), "relative"));
    assert_string_equal(find(&mounts, makedev(8, 1), "/data")->source, "/dev/sda1");
    assert_string_equal(mounts_find(&mounts, 0, "/with space/file", 16)->source, "host:/");
    assert_string_equal(mounts_find(&mounts, 0, "/elsewhere", 10)->point, "/");
    assert_null(mounts_find(&mounts, 0, "relative", 8));
    mounts_free(&mounts);
    assert_true(mounts_read(&mounts, "/nonexistent") < 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_innermost_mount_of_the_device_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
