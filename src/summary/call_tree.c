#include "summary/call_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "summary/objects.h"

// --- nodes

static int find_node(struct call_tree *tree, uint32_t parent, const struct log_call *call, uint32_t *node) {
    uint64_t key = lookup_pair(parent, call->id);
    *node = lookup_find(&tree->by, key);
    if (*node != LOOKUP_NONE) return 0;
    FORWARD(lookup_set(&tree->by, key, *node = (uint32_t)tree->count));
    return array_push(tree->node, tree->count, (struct call_node){.call = call, .parent = parent});
}

static int make_root(struct call_tree *tree) { return array_push(tree->node, tree->count, (struct call_node){0}); }

static int find_object(struct call_tree *tree, const struct log_file *file, unsigned layer, uint32_t *place) {
    uint64_t key = lookup_pair(layer, file->index);
    *place = lookup_find(&tree->object_of, key);
    if (*place != LOOKUP_NONE) return 0;
    FORWARD(lookup_set(&tree->object_of, key, *place = (uint32_t)tree->objects));
    return array_push(tree->object, tree->objects, (struct object_sum){.object = file, .layer = layer});
}

static int direction_of(const struct log_event *event) { return event->call->class == CLASS_READ ? 0 : 1; }

// --- one process

// What is remembered about a call that may contain others.
struct around {
    uint64_t id;
    uint32_t node;
    struct {
        uint32_t object; // that it is about, or a call of the layer around it: place + 1, else 0
        uint32_t part;   // enum object_part
    } about[LAYERS_ABOVE];
};

// Calls inside each other, and nonblocking ones. A call may contain many of other layers, which must not displace it.
enum { AROUND = 64, LEVELS = 2 + LAYERS_ABOVE };

struct reading {
    struct call_tree *all;
    struct call_tree own;
    struct around around[LEVELS][AROUND];
};

static void discard(void *state) {
    struct reading *reading = state;
    if (!reading) return;
    call_tree_free(&reading->own);
    free(reading);
}

static int begin(void *context, const struct log_process *process, void **state) {
    struct call_tree *tree = context;
    if (process->is_launcher) return 0;
    struct reading *reading = *state = calloc(1, sizeof *reading);
    RETURN_IF(!reading, -ENOMEM);
    reading->all = tree;
    reading->own.log = tree->log;
    return make_root(&reading->own);
}

static size_t place_of(uint64_t id) { return (id ^ id >> 32) % AROUND; }

static const struct around *find_around(const struct reading *reading, uint64_t id) {
    for (unsigned level = 0; level < LEVELS; level++) {
        const struct around *around = &reading->around[level][place_of(id)];
        if (around->node && around->id == id) return around;
    }
    return NULL;
}

static void remember(struct reading *reading, const struct log_call *call, const struct around *around) {
    bool may_contain = call->layer > LAYER_STDIO || (!log_class_moves(call->class) && call->class != CLASS_SEEK);
    unsigned level = call_layer_is_above(call->layer) ? 2 + call_layer_above(call->layer) : call->layer > LAYER_STDIO;
    if (may_contain) reading->around[level][place_of(around->id)] = *around;
}

static uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

// How many chunks a selection touches in one dimension.
static uint64_t chunks_in(const struct log_selection *selection, unsigned i, uint64_t start, uint64_t chunk) {
    uint64_t count = selection->count[i], block = selection->block[i];
    if (!count || !block || !chunk) return 0;
    uint64_t end = start + (count - 1) * selection->stride[i] + block;
    return smaller((end - 1) / chunk - start / chunk + 1, count * ((block + chunk - 2) / chunk + 1));
}

static void add_chunks(struct object_sum *sum, const struct log_event *event) {
    const struct log_selection *selection = event->selection;
    const struct log_dataset *dataset = sum->dataset;
    uint64_t start[SELECTION_MAX_RANK], bytes = dataset ? dataset->bytes : 0;
    int direction = direction_of(event);
    if (!selection || !dataset || !dataset->chunk_rank || dataset->chunk_rank != selection->rank) return;
    if (selection->kind != SELECTION_REGULAR || !objects_start_of(event, start)) return;
    for (unsigned i = 0; i < selection->rank; i++)
        bytes *= chunks_in(selection, i, start[i], dataset->chunk[i]) * dataset->chunk[i];
    sum->chunk_bytes[direction] += bytes;
    sum->regular[direction] += log_event_bytes(event);
}

static void add_to_object(struct object_sum *sum, const struct log_event *event) {
    int direction = direction_of(event);
    sum->processes = 1;
    if (event->dataset) sum->dataset = event->dataset;
    sum->opens += event->call->class == CLASS_OPEN;
    if (!log_class_moves(event->call->class) || event->raw.error) return;
    sum->calls[direction]++;
    sum->collective += log_event_is_collective(event);
    sum->bytes[direction] += log_event_bytes(event);
    sum->ns[direction] += log_event_busy_ns(event);
    add_chunks(sum, event);
}

static enum object_part object_part_of(const struct log_call *call) {
    switch (log_call_class_inside(call)) {
    case CLASS_READ: return OBJECT_READ;
    case CLASS_WRITE: return OBJECT_WRITE;
    case CLASS_OPEN: return OBJECT_OPEN;
    default: return OBJECT_OTHER;
    }
}

static void add_request(struct call_tree *tree, const struct around *around, const struct log_event *event) {
    for (unsigned i = 0; i < LAYERS_ABOVE; i++) {
        if (!around->about[i].object) continue;
        struct object_sum *sum = &tree->object[around->about[i].object - 1];
        struct object_requests *request = &sum->request[around->about[i].part][direction_of(event)];
        *request = (struct object_requests){request->calls + 1, request->bytes + log_event_bytes(event),
                                            request->ns + log_event_busy_ns(event)};
    }
}

static bool is_on_several(const struct log_call *call) { return log_call_class_inside(call) != call->class; }

// Whether a node is of the transfers inside a call on several objects.
static bool is_part_of(const struct call_tree *tree, size_t node) {
    const struct log_call *call = tree->node[node].call, *around = tree->node[tree->node[node].parent].call;
    return around && around->layer == call->layer && is_on_several(around);
}

// A transfer inside a call on several objects. An object stays in the pool in which it is first.
static void add_together(struct call_tree *tree, struct object_sum *sum, uint32_t pool, const struct log_event *event) {
    int direction = direction_of(event);
    if (!pool || (sum->pool && sum->pool != pool) || !log_class_moves(event->call->class) || event->raw.error) return;
    sum->pool = pool;
    sum->together[direction] += log_event_bytes(event);
    tree->object[pool - 1].together[direction] += log_event_bytes(event);
}

static int add_event(struct reading *reading, const struct log_event *event) {
    struct call_tree *tree = &reading->own;
    const struct log_call *call = event->call;
    const struct around *found = event->has_parent || event->in_above ? find_around(reading, event->parent) : NULL;
    struct around around = found ? *found : (struct around){.node = CALL_TREE_ROOT};
    uint32_t parent = around.node;
    around.id = event->id;
    FORWARD(find_node(tree, parent, call, &around.node));
    struct call_node *node = &tree->node[around.node];
    bool moves = log_class_moves(call->class) && !event->raw.error;
    uint64_t bytes = moves ? log_event_bytes(event) : 0;
    node->calls++;
    node->ns += log_event_busy_ns(event);
    node->bytes[direction_of(event)] += bytes;
    if (!is_part_of(tree, around.node)) tree->node[parent].below_ns += log_event_busy_ns(event);
    if (call_layer_is_above(call->layer) && event->file && (event->file->object || is_on_several(call))) {
        uint32_t place, pool = around.about[call_layer_above(call->layer)].object;
        FORWARD(find_object(tree, event->file, call->layer, &place));
        add_to_object(&tree->object[place], event);
        if (is_part_of(tree, around.node)) add_together(tree, &tree->object[place], pool, event);
        around.about[call_layer_above(call->layer)].object = place + 1;
        around.about[call_layer_above(call->layer)].part = object_part_of(call);
    }
    if (moves && call_tree_is_request(tree, around.node)) add_request(tree, &around, event);
    remember(reading, call, &around);
    return 0;
}

static int add_events(void *state, const struct log_event *event, size_t count) {
    for (size_t i = 0; i < count && state; i++) FORWARD(add_event(state, &event[i]));
    return 0;
}

// --- all processes

static int join_nodes(struct call_tree *all, const struct call_tree *own) {
    uint32_t *place = malloc((own->count + 1) * sizeof *place);
    RETURN_IF(!place, -ENOMEM);
    int code = 0;
    place[CALL_TREE_ROOT] = CALL_TREE_ROOT;
    for (size_t i = 0; i < own->count && !code; i++) {
        const struct call_node *from = &own->node[i];
        if (i != CALL_TREE_ROOT) code = find_node(all, place[from->parent], from->call, &place[i]);
        if (code) break;
        struct call_node *to = &all->node[place[i]];
        to->calls += from->calls;
        to->ns += from->ns;
        to->below_ns += from->below_ns;
        for (unsigned d = 0; d < DIRECTION_COUNT; d++) to->bytes[d] += from->bytes[d];
    }
    free(place);
    return code;
}

static void join_requests(struct object_requests *to, const struct object_requests *from) {
    to->calls += from->calls;
    to->bytes += from->bytes;
    to->ns += from->ns;
}

static void take_share(struct object_requests *to, struct object_requests *pool, double share) {
    struct object_requests own = {(uint64_t)((double)pool->calls * share), (uint64_t)((double)pool->bytes * share),
                                  (int64_t)((double)pool->ns * share)};
    join_requests(to, &own);
    *pool = (struct object_requests){pool->calls - own.calls, pool->bytes - own.bytes, pool->ns - own.ns};
}

// The last object gets what is left, so that nothing is lost.
static void divide_pools(struct call_tree *tree) {
    for (size_t i = 0; i < tree->objects; i++) {
        struct object_sum *sum = &tree->object[i], *pool = sum->pool ? &tree->object[sum->pool - 1] : NULL;
        for (unsigned part = 0; pool && part < DIRECTION_COUNT; part++) {
            if (!sum->together[part]) continue;
            uint64_t own = sum->together[part], all = pool->together[part];
            double share = own < all ? (double)own / (double)all : 1;
            pool->together[part] = all - own;
            for (unsigned d = 0; d < DIRECTION_COUNT; d++)
                take_share(&sum->request[part][d], &pool->request[part][d], share);
        }
    }
}

static void join_object(struct object_sum *to, const struct object_sum *from) {
    if (from->dataset) to->dataset = from->dataset;
    to->opens += from->opens;
    to->collective += from->collective;
    to->processes += from->processes;
    for (unsigned d = 0; d < DIRECTION_COUNT; d++) {
        to->calls[d] += from->calls[d];
        to->bytes[d] += from->bytes[d];
        to->ns[d] += from->ns[d];
        to->chunk_bytes[d] += from->chunk_bytes[d];
        to->regular[d] += from->regular[d];
        for (unsigned part = 0; part < OBJECT_PARTS; part++)
            join_requests(&to->request[part][d], &from->request[part][d]);
    }
}

struct object_requests object_moved(const struct object_sum *sum, unsigned direction) {
    struct object_requests all = sum->request[OBJECT_READ][direction];
    join_requests(&all, &sum->request[OBJECT_WRITE][direction]);
    return all;
}

static int end(void *context, void *state) {
    struct call_tree *tree = context;
    struct reading *reading = state;
    if (!reading) return 0;
    int code = join_nodes(tree, &reading->own);
    divide_pools(&reading->own);
    for (size_t i = 0; i < reading->own.objects && !code; i++) {
        const struct object_sum *from = &reading->own.object[i];
        uint32_t place;
        if (!from->object->object) continue;
        code = find_object(tree, from->object, from->layer, &place);
        if (!code) join_object(&tree->object[place], from);
    }
    discard(reading);
    return code;
}

static bool has_layers_above(const struct log *log) {
    for (uint32_t id = 0; id < log_call_ids(log); id++) {
        const struct log_call *call = log_call_find(log, id);
        if (call && call_layer_is_above(call->layer)) return true;
    }
    return false;
}

int call_tree_begin(struct call_tree *tree, struct log *log, struct log_consumer *consumer) {
    *tree = (struct call_tree){.log = log};
    *consumer = (struct log_consumer){0};
    if (!has_layers_above(log)) return 0;
    *consumer = (struct log_consumer){
        .context = tree, .wants_above = true, .begin = begin, .events = add_events, .end = end, .discard = discard};
    return make_root(tree);
}

void call_tree_free(struct call_tree *tree) {
    free(tree->node);
    free(tree->object);
    lookup_free(&tree->by);
    lookup_free(&tree->object_of);
}

// --- what a layer asked for and what that came to

// What contains a transfer of the same bytes is not counted: stdio that calls POSIX, a copy that is a read and a write.
bool call_tree_is_request(const struct call_tree *tree, size_t node) {
    const struct log_call *call = tree->node[node].call, *around = tree->node[tree->node[node].parent].call;
    if (!call || call->layer > LAYER_STDIO || !log_class_moves(call->class)) return false;
    return !around || around->layer > LAYER_STDIO || !log_class_moves(around->class);
}

void library_sum_add(struct library_sum *sum, const struct library_sum *more) {
    sum->calls += more->calls;
    sum->ns += more->ns;
    sum->below_ns += more->below_ns;
    for (unsigned d = 0; d < DIRECTION_COUNT; d++) {
        sum->bytes[d] += more->bytes[d];
        sum->file_calls[d] += more->file_calls[d];
        sum->file_bytes[d] += more->file_bytes[d];
    }
}

static enum library_part part_of(const struct log_call *call) {
    switch (log_call_class_inside(call)) {
    case CLASS_READ:
    case CLASS_WRITE: return PART_TRANSFERS;
    case CLASS_OPEN: return PART_OPENS;
    case CLASS_CLOSE:
    case CLASS_SYNC: return PART_CLOSES;
    default: return PART_OTHERS;
    }
}

// The outermost node of the layer around a node; CALL_TREE_ROOT: none.
static size_t outermost(const struct call_tree *tree, size_t node, unsigned layer) {
    size_t found = CALL_TREE_ROOT;
    for (; node != CALL_TREE_ROOT; node = tree->node[node].parent) {
        if (tree->node[node].call->layer == layer) found = node;
    }
    return found;
}

void call_tree_library(const struct call_tree *tree, unsigned layer, struct library_sum part[LIBRARY_PARTS]) {
    memset(part, 0, LIBRARY_PARTS * sizeof *part);
    for (size_t i = CALL_TREE_ROOT + 1; i < tree->count; i++) {
        const struct call_node *node = &tree->node[i];
        size_t top = outermost(tree, i, layer);
        if (top == CALL_TREE_ROOT) continue;
        struct library_sum *sum = &part[part_of(tree->node[top].call)];
        bool is_request = call_tree_is_request(tree, i);
        if (top == i) {
            sum->calls += node->calls;
            sum->ns += node->ns;
            sum->below_ns += node->below_ns < node->ns ? node->below_ns : node->ns;
        }
        for (unsigned d = 0; d < DIRECTION_COUNT; d++) {
            if (top == i || (node->parent == top && is_part_of(tree, i))) sum->bytes[d] += node->bytes[d];
            if (!is_request || (d == DIRECTION_READ) != (node->call->class == CLASS_READ)) continue;
            sum->file_calls[d] += node->calls;
            sum->file_bytes[d] += node->bytes[d];
        }
    }
}

const char *library_part_name(enum library_part part) {
    static const char *const names[] = {
        [PART_TRANSFERS] = "transfers", [PART_OPENS] = "opens", [PART_CLOSES] = "closes", [PART_OTHERS] = "others"};
    return names[part];
}

// --- objects

static int compare_objects(const void *a, const void *b) {
    const struct object_sum *left = *(const struct object_sum *const *)a, *right = *(const struct object_sum *const *)b;
    int64_t one = left->ns[0] + left->ns[1], other = right->ns[0] + right->ns[1];
    if (one != other) return one > other ? -1 : 1;
    return lookup_pair(left->object->index, left->layer) < lookup_pair(right->object->index, right->layer) ? -1 : 1;
}

size_t call_tree_objects(const struct call_tree *tree, const struct object_sum **order) {
    size_t count = 0;
    for (size_t i = 0; i < tree->objects; i++) {
        if (tree->object[i].dataset) order[count++] = &tree->object[i];
    }
    if (count > 1) qsort(order, count, sizeof *order, compare_objects);
    return count;
}
