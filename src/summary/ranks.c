// How the ranks spent their time: in I/O, in communication, and the rest.
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "summary/summary.h"

// Of one process, while events are read.
struct info_reading {
    struct info *info;
    bool has_rank;
    int64_t io_ns;
    int64_t busy_until_ns; // simultaneous calls of several threads count once
    int64_t last_end_ns;
    int64_t comm_ns;
    uint64_t uncounted[DIRECTION_COUNT]; // bytes of calls that the kernel does not count
};

// Ranks by world and rank, then the others in the order of the log's table.
static int compare_processes(const void *a, const void *b)
{
    const struct log_process *left = *(const struct log_process *const *)a;
    const struct log_process *right = *(const struct log_process *const *)b;
    if (left->world != right->world) return left->world < right->world ? -1 : 1;
    if (left->has_rank && left->rank != right->rank) return left->rank < right->rank ? -1 : 1;
    return left < right ? -1 : left > right;
}

static int order_processes(struct info *info)
{
    size_t count = log_process_count(info->log);
    info->processes = malloc((count + 1) * sizeof *info->processes);
    RETURN_IF(!info->processes, -ENOMEM);
    for (size_t i = 0; i < count; i++) {
        info->processes[i] = log_process_at(info->log, i);
        info->rank_count += info->processes[i]->has_rank;
    }
    if (count > 1) qsort(info->processes, count, sizeof *info->processes, compare_processes);
    return 0;
}

// A call made inside another is part of it. An asynchronous request counts only its time inside calls.
static void add_time(struct info_reading *reading, const struct log_event *event)
{
    int64_t end_ns = event->start_ns + event->duration_ns;
    if (end_ns > reading->last_end_ns) reading->last_end_ns = end_ns;
    if (event->has_parent) return;
    if (event->call->traits & CALL_ASYNC) {
        reading->io_ns += event->call_time_ns;
        return;
    }
    if (end_ns <= reading->busy_until_ns) return;
    reading->io_ns += end_ns - (event->start_ns > reading->busy_until_ns ? event->start_ns : reading->busy_until_ns);
    reading->busy_until_ns = end_ns;
}

static void add_uncounted(struct info_reading *reading, const struct log_event *event)
{
    if (event->call->layer != LAYER_POSIX || !log_class_moves(event->call->class) || event->raw.error) return;
    reading->uncounted[event->call->class == CLASS_WRITE ? DIRECTION_WRITE : DIRECTION_READ] += log_event_bytes(event);
}

static int add_events(void *state, const struct log_event *event, size_t count)
{
    struct info_reading *reading = state;
    struct info *info = reading->info;
    for (size_t i = 0; i < count; i++) {
        if (reading->has_rank) add_time(reading, &event[i]);
        if (event[i].call->traits & CALL_UNCOUNTED) add_uncounted(reading, &event[i]);
        if (event[i].call->layer == LAYER_MPIIO && event[i].raw.attribute_mask && info->rank_count) {
            pthread_mutex_lock(&info->mpi_files.lock); // processes are read in parallel
            int code = mpi_files_add(&info->mpi_files, &event[i]);
            pthread_mutex_unlock(&info->mpi_files.lock);
            FORWARD(code);
        }
    }
    return 0;
}

static int add_comm(void *state, const struct log_comm *comm, size_t count)
{
    struct info_reading *reading = state;
    for (size_t i = 0; i < count; i++) reading->comm_ns += comm[i].time_ns;
    return 0;
}

static int begin(void *context, const struct log_process *process, void **state)
{
    struct info *info = context;
    struct info_reading *reading = &info->reading[log_process_index(info->log, process)];
    *reading = (struct info_reading){.info = info, .has_rank = process->has_rank};
    *state = reading;
    return 0;
}

int info_begin_ranks(struct info *info, struct log_consumer *consumer)
{
    FORWARD(info_list_ranks(info));
    info->reading = calloc(log_process_count(info->log) + 1, sizeof *info->reading);
    RETURN_IF(!info->reading, -ENOMEM);
    *consumer = (struct log_consumer){
        .context = info, .begin = begin, .events = add_events, .comm = info->rank_count ? add_comm : NULL};
    return 0;
}

static int64_t end_of(const struct info *info, const struct log_process *process, const struct info_reading *reading)
{
    if (process->has_end) return process->end_ns;
    int64_t job_end_ns = log_run_ns(info->log);
    return job_end_ns > reading->last_end_ns ? job_end_ns : reading->last_end_ns;
}

static struct info_rank rank_of(const struct info *info, const struct log_process *process,
                                const struct info_reading *reading)
{
    int64_t run_ns = end_of(info, process, reading) - process->start_ns;
    int64_t io_ns = reading->io_ns + process->io_ns;
    if (run_ns < 0) run_ns = 0;
    // Threads may do I/O and communicate at the same time.
    int64_t rest_ns = run_ns > io_ns + reading->comm_ns ? run_ns - io_ns - reading->comm_ns : 0;
    return (struct info_rank){.process = process,
                              .known = process->io_known || !process->trace_ended,
                              .ns = {run_ns, io_ns, reading->comm_ns, rest_ns}};
}

int info_list_ranks(struct info *info)
{
    static const struct info_reading nothing;
    FORWARD(order_processes(info));
    info->ranks = calloc(info->rank_count + 1, sizeof *info->ranks);
    RETURN_IF(!info->ranks, -ENOMEM);
    for (size_t i = 0; i < info->rank_count; i++) {
        info->ranks[i] = rank_of(info, info->processes[i], &nothing);
        info->ranks[i].known = false;
    }
    return 0;
}

void info_finish_ranks(struct info *info)
{
    for (size_t i = 0; i < info->rank_count; i++) {
        const struct log_process *process = info->processes[i];
        info->ranks[i] = rank_of(info, process, &info->reading[log_process_index(info->log, process)]);
    }
    for (size_t i = 0; i < log_process_count(info->log); i++)
        coverage_subtract(&info->coverage, info->reading[i].uncounted);
    mpi_files_sort(&info->mpi_files);
}
