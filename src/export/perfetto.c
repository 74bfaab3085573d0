// A trace that Perfetto opens (ui.perfetto.dev): a track for each thread and server, a slice for each call, arrows to
// calls on other tracks, and the bandwidth of the job. The numbers below are those of Perfetto's public definitions
// (protos/perfetto/trace).
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "export/export.h"
#include "export/lanes.h"
#include "export/proto.h"
#include "log/describe.h"
#include "log/visit.h"

enum { TRACE_PACKET = 1 };
enum { PACKET_TIMESTAMP = 8, PACKET_SEQUENCE = 10, PACKET_EVENT = 11, PACKET_INTERNED = 12, PACKET_FLAGS = 13 };
enum { PACKET_TRACK = 60 };
enum { FLAG_STATE_CLEARED = 1, FLAG_NEEDS_STATE = 2 };
enum { TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_THREAD = 4, TRACK_PARENT = 5, TRACK_COUNTER = 8 };
enum { ABOUT_PID = 1, ABOUT_WORD = 2, ABOUT_PROCESS_NAME = 6, ABOUT_TID = 2, ABOUT_THREAD_NAME = 5 };
enum { COUNTER_UNIT = 3, UNIT_BYTES = 3 };
enum { EVENT_CATEGORY = 3, EVENT_ANNOTATION = 4, EVENT_TYPE = 9, EVENT_NAME = 10, EVENT_TRACK = 11 };
enum { EVENT_DOUBLE_COUNTER = 44, EVENT_FLOW = 47 };
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_COUNTER = 4 };
enum { ANNOTATION_NAME = 1, ANNOTATION_INTEGER = 4, ANNOTATION_TEXT = 6, ANNOTATION_KNOWN_TEXT = 17 };
enum { INTERNED_CATEGORY = 1, INTERNED_EVENT_NAME = 2, INTERNED_ANNOTATION_NAME = 3, INTERNED_TEXT = 29 };
enum { INTERNED_ID = 1, INTERNED_STRING = 2 };

// Names of annotations; their ids begin with 1.
static const char *const annotation[] = {"",       "id",    "parent", "file",   "object", "offset",    "size",
                                         "result", "error", "rank",   "server", "line",   "collective"};
enum { AN_ID = 1, AN_PARENT, AN_FILE, AN_OBJECT, AN_OFFSET, AN_SIZE, AN_RESULT, AN_ERROR, AN_RANK, AN_SERVER, AN_LINE };
enum { AN_COLLECTIVE = AN_LINE + 1 };

enum {
    BINS = 2000,           // of the bandwidth
    MOST_BYTES = 16 << 20, // that wait for flows
    FLOW_BYTES = 10,
    OTHER_NUMBERS = 1 << 30, // for processes and threads whose number is that of another one
};
#define PASSED_FLOW (UINT64_C(1) << 63)

// A packet that begins a slice. More flows can be added until it is written.
struct item {
    size_t packet, event, end; // places of its messages
    uint32_t lane;
    uint32_t flow; // the last one, or LOOKUP_NONE
};

struct flow {
    uint64_t id;
    uint32_t before; // or LOOKUP_NONE
};

struct perfetto {
    struct log *log;
    FILE *out;
    const struct export_watch *watch;
    struct lanes lanes;
    struct proto proto; // packets that are not written yet
    struct item *item;
    size_t items;
    struct flow *flow;
    size_t flows;
    struct lookup begun;           // item of an event
    struct lookup older;           // lane of an event that is under way, and whose packet has been written
    struct lookup processes, tids; // numbers in use
    uint32_t *pid;                 // by process, as in the trace
    uint32_t others;               // numbers that were replaced
    double bytes[2][BINS];         // read, written
    int64_t bin_ns;
    uint64_t events;
};

// --- packets

static size_t begin_packet(struct perfetto *p, int64_t ns, unsigned flags) {
    size_t place = proto_open(&p->proto, TRACE_PACKET);
    if (ns != INT64_MIN) proto_number(&p->proto, PACKET_TIMESTAMP, log_job(p->log)->start_ns + (uint64_t)ns);
    proto_number(&p->proto, PACKET_SEQUENCE, 1);
    proto_number(&p->proto, PACKET_FLAGS, flags);
    return place;
}

static int write_bytes(const struct perfetto *p, const void *data, size_t len) {
    return len && fwrite(data, 1, len, p->out) != len ? -errno : 0;
}

static int write_flows(struct perfetto *p, const struct item *item) {
    struct proto flows = {0};
    for (uint32_t i = item->flow; i != LOOKUP_NONE; i = p->flow[i].before)
        proto_fixed(&flows, EVENT_FLOW, p->flow[i].id);
    proto_lengthen(&p->proto, item->packet, flows.bytes.len);
    proto_lengthen(&p->proto, item->event, flows.bytes.len);
    int code = flows.error ? flows.error
                           : write_bytes(p, p->proto.bytes.data + item->packet - 1, item->end - item->packet + 1);
    if (code == 0) code = write_bytes(p, flows.bytes.data, flows.bytes.len);
    bytes_free(&flows.bytes);
    return code;
}

static int write_packets(struct perfetto *p) {
    size_t at = 0;
    RETURN_IF(p->proto.error, p->proto.error);
    for (size_t i = 0; i < p->items; i++) {
        const struct item *item = &p->item[i];
        if (item->flow == LOOKUP_NONE) continue;
        FORWARD(write_bytes(p, p->proto.bytes.data + at, item->packet - 1 - at));
        FORWARD(write_flows(p, item));
        at = item->end;
    }
    FORWARD(write_bytes(p, p->proto.bytes.data + at, p->proto.bytes.len - at));
    p->proto.bytes.len = p->items = p->flows = 0;
    lookup_clear(&p->begun);
    return 0;
}

// --- flows: arrows to calls on other tracks

static int add_flow(struct perfetto *p, struct item *item, uint64_t id) {
    uint32_t before = item->flow;
    item->flow = (uint32_t)p->flows;
    return array_push(p->flow, p->flows, (struct flow){id, before});
}

// Each pair of calls has a flow of its own. Only if the packet of the call around has been written already, its calls
// share the one that it has for this case.
static int tie_to_parent(struct perfetto *p, const struct log_event *event, struct item *item) {
    if (!log_event_is_inside(event)) return 0;
    uint32_t parent = lookup_find(&p->begun, event->parent), older = lookup_find(&p->older, event->parent);
    if (parent != LOOKUP_NONE && p->item[parent].lane != item->lane) {
        FORWARD(add_flow(p, &p->item[parent], event->id + 1));
        return add_flow(p, item, event->id + 1);
    }
    if (older != LOOKUP_NONE && older != item->lane) return add_flow(p, item, PASSED_FLOW | event->parent);
    return 0;
}

static int write_part(struct perfetto *p) {
    for (uint32_t at = 0; at < p->lanes.count; at++) {
        const struct lane *lane = &p->lanes.lane[at];
        for (size_t i = 0; i < lane->depth; i++) {
            uint32_t item = lookup_find(&p->begun, lane->open[i].id);
            if (item != LOOKUP_NONE) FORWARD(add_flow(p, &p->item[item], PASSED_FLOW | lane->open[i].id));
        }
    }
    FORWARD(write_packets(p));
    lookup_clear(&p->older);
    for (uint32_t at = 0; at < p->lanes.count; at++) {
        const struct lane *lane = &p->lanes.lane[at];
        for (size_t i = 0; i < lane->depth; i++) FORWARD(lookup_set(&p->older, lane->open[i].id, at));
    }
    return 0;
}

// --- tracks

enum track_kind { PROCESSES, LANES, SERVERS, COUNTERS };

static uint64_t track_uuid(enum track_kind kind, uint64_t number) { return (uint64_t)kind << 32 | (number + 1); }

// A number that no other process, or thread, has: on several hosts, and after an exec, they are used again.
static int own_number(struct perfetto *p, struct lookup *used, uint32_t *number) {
    if (lookup_find(used, *number) != LOOKUP_NONE) *number = OTHER_NUMBERS + p->others++;
    return lookup_set(used, *number, 0);
}

static int describe_process(struct perfetto *p, const struct log_process *process) {
    const char *exe = process->exe ? process->exe : "", *base = strrchr(exe, '/');
    char name[256], rank[112] = "";
    uint32_t *pid = &p->pid[process->index];
    *pid = process->pid;
    FORWARD(own_number(p, &p->processes, pid));
    if (process->has_rank) snprintf(rank, sizeof rank, "rank %s: ", describe_ranks(process).text);
    snprintf(name, sizeof name, "%s%.100s (%.100s)", rank, base ? base + 1 : exe, process->host ? process->host : "?");
    size_t packet = begin_packet(p, INT64_MIN, FLAG_NEEDS_STATE), track = proto_open(&p->proto, PACKET_TRACK);
    proto_number(&p->proto, TRACK_UUID, track_uuid(PROCESSES, process->index));
    size_t about = proto_open(&p->proto, TRACK_PROCESS);
    proto_number(&p->proto, ABOUT_PID, *pid);
    for (size_t i = 0; i < process->args.count; i++) proto_text(&p->proto, ABOUT_WORD, process->args.word[i]);
    proto_text(&p->proto, ABOUT_PROCESS_NAME, name);
    proto_close(&p->proto, about);
    proto_close(&p->proto, track);
    proto_close(&p->proto, packet);
    return 0;
}

static void describe_track(struct perfetto *p, uint64_t uuid, uint64_t parent, const char *name, unsigned unit) {
    size_t packet = begin_packet(p, INT64_MIN, FLAG_NEEDS_STATE), track = proto_open(&p->proto, PACKET_TRACK);
    proto_number(&p->proto, TRACK_UUID, uuid);
    if (parent) proto_number(&p->proto, TRACK_PARENT, parent);
    proto_text(&p->proto, TRACK_NAME, name);
    if (unit) {
        size_t counter = proto_open(&p->proto, TRACK_COUNTER);
        proto_number(&p->proto, COUNTER_UNIT, unit);
        proto_close(&p->proto, counter);
    }
    proto_close(&p->proto, track);
    proto_close(&p->proto, packet);
}

static int describe_thread(struct perfetto *p, uint32_t at, const struct lane *lane) {
    uint32_t tid = lane->tid;
    char name[32];
    FORWARD(own_number(p, &p->tids, &tid));
    snprintf(name, sizeof name, "thread %" PRIu32, lane->tid);
    size_t packet = begin_packet(p, INT64_MIN, FLAG_NEEDS_STATE), track = proto_open(&p->proto, PACKET_TRACK);
    proto_number(&p->proto, TRACK_UUID, track_uuid(LANES, at));
    proto_number(&p->proto, TRACK_PARENT, track_uuid(PROCESSES, lane->process->index));
    size_t about = proto_open(&p->proto, TRACK_THREAD);
    proto_number(&p->proto, ABOUT_PID, p->pid[lane->process->index]);
    proto_number(&p->proto, ABOUT_TID, tid);
    proto_text(&p->proto, ABOUT_THREAD_NAME, name);
    proto_close(&p->proto, about);
    proto_close(&p->proto, track);
    proto_close(&p->proto, packet);
    return 0;
}

static int add_lane(void *context, uint32_t at) {
    struct perfetto *p = context;
    const struct lane *lane = &p->lanes.lane[at];
    char name[128];
    if (lane->process && lane->number == 0) return describe_thread(p, at, lane);
    if (lane->process) {
        snprintf(name, sizeof name, "thread %" PRIu32 ", at the same time", lane->tid);
        describe_track(p, track_uuid(LANES, at), track_uuid(PROCESSES, lane->process->index), name, 0);
        return 0;
    }
    snprintf(name, sizeof name, "server %" PRIu32, lane->server);
    if (lane->number == 0) describe_track(p, track_uuid(SERVERS, lane->server), 0, name, 0);
    describe_track(p, track_uuid(LANES, at), track_uuid(SERVERS, lane->server), name, 0);
    return 0;
}

// --- texts that many packets use

static void intern(struct perfetto *p, unsigned field, uint64_t id, const char *text) {
    size_t packet = begin_packet(p, INT64_MIN, FLAG_NEEDS_STATE), data = proto_open(&p->proto, PACKET_INTERNED);
    size_t entry = proto_open(&p->proto, field);
    proto_number(&p->proto, INTERNED_ID, id);
    proto_text(&p->proto, INTERNED_STRING, text);
    proto_close(&p->proto, entry);
    proto_close(&p->proto, data);
    proto_close(&p->proto, packet);
}

// A file has two texts.
static uint64_t file_text(const struct log_file *file, bool is_object) {
    return file->index * UINT64_C(2) + 1 + is_object;
}

static int write_texts(struct perfetto *p) {
    const struct log *log = p->log;
    proto_close(&p->proto, begin_packet(p, INT64_MIN, FLAG_STATE_CLEARED));
    for (unsigned layer = 1; layer < LAYER_COUNT; layer++) intern(p, INTERNED_CATEGORY, layer, call_layer_name(layer));
    for (size_t i = 1; i < sizeof annotation / sizeof annotation[0]; i++)
        intern(p, INTERNED_ANNOTATION_NAME, i, annotation[i]);
    for (uint32_t id = 0; id < log_call_ids(log); id++) {
        const struct log_call *call = log_call_find(log, id);
        if (call) intern(p, INTERNED_EVENT_NAME, id + UINT64_C(1), call->name);
    }
    for (size_t i = 0; i < log_file_count(log); i++) {
        const struct log_file *file = log_file_at(log, i);
        intern(p, INTERNED_TEXT, file_text(file, false), file->name);
        if (file->object) intern(p, INTERNED_TEXT, file_text(file, true), file->object);
        if (p->proto.bytes.len > MOST_BYTES) FORWARD(write_packets(p));
    }
    return 0;
}

// --- slices

static void annotate(struct perfetto *p, unsigned name, bool is_known, int64_t value) {
    if (is_known) proto_pair(&p->proto, EVENT_ANNOTATION, ANNOTATION_NAME, name, ANNOTATION_INTEGER, (uint64_t)value);
}

static void annotate_text(struct perfetto *p, unsigned name, const char *text) {
    if (!text) return;
    size_t place = proto_open(&p->proto, EVENT_ANNOTATION);
    proto_number(&p->proto, ANNOTATION_NAME, name);
    proto_text(&p->proto, ANNOTATION_TEXT, text);
    proto_close(&p->proto, place);
}

static void annotate_file(struct perfetto *p, unsigned name, const struct log_file *file, bool is_object) {
    proto_pair(&p->proto, EVENT_ANNOTATION, ANNOTATION_NAME, name, ANNOTATION_KNOWN_TEXT, file_text(file, is_object));
}

static void annotate_event(struct perfetto *p, const struct log_event *event) {
    const struct log_event_raw *raw = &event->raw;
    uint32_t server = log_event_server(event);
    annotate(p, AN_ID, true, (int64_t)event->id);
    annotate(p, AN_PARENT, log_event_is_inside(event), (int64_t)event->parent);
    if (event->file) annotate_file(p, AN_FILE, event->file, false);
    if (event->file && event->file->object) annotate_file(p, AN_OBJECT, event->file, true);
    annotate(p, AN_OFFSET, raw->has_offset, (int64_t)raw->offset);
    annotate(p, AN_SIZE, event->call->traits & CALL_HAS_SIZE, (int64_t)raw->size);
    annotate(p, AN_RESULT, raw->has_result, raw->result);
    annotate_text(p, AN_ERROR, raw->error ? describe_error(event) : NULL);
    annotate(p, AN_RANK, event->process->has_rank, event->process->rank);
    annotate(p, AN_SERVER, server != LOG_NO_SERVER, server);
    annotate_text(p, AN_LINE, event->line);
    annotate(p, AN_COLLECTIVE, log_event_is_collective(event), 1);
}

static size_t begin_event(struct perfetto *p, unsigned type, uint64_t uuid) {
    size_t place = proto_open(&p->proto, PACKET_EVENT);
    proto_number(&p->proto, EVENT_TYPE, type);
    proto_number(&p->proto, EVENT_TRACK, uuid);
    return place;
}

static int begin_slice(void *context, uint32_t lane, const struct log_event *event, struct lane_call *call) {
    struct perfetto *p = context;
    struct item item = {.lane = lane, .flow = LOOKUP_NONE};
    (void)call;
    item.packet = begin_packet(p, event->start_ns, FLAG_NEEDS_STATE);
    item.event = begin_event(p, TYPE_BEGIN, track_uuid(LANES, lane));
    proto_number(&p->proto, EVENT_CATEGORY, event->call->layer);
    proto_number(&p->proto, EVENT_NAME, event->call->id + UINT64_C(1));
    annotate_event(p, event);
    proto_close(&p->proto, item.event);
    proto_close(&p->proto, item.packet);
    item.end = p->proto.bytes.len;
    FORWARD(tie_to_parent(p, event, &item));
    FORWARD(lookup_set(&p->begun, event->id, (uint32_t)p->items));
    return array_push(p->item, p->items, item);
}

static int end_slice(void *context, uint32_t lane, const struct lane_call *call) {
    struct perfetto *p = context;
    size_t packet = begin_packet(p, call->end_ns, FLAG_NEEDS_STATE);
    proto_close(&p->proto, begin_event(p, TYPE_END, track_uuid(LANES, lane)));
    proto_close(&p->proto, packet);
    return 0;
}

// --- bandwidth

static int bin_of(const struct perfetto *p, int64_t ns) {
    int64_t bin = ns / p->bin_ns;
    return bin < 0 ? 0 : bin < BINS ? (int)bin : BINS - 1;
}

// The bytes of a call move evenly while it lasts.
static void add_bytes(struct perfetto *p, const struct log_event *event) {
    double *bytes = p->bytes[event->call->class == CLASS_WRITE];
    int64_t start = event->start_ns, end = start + event->duration_ns;
    int first = bin_of(p, start), last = bin_of(p, end);
    double left = (double)log_event_bytes(event), rate = end > start ? left / (double)(end - start) : 0;
    for (int bin = first; bin < last; bin++) {
        double part = rate * (double)((bin + 1) * p->bin_ns - (bin == first ? start : bin * p->bin_ns));
        bytes[bin] += part;
        left -= part;
    }
    bytes[last] += left;
}

static void write_bandwidth(struct perfetto *p, unsigned direction) {
    static const char *const name[] = {"bytes per second, read", "bytes per second, written"};
    uint64_t uuid = track_uuid(COUNTERS, direction);
    double shown = -1;
    describe_track(p, uuid, 0, name[direction], UNIT_BYTES);
    for (int bin = 0; bin <= BINS; bin++) {
        double value = bin < BINS ? p->bytes[direction][bin] * 1e9 / (double)p->bin_ns : 0;
        if (value == shown) continue;
        shown = value;
        size_t packet = begin_packet(p, bin * p->bin_ns, FLAG_NEEDS_STATE);
        size_t event = begin_event(p, TYPE_COUNTER, uuid);
        proto_double(&p->proto, EVENT_DOUBLE_COUNTER, value);
        proto_close(&p->proto, event);
        proto_close(&p->proto, packet);
    }
}

// --- the trace

static int add_events(void *context, const struct log_event *const *event, size_t count) {
    struct perfetto *p = context;
    for (size_t i = 0; i < count; i++) {
        FORWARD(lanes_event(&p->lanes, event[i]));
        if (event[i]->moves) add_bytes(p, event[i]);
    }
    if (p->proto.bytes.len > MOST_BYTES) FORWARD(write_part(p));
    return p->watch->progress(p->watch->context, p->events += count);
}

static int write_trace(struct perfetto *p) {
    struct log_consumer consumer = {.context = p, .wants_above = true, .wants_below = true, .ordered = add_events};
    p->pid = calloc(log_process_count(p->log) + 1, sizeof *p->pid);
    RETURN_IF(!p->pid, -ENOMEM);
    FORWARD(write_texts(p));
    for (size_t i = 0; i < log_process_count(p->log); i++) FORWARD(describe_process(p, log_process_at(p->log, i)));
    FORWARD(log_visit(&(struct log_visit){.log = p->log, .consumer = &consumer, .consumers = 1}));
    FORWARD(lanes_finish(&p->lanes));
    write_bandwidth(p, 0);
    write_bandwidth(p, 1);
    return write_packets(p);
}

int export_perfetto(struct log *log, FILE *out, const struct export_watch *watch) {
    struct perfetto *p = calloc(1, sizeof *p);
    RETURN_IF(!p, -ENOMEM);
    p->log = log;
    p->out = out;
    p->watch = watch;
    p->bin_ns = log_run_ns(log) / BINS + 1;
    p->lanes = (struct lanes){.context = p, .add = add_lane, .begin = begin_slice, .end = end_slice};
    int code = write_trace(p);
    lanes_free(&p->lanes);
    bytes_free(&p->proto.bytes);
    free(p->item);
    free(p->flow);
    free(p->pid);
    lookup_free(&p->begun);
    lookup_free(&p->older);
    lookup_free(&p->processes);
    lookup_free(&p->tids);
    free(p);
    return code;
}
