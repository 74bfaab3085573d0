#include "summary/coverage.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/human.h"
#include "log/describe.h"

void coverage_add(struct coverage *coverage, const struct log_stats_record *record) {
    // The bytes of stdio calls are what the program asked libc for. The processes' records have what reached the
    // kernel.
    uint64_t *bytes = record->layer == LAYER_STDIO ? coverage->stdio_asked : coverage->captured;
    if (record->layer != LAYER_POSIX && record->layer != LAYER_STDIO) return;
    bytes[DIRECTION_READ] += record->counters.value[COUNTER_BYTES_READ];
    bytes[DIRECTION_WRITE] += record->counters.value[COUNTER_BYTES_WRITTEN];
    if (record->layer == LAYER_POSIX) coverage->mappings += record->counters.value[COUNTER_MMAPS];
}

void coverage_subtract(struct coverage *coverage, const uint64_t uncounted[DIRECTION_COUNT]) {
    for (unsigned direction = 0; direction < DIRECTION_COUNT; direction++) {
        uint64_t *captured = &coverage->captured[direction];
        uint64_t bytes = uncounted[direction] < *captured ? uncounted[direction] : *captured;
        *captured -= bytes;
        coverage->uncounted[direction] += bytes;
    }
}

static int by_pid(const void *a, const void *b) {
    const struct log_process *const *one = a, *const *other = b;
    return ((*one)->pid > (*other)->pid) - ((*one)->pid < (*other)->pid);
}

static bool ended_after(const struct log_process *process, const struct log_process *other) {
    return other->has_end && (!process->has_end || process->end_ns > other->end_ns);
}

// Whether the parent of a process could reap it: a daemon's parent ends before it. `sorted`: all processes by pid, once
// for each program that they ran.
static bool has_reaper(const struct log_process *process, const struct log_process **sorted, size_t count) {
    const struct log_process parent = {.pid = process->ppid}, *key = &parent;
    if (process->group) return process->group->is_reaped;
    if (!process->ppid) return false; // not known
    const struct log_process **found = bsearch(&key, sorted, count, sizeof *sorted, by_pid);
    if (!found) return false;
    while (found > sorted && found[-1]->pid == parent.pid) found--;
    for (; found < sorted + count && (*found)->pid == parent.pid; found++) {
        if (!ended_after(process, *found)) return true;
    }
    return false;
}

// For logs without the count that `record` made. The count of a process includes the children it reaped, so this sums
// only processes that no process in the log reaped.
static int total_from_processes(struct coverage *coverage, const struct log *log) {
    size_t count = log_process_count(log);
    if (!count) return 0;
    const struct log_process **sorted = malloc(count * sizeof *sorted);
    RETURN_IF(!sorted, -ENOMEM);
    for (size_t i = 0; i < count; i++) sorted[i] = log_process_at(log, i);
    qsort(sorted, count, sizeof *sorted, by_pid);
    coverage->known = true;
    for (size_t i = 0; i < count; i++) {
        const struct log_process *process = sorted[i];
        if (has_reaper(process, sorted, count)) continue;
        coverage->known = coverage->known && process->chars_known;
        for (unsigned direction = 0; direction < DIRECTION_COUNT; direction++)
            coverage->total[direction] += process->chars[direction] + process->load_chars[direction];
    }
    free(sorted);
    return 0;
}

// The estimate is made when a mapping or its process ends, unless that was killed or still runs.
static bool missed_mappings(const struct log *log) {
    for (size_t i = 0; i < log_process_count(log); i++) {
        const struct log_process *process = log_process_at(log, i);
        bool is_abort = process->exit == EXIT_SIGNAL && process->exit_value == SIGABRT;
        if (process->via == VIA_PTRACE) return true; // followed: the end of its mappings is not seen
        if (process->exit != EXIT_CLEAN && process->exit != EXIT_UNDERSCORE && process->exit != EXIT_EXEC && !is_abort)
            return true;
    }
    for (size_t i = 0; i < log_loss_count(log); i++) {
        if (log_loss_at(log, i)->reason == LOSS_MAPPINGS) return true;
    }
    for (size_t i = 0; i < log_mapped_count(log); i++) {
        if (log_mapped_at(log, i)->bytes[MAPPED_MISSED]) return true;
    }
    return false;
}

static void add_process(struct coverage *coverage, const struct log_process *process) {
    coverage->raw_rings += process->raw_rings;
    for (unsigned direction = 0; direction < DIRECTION_COUNT; direction++) {
        coverage->stdio_kernel[direction] += process->stdio_kernel[direction];
        coverage->captured[direction] += process->stdio_kernel[direction];
        coverage->loading[direction] += process->load_chars[direction];
        coverage->left_out_sum[direction] += process->load_chars[direction];
        for (unsigned reason = 0; reason < LEFT_OUT_COUNT; reason++) {
            coverage->left_out[direction][reason] += process->left_out[direction][reason];
            coverage->left_out_sum[direction] += process->left_out[direction][reason];
        }
    }
}

int coverage_finish(struct coverage *coverage, const struct log *log) {
    const struct log_job *job = log_job(log);
    for (size_t i = 0; i < log_process_count(log); i++) add_process(coverage, log_process_at(log, i));
    coverage->mapped_unknown = coverage->mappings && (log_mapped_count(log) == 0 || missed_mappings(log));
    if (!job->chars_known) return total_from_processes(coverage, log);
    coverage->known = true;
    memcpy(coverage->total, job->chars, sizeof coverage->total);
    return 0;
}

bool coverage_fraction(const struct coverage *coverage, unsigned direction, double *fraction) {
    uint64_t accounted = coverage->captured[direction] + coverage->left_out_sum[direction];
    uint64_t total = coverage->total[direction];
    if (!coverage->known || (total == 0 && accounted > 0)) return false;
    *fraction = total ? (double)accounted / (double)total : 1;
    return true;
}

uint64_t coverage_remainder(const struct coverage *coverage, unsigned direction) {
    uint64_t explained = coverage->captured[direction] + coverage->left_out_sum[direction];
    uint64_t total = coverage->total[direction];
    return coverage->known && total > explained ? total - explained : 0;
}

static void add_part(struct coverage_parts *parts, bool exists, struct coverage_part part) {
    if (exists) parts->part[parts->count++] = part;
}

// If stdio read ahead or served data from its buffers, its bytes differ from those of the files and are a separate
// part. The sum of the recorded parts is then the sum over the files.
static void list_recorded(const struct coverage *coverage, int direction, struct coverage_parts *parts) {
    static const char
        by_stdio[] = "in this log, by stdio; the program asked for %s",
        by_rings[] = "in this log, asynchronously: the kernel does not count these, so no share above contains them";
    uint64_t asked = coverage->stdio_asked[direction], stdio = coverage->stdio_kernel[direction];
    uint64_t direct = coverage->captured[direction] - (asked != stdio ? stdio : 0);
    uint64_t uncounted = coverage->uncounted[direction];
    char *reason = parts->stdio_reason[direction];
    snprintf(reason, sizeof parts->stdio_reason[direction], by_stdio, human_bytes(asked).text);
    add_part(parts, direct, (struct coverage_part){COVERAGE_RECORDED, direction, direct, "in this log"});
    add_part(parts, asked != stdio, (struct coverage_part){COVERAGE_RECORDED, direction, stdio, reason});
    add_part(parts, uncounted, (struct coverage_part){COVERAGE_RECORDED, direction, uncounted, by_rings});
}

static void list_mapped(const struct coverage *coverage, struct coverage_parts *parts) {
    static const struct coverage_part row[] = {
        [MAPPED_READ] = {COVERAGE_ESTIMATED, DIRECTION_READ, 0, "through mappings of files (mmap): pages brought in"},
        [MAPPED_DIRTY] = {COVERAGE_ESTIMATED, DIRECTION_WRITE, 0, "through shared mappings: pages changed"},
    };
    for (unsigned kind = 0; kind < sizeof row / sizeof *row; kind++) { // copies reach no file
        struct coverage_part part = row[kind];
        part.bytes = coverage->mapped[kind];
        add_part(parts, part.bytes, part);
    }
}

void coverage_list(const struct coverage *coverage, bool is_damaged, struct coverage_parts *parts) {
    static const char loading[] = "loading the programs, and the recorder itself",
                      damaged[] = "damaged parts that could not be read, and " COVERAGE_REMAINDER,
                      rings[] = "io_uring without liburing, which is not counted",
                      mappings[] = "memory accesses to mapped files (mmap), which are not counted";
    const char *unseen = is_damaged ? damaged : COVERAGE_REMAINDER;
    parts->count = 0;
    for (int direction = 0; direction < DIRECTION_COUNT; direction++) {
        uint64_t bytes;
        list_recorded(coverage, direction, parts);
        for (unsigned i = 0; i < LEFT_OUT_COUNT; i++) {
            bytes = coverage->left_out[direction][i];
            add_part(parts, bytes, (struct coverage_part){COVERAGE_LEFT_OUT, direction, bytes, describe_left_out(i)});
        }
        bytes = coverage->loading[direction];
        add_part(parts, bytes, (struct coverage_part){COVERAGE_LEFT_OUT, direction, bytes, loading});
        bytes = coverage_remainder(coverage, (unsigned)direction);
        add_part(parts, bytes, (struct coverage_part){COVERAGE_UNSEEN, direction, bytes, unseen});
    }
    add_part(parts, coverage->raw_rings, (struct coverage_part){COVERAGE_UNSEEN, -1, 0, rings});
    add_part(parts, coverage->mapped_unknown, (struct coverage_part){COVERAGE_UNSEEN, -1, 0, mappings});
    list_mapped(coverage, parts);
}
