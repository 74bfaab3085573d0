#include "report/layers.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"

int layers_init(struct layers *layers, struct log *log) {
    *layers = (struct layers){.log = log, .call_ids = log_call_ids(log), .slow_ns = -1};
    layers->process = calloc(log_process_count(log) + 1, sizeof *layers->process);
    layers->call = calloc((size_t)layers->call_ids + 1, sizeof *layers->call);
    RETURN_IF(!layers->process || !layers->call, -ENOMEM);
    return 0;
}

void layers_free(struct layers *layers) {
    for (size_t i = 0; i < layers->slow_count; i++) layer_tree_free(&layers->slow[i]);
    free(layers->process);
    free(layers->call);
}

// --- the longest calls

static int by_length(const void *a, const void *b) {
    const struct layer_tree_call *one = a, *two = b;
    if (one->length_ns != two->length_ns) return one->length_ns > two->length_ns ? -1 : 1;
    return one->place < two->place ? -1 : 1;
}

static int by_place(const void *a, const void *b) {
    const struct layer_tree_call *one = a, *two = b;
    return one->place < two->place ? -1 : one->place > two->place;
}

void layer_tree_shorten(struct layer_tree *tree) {
    if (tree->count <= tree->most || !tree->most) return;
    qsort(tree->call + 1, tree->count - 1, sizeof *tree->call, by_length);
    tree->count = tree->most;
    qsort(tree->call + 1, tree->count - 1, sizeof *tree->call, by_place);
}

int64_t layer_tree_parent(const struct layer_tree *tree, size_t i) {
    struct layer_tree_call parent = {.place = i ? lookup_find(&tree->inside, tree->call[i].event.parent) : LOOKUP_NONE};
    const struct layer_tree_call *kept = bsearch(&parent, tree->call, tree->count, sizeof parent, by_place);
    return kept ? kept - tree->call : -1;
}

static int note_length(struct layer_tree *tree, struct layer_tree_call *call, uint32_t parent) {
    struct layer_tree_length length = {call->event.duration_ns, call_layer_is_below(call->event.call->layer)};
    if (!tree->keeps_longest) return 0;
    if (length.is_below && parent < tree->lengths && tree->length[parent].is_below) length = tree->length[parent];
    call->length_ns = length.ns;
    return array_push(tree->length, tree->lengths, length);
}

int layer_tree_add(struct layer_tree *tree, const struct log_event *event) {
    uint32_t parent = LOOKUP_NONE;
    if (tree->found) {
        const struct log_event *root = &tree->call[0].event;
        if (event->start_ns > root->start_ns + root->duration_ns || !log_event_is_inside(event)) return 0;
        parent = lookup_find(&tree->inside, event->parent);
        if (parent == LOOKUP_NONE) return 0;
    }
    // Transfers of the lowest layers contain no calls, and there may be many.
    bool may_contain = event->call->layer > LAYER_STDIO || !log_class_moves(event->call->class) || tree->has_below;
    if (may_contain || !tree->found) FORWARD(lookup_set(&tree->inside, event->id, (uint32_t)tree->found));
    struct layer_tree_call call = {*event, log_event_server(event), (uint32_t)tree->found++, 0};
    FORWARD(note_length(tree, &call, parent));
    if (tree->keeps_longest && tree->count == 2 * tree->most) layer_tree_shorten(tree);
    if (!tree->keeps_longest && tree->count == tree->most) return 0;
    return array_push(tree->call, tree->count, call);
}

void layer_tree_free(struct layer_tree *tree) {
    free(tree->call);
    free(tree->length);
    lookup_free(&tree->inside);
}

static int add_slow(struct layers *layers, const struct log_event *event) {
    struct layer_tree tree = {.most = LAYERS_TREE}, *slow = layers->slow;
    FORWARD(layer_tree_add(&tree, event));
    if (layers->slow_count == LAYERS_SLOWEST) layer_tree_free(&slow[--layers->slow_count]);
    size_t at = layers->slow_count++;
    for (; at > 0 && event->duration_ns > slow[at - 1].call->event.duration_ns; at--) slow[at] = slow[at - 1];
    slow[at] = tree;
    if (layers->slow_count == LAYERS_SLOWEST) layers->slow_ns = slow[LAYERS_SLOWEST - 1].call->event.duration_ns;
    int64_t end_ns = event->start_ns + event->duration_ns;
    if (end_ns > layers->until_ns) layers->until_ns = end_ns;
    return 0;
}

static int add_ordered(void *context, const struct log_event *const *events, size_t count) {
    struct layers *layers = context;
    for (size_t i = 0; i < count; i++) {
        const struct log_event *event = events[i];
        if (!log_event_is_inside(event)) {
            if (event->duration_ns > layers->slow_ns && !event->process->is_launcher) FORWARD(add_slow(layers, event));
        } else if (event->start_ns <= layers->until_ns) {
            for (size_t k = 0; k < layers->slow_count; k++) FORWARD(layer_tree_add(&layers->slow[k], event));
        }
    }
    return 0;
}

// --- one process

struct reading {
    struct layers *layers;
    struct layer_process *process;
    struct layer_call **call; // by the log's id; allocated on first use
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

static int add_event(struct reading *reading, const struct log_event *event) {
    const struct log_call *call = event->call;
    struct layer_time *time = &reading->process->of[call->layer];
    int code = 0;
    // A transfer that is a part of a call of the same layer (copy_file_range, lio_listio) shows what that call did. Its
    // time is the call's.
    bool inner = log_event_is_inside(event) && event->around && event->around->layer == call->layer;
    int64_t own_ns = inner ? 0 : event->duration_ns;
    time->inclusive_ns += own_ns;
    time->exclusive_ns += own_ns;
    time->calls += !inner;
    if (!log_event_is_inside(event)) {
        reading->process->own_ns += log_event_busy_ns(event);
    } else if (event->around && !inner) {
        FORWARD(subtract_from_parent(reading, event));
    }
    struct layer_call *sum = sum_of(reading, call, &code);
    if (!sum) return code;
    sum->inclusive_ns += event->duration_ns;
    sum->exclusive_ns += own_ns;
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
    discard(reading);
    return 0;
}

struct log_consumer layers_consumer(struct layers *layers) {
    return (struct log_consumer){.context = layers,
                                 .wants_above = true,
                                 .begin = begin,
                                 .events = add_events,
                                 .end = end,
                                 .discard = discard,
                                 .ordered = add_ordered};
}
