// The processes: how the ranks spent their time, and the application's I/O in a few numbers.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "summary/summary.h"

// --- while the events are read, several processes at a time

// A call made inside another is part of it. An asynchronous request counts only its time inside calls.
static void add_time(struct summary_process *process, const struct log_event *event) {
    int64_t end_ns = event->start_ns + event->duration_ns;
    if (end_ns > process->last_end_ns) process->last_end_ns = end_ns;
    if (event->has_parent) return;
    process->calls++;
    if (event->call->traits & CALL_ASYNC) {
        process->io_ns += log_event_call_ns(event);
    } else if (end_ns > process->busy_until_ns) {
        bool overlaps = event->start_ns < process->busy_until_ns;
        process->io_ns += end_ns - (overlaps ? process->busy_until_ns : event->start_ns);
        process->busy_until_ns = end_ns;
    }
}

static void add_bytes(struct summary_process *process, const struct log_event *event) {
    unsigned direction = event->call->class == CLASS_WRITE ? DIRECTION_WRITE : DIRECTION_READ;
    if (event->moves) process->bytes[direction] += log_event_bytes(event);
    bool is_uncounted = event->call->traits & CALL_UNCOUNTED && event->call->layer == LAYER_POSIX;
    if (is_uncounted && log_class_moves(event->call->class) && !event->raw.error)
        process->uncounted[direction] += log_event_bytes(event);
}

static int add_events(void *state, const struct log_event *event, size_t count) {
    struct summary_process *process = state;
    for (size_t i = 0; i < count; i++) {
        add_time(process, &event[i]);
        add_bytes(process, &event[i]);
        if (process->summary->rank_count) FORWARD(mpi_files_add(&process->summary->mpi_files, &event[i]));
    }
    return 0;
}

static int add_comm(void *state, const struct log_comm *comm, size_t count) {
    struct summary_process *process = state;
    for (size_t i = 0; i < count; i++) process->comm_ns += comm[i].time_ns;
    return 0;
}

static int begin(void *context, const struct log_process *process, void **state) {
    struct summary *summary = context;
    *state = &summary->process[log_process_index(summary->log, process)];
    return 0;
}

// Ranks by world and rank, then the others in the order of the log's table.
static int compare_processes(const void *a, const void *b) {
    const struct log_process *left = *(const struct log_process *const *)a;
    const struct log_process *right = *(const struct log_process *const *)b;
    int order = log_process_compare(left, right);
    return order ? order : left < right ? -1 : left > right;
}

int summary_begin_processes(struct summary *summary, struct log_consumer *consumer) {
    size_t count = log_process_count(summary->log);
    summary->process = calloc(count + 1, sizeof *summary->process);
    summary->processes = calloc(count + 1, sizeof *summary->processes);
    summary->ranks = calloc(count + 1, sizeof *summary->ranks);
    RETURN_IF(!summary->process || !summary->processes || !summary->ranks, -ENOMEM);
    for (size_t i = 0; i < count; i++) {
        summary->process[i].summary = summary;
        summary->processes[i] = log_process_at(summary->log, i);
        summary->rank_count += summary->processes[i]->has_rank;
    }
    qsort(summary->processes, count, sizeof *summary->processes, compare_processes);
    *consumer = (struct log_consumer){
        .context = summary, .begin = begin, .events = add_events, .comm = summary->rank_count ? add_comm : NULL};
    return 0;
}

// --- afterwards

static struct summary_rank rank_of(const struct summary *summary, const struct log_process *process) {
    const struct summary_process *own = &summary->process[log_process_index(summary->log, process)];
    int64_t job_end_ns = log_run_ns(summary->log);
    int64_t end_ns = process->has_end ? process->end_ns : job_end_ns > own->last_end_ns ? job_end_ns : own->last_end_ns;
    int64_t run_ns = end_ns > process->start_ns ? end_ns - process->start_ns : 0;
    int64_t io_ns = own->io_ns + process->io_ns;
    // Threads may do I/O and communicate at the same time.
    int64_t rest_ns = run_ns > io_ns + own->comm_ns ? run_ns - io_ns - own->comm_ns : 0;
    return (struct summary_rank){.process = process,
                                 .known = process->io_known || !process->trace_ended,
                                 .ns = {run_ns, io_ns, own->comm_ns, rest_ns}};
}

bool summary_counts_process(const struct log *log, const struct log_process *process) {
    return !process->is_launcher && (process->has_rank || !log_world_count(log));
}

// Programs that one process executed are adjacent.
static int compare_images(const void *a, const void *b) {
    const struct log_process *left = *(const struct log_process *const *)a;
    const struct log_process *right = *(const struct log_process *const *)b;
    if (left->pid != right->pid) return left->pid < right->pid ? -1 : 1;
    return strcmp(left->host ? left->host : "", right->host ? right->host : "");
}

// Adds all programs of the process that begins at `first`. Returns where the next process begins.
static size_t add_process(struct summary *summary, const struct log_process **image, size_t first, double *sum_ns) {
    struct summary_totals *totals = &summary->totals;
    int64_t io_ns = 0;
    bool did_io = false;
    size_t i = first;
    for (; i < log_process_count(summary->log) && !compare_images(&image[first], &image[i]); i++) {
        const struct summary_process *own = &summary->process[log_process_index(summary->log, image[i])];
        for (unsigned direction = 0; direction < DIRECTION_COUNT && !image[i]->is_launcher; direction++)
            totals->bytes[direction] += own->bytes[direction];
        if (!image[i]->is_launcher) totals->calls += own->calls;
        if (!summary_counts_process(summary->log, image[i])) continue;
        io_ns += own->io_ns + image[i]->io_ns;
        did_io = did_io || own->calls || image[i]->io_ns;
    }
    totals->processes += did_io;
    *sum_ns += (double)io_ns;
    if (io_ns > totals->io_most_ns) totals->io_most_ns = io_ns;
    return i;
}

static int add_totals(struct summary *summary) {
    struct summary_totals *totals = &summary->totals;
    size_t count = log_process_count(summary->log);
    const struct log_process **image = calloc(count + 1, sizeof *image);
    RETURN_IF(!image, -ENOMEM);
    for (size_t i = 0; i < count; i++) image[i] = log_process_at(summary->log, i);
    qsort(image, count, sizeof *image, compare_images);
    double sum_ns = 0;
    for (size_t first = 0; first < count;) first = add_process(summary, image, first, &sum_ns);
    free(image);
    totals->run_ns = log_run_ns(summary->log);
    totals->io_mean_ns = totals->processes ? (int64_t)(sum_ns / (double)totals->processes) : 0;
    totals->io_share = -1;
    if (totals->processes && totals->run_ns > 0) {
        double share = (double)totals->io_mean_ns / (double)totals->run_ns;
        totals->io_share = share < 1 ? share : 1;
    }
    return 0;
}

int summary_finish_processes(struct summary *summary) {
    for (size_t i = 0; i < summary->rank_count; i++) summary->ranks[i] = rank_of(summary, summary->processes[i]);
    for (size_t i = 0; i < log_process_count(summary->log); i++)
        coverage_subtract(&summary->coverage, summary->process[i].uncounted);
    mpi_files_sort(&summary->mpi_files);
    return add_totals(summary);
}
