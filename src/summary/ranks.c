// How the ranks spent their time: in I/O, in communication, and the rest.
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "log/comm.h"
#include "log/iter.h"
#include "summary/summary.h"

// Of one process, while events are read.
struct process_time {
    int64_t io_ns;
    int64_t busy_until_ns; // simultaneous calls of several threads count once
    int64_t last_end_ns;
    int64_t comm_ns;
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
static void add_event(struct process_time *time, const struct log_event *event)
{
    int64_t end_ns = event->start_ns + event->duration_ns;
    if (end_ns > time->last_end_ns) time->last_end_ns = end_ns;
    if (event->has_parent) return;
    if (event->call->traits & CALL_ASYNC) {
        time->io_ns += event->call_time_ns;
        return;
    }
    if (end_ns <= time->busy_until_ns) return;
    time->io_ns += end_ns - (event->start_ns > time->busy_until_ns ? event->start_ns : time->busy_until_ns);
    time->busy_until_ns = end_ns;
}

static int add_events(struct info *info, struct process_time *times)
{
    const struct log_filter everything = {0};
    const struct log_event *event;
    struct log_iter *iter;
    FORWARD(log_iter_open(&iter, info->log, &everything));
    int more, code = 0;
    while (code == 0 && (more = log_iter_next(iter, &event)) > 0) {
        if (event->process->has_rank) add_event(&times[log_process_index(info->log, event->process)], event);
        code = mpi_files_add(&info->mpi_files, event);
    }
    log_iter_close(iter);
    mpi_files_sort(&info->mpi_files);
    return code < 0 ? code : more;
}

struct comm_sum {
    const struct log *log;
    struct process_time *times;
};

static int add_comm(const struct log_comm *comm, void *context)
{
    const struct comm_sum *sum = context;
    sum->times[log_process_index(sum->log, comm->process)].comm_ns += comm->time_ns;
    return 0;
}

static int64_t end_of(const struct info *info, const struct log_process *process, const struct process_time *time)
{
    if (process->has_end) return process->end_ns;
    int64_t job_end_ns = log_run_ns(info->log);
    return job_end_ns > time->last_end_ns ? job_end_ns : time->last_end_ns;
}

static struct info_rank rank_of(const struct info *info, const struct log_process *process,
                                const struct process_time *time)
{
    int64_t run_ns = end_of(info, process, time) - process->start_ns;
    int64_t io_ns = time->io_ns + process->io_ns;
    if (run_ns < 0) run_ns = 0;
    // Threads may do I/O and communicate at the same time.
    int64_t rest_ns = run_ns > io_ns + time->comm_ns ? run_ns - io_ns - time->comm_ns : 0;
    return (struct info_rank){.process = process,
                              .known = process->io_known || !process->trace_ended,
                              .ns = {run_ns, io_ns, time->comm_ns, rest_ns}};
}

static int gather_times(struct info *info, struct process_time *times)
{
    struct comm_sum sum = {info->log, times};
    FORWARD(add_events(info, times));
    FORWARD(log_comm(info->log, NULL, add_comm, &sum));
    for (size_t i = 0; i < info->rank_count; i++) {
        const struct log_process *process = info->processes[i];
        info->ranks[i] = rank_of(info, process, &times[log_process_index(info->log, process)]);
    }
    return 0;
}

int info_list_ranks(struct info *info)
{
    static const struct process_time nothing;
    FORWARD(order_processes(info));
    info->ranks = calloc(info->rank_count + 1, sizeof *info->ranks);
    RETURN_IF(!info->ranks, -ENOMEM);
    for (size_t i = 0; i < info->rank_count; i++) {
        info->ranks[i] = rank_of(info, info->processes[i], &nothing);
        info->ranks[i].known = false;
    }
    return 0;
}

int info_gather_ranks(struct info *info)
{
    FORWARD(info_list_ranks(info));
    if (!info->rank_count) return 0;
    struct process_time *times = calloc(log_process_count(info->log), sizeof *times);
    int code = times ? gather_times(info, times) : -ENOMEM;
    free(times);
    return code;
}
