#include "report/layers.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"

int layers_init(struct layers *layers, struct log *log)
{
    *layers = (struct layers){.log = log, .call_ids = log_call_ids(log)};
    layers->process = calloc(log_process_count(log) + 1, sizeof *layers->process);
    layers->call = calloc((size_t)layers->call_ids + 1, sizeof *layers->call);
    RETURN_IF(!layers->process || !layers->call, -ENOMEM);
    return 0;
}

void layers_free(struct layers *layers)
{
    free(layers->process);
    free(layers->call);
}

static void note_slow(struct layers *layers, const struct log_event *event)
{
    size_t at = layers->slow_count;
    if (at == LAYERS_SLOWEST && event->duration_ns <= layers->slow[at - 1].duration_ns) return;
    if (at == LAYERS_SLOWEST) at--;
    for (; at > 0 && layers->slow[at - 1].duration_ns < event->duration_ns; at--)
        layers->slow[at] = layers->slow[at - 1];
    layers->slow[at] = (struct layer_slow){event->id, event->process, event->start_ns, event->duration_ns};
    if (layers->slow_count < LAYERS_SLOWEST) layers->slow_count++;
}

// What a call takes from the one around it: children of a nonblocking call may outlast it.
static void take_from_parent(struct layers *layers, const struct log_step *step, struct layer_process *process)
{
    const struct log_event *event = step->event;
    const struct log_call *call = event->call, *around = step->parent->call;
    process->of[around->layer].exclusive_ns -= event->duration_ns;
    if (around->id >= layers->call_ids) return;
    struct layer_call *sum = &layers->call[around->id];
    sum->exclusive_ns -= event->duration_ns;
    sum->below[call->layer].ns += event->duration_ns;
    sum->below[call->layer].calls++;
    if (log_class_moves(call->class)) sum->below[call->layer].bytes += log_event_bytes(event);
}

void layers_take(struct layers *layers, const struct log_step *step)
{
    const struct log_event *event = step->event;
    const struct log_call *call = event->call;
    struct layer_process *process = &layers->process[log_process_index(layers->log, event->process)];
    if (event->process->is_launcher) return;
    struct layer_time *time = &process->of[call->layer];
    // A layer's calls inside each other (copies and their transfers) are one call of it.
    bool inner = step->parent && step->parent->call->layer == call->layer;
    time->inclusive_ns += inner ? 0 : event->duration_ns;
    time->exclusive_ns += event->duration_ns;
    time->calls++;
    if (step->is_own) process->own_ns += log_event_busy_ns(event);
    if (step->is_own) note_slow(layers, event);
    if (step->parent) take_from_parent(layers, step, process);
    if (call->id >= layers->call_ids) return;
    struct layer_call *sum = &layers->call[call->id];
    sum->inclusive_ns += event->duration_ns;
    sum->exclusive_ns += event->duration_ns;
    sum->calls++;
    if (log_class_moves(call->class)) sum->bytes += log_event_bytes(event);
    if (event->duration_ns > sum->longest_ns) sum->longest_ns = event->duration_ns;
}
