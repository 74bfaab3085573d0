// What is written into the kernel's files, on folders made to look like them.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "target/throttle/kernel_limits.h"

struct kernel {
    char folder[32];
    char mounts[64];
    struct limits limits;
};

static void put(const struct kernel *kernel, const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", kernel->folder, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void make_folder(const struct kernel *kernel, const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", kernel->folder, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void expect(const struct kernel *kernel, const char *name, const char *text) {
    char path[256], found[256] = "";
    snprintf(path, sizeof path, "%s/%s", kernel->folder, name);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    assert_true(read(fd, found, sizeof found - 1) >= 0);
    close(fd);
    assert_string_equal(found, text);
}

static void begin(struct kernel *kernel) {
    strcpy(kernel->folder, "/tmp/ioseer-test-XXXXXX");
    assert_non_null(mkdtemp(kernel->folder));
    snprintf(kernel->mounts, sizeof kernel->mounts, "%s/mounts", kernel->folder);
}

static void find(struct kernel *kernel, const char *format) {
    char list[512];
    snprintf(list, sizeof list, format, kernel->folder, kernel->folder, kernel->folder);
    put(kernel, "mounts", list);
    limits_find(&kernel->limits, kernel->mounts, kernel->folder);
}

static void end(struct kernel *kernel) {
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", kernel->folder);
    assert_int_equal(system(command), 0);
}

static void version_1_limits_for_all(void **state) {
    (void)state;
    struct kernel kernel;
    begin(&kernel);
    make_folder(&kernel, "b");
    make_folder(&kernel, "m");
    make_folder(&kernel, "m/group");
    put(&kernel, "b/blkio.throttle.read_bps_device", "");
    put(&kernel, "b/blkio.throttle.write_bps_device", "");
    put(&kernel, "m/group/memory.limit_in_bytes", "");
    put(&kernel, "m/group/cgroup.procs", "");
    find(&kernel, "cgroup %s/b cgroup rw,blkio 0 0\ncgroup %s/m cgroup rw,memory 0 0\ncgroup2 %s/u cgroup2 rw 0 0\n");
    assert_false(limits_are_of_group(&kernel.limits));
    assert_int_equal(limits_bandwidth(&kernel.limits, "group", makedev(7, 3), 1000, 0), 0);
    expect(&kernel, "b/blkio.throttle.read_bps_device", "7:3 1000");
    expect(&kernel, "b/blkio.throttle.write_bps_device", "7:3 0");
    assert_int_equal(limits_make_group(&kernel.limits, "group", 4096), 0);
    expect(&kernel, "m/group/memory.limit_in_bytes", "4096");
    assert_int_equal(limits_enter_group(&kernel.limits, "group"), 0);
    expect(&kernel, "m/group/cgroup.procs", "0");
    assert_int_equal(limits_enter_group(&kernel.limits, "other"), ERR_NOTHING);
    end(&kernel);
}

static void version_2_limits_for_a_group(void **state) {
    (void)state;
    struct kernel kernel;
    begin(&kernel);
    make_folder(&kernel, "u");
    make_folder(&kernel, "u/group");
    put(&kernel, "u/cgroup.controllers", "cpuset cpu io memory pids\n");
    put(&kernel, "u/cgroup.subtree_control", "");
    put(&kernel, "u/group/io.max", "");
    put(&kernel, "u/group/memory.max", "");
    put(&kernel, "u/group/cgroup.procs", "");
    find(&kernel, "cgroup2 %s/u cgroup2 rw 0 0\n");
    assert_true(limits_are_of_group(&kernel.limits));
    assert_int_equal(limits_make_group(&kernel.limits, "group", 4096), 0);
    expect(&kernel, "u/cgroup.subtree_control", "+io +memory");
    expect(&kernel, "u/group/memory.max", "4096");
    assert_int_equal(limits_bandwidth(&kernel.limits, "group", makedev(7, 3), 0, 2000), 0);
    expect(&kernel, "u/group/io.max", "7:3 rbps=max wbps=2000");
    assert_int_equal(limits_enter_group(&kernel.limits, "group"), 0);
    expect(&kernel, "u/group/cgroup.procs", "0");
    end(&kernel);
}

static void a_kernel_without_limits_says_so(void **state) {
    (void)state;
    struct kernel kernel;
    begin(&kernel);
    make_folder(&kernel, "u");
    put(&kernel, "u/cgroup.controllers", "cpu iocost radio\n");
    find(&kernel, "cgroup2 %s/u cgroup2 rw 0 0\n");
    assert_false(limits_are_of_group(&kernel.limits));
    assert_int_equal(limits_bandwidth(&kernel.limits, "group", makedev(7, 3), 1, 1), ERR_NOTHING);
    assert_int_equal(limits_make_group(&kernel.limits, "group", 1), ERR_NOTHING);
    assert_int_equal(limits_make_group(&kernel.limits, "group", 0), 0);
    assert_int_equal(limits_enter_group(&kernel.limits, "group"), ERR_NOTHING);
    assert_int_equal(limits_dirty(&kernel.limits, makedev(7, 3), 1), ERR_NOTHING);
    assert_int_equal(limits_drop_group(&kernel.limits, "group"), 0);
    end(&kernel);
}

static void dirty_pages_are_bounded_by_device(void **state) {
    (void)state;
    struct kernel kernel;
    begin(&kernel);
    make_folder(&kernel, "class");
    make_folder(&kernel, "class/bdi");
    make_folder(&kernel, "class/bdi/7:3");
    put(&kernel, "class/bdi/7:3/strict_limit", "");
    put(&kernel, "class/bdi/7:3/max_bytes", "");
    put(&kernel, "class/bdi/7:3/max_ratio", "");
    find(&kernel, "");
    assert_int_equal(limits_dirty(&kernel.limits, makedev(7, 3), 5000), 0);
    expect(&kernel, "class/bdi/7:3/strict_limit", "1");
    expect(&kernel, "class/bdi/7:3/max_bytes", "5000");
    assert_int_equal(limits_dirty(&kernel.limits, makedev(7, 3), 0), 0);
    expect(&kernel, "class/bdi/7:3/strict_limit", "0");
    expect(&kernel, "class/bdi/7:3/max_ratio", "100");
    end(&kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_1_limits_for_all),
        cmocka_unit_test(version_2_limits_for_a_group),
        cmocka_unit_test(a_kernel_without_limits_says_so),
        cmocka_unit_test(dirty_pages_are_bounded_by_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
