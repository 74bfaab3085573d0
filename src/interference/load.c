#include "interference/load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/lookup.h"
#include "log/visit.h"

// The requests of one process.
struct part {
    const struct log_process *process;
    enum call_layer layer;
    struct load_request *request;
    size_t requests;
    uint32_t fragments;
    struct lookup fragment_of; // by the id of the call above
    const struct log_file **file;
    size_t files;
    struct lookup file_seen;
};

struct reading {
    struct load *load;
    const char *mount; // of the stack
};

static void free_part(void *state) {
    struct part *part = state;
    lookup_free(&part->fragment_of);
    lookup_free(&part->file_seen);
    free(part->file);
    free(part->request);
    free(part);
}

static int begin(void *context, const struct log_process *process, void **state) {
    (void)context;
    struct part *part = calloc(1, sizeof *part);
    RETURN_IF(!part, -ENOMEM);
    part->process = process;
    *state = part;
    return 0;
}

enum { SIZES = 65 };

unsigned load_kinds(void) { return 2 * SIZES + call_table_len; }

static uint16_t kind_of(const struct log_event *event) {
    unsigned class = event->call->class;
    if (!log_class_moves(class)) return (uint16_t)(2 * SIZES + event->call->build_id);
    unsigned magnitude = event->raw.size ? 64 - (unsigned)__builtin_clzll(event->raw.size) : 0;
    return (uint16_t)((class == CLASS_WRITE) * SIZES + magnitude);
}

static int find_fragment(struct part *part, const struct log_event *event, uint32_t *fragment) {
    *fragment = event->has_parent ? lookup_find(&part->fragment_of, event->parent) : LOOKUP_NONE;
    if (*fragment != LOOKUP_NONE) return 0;
    RETURN_IF(part->fragments == LOOKUP_NONE - 1, ERR_LIMIT);
    *fragment = part->fragments++;
    return event->has_parent ? lookup_set(&part->fragment_of, event->parent, *fragment) : 0;
}

// Layers are numbered from top to bottom. What one layer shows is in the layers below it once more.
static void start_layer(struct part *part, enum call_layer layer) {
    part->layer = layer;
    part->requests = 0;
    part->fragments = 0;
    lookup_clear(&part->fragment_of);
}

static int note_file(struct part *part, const struct log_file *file) {
    if (!file || (part->files && part->file[part->files - 1] == file)) return 0;
    if (lookup_find(&part->file_seen, file->id) != LOOKUP_NONE) return 0;
    FORWARD(lookup_set(&part->file_seen, file->id, 1));
    return array_push(part->file, part->files, file);
}

// A damaged log may have any numbers.
static bool is_request(const struct log_event *event) {
    enum { MOST_SERVERS = 256 };
    unsigned layer = event->call->layer;
    return layer >= LAYER_NET && layer <= LAYER_DISK && log_event_server(event) < MOST_SERVERS &&
           log_event_is_possible(event);
}

static int add_events(void *state, const struct log_event *event, size_t count) {
    struct part *part = state;
    for (const struct log_event *end = event + count; event < end; event++) {
        unsigned layer = event->call->layer;
        if (!is_request(event)) continue;
        if (part->layer == LAYER_NONE || layer < part->layer) start_layer(part, layer);
        if (layer != part->layer) continue;
        struct load_request request = {
            .start_ns = event->start_ns,
            .end_ns = event->start_ns + event->duration_ns,
            .bytes = log_class_moves(event->call->class) ? log_event_bytes(event) : 0,
            .server = (uint16_t)log_event_server(event),
            .kind = kind_of(event),
        };
        FORWARD(find_fragment(part, event, &request.fragment));
        if (request.bytes) FORWARD(note_file(part, event->file));
        RETURN_IF(array_push(part->request, part->requests, request), -ENOMEM);
    }
    return 0;
}

// All files must be in the same directory of the mount, at any depth.
static void add_file(const struct reading *reading, const struct log_file *file) {
    struct load *load = reading->load;
    size_t mount = strlen(reading->mount);
    if (strncmp(file->name, reading->mount, mount) || file->name[mount] != '/') return;
    const char *name = file->name + mount + 1;
    const char *slash = strchr(name, '/');
    size_t len = slash ? (size_t)(slash - name) : 0;
    if (len >= sizeof load->place) len = 0;
    bool is_same = strncmp(load->place, name, len) == 0 && load->place[len] == 0;
    if (!load->has_place) memcpy(load->place, name, len);
    if (load->has_place && !is_same) load->place[0] = 0;
    load->has_place = true;
}

// Another process may have shown a higher layer, for example if the log begins or ends in the middle of a call.
static int add_part(struct reading *reading, const struct part *part) {
    struct load *load = reading->load;
    if (part->layer == LAYER_NONE || (load->layer != LAYER_NONE && load->layer < part->layer)) return 0;
    if (part->layer != load->layer) load->requests = load->fragments = 0;
    load->layer = part->layer;
    size_t first = load->fragments;
    for (size_t i = 0; i < part->files; i++) add_file(reading, part->file[i]);
    for (uint32_t i = 0; i < part->fragments; i++)
        RETURN_IF(array_push(load->process, load->fragments, part->process->index), -ENOMEM);
    for (size_t i = 0; i < part->requests; i++) {
        struct load_request request = part->request[i];
        request.start_ns += load->start_ns;
        request.end_ns += load->start_ns;
        request.fragment += (uint32_t)first;
        RETURN_IF(array_push(load->request, load->requests, request), -ENOMEM);
    }
    return 0;
}

static int end(void *context, void *state) {
    int code = add_part(context, state);
    free_part(state);
    return code;
}

static int by_server_and_start(const void *a, const void *b) {
    const struct load_request *one = a, *two = b;
    if (one->server != two->server) return one->server < two->server ? -1 : 1;
    return one->start_ns < two->start_ns ? -1 : one->start_ns > two->start_ns;
}

static int add_to_server(struct load_server *server, const struct load_request *request) {
    struct load_span *last = server->spans ? &server->span[server->spans - 1] : NULL;
    server->requests++;
    server->bytes += request->bytes;
    if (last && request->start_ns <= last->end_ns) {
        if (request->end_ns > last->end_ns) last->end_ns = request->end_ns;
        return 0;
    }
    return array_push(server->span, server->spans, (struct load_span){request->start_ns, request->end_ns});
}

static int sum_up_servers(struct load *load) {
    if (!load->requests) return 0;
    qsort(load->request, load->requests, sizeof *load->request, by_server_and_start);
    load->servers = load->request[load->requests - 1].server + 1u;
    load->server = calloc(load->servers, sizeof *load->server);
    RETURN_IF(!load->server, -ENOMEM);
    for (size_t i = 0; i < load->requests; i++)
        FORWARD(add_to_server(&load->server[load->request[i].server], &load->request[i]));
    for (size_t i = 0; i < load->servers; i++) {
        struct load_server *server = &load->server[i];
        for (size_t j = 0; j < server->spans; j++) server->busy_ns += server->span[j].end_ns - server->span[j].start_ns;
    }
    return 0;
}

int load_read(struct load *load, struct log *log) {
    const uint64_t start_ns = log_job(log)->start_ns, latest_ns = UINT64_C(1) << 62; // sums do not overflow
    *load = (struct load){.start_ns = (int64_t)(start_ns < latest_ns ? start_ns : latest_ns)};
    const struct log_stack *stack = log_stack(log);
    if (!stack) return 0;
    struct reading reading = {load, stack->mount ? stack->mount : ""};
    struct log_consumer consumer = {.context = &reading,
                                    .wants_below = true,
                                    .begin = begin,
                                    .events = add_events,
                                    .end = end,
                                    .discard = free_part};
    FORWARD(log_visit(&(struct log_visit){.log = log, .consumer = &consumer, .consumers = 1}));
    return sum_up_servers(load);
}

void load_free(struct load *load) {
    for (size_t i = 0; i < load->servers && load->server; i++) free(load->server[i].span);
    free(load->server);
    free(load->request);
    free(load->process);
    *load = (struct load){0};
}

double load_part(const struct load *load, size_t server) {
    double bytes = 0, requests = 0;
    if (server >= load->servers) return 0;
    for (size_t i = 0; i < load->servers; i++) {
        bytes += (double)load->server[i].bytes;
        requests += (double)load->server[i].requests;
    }
    const struct load_server *one = &load->server[server];
    return bytes > 0 ? (double)one->bytes / bytes : requests > 0 ? (double)one->requests / requests : 0;
}

int64_t load_overlap_ns(const struct load *load, size_t server, int64_t start_ns, int64_t end_ns) {
    if (server >= load->servers) return 0;
    const struct load_span *span = load->server[server].span;
    size_t low = 0, high = load->server[server].spans;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (span[middle].end_ns > start_ns)
            high = middle;
        else
            low = middle + 1;
    }
    int64_t sum = 0;
    for (; low < load->server[server].spans && span[low].start_ns < end_ns; low++) {
        int64_t from = span[low].start_ns > start_ns ? span[low].start_ns : start_ns;
        int64_t to = span[low].end_ns < end_ns ? span[low].end_ns : end_ns;
        sum += to - from;
    }
    return sum;
}
