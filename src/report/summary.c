#include "report/summary.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"

int summary_init(struct summary *summary, const struct log *log)
{
    *summary = (struct summary){.log = log};
    summary->process = calloc(log_process_count(log) + 1, sizeof *summary->process);
    RETURN_IF(!summary->process, -ENOMEM);
    return 0;
}

void summary_free(struct summary *summary)
{
    free(summary->process);
}

// Adds what of a call comes after all those before it.
static int64_t add_time(int64_t *until_ns, int64_t start_ns, int64_t end_ns)
{
    if (end_ns <= *until_ns) return 0;
    int64_t added_ns = end_ns - (start_ns > *until_ns ? start_ns : *until_ns);
    *until_ns = end_ns;
    return added_ns;
}

void summary_take(struct summary *summary, const struct log_step *step)
{
    const struct log_event *event = step->event;
    struct summary_process *process = &summary->process[log_process_index(summary->log, event->process)];
    int64_t end_ns = event->start_ns + event->duration_ns;
    if (event->process->is_launcher) return;
    if (step->moves) {
        unsigned direction = event->call->class == CLASS_WRITE;
        uint64_t bytes = log_event_bytes(event);
        summary->bytes[direction] += bytes;
        process->bytes[direction] += bytes;
        summary->transfer_ns += add_time(&summary->transfer_until_ns, event->start_ns, end_ns);
    }
    if (!step->is_own) return;
    summary->calls++;
    process->calls++;
    process->io_ns += event->call->traits & CALL_ASYNC ? event->call_time_ns
                                                       : add_time(&process->busy_until_ns, event->start_ns, end_ns);
}

bool summary_counts(const struct log *log, const struct log_process *process)
{
    return !process->is_launcher && (process->has_rank || !log_world_count(log));
}

static int64_t job_ns(const struct summary *summary)
{
    const struct log_job *job = log_job(summary->log);
    int64_t end_ns = job->end_ns > job->start_ns ? (int64_t)(job->end_ns - job->start_ns) : 0;
    for (size_t i = 0; i < log_process_count(summary->log); i++) {
        const struct log_process *process = log_process_at(summary->log, i);
        if (process->has_end && process->end_ns > end_ns) end_ns = process->end_ns;
        if (summary->process[i].busy_until_ns > end_ns) end_ns = summary->process[i].busy_until_ns;
    }
    return end_ns;
}

void summary_finish(struct summary *summary)
{
    double share = 0, sum_ns = 0;
    summary->run_ns = job_ns(summary);
    for (size_t i = 0; i < log_process_count(summary->log); i++) {
        const struct log_process *process = log_process_at(summary->log, i);
        struct summary_process *own = &summary->process[i];
        own->io_ns += process->io_ns;
        if (!summary_counts(summary->log, process) || (!own->calls && !process->io_ns)) continue;
        int64_t run_ns = (process->has_end ? process->end_ns : summary->run_ns) - process->start_ns;
        if (run_ns < own->io_ns) run_ns = own->io_ns;
        summary->processes++;
        sum_ns += (double)own->io_ns;
        share += run_ns > 0 ? (double)own->io_ns / (double)run_ns : 0;
        if (own->io_ns > summary->io_most_ns) summary->io_most_ns = own->io_ns;
    }
    double processes = (double)summary->processes;
    summary->io_mean_ns = summary->processes ? (int64_t)(sum_ns / processes) : 0;
    summary->io_share = summary->processes ? share / processes : -1;
}
