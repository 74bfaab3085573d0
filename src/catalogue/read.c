// Reads what the catalogue keeps of a job from its log. The numbers are those of `info` and `report`: they come from
// the same consumers of the same visit.
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/lookup.h"
#include "base/user.h"
#include "catalogue/job.h"
#include "findings/findings.h"
#include "pack/pack.h"
#include "summary/file_rows.h"
#include "summary/summary.h"

enum { MOST_NAME_BYTES = 1000 };

struct layer_total {
    uint64_t value[8]; // as the columns of PART_LAYER
};

struct file_total {
    uint64_t reads, writes, ns; // of POSIX and stdio: at the file system
};

struct reading {
    struct job *job;
    struct log *log;
    struct summary summary;
    struct facts facts;
    struct findings findings;
    struct layer_total layer[LAYER_COUNT];
    struct file_total *file; // by index in the log's table
    uint64_t sizes[2][COUNTERS_BINS];
    bool is_collective;
};

// --- while the log is read

static int add_record(const struct log_stats_record *record, void *context) {
    static const enum counter columns[] = {COUNTER_OPENS,      COUNTER_READS,         COUNTER_WRITES,
                                           COUNTER_BYTES_READ, COUNTER_BYTES_WRITTEN, COUNTER_READ_TIME,
                                           COUNTER_WRITE_TIME, COUNTER_META_TIME};
    struct reading *reading = context;
    const struct counters *counters = &record->counters;
    const uint64_t *value = counters->value;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        reading->layer[record->layer].value[i] += value[columns[i]];
    if (record->layer == LAYER_MPIIO && value[COUNTER_COLL_READS] + value[COUNTER_COLL_WRITES])
        reading->is_collective = true;
    for (unsigned bin = 0; record->layer == LAYER_POSIX && bin < COUNTERS_BINS; bin++) {
        reading->sizes[0][bin] += value[COUNTER_SIZE_READ + bin];
        reading->sizes[1][bin] += value[COUNTER_SIZE_WRITE + bin];
    }
    if (!record->file || (record->layer != LAYER_POSIX && record->layer != LAYER_STDIO)) return 0;
    struct file_total *file = &reading->file[log_file_index(reading->log, record->file)];
    file->reads += value[COUNTER_READS];
    file->writes += value[COUNTER_WRITES];
    file->ns += counters_time(counters);
    return 0;
}

static int add_events(void *context, const struct log_event *const *events, size_t count) {
    struct reading *reading = context;
    for (size_t i = 0; i < count; i++) {
        summary_job_add(&reading->summary, events[i]);
        FORWARD(facts_add(&reading->facts, events[i]));
    }
    return 0;
}

// A model would only tell findings the numbers of phases, and what their advice gains, which the catalogue does not
// keep.
static int visit(struct reading *reading, const struct summary_source *source) {
    struct log_consumer consumer[2 + SUMMARY_CONSUMERS];
    FORWARD(facts_init(&reading->facts, source->log));
    consumer[0] = facts_consumer(&reading->facts);
    consumer[1] = (struct log_consumer){.context = reading, .ordered = add_events};
    FORWARD(summary_begin(&reading->summary, source, add_record, reading, consumer + 2));
    FORWARD(log_visit(&(struct log_visit){
        .log = source->log, .consumer = consumer, .consumers = 2 + SUMMARY_CONSUMERS, .threads = 1}));
    FORWARD(facts_finish(&reading->facts));
    FORWARD(summary_finish(&reading->summary));
    reading->facts.collectives = &reading->summary.collectives.in;
    reading->facts.tree = &reading->summary.tree;
    reading->facts.stack = &reading->summary.stack;
    return findings_make(&reading->findings, &reading->facts, NULL, NULL, source->path);
}

// --- what is kept

static int add_texts(struct reading *reading) {
    const struct summary *summary = &reading->summary;
    const struct log_job *job = log_job(reading->log);
    const struct summary_row *first = summary->row_count ? &summary->rows[0] : NULL;
    char user[USER_NAME_BYTES], command[JOB_COMMAND_BYTES + 1] = "";
    const char *program = first ? summary_program(first->process) : job->command.count ? job->command.word[0] : "";
    for (size_t i = 0, len = 0; i < job->command.count && len < sizeof command - 1; i++) {
        int added = snprintf(command + len, sizeof command - len, "%s%s", i ? " " : "", job->command.word[i]);
        len += added < 0 ? sizeof command : (size_t)added;
    }
    user_name((uint32_t)job->uid, user);
    FORWARD(job_set_text(reading->job, JOB_TEXT_USER, user));
    FORWARD(job_set_text(reading->job, JOB_TEXT_PROGRAM, program));
    FORWARD(job_set_text(reading->job, JOB_TEXT_HOST, job->host));
    FORWARD(job_set_text(reading->job, JOB_TEXT_BATCH, job->id));
    return job_set_text(reading->job, JOB_TEXT_COMMAND, command);
}

// Damage can make numbers of any size.
static int64_t number_of(uint64_t value) {
    const uint64_t most = INT64_MAX / 4;
    return (int64_t)(value < most ? value : most);
}

// Darshan's logs have ranks also without MPI, then only one.
static bool has_mpi(const struct reading *reading) {
    const struct summary *summary = &reading->summary;
    bool has_world = log_world_count(reading->log) > 0;
    return summary->imported.is_there ? summary->nprocs > 1 || summary->layer_used[LAYER_MPIIO] : has_world;
}

static void add_numbers(struct reading *reading) {
    const struct summary *summary = &reading->summary;
    const struct summary_totals *totals = &summary->totals;
    const struct summary_past_cap past = summary_past_cap(summary);
    int64_t *number = reading->job->number;
    job_set_start(reading->job, (int64_t)log_job(reading->log)->start_ns);
    number[JOBS_RUN] = totals->run_ns;
    number[JOBS_NPROCS] = (int64_t)(summary->nprocs < INT32_MAX ? summary->nprocs : INT32_MAX);
    number[JOBS_IO] = totals->io_ns;
    number[JOBS_BUSIEST] = summary->imported.is_shared ? -1 : totals->busiest ? totals->busiest->io_ns : 0;
    number[JOBS_SHARE_KNOWN] = totals->io_share >= 0;
    number[JOBS_READ] = number_of(totals->bytes[DIRECTION_READ]);
    number[JOBS_WRITTEN] = number_of(totals->bytes[DIRECTION_WRITE]);
    number[JOBS_BYTES] = number[JOBS_READ] + number[JOBS_WRITTEN];
    number[JOBS_CALLS] = number_of(totals->calls);
    number[JOBS_MPI] = has_mpi(reading);
    number[JOBS_COLLECTIVE] = reading->is_collective;
    number[JOBS_LOST] = number_of(summary->lost_events);
    number[JOBS_DAMAGED] = summary->is_damaged;
    number[JOBS_FILES] = number_of(summary->file_count - past.records + past.files);
    for (size_t i = 0; i < summary->file_count; i++) {
        const struct summary_file *file = &summary->files[i];
        if (!(file->bytes[DIRECTION_READ] + file->bytes[DIRECTION_WRITE])) continue;
        number[file->processes > 1 ? JOBS_FILES_SHARED : JOBS_FILES_ONE]++;
    }
    for (unsigned layer = 1; layer < LAYER_COUNT; layer++) {
        if (summary->layer_used[layer]) number[JOBS_LAYERS] |= INT64_C(1) << layer;
    }
}

static int add_layers(struct reading *reading) {
    static const char *const sizes[COUNTERS_BINS] = {"0-100", "100-1K", "1K-10K",   "10K-100K", "100K-1M",
                                                     "1M-4M", "4M-10M", "10M-100M", "100M-1G",  "1G+"};
    for (unsigned layer = 1; layer < LAYER_COUNT; layer++) {
        if (!reading->summary.layer_used[layer]) continue;
        struct job_part part = {.kind = PART_LAYER, .name = call_layer_name(layer)};
        for (size_t i = 0; i < 8; i++) part.number[i] = number_of(reading->layer[layer].value[i]);
        FORWARD(job_add_part(reading->job, &part));
    }
    for (unsigned bin = 0; bin < COUNTERS_BINS; bin++) {
        const struct job_part part = {
            PART_SIZE, sizes[bin], {number_of(reading->sizes[0][bin]), number_of(reading->sizes[1][bin])}};
        if (part.number[0] + part.number[1]) FORWARD(job_add_part(reading->job, &part));
    }
    return 0;
}

static int add_findings(struct reading *reading) {
    for (size_t i = 0; i < reading->findings.count; i++) {
        const struct finding *finding = &reading->findings.finding[i];
        const struct job_part part = {PART_FINDING, finding->id, {finding->ns, finding->severity}};
        reading->job->number[JOBS_STAKE] += finding->ns;
        FORWARD(job_add_part(reading->job, &part));
    }
    reading->job->number[JOBS_FINDINGS] = (int64_t)reading->findings.count;
    if (!log_has_trace(reading->log)) reading->job->number[JOBS_STAKE] = -1;
    return 0;
}

// --- files

struct groups {
    struct job_part *part;
    size_t count;
    struct lookup place;
    struct arena names;
};

static int add_to_group(struct groups *groups, const struct job_part *more) {
    uint32_t place;
    struct job_part empty = {.kind = more->kind, .name = more->name};
    FORWARD(lookup_intern(&groups->place, hash_text((uint64_t)more->kind, more->name), place, groups->part,
                          groups->count, empty));
    struct job_part *part = &groups->part[place];
    size_t summed = part_tables[more->kind].summed;
    for (size_t i = 0; i < summed; i++) part->number[i] += more->number[i];
    for (size_t i = summed; i < PART_NUMBERS; i++) {
        if (more->number[i] > part->number[i]) part->number[i] = more->number[i];
    }
    return 0;
}

static const char *system_name(struct groups *groups, const struct log_file *file) {
    char name[MOST_NAME_BYTES];
    if (!file->mount && !file->fs_name) return JOB_UNKNOWN_SYSTEM;
    snprintf(name, sizeof name, "%s (%s)", file->mount ? file->mount : "?", file->fs_name ? file->fs_name : "?");
    return arena_text(&groups->names, name);
}

static int add_file(struct reading *reading, struct groups *files, struct groups *systems,
                    const struct summary_file *used) {
    const struct file_total *total = &reading->file[log_file_index(reading->log, used->file)];
    char name[MOST_NAME_BYTES];
    if (used->file->object) return 0; // its bytes are those of its file
    snprintf(name, sizeof name, "%s", used->file->name);
    file_rows_pattern(name);
    int64_t count = used->file->is_aggregate ? (int64_t)used->file->stands_for : 1;
    int64_t read = (int64_t)used->bytes[DIRECTION_READ], written = (int64_t)used->bytes[DIRECTION_WRITE];
    const struct job_part of_files = {PART_FILES,
                                      arena_text(&files->names, name),
                                      {count, (int64_t)used->opens, (int64_t)total->reads, (int64_t)total->writes, read,
                                       written, (int64_t)total->ns, (int64_t)used->processes}};
    const struct job_part of_system = {
        PART_SYSTEM, system_name(systems, used->file), {count, read, written, (int64_t)total->ns}};
    RETURN_IF(!of_files.name || !of_system.name, -ENOMEM);
    FORWARD(add_to_group(files, &of_files));
    return add_to_group(systems, &of_system);
}

static int compare_groups(const void *a, const void *b) {
    const struct job_part *left = a, *right = b;
    unsigned time = left->kind == PART_FILES ? 6 : 3, bytes = left->kind == PART_FILES ? 4 : 1;
    int64_t left_bytes = left->number[bytes] + left->number[bytes + 1];
    int64_t right_bytes = right->number[bytes] + right->number[bytes + 1];
    if (left->number[time] != right->number[time]) return left->number[time] > right->number[time] ? -1 : 1;
    if (left_bytes != right_bytes) return left_bytes > right_bytes ? -1 : 1;
    return strcmp(left->name, right->name);
}

// The groups with the most time; what is left is one group.
static int keep_groups(struct job *job, struct groups *groups, size_t most, const char *others) {
    if (groups->count) qsort(groups->part, groups->count, sizeof *groups->part, compare_groups);
    size_t kept = groups->count <= most ? groups->count : most - 1;
    struct job_part rest = {.kind = groups->count ? groups->part[0].kind : PART_FILES, .name = others};
    for (size_t i = 0; i < groups->count; i++) {
        if (i < kept) FORWARD(job_add_part(job, &groups->part[i]));
        for (size_t k = 0; i >= kept && k < part_tables[rest.kind].summed; k++)
            rest.number[k] += groups->part[i].number[k];
    }
    return kept < groups->count ? job_add_part(job, &rest) : 0;
}

static void groups_free(struct groups *groups) {
    free(groups->part);
    lookup_free(&groups->place);
    arena_free(&groups->names);
}

static int add_files(struct reading *reading) {
    struct groups files = {0}, systems = {0};
    int code = 0;
    for (size_t i = 0; i < reading->summary.file_count && code == 0; i++)
        code = add_file(reading, &files, &systems, &reading->summary.files[i]);
    if (code == 0) code = keep_groups(reading->job, &files, JOB_FILE_GROUPS, JOB_OTHER_FILES);
    if (code == 0) code = keep_groups(reading->job, &systems, JOB_SYSTEMS, JOB_UNKNOWN_SYSTEM);
    groups_free(&files);
    groups_free(&systems);
    return code;
}

static int read_log(struct reading *reading, const struct summary_source *source) {
    reading->file = calloc(log_file_count(source->log) + 1, sizeof *reading->file);
    RETURN_IF(!reading->file, -ENOMEM);
    FORWARD(visit(reading, source));
    FORWARD(add_texts(reading));
    add_numbers(reading);
    FORWARD(add_layers(reading));
    FORWARD(add_files(reading));
    return add_findings(reading);
}

int job_read(struct job *job, const char *path, struct problem *problem) {
    *job = (struct job){0};
    struct summary_source source = {.path = path};
    FORWARD(pack_open_log(&source.log, path, &source.from_spills, problem));
    struct reading *reading = calloc(1, sizeof *reading);
    int code = -ENOMEM;
    if (reading) {
        *reading = (struct reading){.job = job, .log = source.log};
        code = read_log(reading, &source);
        findings_free(&reading->findings);
        summary_free(&reading->summary);
        facts_free(&reading->facts);
        free(reading->file);
    }
    free(reading);
    log_close(source.log);
    return code < 0 ? problem_code(problem, code, path) : 0;
}
