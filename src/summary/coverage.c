#include "summary/coverage.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "log/iter.h"

void coverage_add(struct coverage *coverage, const struct log_stats_record *record)
{
    // Bytes of stdio calls are what the program asked libc for; what reached the kernel the processes' records say.
    uint64_t *bytes = record->layer == LAYER_STDIO ? coverage->stdio_asked : coverage->captured;
    if (record->layer != LAYER_POSIX && record->layer != LAYER_STDIO) return;
    bytes[DIRECTION_READ] += record->counters.value[COUNTER_BYTES_READ];
    bytes[DIRECTION_WRITE] += record->counters.value[COUNTER_BYTES_WRITTEN];
    if (record->layer == LAYER_POSIX) coverage->mappings += record->counters.value[COUNTER_MMAPS];
}

static bool has_uncounted_calls(const struct log *log)
{
    for (uint32_t id = 0; id < log_call_ids(log); id++) {
        const struct log_call *call = log_call_seen(log, id);
        if (call && call->traits & CALL_UNCOUNTED) return true;
    }
    return false;
}

// Takes out what went through calls that the kernel does not count. Most logs have none and are not read again.
static int subtract_uncounted(struct coverage *coverage, struct log *log)
{
    if (!has_uncounted_calls(log)) return 0;
    const struct log_filter filter = {.layers = 1u << LAYER_POSIX, .classes = 1u << CLASS_READ | 1u << CLASS_WRITE};
    struct log_iter *iter;
    const struct log_event *event;
    FORWARD(log_iter_open(&iter, log, &filter));
    int code;
    while ((code = log_iter_next(iter, &event)) > 0) {
        bool moved = event->raw.has_result && !event->raw.error && event->raw.result > 0;
        if (!moved || !(event->call->traits & CALL_UNCOUNTED)) continue;
        unsigned direction = event->call->class == CLASS_WRITE ? DIRECTION_WRITE : DIRECTION_READ;
        uint64_t *captured = &coverage->captured[direction];
        uint64_t bytes = (uint64_t)event->raw.result < *captured ? (uint64_t)event->raw.result : *captured;
        *captured -= bytes;
        coverage->uncounted[direction] += bytes;
    }
    log_iter_close(iter);
    return code;
}

static int compare_pids(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

// Without `record`'s own count: a process's count includes the children it reaped, so only the topmost ones are summed.
static int total_from_processes(struct coverage *coverage, const struct log *log)
{
    size_t count = log_process_count(log);
    if (!count) return 0;
    uint32_t *pids = malloc(count * sizeof *pids);
    RETURN_IF(!pids, -ENOMEM);
    for (size_t i = 0; i < count; i++) pids[i] = log_process_at(log, i)->pid;
    qsort(pids, count, sizeof *pids, compare_pids);
    coverage->known = true;
    for (size_t i = 0; i < count; i++) {
        const struct log_process *process = log_process_at(log, i);
        if (bsearch(&process->ppid, pids, count, sizeof *pids, compare_pids)) continue;
        coverage->known = coverage->known && process->chars_known;
        coverage->total[DIRECTION_READ] += process->read_chars + process->load_read_chars;
        coverage->total[DIRECTION_WRITE] += process->write_chars + process->load_write_chars;
    }
    free(pids);
    return 0;
}

static void add_process(struct coverage *coverage, const struct log_process *process)
{
    coverage->stdio_kernel[DIRECTION_READ] += process->stdio_kernel_read;
    coverage->stdio_kernel[DIRECTION_WRITE] += process->stdio_kernel_write;
    coverage->captured[DIRECTION_READ] += process->stdio_kernel_read;
    coverage->captured[DIRECTION_WRITE] += process->stdio_kernel_write;
    coverage->raw_rings += process->raw_rings;
    coverage->loading[DIRECTION_READ] += process->load_read_chars;
    coverage->loading[DIRECTION_WRITE] += process->load_write_chars;
    coverage->left_out_sum[DIRECTION_READ] += process->load_read_chars;
    coverage->left_out_sum[DIRECTION_WRITE] += process->load_write_chars;
    for (unsigned reason = 0; reason < LEFT_OUT_COUNT; reason++) {
        coverage->left_out[DIRECTION_READ][reason] += process->left_out_read[reason];
        coverage->left_out[DIRECTION_WRITE][reason] += process->left_out_write[reason];
        coverage->left_out_sum[DIRECTION_READ] += process->left_out_read[reason];
        coverage->left_out_sum[DIRECTION_WRITE] += process->left_out_write[reason];
    }
}

int coverage_finish(struct coverage *coverage, struct log *log)
{
    const struct log_job *job = log_job(log);
    FORWARD(subtract_uncounted(coverage, log));
    for (size_t i = 0; i < log_process_count(log); i++) add_process(coverage, log_process_at(log, i));
    if (!job->chars_known) return total_from_processes(coverage, log);
    coverage->known = true;
    coverage->total[DIRECTION_READ] = job->read_chars;
    coverage->total[DIRECTION_WRITE] = job->write_chars;
    return 0;
}

bool coverage_fraction(const struct coverage *coverage, unsigned direction, double *fraction)
{
    uint64_t accounted = coverage->captured[direction] + coverage->left_out_sum[direction];
    uint64_t total = coverage->total[direction];
    if (!coverage->known || (total == 0 && accounted > 0)) return false;
    *fraction = total ? (double)accounted / (double)total : 1;
    return true;
}

uint64_t coverage_remainder(const struct coverage *coverage, unsigned direction)
{
    uint64_t explained = coverage->captured[direction] + coverage->left_out_sum[direction];
    uint64_t total = coverage->total[direction];
    return coverage->known && total > explained ? total - explained : 0;
}
