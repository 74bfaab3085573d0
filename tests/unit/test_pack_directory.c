// Whole jobs: directories of spill files, what `record` saw of the processes, and what is left if packing fails.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "fmt/block.h"
#include "log/log.h"
#include "pack/pack.h"
#include "test_pack_image.h"
#include "test_pack_place.h"

// Stands in for libc's: what the log's file got, and what it answers.
static struct {
    unsigned calls;
    int error;
} sync_seen;

int fdatasync(int fd) {
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    assert_true(status.st_size > 0);
    sync_seen.calls++;
    errno = sync_seen.error;
    return sync_seen.error ? -1 : 0;
}

static void save(const struct place *place, struct image *image, const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", place->spills, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, image->data, image->len), image->len);
    close(fd);
    free(image->data);
}

static struct image process(uint32_t pid, uint32_t ppid, uint64_t start_ms, uint32_t exit) {
    struct image image = image_new();
    struct spill_header *header = image_header(&image);
    header->pid = pid;
    header->ppid = ppid;
    header->start.mono_ns += start_ms * 1000000;
    header->start.epoch_ns += start_ms * 1000000;
    header->latest = header->start;
    header->exit = exit;
    image_put_file(image_chunk(&image, CHUNK_RECORDS), pid, "/shared");
    image_put_run(image_chunk(&image, CHUNK_EVENTS), 1, pid, 10, 100);
    return image;
}

static struct pack_job job_at_one_second(void) {
    static const char *const command[] = {"program", "argument"};
    struct spill_moment start = {.mono_ns = 1000000000, .epoch_ns = 1000000000};
    struct spill_moment end = {.mono_ns = 9000000000, .epoch_ns = 9000000000};
    return (struct pack_job){
        .command = command, .command_words = 2, .host = "here", .complete = true, .start = start, .end = end};
}

static const struct log_process *with_pid(const struct log *log, uint32_t pid, unsigned nth) {
    for (size_t i = 0; i < log_process_count(log); i++) {
        const struct log_process *found = log_process_at(log, i);
        if (found->pid == pid && nth-- == 0) return found;
    }
    fail_msg("no process %u", (unsigned)pid);
    return NULL;
}

static struct log *pack_and_open(const struct place *place, const struct pack_job *job, struct pack_result *result) {
    struct log *log = NULL;
    assert_int_equal(pack_directory(job, place->spills, place->log, NULL, result), 0);
    assert_int_equal(log_open(&log, place->log), 0);
    return log;
}

static void ends_come_from_whoever_saw_them(void **state) {
    const struct place *place = *state;
    struct image parent = process(4000001, 1, 0, EXIT_CLEAN);
    struct spill_chunk *records = image_chunk(&parent, CHUNK_RECORDS);
    struct fields_out out = image_fields(records);
    fields_begin(&out, RECORD_CHILD_END);
    fields_number(&out, CHILD_END_PID, 4000004);
    fields_number(&out, CHILD_END_STATUS, 11);
    fields_end(&out);
    records->used = (uint32_t)(out.at - image_payload(records));
    save(place, &parent, "a.spill");
    struct image first = process(4000002, 4000001, 10, EXIT_EXEC);
    save(place, &first, "b.spill");
    struct image second = process(4000002, 4000001, 20, EXIT_UNKNOWN);
    save(place, &second, "c.spill");
    struct image reused = process(4000002, 4000001, 7000, EXIT_UNKNOWN);
    save(place, &reused, "d.spill");
    struct image child = process(4000004, 4000001, 30, EXIT_UNKNOWN);
    save(place, &child, "e.spill");
    struct image running = process((uint32_t)getpid(), 1, 40, EXIT_UNKNOWN);
    image_header(&running)->start.mono_ns = clock_ns(CLOCK_MONOTONIC);
    image_header(&running)->start.epoch_ns = image_header(&running)->start.mono_ns;
    save(place, &running, "f.spill");

    struct pack_child reaped = {.pid = 4000002, .status = 9, .mono_ns = 5000000000};
    struct pack_job job = job_at_one_second();
    job.children = &reaped;
    job.child_count = 1;
    struct pack_result result;
    struct log *log = pack_and_open(place, &job, &result);
    assert_int_equal(result.events, 60);
    assert_int_equal(result.running, 1);
    assert_int_equal(log_process_count(log), 6);
    assert_int_equal(with_pid(log, 4000001, 0)->exit, EXIT_CLEAN);
    assert_int_equal(with_pid(log, 4000002, 0)->exit, EXIT_EXEC);
    assert_int_equal(with_pid(log, 4000002, 1)->exit, EXIT_SIGNAL);
    assert_int_equal(with_pid(log, 4000002, 1)->exit_value, 9);
    assert_int_equal(with_pid(log, 4000002, 1)->end_ns, 4000000000);
    assert_int_equal(with_pid(log, 4000002, 2)->exit, EXIT_UNKNOWN);
    assert_int_equal(with_pid(log, 4000004, 0)->exit, EXIT_SIGNAL);
    assert_int_equal(with_pid(log, 4000004, 0)->exit_value, 11);
    assert_int_equal(with_pid(log, (uint32_t)getpid(), 0)->exit, EXIT_RUNNING);
    assert_int_equal(log_file_count(log), 1);
    assert_string_equal(log_process_file(log, with_pid(log, 4000004, 0), 4000004)->name, "/shared");
    assert_int_equal(with_pid(log, 4000004, 0)->start_ns, 30000000);
    log_close(log);
}

static void the_kernels_count_is_split_among_images(void **state) {
    const struct place *place = *state;
    struct image first = process(4000002, 1, 10, EXIT_EXEC);
    struct spill_header *header = image_header(&first);
    header->chars_known = 3;
    header->chars_start[0] = 100; // the loader's
    header->chars_end[0] = 1100;
    save(place, &first, "a.spill");
    struct image second = process(4000002, 1, 20, EXIT_UNKNOWN);
    header = image_header(&second);
    header->chars_known = 1;
    header->chars_start[0] = 1150;
    save(place, &second, "b.spill");

    struct pack_child reaped = {.pid = 4000002, .status = 9, .mono_ns = 5000000000, .chars_known = true};
    reaped.chars[0] = 3150;
    struct pack_job job = job_at_one_second();
    job.children = &reaped;
    job.child_count = 1;
    struct pack_result result;
    struct log *log = pack_and_open(place, &job, &result);
    assert_int_equal(result.processes, 1);
    assert_int_equal(with_pid(log, 4000002, 0)->chars[0], 1000);
    assert_int_equal(with_pid(log, 4000002, 0)->load_chars[0], 100);
    assert_int_equal(with_pid(log, 4000002, 1)->chars[0], 2000);
    assert_int_equal(with_pid(log, 4000002, 1)->load_chars[0], 50);
    log_close(log);
}

static void set_host(struct image *image, const char *host) {
    struct spill_chunk *chunk = image_chunk(image, CHUNK_RECORDS);
    struct fields_out out = image_fields(chunk);
    fields_begin(&out, RECORD_PROCESS);
    fields_string(&out, PROCESS_HOST, host);
    fields_end(&out);
    chunk->used = (uint32_t)(out.at - image_payload(chunk));
}

static void hosts_give_the_same_numbers(void **state) {
    const struct place *place = *state;
    struct image there = process(4000002, 1, 10, EXIT_EXEC);
    set_host(&there, "there");
    image_header(&there)->chars_known = 3;
    image_header(&there)->chars_end[0] = 1100;
    save(place, &there, "a.spill");
    struct image here = process(4000002, 1, 20, EXIT_UNKNOWN);
    set_host(&here, "here");
    image_header(&here)->chars_known = 1;
    image_header(&here)->chars_start[0] = 1150; // counts only this host's process
    save(place, &here, "b.spill");
    struct pack_child reaped = {.pid = 4000002, .status = 9, .mono_ns = 5000000000};
    struct pack_job job = job_at_one_second();
    job.children = &reaped;
    job.child_count = 1;
    struct pack_result result;
    struct log *log = pack_and_open(place, &job, &result);
    assert_int_equal(result.processes, 2);
    assert_int_equal(with_pid(log, 4000002, 1)->load_chars[0], 1150);
    assert_int_equal(with_pid(log, 4000002, 1)->exit, EXIT_SIGNAL);
    log_close(log);
}

static void a_rescue_knows_the_job(void **state) {
    const struct place *place = *state;
    struct pack_setting setting = {.name = "ROMIO_HINTS", .value = "/hints"};
    struct pack_job job = job_at_one_second();
    job.settings = &setting;
    job.setting_count = 1;
    assert_int_equal(pack_save_job(&job, place->spills), 0);
    struct image image = process(4000001, 1, 500, EXIT_UNKNOWN);
    save(place, &image, "a.spill");

    struct pack_result result;
    struct log *log = pack_and_open(place, NULL, &result);
    assert_false(log_job(log)->complete);
    assert_int_equal(log_job(log)->command.count, 2);
    assert_string_equal(log_job(log)->command.word[1], "argument");
    assert_string_equal(log_job(log)->host, "here");
    assert_int_equal(log_job(log)->start_ns, 1000000000);
    assert_int_equal(log_process_at(log, 0)->start_ns, 500000000);
    assert_string_equal(log_setting_at(log, 0)->value, "/hints");
    log_close(log);
}

static void short_processes_use_the_jobs_clock(void **state) {
    const struct place *place = *state;
    struct image image = process(4000001, 1, 0, EXIT_CLEAN);
    struct spill_header *header = image_header(&image);
    header->clock_is_ns = 0;
    header->unit_shift = 4;
    save(place, &image, "a.spill");
    struct pack_job job = job_at_one_second();
    job.start.units = 16;
    job.end.units = 16 + 16 * 2 * UINT64_C(8000000000); // two shifted units per nanosecond
    struct pack_result result;
    struct log *log = pack_and_open(place, &job, &result);
    const struct log_process *found = log_process_at(log, 0);
    assert_int_equal(clock_map_ns(&found->clock, found->clock.origin_units + 2000), found->clock.origin_ns + 1000);
    log_close(log);
}

// A process whose clock agrees with the host's uses the host's clock; others (the clock was set, the machine was moved)
// use their own.
static void processes_of_a_host_share_its_clock(void **state) {
    const struct place *place = *state;
    const uint64_t off_units[] = {0, 2000, 2000000}; // of four nanoseconds
    for (uint32_t i = 0; i < 3; i++) {
        char name[] = "0.spill";
        struct image image = process(4000001 + i, 1, 100 * i, EXIT_CLEAN);
        struct spill_header *header = image_header(&image);
        header->clock_is_ns = 0;
        header->unit_shift = 4;
        header->start.units = 1000 + 25000000 * i + off_units[i];
        header->latest.mono_ns = header->start.mono_ns + 2000000000;
        header->latest.units = header->start.units + 500000000;
        name[0] = (char)('0' + i);
        save(place, &image, name);
    }
    struct pack_job job = job_at_one_second();
    job.start.units = 16 * 1000;
    job.end.units = 16 * (1000 + UINT64_C(2000000000));
    struct pack_result result;
    struct log *log = pack_and_open(place, &job, &result);
    const struct clock_map *first = &log_process_at(log, 0)->clock;
    assert_int_equal(first->origin_units, 1000);
    assert_int_equal(first->origin_ns, 0);
    assert_int_equal(clock_map_ns(first, 1250), 1000);
    assert_memory_equal(&log_process_at(log, 1)->clock, first, sizeof *first);
    const struct clock_map *other = &log_process_at(log, 2)->clock;
    assert_int_equal(other->origin_ns, 200000000);
    assert_int_equal(clock_map_ns(other, other->origin_units + 250), 200001000);
    log_close(log);
}

static void what_is_no_spill_does_no_harm(void **state) {
    const struct place *place = *state;
    char path[128];
    snprintf(path, sizeof path, "%s/fifo.spill", place->spills);
    assert_int_equal(mkfifo(path, 0600), 0);
    snprintf(path, sizeof path, "%s/link.spill", place->spills);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    struct image empty = {.data = malloc(1), .len = 0};
    save(place, &empty, "empty.spill");
    struct image garbage = image_new();
    memset(garbage.data, 0x5a, garbage.len);
    save(place, &garbage, "garbage.spill");
    struct image good = process(4000001, 1, 0, EXIT_CLEAN);
    save(place, &good, "good.spill");
    struct pack_result result;
    struct log *log = pack_and_open(place, NULL, &result);
    assert_int_equal(log_process_count(log), 1);
    assert_int_equal(result.damaged_bytes, IMAGE_BYTES);
    log_close(log);
}

static void nothing_is_overwritten_or_left_behind(void **state) {
    const struct place *place = *state;
    struct pack_result result;
    assert_int_equal(pack_directory(NULL, place->spills, place->log, NULL, &result), ERR_NOTHING);
    assert_int_equal(access(place->log, F_OK), -1);
    struct image image = process(4000001, 1, 0, EXIT_CLEAN);
    save(place, &image, "a.spill");
    assert_int_equal(pack_directory(NULL, place->spills, place->log, NULL, &result), 0);
    assert_int_equal(pack_directory(NULL, place->spills, place->log, NULL, &result), ERR_EXISTS);
    struct pack_options force = {.replace = true};
    assert_int_equal(pack_directory(NULL, place->spills, place->log, &force, &result), 0);
    struct stat status;
    assert_int_equal(stat(place->log, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(status.st_size, result.log_bytes);
    unlink(place->log);
    assert_int_equal(mkdir(place->log, 0700), 0);
    assert_true(pack_directory(NULL, place->spills, place->log, &force, &result) < 0);
    char beside[128];
    snprintf(beside, sizeof beside, "%s.tmp-%d", place->log, (int)getpid());
    assert_int_equal(access(beside, F_OK), -1);
    assert_int_equal(pack_directory(NULL, place->spills, "/nowhere/log", &force, &result), -ENOENT);
    assert_int_equal(pack_directory(NULL, "/nowhere", place->log, &force, &result), -ENOENT);
}

// Spill files may be removed once the log has its name, so the log must be on the disk before.
static void a_log_is_on_the_disk_before_it_has_its_name(void **state) {
    const struct place *place = *state;
    const struct pack_job job = job_at_one_second();
    const struct pack_options options = {.replace = true};
    struct pack_result result;
    struct image one = process(1, 0, 1000, EXIT_CLEAN);
    save(place, &one, "1" SPILL_SUFFIX);
    sync_seen.calls = 0;
    sync_seen.error = EIO;
    assert_int_equal(pack_directory(&job, place->spills, place->log, &options, &result), -EIO);
    assert_int_equal(access(place->log, F_OK), -1);
    sync_seen.error = EINVAL; // file systems that cannot
    assert_int_equal(pack_directory(&job, place->spills, place->log, &options, &result), 0);
    sync_seen.error = 0;
    assert_int_equal(pack_directory(&job, place->spills, place->log, &options, &result), 0);
    assert_int_equal(sync_seen.calls, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ends_come_from_whoever_saw_them, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_kernels_count_is_split_among_images, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hosts_give_the_same_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_rescue_knows_the_job, set_up, tear_down),
        cmocka_unit_test_setup_teardown(short_processes_use_the_jobs_clock, set_up, tear_down),
        cmocka_unit_test_setup_teardown(processes_of_a_host_share_its_clock, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_spill_does_no_harm, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_overwritten_or_left_behind, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_log_is_on_the_disk_before_it_has_its_name, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("pack_directory", tests, NULL, NULL);
}
