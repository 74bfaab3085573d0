#include "report/layers.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"

int layers_init(struct layers *layers, struct log *log) {
    *layers = (struct layers){.log = log, .call_ids = log_call_ids(log)};
    layers->process = calloc(log_process_count(log) + 1, sizeof *layers->process);
    layers->call = calloc((size_t)layers->call_ids + 1, sizeof *layers->call);
    RETURN_IF(!layers->process || !layers->call, -ENOMEM);
    return 0;
}

void layers_free(struct layers *layers) {
    free(layers->process);
    free(layers->call);
}

// --- the longest calls

static bool comes_before(const struct layer_slow *a, const struct layer_slow *b) {
    if (a->duration_ns != b->duration_ns) return a->duration_ns > b->duration_ns;
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->id < b->id;
}

static void add_slow(struct layer_slowest *slow, struct layer_slow call) {
    size_t at = slow->count;
    if (at == LAYERS_SLOWEST && !comes_before(&call, &slow->of[at - 1])) return;
    if (at == LAYERS_SLOWEST) at--;
    for (; at > 0 && comes_before(&call, &slow->of[at - 1]); at--) slow->of[at] = slow->of[at - 1];
    slow->of[at] = call;
    if (slow->count < LAYERS_SLOWEST) slow->count++;
}

// --- one process

struct reading {
    struct layers *layers;
    struct layer_process *process;
    struct layer_call **call; // by the log's id; allocated on first use
    struct layer_slowest slow;
    int64_t slow_ns; // shorter calls are not among the slowest
};

static void discard(void *state) {
    struct reading *reading = state;
    for (uint32_t id = 0; reading->call && id < reading->layers->call_ids; id++) free(reading->call[id]);
    free(reading->call);
    free(reading);
}

static int begin(void *context, const struct log_process *process, void **state) {
    struct layers *layers = context;
    if (process->is_launcher) return 0;
    struct reading *reading = calloc(1, sizeof *reading);
    RETURN_IF(!reading, -ENOMEM);
    *state = reading;
    reading->layers = layers;
    reading->process = &layers->process[log_process_index(layers->log, process)];
    reading->call = calloc((size_t)layers->call_ids + 1, sizeof *reading->call);
    return reading->call ? 0 : -ENOMEM;
}

// NULL for calls that the log does not know; *code is -ENOMEM if there is no memory.
static inline struct layer_call *sum_of(struct reading *reading, const struct log_call *call, int *code) {
    if (call->id >= reading->layers->call_ids) return NULL;
    struct layer_call **sum = &reading->call[call->id];
    if (!*sum) *sum = calloc(1, sizeof **sum);
    if (!*sum) *code = -ENOMEM;
    return *sum;
}

// Subtracts the time of a call from that of the call around it. Children of a nonblocking call may outlast it.
static int subtract_from_parent(struct reading *reading, const struct log_event *event) {
    const struct log_call *call = event->call, *around = event->around;
    int code = 0;
    reading->process->of[around->layer].exclusive_ns -= event->duration_ns;
    struct layer_call *sum = sum_of(reading, around, &code);
    if (!sum) return code;
    sum->exclusive_ns -= event->duration_ns;
    sum->below[call->layer].ns += event->duration_ns;
    sum->below[call->layer].calls++;
    if (log_class_moves(call->class)) sum->below[call->layer].bytes += log_event_bytes(event);
    return 0;
}

static void add_own(struct reading *reading, const struct log_event *event) {
    reading->process->own_ns += log_event_busy_ns(event);
    if (event->duration_ns < reading->slow_ns) return;
    add_slow(&reading->slow, (struct layer_slow){event->id, event->process, event->start_ns, event->duration_ns});
    if (reading->slow.count == LAYERS_SLOWEST) reading->slow_ns = reading->slow.of[LAYERS_SLOWEST - 1].duration_ns;
}

static int add_event(struct reading *reading, const struct log_event *event) {
    const struct log_call *call = event->call;
    struct layer_time *time = &reading->process->of[call->layer];
    int code = 0;
    // The time of a call inside a call of the same layer (a transfer of a copy) is already in that call's inclusive
    // time.
    bool inner = event->has_parent && event->around && event->around->layer == call->layer;
    time->inclusive_ns += inner ? 0 : event->duration_ns;
    time->exclusive_ns += event->duration_ns;
    time->calls++;
    if (!event->has_parent) {
        add_own(reading, event);
    } else if (event->around) {
        FORWARD(subtract_from_parent(reading, event));
    }
    struct layer_call *sum = sum_of(reading, call, &code);
    if (!sum) return code;
    sum->inclusive_ns += event->duration_ns;
    sum->exclusive_ns += event->duration_ns;
    sum->calls++;
    if (log_class_moves(call->class)) sum->bytes += log_event_bytes(event);
    if (event->duration_ns > sum->longest_ns) sum->longest_ns = event->duration_ns;
    return 0;
}

static int add_events(void *state, const struct log_event *event, size_t count) {
    for (size_t i = 0; i < count && state; i++) FORWARD(add_event(state, &event[i]));
    return 0;
}

// --- all processes

static void join_call(struct layer_call *sum, const struct layer_call *more) {
    sum->inclusive_ns += more->inclusive_ns;
    sum->exclusive_ns += more->exclusive_ns;
    if (more->longest_ns > sum->longest_ns) sum->longest_ns = more->longest_ns;
    sum->calls += more->calls;
    sum->bytes += more->bytes;
    for (unsigned layer = 0; layer < LAYER_COUNT; layer++) {
        sum->below[layer].ns += more->below[layer].ns;
        sum->below[layer].calls += more->below[layer].calls;
        sum->below[layer].bytes += more->below[layer].bytes;
    }
}

static int end(void *context, void *state) {
    struct layers *layers = context;
    struct reading *reading = state;
    if (!reading) return 0;
    for (uint32_t id = 0; id < layers->call_ids; id++) {
        if (reading->call[id]) join_call(&layers->call[id], reading->call[id]);
    }
    for (size_t i = 0; i < reading->slow.count; i++) add_slow(&layers->slow, reading->slow.of[i]);
    discard(reading);
    return 0;
}

struct log_consumer layers_consumer(struct layers *layers) {
    return (struct log_consumer){
        .context = layers, .begin = begin, .events = add_events, .end = end, .discard = discard};
}
