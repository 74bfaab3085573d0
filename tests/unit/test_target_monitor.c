// Watching devices: hand-made kernel lists, underlying devices, and the limit on samples of a long run.
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

#include "fmt/fields.h"
#include "fmt/records.h"
#include "target/monitor/history.h"
#include "target/monitor/monitor.h"
#include "target/monitor/underlying.h"

static char folder[] = "/tmp/ioseer-test-XXXXXX";

static int set_up(void **state) {
    (void)state;
    strcpy(folder, "/tmp/ioseer-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

// Holds one name at a time.
static const char *in_folder(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text) {
    FILE *file = fopen(in_folder(name), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void make_folder(const char *name) { assert_int_equal(mkdir(in_folder(name), 0700), 0); }

static void the_kernels_list_is_read(void **state) {
    (void)state;
    struct diskstats stats = {0};
    write_file("stats", "   8       0 sda 10 1 20 2 30 3 40 4 0 50 60\n"
                        "nonsense\n"
                        " 259       1 nvme0n1 1 2 3\n"
                        " 253       2 dm-2 1 0 2 0 3 0 4 0 9 5 6 0 0 0 0 7 8\n");
    assert_int_equal(diskstats_read(&stats, in_folder("stats")), 0);
    assert_int_equal(stats.count, 2);
    assert_string_equal(stats.row[0].name, "sda");
    assert_int_equal(stats.row[0].device, makedev(8, 0));
    const uint64_t first[DEVICE_COUNTERS] = {10, 30, 20, 40, 50, 60}, second[DEVICE_COUNTERS] = {1, 3, 2, 4, 5, 6};
    assert_memory_equal(stats.row[0].count, first, sizeof first);
    assert_memory_equal(stats.row[1].count, second, sizeof second);
    assert_true(diskstats_read(&stats, in_folder("none")) < 0);
    diskstats_free(&stats);
}

static struct diskstats_row row(const char *name, unsigned minor_number, uint64_t count) {
    struct diskstats_row made = {.device = makedev(8, minor_number)};
    strcpy(made.name, name);
    for (unsigned i = 0; i < DEVICE_COUNTERS; i++) made.count[i] = count + i;
    return made;
}

static void sum_of(const struct history *history, size_t device, size_t *count, struct device_sample *sum) {
    struct bytes out = {0};
    assert_int_equal(history_put_samples(history, &history->device[device], &out), 0);
    assert_int_equal(device_samples_sum((struct device_samples_in){out.data, out.data + out.len}, count, sum), 0);
    bytes_free(&out);
}

static void only_what_moved_has_a_history(void **state) {
    (void)state;
    static struct history history;
    struct diskstats_row rows[3] = {row("sda", 0, 100), row("sdb", 16, 200)};
    struct diskstats stats = {.row = rows, .count = 2};
    assert_int_equal(history_add(&history, 1000, &stats), 0);
    rows[1] = row("sdb", 16, 205);
    assert_int_equal(history_add(&history, 2000, &stats), 0);
    // A device appears, in front of another that began anew.
    rows[2] = row("sdb", 16, 7);
    rows[1] = row("sdc", 32, 50);
    stats.count = 3;
    assert_int_equal(history_add(&history, 4000, &stats), 0);
    rows[1] = row("sdc", 32, 51);
    assert_int_equal(history_add(&history, 5000, &stats), 0);
    stats.count = 1; // all but one are gone
    assert_int_equal(history_add(&history, 6000, &stats), 0);

    assert_int_equal(history.devices, 3);
    assert_null(history.device[0].totals);
    size_t count;
    struct device_sample sum;
    sum_of(&history, 1, &count, &sum);
    assert_int_equal(count, 4);
    assert_int_equal(sum.span_ns, 5000);
    assert_int_equal(sum.count[DEVICE_READS], 5 + 7);
    assert_int_equal(sum.count[DEVICE_QUEUE_MS], 5 + 7 + DEVICE_QUEUE_MS);
    sum_of(&history, 2, &count, &sum);
    assert_int_equal(count, 4);
    assert_int_equal(sum.count[DEVICE_READS], 1);
    history_free(&history);
}

static void a_long_run_has_no_more_readings(void **state) {
    (void)state;
    static struct history history;
    const uint64_t readings = 10 * HISTORY_MAX_READINGS;
    uint64_t now_ns = 0;
    for (uint64_t i = 0; i < readings; i++) {
        struct diskstats_row one = row("sda", 0, i * 3);
        now_ns = i * 10;
        assert_int_equal(history_add(&history, now_ns, &(struct diskstats){.row = &one, .count = 1}), 0);
        assert_true(history.readings <= HISTORY_MAX_READINGS);
    }
    size_t count;
    struct device_sample sum;
    sum_of(&history, 0, &count, &sum);
    assert_int_equal(count, history.readings - 1);
    assert_int_equal(sum.span_ns, now_ns);
    assert_int_equal(sum.count[DEVICE_WRITES], (readings - 1) * 3);
    assert_true(history.halvings > 0);
    history_free(&history);
}

// A file system on a partition of a disk; a volume of two disks; a loop device on a file of the volume.
static void make_devices(void) {
    make_folder("sys");
    make_folder("sda");
    make_folder("sda/sda1");
    make_folder("sdb");
    make_folder("dm");
    make_folder("dm/slaves");
    make_folder("loop");
    make_folder("loop/loop");
    write_file("sda/dev", "8:0\n");
    write_file("sda/sda1/dev", "8:1\n");
    write_file("sda/sda1/partition", "1\n");
    write_file("sdb/dev", "8:16\n");
    write_file("loop/loop/backing_file", "/volume/a file\n");
    const char *const links[][2] = {{"../sda", "sys/8:0"},         {"../sda/sda1", "sys/8:1"},
                                    {"../sdb", "sys/8:16"},        {"../dm", "sys/253:0"},
                                    {"../loop", "sys/7:0"},        {"../../sda/sda1", "dm/slaves/sda1"},
                                    {"../../sdb", "dm/slaves/sdb"}};
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        assert_int_equal(symlink(links[i][0], in_folder(links[i][1])), 0);
    write_file("mounts", "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
                         "2 1 253:0 / /volume rw - xfs /dev/mapper/x rw\n"
                         "3 1 7:0 / /image rw - ext4 /dev/loop0 rw\n"
                         "4 1 0:40 / /tmp rw - tmpfs tmpfs rw\n");
}

static void underlying_devices_are_listed(void **state) {
    (void)state;
    struct mounts mounts;
    struct underlying underlying;
    char sys[256];
    make_devices();
    assert_int_equal(mounts_read(&mounts, in_folder("mounts")), 0);
    snprintf(sys, sizeof sys, "%s", in_folder("sys"));
    underlying_list(&underlying, makedev(8, 1), &mounts, sys);
    assert_int_equal(underlying.count, 2);
    assert_true(underlying_has(&underlying, makedev(8, 0)));
    underlying_list(&underlying, makedev(7, 0), &mounts, sys);
    assert_int_equal(underlying.count, 5);
    assert_true(underlying_has(&underlying, makedev(253, 0)) && underlying_has(&underlying, makedev(8, 16)));
    assert_true(underlying_has(&underlying, makedev(8, 0)));
    underlying_list(&underlying, makedev(8, 16), &mounts, sys);
    assert_int_equal(underlying.count, 1);
    underlying_list(&underlying, makedev(0, 40), &mounts, sys);
    assert_int_equal(underlying.count, 1);
    mounts_free(&mounts);
}

static bool says(struct fields_in body, unsigned key, uint64_t number) {
    struct field field;
    while (fields_next(&body, &field) > 0) {
        if (field.key == key && !field.is_bytes && field.number == number) return true;
    }
    return false;
}

static void a_monitor_tells_of_what_moved(void **state) {
    (void)state;
    char stats[256], sys[256], mounts[256];
    struct monitor *monitor;
    struct bytes records = {0};
    make_devices();
    snprintf(stats, sizeof stats, "%s", in_folder("stats"));
    snprintf(sys, sizeof sys, "%s", in_folder("sys"));
    snprintf(mounts, sizeof mounts, "%s", in_folder("mounts"));
    const struct monitor_places places = {stats, sys, mounts};
    assert_true(monitor_start(&monitor, &places) < 0);
    write_file("stats", "8 0 sda 10 1 20 2 30 3 40 4 0 50 60\n8 16 sdb 1 1 1 1 1 1 1 1 1 1 1\n");
    assert_int_equal(monitor_start(&monitor, &places), 0);
    write_file("stats.new", "8 0 sda 11 1 28 2 30 3 40 4 0 50 60\n8 16 sdb 1 1 1 1 1 1 1 1 1 1 1\n");
    char new_stats[256];
    snprintf(new_stats, sizeof new_stats, "%s", in_folder("stats.new"));
    assert_int_equal(rename(new_stats, stats), 0);
    assert_int_equal(monitor_stop(monitor, "host", &records), 0);

    struct fields_in all = {records.data, records.data + records.len}, body;
    unsigned kind;
    assert_int_equal(fields_next_record(&all, &kind, &body), 1);
    assert_int_equal(kind, RECORD_DEVICE);
    assert_true(says(body, DEVICE_NUMBER, makedev(8, 0)));
    assert_true(says(body, DEVICE_UNDER, makedev(8, 0)));
    assert_true(says(body, DEVICE_UNDER, makedev(8, 1)));
    assert_true(says(body, DEVICE_UNDER, makedev(7, 0)));
    assert_false(says(body, DEVICE_UNDER, makedev(0, 40)));
    struct field field;
    struct device_sample sum = {0};
    size_t count;
    while (fields_next(&body, &field) > 0) {
        if (field.key != DEVICE_SAMPLES) continue;
        assert_int_equal(
            device_samples_sum((struct device_samples_in){field.data, field.data + field.len}, &count, &sum), 0);
    }
    assert_int_equal(sum.count[DEVICE_READS], 1);
    assert_int_equal(sum.count[DEVICE_SECTORS_READ], 8);
    assert_int_equal(fields_next_record(&all, &kind, &body), 0);
    bytes_free(&records);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_kernels_list_is_read, set_up, tear_down),
        cmocka_unit_test(only_what_moved_has_a_history),
        cmocka_unit_test(a_long_run_has_no_more_readings),
        cmocka_unit_test_setup_teardown(underlying_devices_are_listed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_monitor_tells_of_what_moved, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
