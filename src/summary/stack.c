#include "summary/stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mounts.h"
#include "log/collectives.h"
#include "log/iter.h"

enum {
    SERVER_WORDS = STACK_MOST_SERVERS / 64,
    LAYERS_OF_SERVERS = 3,
    MOST_GATHERINGS = 256, // collective calls that wait for ranks; beyond that the oldest is given up
};

struct server_set {
    uint64_t bits[SERVER_WORDS];
};

// The calls of a fragment at one server.
struct fragment_server {
    uint32_t server;
    int64_t ns[LAYERS_OF_SERVERS];
};

// A call in progress, or one that ended before a call below it did.
struct stack_node {
    uint64_t id;
    const struct log_process *process;
    const struct log_call *call;
    const struct log_file *file;
    struct stack_node *parent, *fragment; // the latter: itself, of a fragment; NULL above
    uint32_t place;
    uint32_t children; // in progress
    uint32_t server;
    bool is_over;
    bool is_inner; // inside a call of the same layer
    bool is_request;
    bool is_on_stack;
    bool has_turn;
    struct meeting_turn turn;
    // If calls are numbered:
    struct stack_node *top;
    struct stack_place of;
    int64_t parts; // of a top call
    int64_t start_ns, duration_ns;
    uint64_t bytes;
    // What is inside it.
    int64_t below_ns; // calls of other layers directly below
    uint64_t accesses;
    struct server_set servers;
    struct stack_latency time[LAYER_COUNT]; // at the end its own, too
    struct fragment_server *of_server;
    size_t of_servers;
    struct stack_share *share; // of a top call, by layer
};

struct stack_gathering {
    uint32_t meeting, turn;
    uint64_t missing;
    struct server_set servers;
};

static const uint8_t downwards[] = {LAYER_NETCDF, LAYER_PNETCDF, LAYER_HDF5,   LAYER_MPIIO, LAYER_STDIO, LAYER_POSIX,
                                    LAYER_CLIENT, LAYER_NET,     LAYER_SERVER, LAYER_DISK,  LAYER_NONE};

unsigned stack_layer_below(unsigned layer) {
    size_t i = 0;
    while (layer && downwards[i] != layer) i++;
    return downwards[i + (layer != LAYER_NONE)];
}

unsigned stack_next_layer(const struct summary_stack *stack, unsigned layer) {
    do layer = stack_layer_below(layer);
    while (layer && !stack->layer[layer].calls);
    return layer;
}

bool stack_has_file(const struct summary_stack *stack, const struct log_file *file) {
    if (!file) return false;
    for (size_t i = 0; i < stack->devices; i++) {
        if (file->device == stack->device[i]) return true;
    }
    const char *name = file->mount ? file->mount : file->name; // the name may be of a link
    return stack->mount && mounts_lies_under(name, strlen(name), stack->mount, strlen(stack->mount));
}

// The stack is mounted where `record` ran. On another host, the same name is another file.
static bool is_on_its_host(const struct summary_stack *stack, const struct log_event *event) {
    const char *job = log_job(stack->log)->host, *own = event->process->host;
    return !job || !own || !strcmp(job, own);
}

static void set_join(struct server_set *set, const struct server_set *more) {
    for (unsigned i = 0; i < SERVER_WORDS; i++) set->bits[i] |= more->bits[i];
}

static unsigned set_count(const struct server_set *set) {
    unsigned count = 0;
    for (unsigned i = 0; i < SERVER_WORDS; i++) count += (unsigned)__builtin_popcountll(set->bits[i]);
    return count;
}

static void count_add(struct stack_count *count, uint64_t number) {
    count->calls++;
    count->sum += number;
    if (number > count->most) count->most = number;
}

// --- nodes

static struct stack_node *find_node(const struct summary_stack *stack, uint64_t id) {
    uint32_t place = lookup_find(&stack->node_of, id);
    struct stack_node *node = place == LOOKUP_NONE ? NULL : stack->node[place];
    return node && node->id == id ? node : NULL;
}

// The table of ids forgets nothing, so it is made anew when most of it is about calls that are over.
static int forget_ids(struct summary_stack *stack) {
    if (stack->node_of.count < 1024 + 2 * (stack->nodes - stack->free_nodes)) return 0;
    lookup_clear(&stack->node_of);
    for (uint32_t i = 0; i < stack->nodes; i++) {
        if (stack->node[i]->id) FORWARD(lookup_set(&stack->node_of, stack->node[i]->id, i));
    }
    return 0;
}

static int new_node(struct summary_stack *stack, uint64_t id, struct stack_node **node) {
    if (!stack->free_nodes) {
        FORWARD(array_room(stack->node, stack->nodes));
        FORWARD(array_room(stack->free_node, stack->nodes)); // so that a node can be freed at any time
        RETURN_IF(!(stack->node[stack->nodes] = calloc(1, sizeof **node)), -ENOMEM);
        stack->node[stack->nodes]->place = (uint32_t)stack->nodes;
        stack->free_node[stack->free_nodes++] = (uint32_t)stack->nodes++;
    }
    FORWARD(forget_ids(stack));
    struct stack_node *made = stack->node[stack->free_node[stack->free_nodes - 1]];
    FORWARD(lookup_set(&stack->node_of, id, made->place));
    stack->free_nodes--;
    made->id = id;
    *node = made;
    return 0;
}

static void free_node(struct summary_stack *stack, struct stack_node *node) {
    *node = (struct stack_node){.place = node->place, .of_server = node->of_server, .share = node->share};
    stack->free_node[stack->free_nodes++] = node->place;
}

// --- sums

static void layer_call(struct stack_layer *layer, int64_t ns) {
    if (!layer->calls || ns < layer->shortest_ns) layer->shortest_ns = ns;
    if (ns > layer->longest_ns) layer->longest_ns = ns;
    layer->calls++;
    layer->ns += ns;
}

// Where the call's numbers belong: to the whole log, its process and, if top calls are wanted, its top call.
struct owners {
    struct stack_layer *log, *process;
    struct stack_share *top; // or NULL
};

static struct owners owners_of(struct summary_stack *stack, const struct stack_node *node, unsigned layer) {
    struct stack_process *process = &stack->process[node->process->index];
    process->process = node->process;
    return (struct owners){&stack->layer[layer], &process->layer[layer],
                           stack->end_top ? &node->top->share[layer] : NULL};
}

static void count_call(struct summary_stack *stack, const struct stack_node *node, unsigned layer, int64_t ns) {
    struct owners owners = owners_of(stack, node, layer);
    layer_call(owners.log, ns);
    layer_call(owners.process, ns);
    if (owners.top) owners.top->calls++;
}

static void count_bytes(struct summary_stack *stack, const struct stack_node *node, const struct log_call *call,
                        uint64_t bytes) {
    struct owners owners = owners_of(stack, node, call->layer);
    unsigned direction = call->class == CLASS_READ ? DIRECTION_READ : DIRECTION_WRITE;
    owners.log->bytes[direction] += bytes;
    owners.process->bytes[direction] += bytes;
    if (owners.top) owners.top->bytes[direction] += bytes;
}

static void latency_add(struct stack_latency *to, struct stack_latency more) {
    to->inclusive_ns += more.inclusive_ns;
    to->exclusive_ns += more.exclusive_ns;
}

static void spend(struct summary_stack *stack, struct stack_node *node, unsigned layer, struct stack_latency time) {
    struct owners owners = owners_of(stack, node, layer);
    latency_add(&node->time[layer], time);
    latency_add(&owners.log->time, time);
    latency_add(&owners.process->time, time);
    if (owners.top) latency_add(&owners.top->time, time);
}

// Layers without a probe have no calls: their time is in the layer above.
static void end_fragment(struct summary_stack *stack, struct stack_node *node) {
    unsigned upper = node->call->layer;
    int64_t upper_ns = node->duration_ns;
    for (unsigned i = upper - LAYER_CLIENT; i < LAYERS_OF_SERVERS; i++) {
        int64_t most_ns = -1;
        for (size_t k = 0; k < node->of_servers; k++) {
            if (node->of_server[k].ns[i] > most_ns) most_ns = node->of_server[k].ns[i];
        }
        if (most_ns < 0) continue;
        spend(stack, node, upper, (struct stack_latency){upper_ns, upper_ns - most_ns});
        upper = LAYER_NET + i;
        upper_ns = most_ns;
    }
    spend(stack, node, upper, (struct stack_latency){upper_ns, upper_ns});
}

static void end_above(struct summary_stack *stack, struct stack_node *node) {
    bool moves = log_class_moves(node->call->class);
    if (moves && !(node->is_inner && log_class_moves(node->parent->call->class)))
        count_bytes(stack, node, node->call, node->bytes);
    if (node->is_inner) return;
    count_call(stack, node, node->call->layer, node->duration_ns);
    spend(stack, node, node->call->layer,
          (struct stack_latency){node->duration_ns, node->duration_ns - node->below_ns});
}

static void add_longest(struct summary_stack *stack, const struct stack_node *node) {
    struct stack_call *longest = stack->longest;
    size_t at = stack->longest_count;
    if (at == STACK_LONGEST && node->duration_ns <= longest[at - 1].duration_ns) return;
    if (at < STACK_LONGEST)
        stack->longest_count++;
    else
        at--;
    for (; at > 0 && node->duration_ns > longest[at - 1].duration_ns; at--) longest[at] = longest[at - 1];
    longest[at] = (struct stack_call){.id = node->id,
                                      .process = node->process,
                                      .call = node->call,
                                      .file = node->file,
                                      .start_ns = node->start_ns,
                                      .duration_ns = node->duration_ns,
                                      .bytes = node->bytes,
                                      .disk_accesses = node->accesses,
                                      .servers = set_count(&node->servers)};
    memcpy(longest[at].time, node->time, sizeof node->time);
}

static void end_top(struct summary_stack *stack, const struct stack_node *node) {
    stack->top_calls++;
    stack->process[node->process->index].calls++;
    if (log_class_moves(log_call_class_inside(node->call))) count_add(&stack->accesses, node->accesses);
    if (set_count(&node->servers)) add_longest(stack, node);
}

// --- collective calls

static void end_gathering(struct summary_stack *stack, struct stack_gathering *gathering) {
    struct stack_gathering *end = stack->gathering + --stack->gatherings;
    memmove(gathering, gathering + 1, (size_t)(end - gathering) * sizeof *gathering);
}

static struct stack_gathering *gathering_of(struct summary_stack *stack, const struct meeting_turn *turn) {
    for (size_t i = stack->gatherings; i-- > 0;) {
        struct stack_gathering *gathering = &stack->gathering[i];
        if (gathering->meeting == turn->meeting && gathering->turn == turn->turn) return gathering;
    }
    if (stack->gatherings == MOST_GATHERINGS) {
        end_gathering(stack, stack->gathering);
        stack->unmatched++;
    }
    struct stack_gathering *made = &stack->gathering[stack->gatherings++];
    *made = (struct stack_gathering){.meeting = turn->meeting, .turn = turn->turn, .missing = turn->size};
    return made;
}

// One rank's part of the call; the last one completes it.
static void gather(struct summary_stack *stack, const struct stack_node *node) {
    if (node->turn.size <= 1) {
        if (node->turn.size) count_add(&stack->collectives, set_count(&node->servers));
        return;
    }
    struct stack_gathering *gathering = gathering_of(stack, &node->turn);
    set_join(&gathering->servers, &node->servers);
    if (--gathering->missing) return;
    count_add(&stack->collectives, set_count(&gathering->servers));
    end_gathering(stack, gathering);
}

// --- the end of a call

static void join_parent(struct stack_node *parent, const struct stack_node *node) {
    parent->is_on_stack = true;
    parent->below_ns += node->is_inner ? node->below_ns : node->duration_ns;
    parent->accesses += node->accesses;
    set_join(&parent->servers, &node->servers);
    for (unsigned layer = 0; layer < LAYER_COUNT; layer++) latency_add(&parent->time[layer], node->time[layer]);
}

static void end_node(struct summary_stack *stack, struct stack_node *node) {
    bool is_fragment = node->fragment == node;
    // What no call of the program is known to have caused is in no latency.
    if (!node->is_on_stack || (node->fragment && !(is_fragment && node->parent))) return;
    (is_fragment ? end_fragment : end_above)(stack, node);
    if (node->has_turn) gather(stack, node);
    if (node->parent)
        join_parent(node->parent, node);
    else
        end_top(stack, node);
}

static void end_numbered(struct summary_stack *stack, const struct stack_node *node) {
    uint64_t calls = 0;
    for (unsigned layer = 0; layer < LAYER_COUNT; layer++) calls += node->share[layer].calls;
    const struct stack_top top = {.of = node->of,
                                  .process = node->process,
                                  .call = node->call,
                                  .file = node->file,
                                  .start_ns = node->start_ns,
                                  .duration_ns = node->duration_ns,
                                  .layer = node->share};
    if (calls) stack->end_top(stack->context, &top);
    memset(node->share, 0, LAYER_COUNT * sizeof *node->share);
}

// A call ends when its time is over and the calls below it have ended.
static void close_node(struct summary_stack *stack, struct stack_node *node) {
    node->is_over = true;
    if (node->is_request) stack_request_end(stack, node->server);
    while (node && node->is_over && !node->children) {
        struct stack_node *parent = node->parent;
        end_node(stack, node);
        if (node->top == node && stack->end_top) end_numbered(stack, node);
        free_node(stack, node);
        if (parent) parent->children--;
        node = parent;
    }
}

static void go_on(struct summary_stack *stack, int64_t now_ns) {
    while (stack->ends.count && stack->ends.turn[0].start_ns < now_ns) {
        struct stack_node *node = stack->ends.turn[0].owner;
        stack_requests_until(stack, stack->ends.turn[0].start_ns);
        log_heap_pop(&stack->ends);
        close_node(stack, node);
    }
}

// --- events

// Only calls below the system call have one, whatever a damaged log says.
static uint32_t server_of(const struct log_event *event) {
    uint32_t server = call_layer_is_below(event->call->layer) ? log_event_server(event) : LOG_NO_SERVER;
    return server < STACK_MOST_SERVERS ? server : LOG_NO_SERVER;
}

static int add_to_fragment(struct stack_node *fragment, const struct log_event *event, uint32_t server) {
    size_t at = 0;
    while (at < fragment->of_servers && fragment->of_server[at].server != server) at++;
    if (at == fragment->of_servers)
        FORWARD(array_push(fragment->of_server, fragment->of_servers, (struct fragment_server){server, {-1, -1, -1}}));
    int64_t *ns = &fragment->of_server[at].ns[event->call->layer - LAYER_NET];
    *ns = (*ns < 0 ? 0 : *ns) + event->duration_ns;
    return 0;
}

// A call below the system call. Without a probe at the client, a call of the network is the fragment.
static int add_below(struct summary_stack *stack, const struct log_event *event, struct stack_node *fragment,
                     bool is_fragment) {
    uint32_t server = server_of(event);
    unsigned layer = event->call->layer;
    count_call(stack, fragment, layer, event->duration_ns);
    count_bytes(stack, fragment, event->call, stack_bytes(event));
    fragment->accesses += layer == stack->lowest;
    if (server == LOG_NO_SERVER) return 0;
    FORWARD(stack_servers_room(stack, (size_t)server + 1));
    if (layer == stack->lowest) FORWARD(stack_server_add(stack, event, server));
    fragment->servers.bits[server / 64] |= UINT64_C(1) << server % 64;
    return is_fragment || layer == LAYER_CLIENT ? 0 : add_to_fragment(fragment, event, server);
}

// The program's calls that nothing but the file system is below. What is inside such a call has the same bytes.
static bool is_lowest(const struct log_event *event, const struct stack_node *parent) {
    return log_class_moves(event->call->class) && event->call->layer <= LAYER_STDIO &&
           !(parent && parent->call->layer <= LAYER_STDIO && log_class_moves(parent->call->class));
}

// Calls of a log without a file system's client are divided into those of the system instead.
static bool is_part(const struct summary_stack *stack, const struct stack_node *node) {
    if (stack->lowest) return node->fragment == node;
    return node->call->layer <= LAYER_STDIO && !(node->parent && node->parent->of.part >= 0);
}

static int number_node(struct summary_stack *stack, struct stack_node *node) {
    struct stack_numbers *numbers = &stack->numbers[node->process->index];
    const struct stack_node *parent = node->parent;
    bool is_mpiio = node->call->layer == LAYER_MPIIO, is_below = node->fragment;
    bool is_top = !parent || (is_mpiio && parent->top->call->layer != LAYER_MPIIO);
    node->top = is_top ? node : parent->top;
    node->of = parent ? parent->of : (struct stack_place){.part = -1, .is_caused = !is_below};
    if (parent) node->of.depth++;
    if (is_top) {
        node->of.top = node->id;
        node->of.number = is_below || (numbers->has_mpiio && !is_mpiio) ? -1 : numbers->calls++;
    }
    if (is_part(stack, node)) node->of.part = node->top->parts++;
    if (is_top && stack->end_top && !node->share)
        RETURN_IF(!(node->share = calloc(LAYER_COUNT, sizeof *node->share)), -ENOMEM);
    stack->place = node->of;
    return 0;
}

static int fill_node(struct summary_stack *stack, struct stack_node *node, const struct log_event *event,
                     struct stack_node *parent) {
    bool is_below = call_layer_is_below(event->call->layer);
    node->process = event->process;
    node->call = event->call;
    node->file = event->file;
    node->parent = parent;
    node->fragment = !is_below ? NULL : parent && parent->fragment ? parent->fragment : node;
    node->start_ns = event->start_ns;
    node->duration_ns = event->duration_ns;
    node->bytes = stack_bytes(event);
    node->is_inner = parent && parent->call->layer == event->call->layer && !is_below;
    node->is_on_stack =
        is_below || (is_on_its_host(stack, event) && (!stack->lowest || stack_has_file(stack, event->file)));
    node->server = server_of(event);
    node->is_request = node->server != LOG_NO_SERVER && !(parent && parent->server != LOG_NO_SERVER);
    if (parent) parent->children++;
    if (stack->numbers) FORWARD(number_node(stack, node));
    if (!log_collectives_divide(event->call)) return 0;
    FORWARD(meetings_enter(&stack->meetings, event, &node->turn));
    bool is_lost = event->start_ns > node->turn.until_ns && node->turn.size != 1;
    node->has_turn = log_class_moves(event->call->class) && !is_lost;
    stack->unmatched += is_lost && log_class_moves(event->call->class);
    return 0;
}

int stack_add(struct summary_stack *stack, const struct log_event *event) {
    stack->place = (struct stack_place){.number = -1, .part = -1};
    if (!log_event_is_possible(event)) return 0;
    go_on(stack, event->start_ns);
    struct stack_node *parent = log_event_is_inside(event) ? find_node(stack, event->parent) : NULL, *node;
    bool is_below = call_layer_is_below(event->call->layer);
    if (log_class_moves(event->call->class) && (is_below || (is_lowest(event, parent) && is_on_its_host(stack, event))))
        FORWARD(stack_moved_add(stack, event->file, event->call, stack_bytes(event)));
    // Nothing is inside a call of the disk.
    if (event->call->layer == LAYER_DISK && parent && parent->server != LOG_NO_SERVER) {
        stack->place = parent->of;
        stack->place.depth++;
        return add_below(stack, event, parent->fragment, false);
    }
    FORWARD(new_node(stack, event->id, &node));
    FORWARD(fill_node(stack, node, event, parent));
    if (is_below) FORWARD(add_below(stack, event, node->fragment, node->fragment == node));
    if (node->is_request) FORWARD(stack_request_begin(stack, event, node->server));
    int64_t end_ns = event->start_ns + event->duration_ns;
    return log_heap_push(&stack->ends, (struct log_turn){end_ns, UINT64_MAX - stack->begun++, node}); // the inner first
}

static int add_events(void *context, const struct log_event *const *event, size_t count) {
    for (size_t i = 0; i < count; i++) FORWARD(stack_add(context, event[i]));
    return 0;
}

// --- begin and end

// The lowest layer of which the log has calls; LAYER_NONE: there are none below the system call.
static unsigned find_lowest(const struct log *log) {
    unsigned lowest = LAYER_NONE;
    for (size_t i = 0; i < log_below_count(log); i++) {
        const struct log_below *below = log_below_at(log, i);
        if (below->reason == UNTIED_NONE && below->layer > lowest) lowest = below->layer;
    }
    return lowest;
}

static int make_room(struct summary_stack *stack) {
    stack->process = calloc(log_process_count(stack->log) + 1, sizeof *stack->process);
    stack->gathering = malloc(MOST_GATHERINGS * sizeof *stack->gathering);
    RETURN_IF(!stack->process || !stack->gathering, -ENOMEM);
    return meetings_init(&stack->meetings, stack->log);
}

int stack_init(struct summary_stack *stack, struct log *log, unsigned lowest) {
    const struct log_stack *of = log_stack(log);
    *stack = (struct summary_stack){.log = log, .lowest = lowest, .watts = STACK_WATTS, .run_ns = log_run_ns(log)};
    if (of) stack->mount = of->mount, stack->device = of->device, stack->devices = of->devices;
    if (of && of->servers <= STACK_MOST_SERVERS) FORWARD(stack_servers_room(stack, of->servers));
    return lowest ? make_room(stack) : 0;
}

// --- numbered calls

static int mark_mpiio(struct log *log, struct log_iter *iter, bool *has_mpiio) {
    const struct log_event *event;
    size_t left = 0;
    int count = 0;
    for (size_t i = 0; i < log_process_count(log); i++) left += log_process_at(log, i)->has_rank;
    while (left && (count = log_iter_next_batch(iter, &event)) > 0) {
        for (; left && count; count--, event++) {
            left -= event->process->has_rank && !has_mpiio[event->process->index];
            has_mpiio[event->process->index] = true;
        }
    }
    return count < 0 ? count : 0;
}

int stack_find_mpiio(struct log *log, bool **has_mpiio) {
    struct log_iter *iter;
    *has_mpiio = calloc(log_process_count(log) + 1, sizeof **has_mpiio);
    RETURN_IF(!*has_mpiio, -ENOMEM);
    FORWARD(log_iter_open(&iter, log, &(struct log_filter){.layers = 1u << LAYER_MPIIO}));
    int code = mark_mpiio(log, iter, *has_mpiio);
    log_iter_close(iter);
    return code;
}

int stack_begin_numbered(struct summary_stack *stack, struct log *log, const bool *has_mpiio) {
    FORWARD(stack_init(stack, log, find_lowest(log)));
    if (!stack->lowest) FORWARD(make_room(stack));
    stack->numbers = calloc(log_process_count(log) + 1, sizeof *stack->numbers);
    RETURN_IF(!stack->numbers, -ENOMEM);
    for (size_t i = 0; i < log_process_count(log); i++) stack->numbers[i].has_mpiio = has_mpiio[i];
    return 0;
}

int stack_begin(struct summary_stack *stack, struct log *log, struct log_consumer *consumer) {
    FORWARD(stack_init(stack, log, find_lowest(log)));
    *consumer =
        (struct log_consumer){.context = stack, .wants_above = true, .wants_below = true, .ordered = add_events};
    if (!stack->lowest) *consumer = (struct log_consumer){0};
    return 0;
}

int stack_finish(struct summary_stack *stack) {
    go_on(stack, INT64_MAX);
    stack->unmatched += stack->gatherings;
    stack->gatherings = 0;
    stack_compare_servers(stack);
    return 0;
}

void stack_free(struct summary_stack *stack) {
    for (size_t i = 0; i < stack->nodes; i++) {
        free(stack->node[i]->of_server);
        free(stack->node[i]->share);
        free(stack->node[i]);
    }
    free(stack->node);
    free(stack->free_node);
    free(stack->process);
    free(stack->server);
    free(stack->likes);
    free(stack->moved);
    free(stack->ends.turn);
    lookup_free(&stack->node_of);
    lookup_free(&stack->likes_of);
    lookup_free(&stack->moved_of);
    meetings_free(&stack->meetings);
    free(stack->gathering);
    free(stack->numbers);
}
