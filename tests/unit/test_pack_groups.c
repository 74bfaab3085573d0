// One record for many ranks that are alike: spill files of thousands of ranks on many hosts, and the log of them.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "fmt/block.h"
#include "fmt/part.h"
#include "log/describe.h"
#include "log/log.h"
#include "pack/pack.h"
#include "test_pack_image.h"
#include "test_pack_place.h"

enum { RANKS = 600, PER_HOST = 64, FIRST_PID = 4000000, PART = 77, OTHER_PART = 78 };

static void write_file(const struct place *place, const char *name, const void *data, size_t len) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", place->spills, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, len), len);
    close(fd);
}

// What the ranks of a program have added up: no files.
static void save_part(const struct place *place, uint64_t id, uint64_t number) {
    const struct part_head head = {.id = id, .end = LOG_HEADER_BYTES, .ranks = RANKS, .epoch_ns = 1000000000};
    uint8_t index[PART_HEAD_BYTES], blocks[LOG_HEADER_BYTES] = {0};
    char name[PART_NAME_ROOM];
    part_head_put(index, &head);
    part_file_name(name, PART_INDEX, number);
    write_file(place, name, index, sizeof index);
    part_file_name(name, PART_BLOCKS, number);
    write_file(place, name, blocks, sizeof blocks);
}

struct rank {
    struct image image;
    struct spill_header *header;
    struct spill_chunk *records;
    uint32_t rank;
    bool is_image; // of the launcher: it has become the rank
};

static uint64_t io_of(uint32_t rank) { return rank == 17 ? 9000000 : 1000000 + rank; }

// Begins at a second plus its rank in microseconds; runs for ten seconds.
static struct rank new_rank(uint32_t rank, uint64_t part) {
    struct rank made = {.image = image_new(), .rank = rank};
    struct spill_header *header = made.header = image_header(&made.image);
    header->pid = FIRST_PID + rank % PER_HOST;
    header->ppid = 12;
    header->start.mono_ns += rank * 1000;
    header->start.epoch_ns += rank * 1000;
    header->start.units += rank * 1000;
    header->latest = header->start;
    header->latest.mono_ns += UINT64_C(10000000000);
    header->latest.units += UINT64_C(10000000000);
    header->latest.epoch_ns += UINT64_C(10000000000);
    header->exit = EXIT_CLEAN;
    header->trace_ended = LOSS_TRACE_CAP;
    header->chars_known = 3;
    header->chars_end[0] = 100 + rank;
    header->part = part;
    header->handed_until = IMAGE_BYTES;
    header->handed_bytes[1][LAYER_POSIX] = 1000;
    made.records = image_chunk(&made.image, CHUNK_RECORDS);
    made.records->tally.io_units = io_of(rank);
    return made;
}

static void save_rank(const struct place *place, struct rank *rank) {
    static unsigned number;
    char host[32], name[64];
    struct fields_out out = image_fields(rank->records);
    snprintf(host, sizeof host, "node%03u", rank->rank / PER_HOST + 95);
    fields_begin(&out, RECORD_PROCESS);
    fields_string(&out, PROCESS_HOST, host);
    fields_string(&out, PROCESS_EXE, rank->is_image ? "/usr/bin/hydra_pmi_proxy" : "/home/user/simulation");
    fields_string(&out, PROCESS_ARG, "simulation");
    if (!rank->is_image) {
        fields_number(&out, PROCESS_RANK, rank->rank + 1);
        fields_number(&out, PROCESS_LOCAL_RANK, rank->rank % PER_HOST + 1);
        fields_number(&out, PROCESS_MPI_SIZE, RANKS);
        fields_string(&out, PROCESS_MPI, "an MPI");
    }
    fields_end(&out);
    rank->records->used = (uint32_t)(out.at - image_payload(rank->records));
    snprintf(name, sizeof name, "%s.%u" SPILL_SUFFIX, host, number++);
    write_file(place, name, rank->image.data, rank->header->next);
    free(rank->image.data);
}

static void save_ranks(const struct place *place, uint32_t first, uint32_t count, uint64_t part) {
    for (uint32_t i = first; i < first + count; i++) {
        struct rank rank = new_rank(i, part);
        save_rank(place, &rank);
    }
}

static struct log *pack_and_open(const struct place *place, uint64_t most_ranks) {
    const struct pack_options options = {.replace = true, .most_ranks = most_ranks};
    struct pack_result result;
    struct log *log;
    assert_int_equal(pack_directory(NULL, place->spills, place->log, &options, &result), 0);
    assert_int_equal(log_open(&log, place->log), 0);
    assert_int_equal(log_health(log)->records_damaged, 0);
    return log;
}

static const struct log_process *find_group(const struct log *log, bool has_rank, size_t nth) {
    for (size_t i = 0; i < log_process_count(log); i++) {
        const struct log_process *process = log_process_at(log, i);
        if (process->group && process->has_rank == has_rank && nth-- == 0) return process;
    }
    return NULL;
}

static void all_alike(void **state) {
    const struct place *place = *state;
    uint64_t chars = 0, io_ns = 0;
    char host[8] = "";
    save_part(place, PART, 0);
    save_ranks(place, 0, RANKS, PART);
    for (uint32_t rank = 0; rank < RANKS; rank++) chars += 100 + rank, io_ns += io_of(rank);
    struct log *log = pack_and_open(place, RANKS - 1);
    // The first of them began the job, as far as anybody knows: it is one of them all the same.
    const struct log_process *process = find_group(log, true, 0);
    assert_int_equal(log_process_count(log), 1);
    assert_non_null(process);
    assert_int_equal(log_process_members(process), RANKS);
    assert_string_equal(describe_ranks(process).text, "0-599");
    assert_true(log_process_has_rank(process, 599) && !log_process_has_rank(process, 600));
    assert_int_equal(process->chars[0], chars);
    assert_int_equal(process->io_ns, io_ns);
    assert_int_equal(process->reduced_bytes[LAYER_POSIX][1], 1000 * RANKS);
    const struct group_spread *spread = process->group->spread;
    assert_true(spread[GROUP_IO].rank_most == 18 && spread[GROUP_IO].most == 9000000);
    assert_true(spread[GROUP_IO].rank_least == 1 && spread[GROUP_IO].least == 1000000);
    assert_true(spread[GROUP_START].least == 0 && spread[GROUP_START].most == (RANKS - 1) * 1000);
    assert_int_equal(log_process_run_ns(process, 0), INT64_C(10000000000) * RANKS);
    assert_true(spread[GROUP_RUN].deviation == 0 && !spread[GROUP_WAIT].is_known);
    // (600^2 - 1) / 12 is the variance of the starts in microseconds.
    assert_in_range(spread[GROUP_START].deviation, 173204, 173205);
    assert_int_equal(log_group_host_count(process->group), (RANKS + PER_HOST - 1) / PER_HOST);
    assert_int_equal(process->group->host_count, 2); // the last has fewer
    group_host_name(&process->group->hosts[0], 8, host);
    assert_string_equal(host, "node103");
    assert_null(process->host);
    assert_int_equal(log_world_count(log), 1);
    assert_true(log_world_at(log, 0)->size == RANKS && log_world_at(log, 0)->ranks == RANKS);
    assert_in_range(log_size_bytes(log), 200, 700);
    log_close(log);
    log = pack_and_open(place, RANKS);
    assert_int_equal(log_process_count(log), RANKS);
    assert_int_equal(log_header(log)->features & FEATURE_GROUPS, 0);
    log_close(log);
}

static void those_that_differ(void **state) {
    const struct place *place = *state;
    enum { FAILED = 3, TRACED = 40, PARENT = 100, OTHERS = 200, LAST = 300 };
    save_part(place, PART, 0);
    for (uint32_t i = 0; i < RANKS; i++) {
        struct rank rank = new_rank(i, PART);
        if (i == FAILED) rank.header->exit_value = 1;
        if (i == TRACED) rank.header->trace_ended = 0;
        if (i == TRACED) image_put_run(image_chunk(&rank.image, CHUNK_EVENTS), 1, 1, 10, 100);
        if (i == OTHERS) rank.header->part = OTHER_PART; // which is not there
        if (i == LAST) rank.header->lost[LOSS_NO_NAME] = 1;
        save_rank(place, &rank);
    }
    struct rank child = new_rank(PARENT, 0);
    child.is_image = true;
    child.header->pid = 5000000;
    child.header->ppid = FIRST_PID + PARENT % PER_HOST;
    save_rank(place, &child);
    struct log *log = pack_and_open(place, 500);
    const struct log_process *group = find_group(log, true, 0);
    assert_non_null(group);
    assert_string_equal(describe_ranks(group).text, "0-2,4-39,41-99,101-199,201-299,301-599");
    assert_int_equal(log_process_count(log), 1 + 5 + 1);
    assert_int_equal(log_world_count(log), 1);
    assert_int_equal(log_world_at(log, group->world)->ranks, RANKS);
    log_close(log);
}

// Two programs of the same size at once, each with images of their launchers.
static void two_programs(void **state) {
    const struct place *place = *state;
    save_part(place, PART, 0);
    save_part(place, OTHER_PART, 1);
    for (uint32_t i = 0; i < RANKS; i++) {
        struct rank image = new_rank(i, 0);
        image.is_image = true;
        image.header->exit = EXIT_EXEC;
        image.header->pid += 1000;
        image.header->latest = image.header->start;
        save_rank(place, &image);
        struct rank rank = new_rank(i, PART);
        rank.header->pid += 1000;
        rank.header->start.mono_ns += 1000000;
        rank.header->start.epoch_ns += 1000000;
        save_rank(place, &rank);
    }
    save_ranks(place, 0, RANKS, OTHER_PART);
    struct log *log = pack_and_open(place, 512);
    assert_int_equal(log_process_count(log), 3);
    assert_int_equal(log_world_count(log), 2);
    assert_true(find_group(log, true, 0)->world != find_group(log, true, 1)->world);
    const struct log_process *image = find_group(log, false, 0);
    assert_int_equal(log_process_members(image), RANKS);
    assert_string_equal(describe_ranks(image).text, "");
    assert_int_equal(image->group->spread[GROUP_IO].rank_most, 0);
    assert_int_equal(log_job(log)->nprocs, 2 * RANKS);
    log_close(log);
}

static void names_of_hosts(void **state) {
    (void)state;
    const struct {
        const char *first, *next;
        bool follows;
    } cases[] = {{"n8", "n9", true},      {"n9", "n10", false}, {"n009", "n010", true},
                 {"n009", "n011", false}, {"a", "b", false},    {"n1-a", "n2-a", false},
                 {"a1", "b2", false},     {"99", "100", false}, {"x1234567890", "x1234567891", true},
                 {"", "", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct group_hosts one = {1, 64, cases[i].first, strlen(cases[i].first)};
        bool follows = group_host_follows(&one, cases[i].next, strlen(cases[i].next));
        assert_int_equal(follows, cases[i].follows);
        struct group_hosts two = one;
        char name[32] = "";
        two.hosts = 2;
        group_host_name(&two, 1, name);
        if (follows) assert_string_equal(name, cases[i].next);
    }
}

// What is damaged is refused, and nothing is read beyond its end.
static void damaged_fields(void **state) {
    (void)state;
    struct bytes bytes = {0};
    struct group_spread spread[GROUP_TIMES] = {{0}}, put = {true, -5, INT64_C(1) << 50, 7, 3, 1, 2};
    struct group_hosts hosts = {50, 64, "node0001", 8};
    struct group_ranks range = {0};
    assert_int_equal(group_spread_put(&bytes, GROUP_END, &put), 0);
    assert_int_equal(group_spread_get(bytes.data, bytes.len, spread), 0);
    const struct group_spread *got = &spread[GROUP_END];
    assert_true(got->is_known && got->least == put.least && got->most == put.most && got->sum == 7);
    assert_true(got->deviation == 3 && got->rank_least == 1 && got->rank_most == 2);
    for (size_t len = 0; len < bytes.len; len++)
        assert_int_equal(group_spread_get(bytes.data, len, spread), ERR_FORMAT);
    bytes.len = 0;
    hosts.hosts = 10000; // node0001 to node9999 are one less
    assert_int_equal(group_hosts_put(&bytes, &hosts), 0);
    assert_int_equal(group_hosts_get(bytes.data, bytes.len, &hosts), ERR_FORMAT);
    const uint8_t *at = (const uint8_t *)"\x05\x00", *end = at + 2;
    assert_int_equal(group_ranks_next(&at, end, &range), ERR_FORMAT);
    bytes_free(&bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_alike, set_up, tear_down),
        cmocka_unit_test_setup_teardown(those_that_differ, set_up, tear_down),
        cmocka_unit_test_setup_teardown(two_programs, set_up, tear_down),
        cmocka_unit_test(names_of_hosts),
        cmocka_unit_test(damaged_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
