// Findings from hand-made facts: each in a job that has the problem, and in one that differs only in its cause.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "findings/findings.h"

enum { RANKS = 4, FILES = 6, US = 1000, MS = 1000000 };

static const int64_t SECOND = INT64_C(1000000000);

struct job {
    struct facts facts;
    struct facts_process process[RANKS];
    struct facts_file file[FILES];
    struct facts_file *files[FILES];
    struct facts_use use[RANKS];
    struct log_process log_process[RANKS];
    struct log_file log_file[FILES];
    struct findings findings;
};

// Ten seconds of four ranks that did nothing.
static struct job *job_new(void) {
    struct job *job = calloc(1, sizeof *job);
    job->facts.run_ns = 10 * SECOND;
    job->facts.ranks = job->facts.processes = RANKS;
    job->facts.process = job->process;
    job->facts.file = job->files;
    job->facts.files = FILES;
    job->facts.use = job->use;
    job->facts.uses = RANKS;
    for (unsigned i = 0; i < RANKS; i++) {
        job->log_process[i] = (struct log_process){.id = i, .has_rank = true, .rank = i};
        job->process[i].process = &job->log_process[i];
        job->use[i] = (struct facts_use){.process = i};
    }
    for (unsigned i = 0; i < FILES; i++) {
        job->log_file[i] = (struct log_file){.id = i, .name = "/data/file", .block_size = 4096};
        job->file[i].file = &job->log_file[i];
        job->files[i] = &job->file[i];
    }
    return job;
}

static void job_free(struct job *job) {
    findings_free(&job->findings);
    free(job);
}

// The finding with this id, or NULL. Also checks that every finding is complete.
static const struct finding *found(struct job *job, const char *id) {
    findings_free(&job->findings);
    assert_int_equal(findings_make(&job->findings, &job->facts, NULL, "a log"), 0);
    const struct finding *wanted = NULL;
    for (size_t i = 0; i < job->findings.count; i++) {
        const struct finding *finding = &job->findings.finding[i];
        assert_true(finding->ns > 0 && finding->share > 0 && finding->evidences > 0);
        assert_true(*finding->title && *finding->reason && *finding->advice && *finding->basis);
        assert_int_equal(strncmp(finding->command, "ioseer ", 7), 0);
        assert_non_null(strstr(finding->command, " 'a log'"));
        assert_null(strstr(finding->command, " FILE "));
        if (i) assert_true(finding[-1].ns >= finding->ns);
        if (!strcmp(finding->id, id)) wanted = finding;
    }
    return wanted;
}

static void assert_about(int64_t ns, int64_t expected_ns) {
    assert_in_range(ns, expected_ns * 98 / 100, expected_ns * 102 / 100);
}

static struct facts_sum sum(uint64_t calls, uint64_t bytes_each, int64_t ns_each) {
    return (struct facts_sum){calls, calls * bytes_each, (int64_t)calls * ns_each};
}

// Adds requests of rank and file 0 to the cell that they belong to.
static void requests(struct job *job, unsigned direction, enum facts_order order, bool unaligned, bool switched,
                     unsigned calls, uint64_t bytes, int64_t ns) {
    struct facts_sum all = sum(calls, bytes, ns);
    struct facts_cell *cell = &job->facts.cell[direction][facts_size(bytes)][order][unaligned][switched];
    for (unsigned i = 0; i < calls; i++) facts_cell_add(cell, bytes, ns);
    facts_sum_join(&job->process[0].request[direction], &all);
    facts_sum_join(&job->file[0].request[direction], &all);
    bool small = facts_size(bytes) < FACTS_SMALL_SIZE && order != FACTS_RANDOM;
    if (small) facts_sum_join(&job->process[0].small[direction], &all);
    if (small) facts_sum_join(&job->file[0].small[direction], &all);
    if (order == FACTS_RANDOM) facts_sum_join(&job->process[0].random[direction], &all);
    if (order == FACTS_RANDOM) facts_sum_join(&job->file[0].random[direction], &all);
    if (unaligned) facts_sum_join(&job->process[0].unaligned[direction], &all);
    if (unaligned) facts_sum_join(&job->file[0].unaligned[direction], &all);
    if (switched) facts_sum_join(&job->process[0].switched[direction], &all);
    if (switched) facts_sum_join(&job->file[0].switched[direction], &all);
}

static void test_nothing(void **state) {
    (void)state;
    struct job *job = job_new();
    assert_null(found(job, "small-requests"));
    assert_int_equal(job->findings.count, 0);
    job_free(job);
}

static void test_typical(void **state) {
    (void)state;
    static struct facts_cell cell;
    for (unsigned i = 0; i < 99; i++) facts_cell_add(&cell, 1, 10 * US);
    facts_cell_add(&cell, 1, SECOND); // a pause
    assert_about(facts_typical_ns(&cell), 10 * US);
    assert_int_equal(facts_size(0), 0);
    assert_int_equal(facts_size(65535), FACTS_SMALL_SIZE - 1);
    assert_int_equal(facts_size(65536), FACTS_SMALL_SIZE);
    assert_int_equal(facts_size(UINT64_MAX), FACTS_SIZES - 1);
}

static void test_small_requests(void **state) {
    (void)state;
    struct job *job = job_new();
    requests(job, FACTS_WRITE, FACTS_NEXT, true, false, 1000, 100, MS);
    const struct finding *finding = found(job, "small-requests");
    assert_non_null(finding);
    assert_about(finding->ns, 1000 * (MS - 5 * US));
    assert_int_equal(finding->severity, FINDING_MEDIUM);
    assert_ptr_equal(finding->evidence[0].file, &job->log_file[0]);
    // Requests as fast as memory are not a finding, however many.
    job_free(job);
    job = job_new();
    requests(job, FACTS_WRITE, FACTS_NEXT, true, false, 1000000, 100, 3 * US);
    assert_null(found(job, "small-requests"));
    job_free(job);
    // If large requests take as long per byte, size is not the reason.
    job = job_new();
    requests(job, FACTS_READ, FACTS_NEXT, false, false, 1000, 4096, MS);
    requests(job, FACTS_READ, FACTS_NEXT, false, false, 100, 409600, 100 * MS);
    finding = found(job, "small-requests");
    assert_true(!finding || finding->ns < SECOND / 5);
    job_free(job);
}

static void test_random(void **state) {
    (void)state;
    struct job *job = job_new();
    requests(job, FACTS_READ, FACTS_RANDOM, false, false, 500, 1 << 20, 12 * MS);
    requests(job, FACTS_READ, FACTS_NEXT, false, false, 500, 1 << 20, 2 * MS);
    assert_about(found(job, "random")->ns, 5 * SECOND);
    job_free(job);
    job = job_new();
    requests(job, FACTS_READ, FACTS_RANDOM, false, false, 500, 1 << 20, 2 * MS);
    requests(job, FACTS_READ, FACTS_NEXT, false, false, 500, 1 << 20, 2 * MS);
    assert_null(found(job, "random"));
    job_free(job);
}

static void test_unaligned_and_switching(void **state) {
    (void)state;
    struct job *job = job_new();
    requests(job, FACTS_WRITE, FACTS_NEXT, true, false, 100, 100000, 30 * MS);
    requests(job, FACTS_WRITE, FACTS_NEXT, false, false, 100, 100000, 10 * MS);
    assert_about(found(job, "unaligned")->ns, 2 * SECOND);
    assert_null(found(job, "read-write-switching"));
    job_free(job);
    job = job_new();
    requests(job, FACTS_WRITE, FACTS_NEXT, true, false, 100, 100000, 30 * MS); // nothing aligned to compare with
    requests(job, FACTS_READ, FACTS_NEXT, true, true, 100, 100000, 30 * MS);
    requests(job, FACTS_READ, FACTS_NEXT, true, false, 100, 100000, 20 * MS);
    assert_null(found(job, "unaligned"));
    assert_about(found(job, "read-write-switching")->ns, SECOND);
    job_free(job);
}

// Calls of all ranks with many requests each, in a file that all use.
static struct job *independent_job(int64_t request_ns) {
    struct job *job = job_new();
    for (unsigned i = 0; i < RANKS; i++) {
        job->process[i].mpi[FACTS_WRITE][0] = sum(8, 64000, 1000 * request_ns);
        job->process[i].below[FACTS_WRITE][FACTS_WRITE][0] = sum(8000, 64, request_ns);
        job->process[i].comm[COMM_SYNCHRONISING] = sum(10, 0, MS);
        facts_sum_join(&job->file[0].below[0], &job->process[i].below[FACTS_WRITE][FACTS_WRITE][0]);
    }
    job->file[0].users = RANKS;
    requests(job, FACTS_WRITE, FACTS_STRIDED, true, false, RANKS * 8000, 64, request_ns);
    return job;
}

static void test_independent(void **state) {
    (void)state;
    struct job *job = independent_job(500 * US);
    const struct finding *finding = found(job, "independent");
    assert_non_null(finding);
    assert_in_range(finding->ns, 3 * SECOND, 4 * SECOND);
    assert_non_null(strstr(found(job, "small-requests")->title, "tiny write"));
    assert_non_null(strstr(found(job, "small-requests")->title, "1,000 writes of each call"));
    job_free(job);
    job = independent_job(2 * US); // collective I/O would be slower
    assert_null(found(job, "independent"));
    assert_null(found(job, "small-requests"));
    job_free(job);
    job = independent_job(500 * US); // no other process uses the file
    job->file[0].users = 1;
    assert_null(found(job, "independent"));
    job_free(job);
}

static struct job *collective_job(int64_t request_ns) {
    struct job *job = job_new();
    for (unsigned i = 0; i < RANKS; i++) {
        job->process[i].mpi[FACTS_WRITE][1] = sum(8, 64000, 100 * MS + i * MS);
        job->process[i].pieces[FACTS_WRITE][1] = 8000;
    }
    job->process[0].below[FACTS_WRITE][FACTS_WRITE][1] = sum(8, 256000, request_ns);
    requests(job, FACTS_WRITE, FACTS_NEXT, false, false, 8, 256000, request_ns);
    return job;
}

static void test_collective(void **state) {
    (void)state;
    struct job *job = collective_job(100 * US); // memory
    const struct finding *finding = found(job, "collective");
    assert_non_null(finding);
    assert_in_range(finding->ns, SECOND / 2, SECOND);
    job_free(job);
    job = collective_job(20 * MS); // 8000 of these would take far longer
    assert_null(found(job, "collective"));
    job_free(job);
}

static void test_sieving(void **state) {
    (void)state;
    struct job *job = job_new();
    job->process[2].mpi[FACTS_WRITE][0] = sum(10, 1000, 200 * MS);
    job->process[2].below[FACTS_READ][FACTS_WRITE][0] = sum(10, 100000, 90 * MS);
    job->process[2].below[FACTS_WRITE][FACTS_WRITE][0] = sum(10, 100000, 90 * MS);
    const struct finding *finding = found(job, "data-sieving");
    assert_int_equal(finding->ns, 900 * MS);
    assert_int_equal(finding->evidence[0].rank[0], 2);
    job_free(job);
}

static void test_again(void **state) {
    (void)state;
    struct job *job = job_new();
    for (unsigned direction = 0; direction < FACTS_DIRECTIONS; direction++) {
        job->file[1].request[direction] = sum(400, 1 << 20, 10 * MS);
        job->file[1].again[direction] = UINT64_C(300) << 20;
        job->file[1].processes[direction] = RANKS;
    }
    assert_int_equal(found(job, "read-again")->ns, 750 * MS);
    assert_int_equal(found(job, "written-again")->ns, 750 * MS);
    assert_ptr_equal(found(job, "read-again")->evidence[0].file, &job->log_file[1]);
    assert_non_null(strstr(found(job, "read-again")->advice, "MPI_Bcast"));
    job->file[1].read_by_itself = UINT64_C(300) << 20; // each rank its own part
    assert_null(strstr(found(job, "read-again")->advice, "MPI_Bcast"));
    job->log_file[1].name = "/data/it's *";
    assert_string_equal(found(job, "read-again")->command,
                        "ioseer dump --class read --file '/data/it'\\''s \\*' 'a log'");
    job->log_file[1].name = "/data/\n'";
    assert_string_equal(found(job, "read-again")->command, "ioseer dump --class read --file $'/data/\\012\\'' 'a log'");
    job->file[1].extents[FACTS_READ].given_up = true;
    assert_null(found(job, "read-again"));
    job->file[1].again[FACTS_WRITE] = 0;
    assert_null(found(job, "written-again"));
    job_free(job);
}

static void test_cache(void **state) {
    (void)state;
    struct job *job = job_new();
    job->file[0].remembered = sum(1000, 1 << 20, 300 * US);
    job->file[0].fetched = sum(100, 1 << 20, 5 * MS);
    job->file[0].processes[FACTS_READ] = 1;
    assert_about(found(job, "cache")->ns, 4700 * (int64_t)MS);
    job->file[0].remembered = (struct facts_sum){0};
    assert_null(found(job, "cache"));
    job_free(job);
}

static void test_one_rank(void **state) {
    (void)state;
    struct job *job = job_new();
    job->process[0].own[FACTS_WRITE] = sum(100, 1 << 20, 40 * MS);
    assert_int_equal(found(job, "one-rank")->ns, 3 * SECOND);
    assert_int_equal(found(job, "one-rank")->evidence[0].rank[0], 0);
    job->process[1].own[FACTS_WRITE] = sum(100, 1 << 20, 40 * MS);
    assert_null(found(job, "one-rank"));
    job_free(job);
}

static void test_slow_rank_and_waiting(void **state) {
    (void)state;
    struct job *job = job_new();
    for (unsigned i = 0; i < RANKS; i++) {
        job->process[i].request[FACTS_WRITE] = sum(100, 1 << 20, i == 3 ? 60 * MS : 20 * MS);
        job->process[i].comm[COMM_SYNCHRONISING] = sum(10, 0, i == 3 ? 0 : 400 * MS);
    }
    const struct finding *finding = found(job, "slow-rank");
    assert_int_equal(finding->ns, 4 * SECOND);
    assert_int_equal(finding->evidence[0].rank[0], 3);
    assert_int_equal(found(job, "waiting")->ns, 3 * SECOND);
    assert_int_equal(found(job, "waiting")->evidence[0].rank[0], 3);
    // With three times the bytes it is no slower than the others, only busier.
    job->process[3].request[FACTS_WRITE] = sum(300, 1 << 20, 20 * MS);
    assert_null(found(job, "slow-rank"));
    assert_non_null(found(job, "waiting"));
    job->process[3].request[FACTS_WRITE] = sum(100, 1 << 20, 20 * MS);
    assert_null(found(job, "waiting"));
    job_free(job);
}

static void test_slow_file(void **state) {
    (void)state;
    struct job *job = job_new();
    for (unsigned i = 0; i < FILES; i++) {
        job->file[i].request[FACTS_READ] = sum(100, 1 << 20, i == 4 ? 50 * MS : 10 * MS);
        job->file[i].processes[FACTS_READ] = 1;
    }
    assert_about(found(job, "slow-file")->ns, 4 * SECOND);
    assert_ptr_equal(found(job, "slow-file")->evidence[0].file, &job->log_file[4]);
    job->file[4].request[FACTS_READ] = sum(100, 1 << 20, 15 * MS);
    assert_null(found(job, "slow-file"));
    job_free(job);
}

static void test_contention(void **state) {
    (void)state;
    struct job *job = job_new();
    struct facts_together *together = &job->file[2].together[FACTS_WRITE];
    job->file[2].request[FACTS_WRITE] = sum(200, 1 << 20, 20 * MS);
    job->file[2].processes[FACTS_WRITE] = RANKS;
    together->sum[0] = sum(100, 1 << 20, 10 * MS);
    together->sum[1] = sum(100, 1 << 20, 30 * MS);
    assert_about(found(job, "contention")->ns, 2 * SECOND);
    together->sum[1].ns = together->sum[0].ns; // they share the bandwidth
    assert_null(found(job, "contention"));
    job_free(job);
}

static void test_metadata(void **state) {
    (void)state;
    struct job *job = job_new();
    job->process[1].meta[FACTS_OPEN] = sum(1000, 0, MS);
    job->process[1].meta[FACTS_CLOSE] = sum(1000, 0, MS);
    job->process[1].meta[FACTS_STAT] = sum(1000, 0, MS);
    job->file[0].sync = sum(100, 0, 10 * MS);
    assert_about(found(job, "metadata")->ns, 3 * SECOND);
    assert_null(found(job, "opens"));
    assert_null(found(job, "stats"));
    assert_null(found(job, "syncs"));
    job->process[1].meta[FACTS_OPEN] = job->process[1].meta[FACTS_CLOSE] = job->process[1].meta[FACTS_STAT] =
        sum(1000000, 0, 4 * US); // many, but as fast as memory
    assert_null(found(job, "metadata"));
    job->process[1].meta[FACTS_OPEN] = job->process[1].meta[FACTS_CLOSE] = job->process[1].meta[FACTS_STAT] =
        sum(1000, 0, MS);
    job->process[1].opened_again = sum(900, 0, MS);
    job->process[1].stat_again = sum(990, 0, MS);
    job->process[1].sync_again = sum(99, 0, 10 * MS);
    job->use[1].opens = 901;
    job->use[1].stats = 991;
    assert_about(found(job, "metadata")->ns, 1110 * (int64_t)MS);
    assert_about(found(job, "opens")->ns, 1800 * (int64_t)MS);
    assert_about(found(job, "stats")->ns, 990 * (int64_t)MS);
    assert_about(found(job, "syncs")->ns, 990 * (int64_t)MS);
    assert_int_equal(found(job, "opens")->evidence[0].rank[0], 1);
    job_free(job);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_typical),
        cmocka_unit_test(test_small_requests),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_unaligned_and_switching),
        cmocka_unit_test(test_independent),
        cmocka_unit_test(test_collective),
        cmocka_unit_test(test_sieving),
        cmocka_unit_test(test_again),
        cmocka_unit_test(test_cache),
        cmocka_unit_test(test_one_rank),
        cmocka_unit_test(test_slow_rank_and_waiting),
        cmocka_unit_test(test_slow_file),
        cmocka_unit_test(test_contention),
        cmocka_unit_test(test_metadata),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
