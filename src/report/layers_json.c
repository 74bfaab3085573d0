#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "base/order.h"
#include "base/scoped.h"
#include "log/images.h"
#include "log/iter.h"
#include "report/layers.h"
#include "summary/libraries.h"

// Calls below a nonblocking call may outlast it.
static int64_t not_negative(int64_t ns) { return ns > 0 ? ns : 0; }

static void who_json(const struct log_process *process, struct json_out *json) {
    json_members(json, m_signed_if("rank", process->has_rank, process->rank),
                 m_number_if("pid", process->pid, process->pid));
}

// --- processes

// Of all images of a process.
struct process_times {
    const struct log_process *process; // the last image with calls; NULL: none has any
    struct layer_process time;
};

static int compare_times(const void *a, const void *b) {
    const struct process_times *left = a, *right = b;
    if (left->time.own_ns != right->time.own_ns) return left->time.own_ns > right->time.own_ns ? -1 : 1;
    return left->process < right->process ? -1 : 1;
}

static int compare_ranks(const void *a, const void *b) {
    const struct process_times *left = a, *right = b;
    int order = log_process_compare(left->process, right->process);
    return order ? order : compare_times(a, b);
}

static void process_json(const struct process_times *times, struct json_out *json) {
    json_object(json);
    who_json(times->process, json);
    key_array(json, "layers");
    for (unsigned layer = LAYER_COUNT - 1; layer > LAYER_NONE; layer--) {
        const struct layer_time *time = &times->time.of[layer];
        if (!time->calls) continue;
        json_object_of(json, m_text("layer", call_layer_name(layer)), m_seconds("inclusive", time->inclusive_ns),
                       m_seconds("exclusive", not_negative(time->exclusive_ns)), m_number("calls", time->calls));
    }
    json_close(json);
    json_close(json);
}

static void add_image(struct process_times *sum, const struct log_process *image, const struct layer_process *time) {
    sum->time.own_ns += time->own_ns;
    for (unsigned layer = 0; layer < LAYER_COUNT; layer++) {
        if (!time->of[layer].calls) continue;
        sum->process = image;
        sum->time.of[layer].inclusive_ns += time->of[layer].inclusive_ns;
        sum->time.of[layer].exclusive_ns += time->of[layer].exclusive_ns;
        sum->time.of[layer].calls += time->of[layer].calls;
    }
}

// Returns the number of processes with calls.
static int64_t sum_images(const struct layers *layers, struct process_times *sum) {
    struct log_images images;
    int code = log_images_find(&images, layers->log);
    size_t all = log_process_count(layers->log), count = 0;
    for (size_t i = 0; i < all && !code; i++) {
        uint32_t index = images.image[i]->index;
        add_image(&sum[images.first[index]], images.image[i], &layers->process[index]);
    }
    log_images_free(&images);
    for (size_t i = 0; i < all; i++) {
        if (sum[i].process) sum[count++] = sum[i];
    }
    return code ? code : (int64_t)count;
}

static int processes_json(const struct layers *layers, struct json_out *json, size_t most) {
    SCOPED_FREE struct process_times *sum = calloc(log_process_count(layers->log) + 1, sizeof *sum);
    RETURN_IF(!sum, -ENOMEM);
    int64_t found = sum_images(layers, sum);
    RETURN_IF(found < 0, (int)found);
    size_t count = (size_t)found, shown = count < most ? count : most;
    qsort(sum, count, sizeof *sum, compare_times);
    qsort(sum, shown, sizeof *sum, compare_ranks);
    key_array(json, "ranks");
    for (size_t i = 0; i < shown; i++) process_json(&sum[i], json);
    json_close(json);
    key_number(json, "ranks_left_out", count - shown);
    return 0;
}

// --- calls

static void call_json(const struct log_call *call, const struct layer_call *sum, struct json_out *json) {
    json_object(json);
    json_members(json, m_text("op", call->name), m_text("layer", call_layer_name(call->layer)),
                 m_text("class", call_class_name(call->class)), m_number("calls", sum->calls),
                 m_number("bytes", sum->bytes), m_seconds("inclusive", sum->inclusive_ns),
                 m_seconds("exclusive", not_negative(sum->exclusive_ns)), m_seconds("longest", sum->longest_ns));
    key_array(json, "below");
    for (unsigned layer = 0; layer < LAYER_COUNT; layer++) {
        if (!sum->below[layer].calls) continue;
        json_object_of(json, m_text("layer", call_layer_name(layer)), m_number("calls", sum->below[layer].calls),
                       m_number("bytes", sum->below[layer].bytes), m_seconds("seconds", sum->below[layer].ns));
    }
    json_close(json);
    json_close(json);
}

static int calls_json(const struct layers *layers, struct json_out *json) {
    enum { MOST = 150 };
    struct order *order = malloc(((size_t)layers->call_ids + 1) * sizeof *order);
    size_t count = 0;
    RETURN_IF(!order, -ENOMEM);
    for (uint32_t id = 0; id < layers->call_ids; id++) {
        if (log_call_find(layers->log, id) && layers->call[id].calls)
            order[count++] = (struct order){layers->call[id].inclusive_ns, id};
    }
    order_sort(order, count);
    key_array(json, "calls");
    for (size_t i = 0; i < count && i < MOST; i++) {
        size_t id = order[i].index;
        call_json(log_call_find(layers->log, (uint32_t)id), &layers->call[id], json);
    }
    json_close(json);
    free(order);
    return 0;
}

// --- trees

static void event_json(const struct layer_tree_call *call, struct json_out *json) {
    const struct log_event *event = &call->event;
    json_object(json);
    json_members(json, m_number("id", event->id),
                 m_signed_if("parent", log_event_is_inside(event), (int64_t)event->parent),
                 m_text("op", event->call->name), m_text("layer", call_layer_name(event->call->layer)),
                 m_text("class", call_class_name(event->call->class)), m_seconds("start", event->start_ns),
                 m_seconds("duration", event->duration_ns));
    bool has_offset = event->raw.has_offset && event->call->traits & CALL_HAS_OFFSET;
    json_members(json, m_signed_if("offset", has_offset, (int64_t)event->raw.offset),
                 m_signed_if("size", event->call->traits & CALL_HAS_SIZE, (int64_t)event->raw.size),
                 m_signed_if("result", event->raw.has_result, event->raw.result),
                 m_text("file", event->file ? event->file->name : NULL), m_text("line", event->line));
    if (event->file && event->file->object) key_text(json, "object", event->file->object);
    if (call->server != LOG_NO_SERVER) key_number(json, "server", call->server);
    json_close(json);
}

static void tree_json(const struct layer_tree *tree, struct json_out *json, size_t most) {
    const struct log_event *event = &tree->call->event;
    size_t shown = tree->count < most ? tree->count : most;
    json_object(json);
    json_members(json, m_number("id", event->id), m_text("op", event->call->name));
    who_json(event->process, json);
    json_members(json, m_seconds("start", event->start_ns), m_seconds("duration", event->duration_ns));
    key_array(json, "tree");
    for (size_t i = 0; i < shown; i++) event_json(&tree->call[i], json);
    json_close(json);
    key_number(json, "tree_cut", tree->found - shown);
    json_close(json);
}

static int read_tree(struct log *log, const struct log_filter *filter, uint64_t id, struct layer_tree *tree) {
    struct log_iter *iter;
    const struct log_event *event;
    FORWARD(log_iter_open(&iter, log, filter));
    int more, code = 0;
    int64_t end_ns = INT64_MAX;
    while (!code && (more = log_iter_next(iter, &event)) > 0 && event->start_ns <= end_ns) {
        if (event->id == id) end_ns = event->start_ns + event->duration_ns;
        if (end_ns < INT64_MAX) code = layer_tree_add(tree, event);
    }
    log_iter_close(iter);
    return code < 0 ? code : more < 0 ? more : tree->found ? 0 : ERR_NOTHING;
}

int layer_tree_read(struct layer_tree *tree, struct log *log, uint64_t id, int64_t at_ns) {
    const struct log_process *process = NULL;
    for (size_t i = 0; i < log_place_count(log) && !process; i++) {
        const struct log_place *place = log_place_at(log, i);
        if (place->type == BLOCK_EVENTS && place->stream == id >> 32) process = place->process;
    }
    if (!process) return ERR_NOTHING;
    const struct log_filter filter = {.below = true, .process = process, .has_from = true, .from_ns = at_ns};
    tree->has_below = tree->keeps_longest = true;
    int code = read_tree(log, &filter, id, tree);
    layer_tree_shorten(tree);
    return code;
}

int layers_tree_json(struct log *log, uint64_t id, int64_t at_ns, size_t most, struct json_out *json) {
    struct layer_tree tree = {.most = most};
    int code = layer_tree_read(&tree, log, id, at_ns);
    if (!code) tree_json(&tree, json, most);
    layer_tree_free(&tree);
    return code;
}

int layers_json(const struct layers *layers, const struct call_tree *tree, struct json_out *json, size_t most) {
    size_t trees = most / 8;
    json_object(json);
    FORWARD(processes_json(layers, json, most));
    FORWARD(calls_json(layers, json));
    key_array(json, "slowest");
    for (size_t i = 0; i < layers->slow_count && i < trees; i++) tree_json(&layers->slow[i], json, most / 2);
    json_close(json);
    FORWARD(libraries_json_tree(tree, json, 2 * most));
    json_close(json);
    return 0;
}
