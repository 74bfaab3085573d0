#include "report/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

void summary_add(struct summary *summary, const struct log_event *event)
{
    if (event->moves && !event->process->is_launcher)
        summary->transfer_ns +=
            add_time(&summary->transfer_until_ns, event->start_ns, event->start_ns + event->duration_ns);
}

static int begin(void *context, const struct log_process *process, void **state)
{
    struct summary *summary = context;
    struct summary_process *own = &summary->process[log_process_index(summary->log, process)];
    own->is_launcher = process->is_launcher;
    *state = own;
    return 0;
}

static int add_events(void *state, const struct log_event *events, size_t count)
{
    struct summary_process *process = state;
    for (size_t i = 0; i < count && !process->is_launcher; i++) {
        const struct log_event *event = &events[i];
        if (event->moves) process->bytes[event->call->class == CLASS_WRITE] += log_event_bytes(event);
        if (event->has_parent) continue;
        process->calls++;
        process->io_ns += event->call->traits & CALL_ASYNC ? event->call_time_ns
                                                           : add_time(&process->busy_until_ns, event->start_ns,
                                                                      event->start_ns + event->duration_ns);
    }
    return 0;
}

struct log_consumer summary_consumer(struct summary *summary)
{
    return (struct log_consumer){.context = summary, .begin = begin, .events = add_events};
}

bool summary_counts(const struct log *log, const struct log_process *process)
{
    return !process->is_launcher && (process->has_rank || !log_world_count(log));
}

// Programs that a process went on to with exec come together.
static int compare_images(const void *a, const void *b)
{
    const struct log_process *left = *(const struct log_process *const *)a;
    const struct log_process *right = *(const struct log_process *const *)b;
    if (left->pid != right->pid) return left->pid < right->pid ? -1 : 1;
    return strcmp(left->host ? left->host : "", right->host ? right->host : "");
}

// All programs of one process; gives where the next one's begin.
static size_t add_process(struct summary *summary, const struct log_process **image, size_t first, double *sum_ns)
{
    int64_t io_ns = 0;
    bool did_io = false;
    size_t i = first;
    for (; i < log_process_count(summary->log) && !compare_images(&image[first], &image[i]); i++) {
        const struct summary_process *own = &summary->process[log_process_index(summary->log, image[i])];
        if (!summary_counts(summary->log, image[i])) continue;
        io_ns += own->io_ns + image[i]->io_ns;
        did_io = did_io || own->calls || image[i]->io_ns;
    }
    summary->processes += did_io;
    *sum_ns += (double)io_ns;
    if (io_ns > summary->io_most_ns) summary->io_most_ns = io_ns;
    return i;
}

int summary_finish(struct summary *summary)
{
    size_t count = log_process_count(summary->log);
    const struct log_process **image = calloc(count + 1, sizeof *image);
    RETURN_IF(!image, -ENOMEM);
    for (size_t i = 0; i < count; i++) {
        image[i] = log_process_at(summary->log, i);
        summary->calls += summary->process[i].calls;
        for (unsigned direction = 0; direction < 2; direction++)
            summary->bytes[direction] += summary->process[i].bytes[direction];
    }
    qsort(image, count, sizeof *image, compare_images);
    double sum_ns = 0;
    for (size_t first = 0; first < count;) first = add_process(summary, image, first, &sum_ns);
    free(image);
    summary->run_ns = log_run_ns(summary->log);
    summary->io_mean_ns = summary->processes ? (int64_t)(sum_ns / (double)summary->processes) : 0;
    summary->io_share = -1;
    if (summary->processes && summary->run_ns > 0) {
        double share = (double)summary->io_mean_ns / (double)summary->run_ns;
        summary->io_share = share < 1 ? share : 1;
    }
    return 0;
}
