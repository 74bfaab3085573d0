// Clocks of several hosts that differ by seconds and drift, from the messages in their spill files.
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "log/log.h"
#include "pack/pack.h"
#include "test_pack_image.h"
#include "test_pack_place.h"

#define START_NS 1000000000.0 // of the job, on the clocks of its host
#define BEGIN_S 0.1           // of each process, since then
#define EARLY_S 0.5
#define LATE_S 8.0
#define END_S 8.5

// A host whose clocks are `ahead_ns` ahead of the true time, and run faster by `drift`.
struct host {
    const char *name;
    double ahead_ns, drift;
    double units_at_start, units_per_ns; // of the processor's counter, which has the same drift
};

static const struct host here = {"here", 0, 0, 5e9, 0.2};
static const struct host ahead = {"ahead", 3e6, 4e-5, 7e12, 0.13};
static const struct host behind = {"behind", -0.25e9, -2e-5, 1e6, 0.25};

static uint64_t units_at(const struct host *host, double seconds) {
    return (uint64_t)(host->units_at_start + seconds * 1e9 * (1 + host->drift) * host->units_per_ns);
}

static struct spill_moment moment_at(const struct host *host, double seconds) {
    uint64_t epoch_ns = (uint64_t)(START_NS + host->ahead_ns + seconds * 1e9 * (1 + host->drift));
    return (struct spill_moment){.units = units_at(host, seconds), .mono_ns = epoch_ns, .epoch_ns = epoch_ns};
}

static struct image process_on(const struct host *host, uint32_t pid, double end) {
    struct image image = image_new();
    struct spill_header *header = image_header(&image);
    struct spill_chunk *records = image_chunk(&image, CHUNK_RECORDS);
    struct fields_out out = image_fields(records);
    header->pid = pid;
    header->clock_is_ns = 0;
    header->start = moment_at(host, BEGIN_S);
    header->latest = moment_at(host, end);
    header->exit = EXIT_CLEAN;
    fields_begin(&out, RECORD_PROCESS);
    fields_string(&out, PROCESS_HOST, host->name);
    fields_end(&out);
    records->used = (uint32_t)(out.at - image_payload(records));
    return image;
}

// Up to 40 us, the same each time.
static double delay(void) {
    static uint32_t state = 1;
    state = state * 1664525 + 1013904223;
    return 5e-6 + (double)(state >> 16) / 65536 * 35e-6;
}

static void put_messages(struct image *image, const struct host *asks, const struct host *answers, uint32_t pid,
                         double seconds) {
    struct clock_sample sample[16];
    struct spill_chunk *records = image_chunk(image, CHUNK_RECORDS);
    struct fields_out out = image_fields(records);
    for (size_t i = 0; i < 16; i++) {
        sample[i].sent = units_at(asks, seconds);
        sample[i].received = units_at(answers, seconds += delay());
        sample[i].replied = units_at(answers, seconds += 1e-6);
        sample[i].answered = units_at(asks, seconds += delay());
    }
    fields_begin(&out, RECORD_CLOCK);
    fields_string(&out, CLOCK_HOST, answers->name);
    fields_number(&out, CLOCK_PID, pid);
    fields_bytes(&out, CLOCK_SAMPLES, sample, sizeof sample);
    fields_end(&out);
    records->used = (uint32_t)(out.at - image_payload(records));
}

static void save(const struct place *place, struct image *image, const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s.spill", place->spills, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, image->data, image->len), image->len);
    close(fd);
    free(image->data);
}

static struct log *pack_and_open(const struct place *place, const char *host) {
    static const char *const command[] = {"program"};
    struct pack_job job = {.command = command, .command_words = 1, .host = host, .complete = true};
    struct pack_result result;
    struct log *log = NULL;
    job.start = moment_at(&here, 0);
    job.end = moment_at(&here, END_S);
    assert_int_equal(pack_directory(&job, place->spills, place->log, NULL, &result), 0);
    assert_int_equal(log_open(&log, place->log), 0);
    return log;
}

static const struct log_host *aligned(const struct log *log, const struct host *host) {
    for (size_t i = 0; i < log_host_count(log); i++) {
        if (!strcmp(log_host_at(log, i)->name, host->name)) return log_host_at(log, i);
    }
    return NULL;
}

static const struct log_process *with_pid(const struct log *log, uint32_t pid) {
    for (size_t i = 0; i < log_process_count(log); i++) {
        if (log_process_at(log, i)->pid == pid) return log_process_at(log, i);
    }
    fail_msg("no process %u", (unsigned)pid);
    return NULL;
}

// From the first messages to the end of the job; `first` is the clock that the host follows.
static double worst_ns(const struct log *log, uint32_t pid, const struct host *host, double first_drift) {
    const struct clock_map *clock = &with_pid(log, pid)->clock;
    double worst = 0;
    for (double seconds = EARLY_S; seconds <= END_S; seconds += 0.1) {
        double is = (double)clock_map_ns(clock, units_at(host, seconds)), right = seconds * 1e9 * (1 + first_drift);
        worst = fmax(worst, fabs(is - right));
    }
    return worst;
}

static void clocks_follow_the_messages(void **state) {
    const struct place *place = *state;
    struct image first = process_on(&here, 1, END_S), second = process_on(&ahead, 2, END_S),
                 same = process_on(&ahead, 3, 0.2), third = process_on(&behind, 4, END_S);
    put_messages(&first, &here, &ahead, 2, EARLY_S);
    put_messages(&second, &ahead, &behind, 4, EARLY_S + 0.01);
    put_messages(&first, &here, &ahead, 2, LATE_S);
    put_messages(&second, &ahead, &behind, 4, LATE_S + 0.01);
    save(place, &first, "1"), save(place, &second, "2"), save(place, &same, "3"), save(place, &third, "4");
    struct log *log = pack_and_open(place, "here");
    const struct log_host *one = aligned(log, &ahead), *two = aligned(log, &behind);
    assert_int_equal(log_host_count(log), 2);
    assert_non_null(one);
    assert_non_null(two);
    assert_string_equal(two->reference, "here");
    assert_true(one->clock_error_ns < 30000 && two->clock_error_ns < 60000);
    assert_true(two->clock_error_ns > one->clock_error_ns);
    for (uint32_t pid = 2; pid <= 3; pid++) assert_true(worst_ns(log, pid, &ahead, 0) <= (double)one->clock_error_ns);
    assert_true(worst_ns(log, 4, &behind, 0) <= (double)two->clock_error_ns);
    assert_true(fabs((double)one->clock_offset_ns + ahead.ahead_ns) < 100000);
    assert_true(one->has_drift && fabs((double)one->clock_drift / 1e9 + ahead.drift) < 1e-5);
    double start_ns = (double)with_pid(log, 4)->start_ns;
    assert_true(fabs(start_ns - BEGIN_S * 1e9) < 100000);
    log_close(log);
}

// Whoever asked.
static void the_jobs_host_may_answer(void **state) {
    const struct place *place = *state;
    struct image first = process_on(&behind, 1, END_S), second = process_on(&here, 2, END_S);
    put_messages(&first, &behind, &here, 2, EARLY_S);
    put_messages(&first, &behind, &here, 2, LATE_S);
    save(place, &first, "1"), save(place, &second, "2");
    struct log *log = pack_and_open(place, "here");
    const struct log_host *host = aligned(log, &behind);
    assert_non_null(host);
    assert_true(host->clock_error_ns < 30000);
    assert_true(worst_ns(log, 1, &behind, 0) <= (double)host->clock_error_ns);
    log_close(log);
}

// A rank that died: the drift is not known, so the error grows with the time that it ran on.
static void one_moment_has_no_drift(void **state) {
    const struct place *place = *state;
    struct image first = process_on(&here, 1, END_S), second = process_on(&ahead, 2, END_S);
    put_messages(&first, &here, &ahead, 2, EARLY_S);
    save(place, &first, "1"), save(place, &second, "2");
    struct log *log = pack_and_open(place, "here");
    const struct log_host *host = aligned(log, &ahead);
    assert_non_null(host);
    assert_false(host->has_drift);
    assert_true(worst_ns(log, 2, &ahead, 0) <= (double)host->clock_error_ns);
    assert_true(host->clock_error_ns < 1000000);
    log_close(log);
}

// `record` ran on a host without ranks: its clock and theirs stay the system's, but theirs agree.
static void hosts_may_follow_another(void **state) {
    const struct place *place = *state;
    struct image first = process_on(&ahead, 1, END_S), second = process_on(&behind, 2, END_S);
    put_messages(&first, &ahead, &behind, 2, EARLY_S);
    put_messages(&first, &ahead, &behind, 2, LATE_S);
    save(place, &first, "1"), save(place, &second, "2");
    struct log *log = pack_and_open(place, "here");
    const struct log_host *host = aligned(log, &behind);
    assert_int_equal(log_host_count(log), 1);
    assert_string_equal(host->reference, "ahead");
    for (double seconds = EARLY_S; seconds < END_S; seconds += 0.1) {
        int64_t one = clock_map_ns(&with_pid(log, 1)->clock, units_at(&ahead, seconds));
        int64_t two = clock_map_ns(&with_pid(log, 2)->clock, units_at(&behind, seconds));
        assert_true(llabs(one - two) <= host->clock_error_ns);
    }
    log_close(log);
}

// Answers before their questions, and messages to nobody: the system's clocks are better than that.
static void contradictions_count_for_nothing(void **state) {
    const struct place *place = *state;
    struct image first = process_on(&here, 1, END_S), second = process_on(&ahead, 2, END_S);
    const struct host wrong = {"ahead", 0, 0, ahead.units_at_start + 1e9, ahead.units_per_ns};
    put_messages(&first, &here, &ahead, 2, EARLY_S);
    put_messages(&first, &here, &wrong, 2, EARLY_S);
    put_messages(&first, &here, &behind, 9, LATE_S);
    save(place, &first, "1"), save(place, &second, "2");
    struct log *log = pack_and_open(place, "here");
    assert_int_equal(log_host_count(log), 0);
    int64_t start = with_pid(log, 2)->start_ns;
    assert_true(llabs(start - (int64_t)(BEGIN_S * 1e9 + ahead.ahead_ns)) < 100000);
    log_close(log);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(clocks_follow_the_messages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_jobs_host_may_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_moment_has_no_drift, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hosts_may_follow_another, set_up, tear_down),
        cmocka_unit_test_setup_teardown(contradictions_count_for_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
