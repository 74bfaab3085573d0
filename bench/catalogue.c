// bench-catalogue DB JOBS: fills a catalogue with jobs that nobody ran, through the code that `ioseer index` uses: of
// 300 users over two years, each with programs of his own habits. Every twentieth series of runs gets slower in the
// end.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "catalogue/catalogue.h"
#include "catalogue/job.h"

enum {
    USERS = 300,
    PROGRAMS = 40,
    AT_ONCE = 5000,
    SYSTEMS = 5,
    FINDINGS = 12,
    SIZES = 10,
    GROUPS = 6,
};

static const int64_t begin_s = 1704067200, span_s = 2 * 365 * 86400; // two years from 2024
static const double slow_from = 0.97, slow_factor = 1.7;

static uint64_t state = 1;

static uint64_t below(uint64_t limit) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % limit;
}

static double uniform(void) { return ((double)below(1 << 30) + 0.5) / (1 << 30); }
static double normal(void) { return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform()); }

// A habit: one user's runs of one program.
struct habit {
    unsigned user, program;
    int64_t nprocs, run_ns, bytes;
    double io_share;
    bool gets_slower;
};

static struct habit choose(void) {
    struct habit habit = {.user = (unsigned)(pow(uniform(), 2) * USERS)};
    unsigned which = (unsigned)below(3);
    uint64_t kept = state;
    state = habit.user * 16 + which + 1; // the same each time
    below(2);
    habit.program = (unsigned)below(PROGRAMS);
    habit.nprocs = (int64_t)1 << below(11);
    habit.run_ns = (int64_t)(exp(6 + 1.5 * normal()) * 1e9);
    habit.bytes = (int64_t)exp(22 + 2.5 * normal());
    habit.io_share = pow(uniform(), 3);
    habit.gets_slower = below(20) == 0;
    state = kept;
    return habit;
}

static void set_numbers(struct job *job, const struct habit *habit, double place) {
    double noise = exp(0.2 * normal()), slower = habit->gets_slower && place > slow_from ? slow_factor : 1;
    int64_t *number = job->number;
    job_set_start(job, begin_s * 1000000000 + (int64_t)(place * (double)span_s * 1e9));
    number[JOBS_RUN] = (int64_t)((double)habit->run_ns * noise * slower);
    number[JOBS_IO] = (int64_t)((double)number[JOBS_RUN] * habit->io_share);
    number[JOBS_BUSIEST] = number[JOBS_IO];
    number[JOBS_SHARE_KNOWN] = 1;
    number[JOBS_NPROCS] = habit->nprocs;
    number[JOBS_READ] = (int64_t)((double)habit->bytes * uniform());
    number[JOBS_WRITTEN] = habit->bytes;
    number[JOBS_BYTES] = number[JOBS_READ] + number[JOBS_WRITTEN];
    number[JOBS_FILES] = 4 + (int64_t)below(2000);
    number[JOBS_FILES_ONE] = number[JOBS_FILES] - 3;
    number[JOBS_FILES_SHARED] = 3;
    number[JOBS_CALLS] = 1000 + (int64_t)below(1000000);
    number[JOBS_LAYERS] = 2 | 4 * (habit->program % 2) | 8 * (habit->program % 3 > 0) | 16 * (habit->program % 5 == 0);
    number[JOBS_MPI] = habit->nprocs > 1;
    number[JOBS_COLLECTIVE] = habit->program % 3 == 1;
}

static int add(struct job *job, enum part_kind kind, const int64_t number[PART_NUMBERS], const char *name) {
    struct job_part part = {.kind = kind, .name = name};
    memcpy(part.number, number, sizeof part.number);
    return job_add_part(job, &part);
}

static int add_findings(struct job *job) {
    for (unsigned i = 0, count = (unsigned)below(5); i < count; i++) {
        char name[64];
        snprintf(name, sizeof name, "finding-%u", i * 2 + (unsigned)below(2));
        int64_t ns = (int64_t)((double)job->number[JOBS_IO] * uniform() / 5);
        FORWARD(add(job, PART_FINDING, (int64_t[PART_NUMBERS]){ns, (int64_t)below(3)}, name));
        job->number[JOBS_STAKE] += ns;
        job->number[JOBS_FINDINGS]++;
    }
    return 0;
}

static int add_parts(struct job *job, const struct habit *habit) {
    static const char *const layers[] = {"posix", "stdio", "mpiio", "hdf5"}, *const sizes[] = {"0-100",   "100-1K",
                                                                                               "1K-10K",  "10K-100K",
                                                                                               "100K-1M", "1M-4M",
                                                                                               "4M-10M",  "10M-100M",
                                                                                               "100M-1G", "1G+"};
    int64_t read = job->number[JOBS_READ], written = job->number[JOBS_WRITTEN], ns = job->number[JOBS_IO];
    char name[256];
    for (unsigned i = 0; i < 4; i++) {
        const int64_t number[PART_NUMBERS] = {10, 500, 800, read, written, ns / 2, ns / 4, ns / 4};
        if (job->number[JOBS_LAYERS] >> (i + 1) & 1) FORWARD(add(job, PART_LAYER, number, layers[i]));
    }
    for (unsigned i = 0; i < 4; i++)
        FORWARD(add(job, PART_SIZE, (int64_t[PART_NUMBERS]){(int64_t)below(1000), (int64_t)below(1000)},
                    sizes[(habit->program + 2 * i) % SIZES]));
    for (unsigned i = 0; i < GROUPS; i++) {
        const int64_t number[PART_NUMBERS] = {1 + (int64_t)below(100), 4,           50, 80, read / GROUPS,
                                              written / GROUPS,        ns / GROUPS, 1};
        snprintf(name, sizeof name, "/scratch/user%u/program%u/run*/part%c.*", habit->user, habit->program,
                 'a' + (int)i);
        FORWARD(add(job, PART_FILES, number, name));
    }
    for (unsigned i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "/fs%u (lustre)", (habit->user + i) % SYSTEMS);
        FORWARD(add(job, PART_SYSTEM, (int64_t[PART_NUMBERS]){10, read / 2, written / 2, ns / 2}, name));
    }
    return add_findings(job);
}

static int make_job(struct job *job, const struct habit *habit, double place) {
    char user[32], program[32];
    *job = (struct job){0};
    set_numbers(job, habit, place);
    snprintf(user, sizeof user, "user%u", habit->user);
    snprintf(program, sizeof program, "program%u", habit->program);
    FORWARD(job_set_text(job, JOB_TEXT_USER, user));
    FORWARD(job_set_text(job, JOB_TEXT_PROGRAM, program));
    FORWARD(job_set_text(job, JOB_TEXT_HOST, "node17"));
    FORWARD(job_set_text(job, JOB_TEXT_BATCH, "4711"));
    FORWARD(job_set_text(job, JOB_TEXT_COMMAND, "mpiexec -n 64 ./program --input deck.in"));
    return add_parts(job, habit);
}

static int put(struct writer *writer, uint64_t i, uint64_t jobs, struct problem *problem) {
    double place = (double)i / (double)jobs;
    const struct habit habit = choose();
    struct job job;
    struct tm day;
    time_t start = (time_t)((double)begin_s + place * (double)span_s);
    char folder[128], name[64];
    gmtime_r(&start, &day);
    snprintf(folder, sizeof folder, "/var/log/ioseer/user%u/%d/%02d/%02d", habit.user, day.tm_year + 1900,
             day.tm_mon + 1, day.tm_mday);
    snprintf(name, sizeof name, "program%u-%" PRIu64 ".ioseer", habit.program, i);
    const struct log_entry log = {folder, name, {100000, (int64_t)start * 1000000000, (int64_t)i}};
    int code = make_job(&job, &habit, place);
    if (code == 0) code = writer_put(writer, &log, &job, NULL, problem);
    job_free(&job);
    return code < 0 ? code : 0;
}

static int fill(struct writer *writer, uint64_t jobs, struct problem *problem) {
    for (uint64_t i = 0; i < jobs; i += AT_ONCE) {
        int code = 0;
        FORWARD(writer_begin(writer, problem));
        for (uint64_t k = i; k < jobs && k < i + AT_ONCE && code == 0; k++) code = put(writer, k, jobs, problem);
        FORWARD(writer_end(writer, code, problem));
    }
    return 0;
}

int main(int argc, char **argv) {
    struct catalogue catalogue;
    struct problem problem = {0};
    struct writer writer;
    if (argc != 3) return 2;
    int code = catalogue_open(&catalogue, argv[1], STORE_WRITES, &problem);
    if (code == 0) {
        writer_init(&writer, catalogue.store);
        code = fill(&writer, strtoull(argv[2], NULL, 10), &problem);
        writer_free(&writer);
        catalogue_close(&catalogue);
    }
    if (code < 0)
        fprintf(stderr, "bench-catalogue: %s: %s\n", problem.what, *problem.why ? problem.why : err_text(code));
    return code < 0;
}
