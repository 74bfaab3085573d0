#include "log/stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/glob.h"
#include "log/private.h"
#include "log/stats_slot.h"

enum {
    VALUE_BUDGET = 1 << 20, // values beyond the candidates, in all records of a process
    RUNS = 16,
};

// The records of one process while its events are counted.
struct stats {
    struct log *log;
    const struct log_process *process;
    const struct log_filter *filter;
    struct log_stats_slot **slot; // allocated one by one: pointers to them stay valid
    size_t count;
    struct lookup by_key; // key: layer, index of the file
    struct run {          // by call and file: calls without attributes that are not counted yet
        const struct log_call *call;
        const struct log_file *file;
        struct log_stats_slot *slot; // NULL: such calls do not count
        bool is_access;              // false: they are counted at once
        bool has_offset, unaligned;
        int64_t result;
        unsigned count;
        struct counters_access access[COUNTERS_RUN];
    } run[RUNS];
    uint32_t value_budget;
};

static struct log_stats_slot *add_slot(struct stats *stats, unsigned layer, const struct log_file *file, uint64_t key) {
    if (array_room(stats->slot, stats->count)) return NULL;
    struct log_stats_slot *slot = calloc(1, sizeof *slot);
    if (!slot) return NULL;
    slot->record.process = stats->process;
    slot->record.has_rank = stats->process->has_rank;
    slot->record.rank = stats->process->rank;
    slot->record.world = stats->process->world;
    slot->record.layer = layer;
    slot->record.file = file;
    stats->slot[stats->count] = slot;
    if (lookup_set(&stats->by_key, key, (uint32_t)stats->count) < 0) {
        free(slot);
        return NULL;
    }
    stats->count++;
    return slot;
}

static struct log_stats_slot *lookup_slot(struct stats *stats, unsigned layer, const struct log_file *file) {
    uint64_t key = lookup_pair(layer, (uint32_t)log_file_index(stats->log, file));
    uint32_t at = lookup_find(&stats->by_key, key);
    return at == LOOKUP_NONE ? add_slot(stats, layer, file, key) : stats->slot[at];
}

// --- calls that differ only in offset and time are counted together

static int end_run(struct stats *stats, struct run *run) {
    struct log_stats_slot *slot = run->slot;
    struct counters_left_out left_out;
    const struct counters_input in = {
        .call = run->call->build_id,
        .block_size = run->file->block_size,
        .has_offset = run->has_offset,
        .unaligned = run->unaligned,
        .result = run->result,
    };
    counters_add_run(&slot->record.counters, &in, run->access, run->count, &left_out);
    if (left_out.sizes)
        FORWARD(log_value_counts_add(&slot->sizes, (uint64_t)run->result, left_out.sizes, &stats->value_budget));
    for (unsigned i = 0; i < left_out.strides; i++)
        FORWARD(
            log_value_counts_add(&slot->strides, left_out.stride[i], left_out.stride_count[i], &stats->value_budget));
    run->count = 0;
    slot->run = NULL;
    return 0;
}

// Ends the run of the slot: the next call on its file is different.
static int end_run_of(struct stats *stats, const struct log_stats_slot *slot) {
    return slot->run ? end_run(stats, slot->run) : 0;
}

// Whether the run is open and a call without attributes is like the others in it.
static inline bool continues(const struct run *run, const struct log_event *event) {
    const struct log_event_raw *raw = &event->raw;
    return run->call == event->call && run->file == event->file && run->count && run->count < COUNTERS_RUN &&
           run->result == raw->result && run->has_offset == raw->has_offset && run->unaligned == raw->unaligned;
}

// Begins a run in the given place. *place becomes NULL if the call does not count.
static int begin_run(struct stats *stats, const struct log_event *event, struct run **place) {
    struct run *run = *place;
    if (run->count) FORWARD(end_run(stats, run));
    if (run->call != event->call || run->file != event->file) {
        unsigned layer = counters_layer(event->call->build_id, 0);
        run->call = event->call;
        run->file = event->file;
        run->is_access = counters_is_access(event->call->build_id);
        run->slot = layer != LAYER_NONE ? lookup_slot(stats, layer, event->file) : NULL;
        RETURN_IF(layer != LAYER_NONE && !run->slot, -ENOMEM);
    }
    if (!run->slot) *place = NULL;
    if (!run->slot || !run->is_access) return 0;
    FORWARD(end_run_of(stats, run->slot));
    run->slot->run = run;
    run->result = event->raw.result;
    run->has_offset = event->raw.has_offset;
    run->unaligned = event->raw.unaligned;
    return 0;
}

static int add_to_slot(struct stats *stats, struct log_stats_slot *slot, struct counters_input *in) {
    FORWARD(end_run_of(stats, slot));
    in->block_size = slot->record.file->block_size;
    unsigned missed = counters_add(&slot->record.counters, in);
    uint64_t stride = slot->record.counters.value[COUNTER_LAST_STRIDE];
    if (missed & MISSED_SIZE)
        FORWARD(log_value_counts_add(&slot->sizes, (uint64_t)in->result, 1, &stats->value_budget));
    if (missed & MISSED_STRIDE) FORWARD(log_value_counts_add(&slot->strides, stride, 1, &stats->value_budget));
    return 0;
}

static int add_input(struct stats *stats, unsigned layer, const struct log_file *file, struct counters_input *in) {
    struct log_stats_slot *slot = lookup_slot(stats, layer, file);
    RETURN_IF(!slot, -ENOMEM);
    return add_to_slot(stats, slot, in);
}

// An event with two files passes the filter if either does.
static bool wants_file(const struct stats *stats, const struct log_event *event, const struct log_file *file) {
    if (!file) return false;
    const char *glob = event->file2 ? stats->filter->file_glob : NULL;
    return !glob || glob_match(glob, file->name);
}

static struct counters_input input_of(const struct log_event *event) {
    const struct log_event_raw *raw = &event->raw;
    return (struct counters_input){
        .call = event->call->build_id,
        .offset = raw->offset,
        .has_offset = raw->has_offset,
        .unaligned = raw->unaligned,
        .result = raw->result,
        .start = event->start_ns > 0 ? (uint64_t)event->start_ns : 0,
        .duration = event->duration_ns > 0 ? (uint64_t)event->duration_ns : 0,
    };
}

// Most calls have only file, offset and size.
static inline int add_plain(struct stats *stats, const struct log_event *event) {
    struct run *run;
    if (!event->file) return 0;
    run = &stats->run[(event->call->id + event->file->index) % RUNS];
    if (!continues(run, event)) FORWARD(begin_run(stats, event, &run));
    if (!run) return 0;
    if (run->is_access) {
        run->access[run->count++] =
            (struct counters_access){event->raw.offset, event->start_ns > 0 ? (uint64_t)event->start_ns : 0,
                                     event->duration_ns > 0 ? (uint64_t)event->duration_ns : 0};
        return 0;
    }
    struct counters_input in = input_of(event);
    return add_to_slot(stats, run->slot, &in);
}

static int add_event(struct stats *stats, const struct log_event *event) {
    const struct log_event_raw *raw = &event->raw;
    if (raw->error || !raw->has_result || raw->result < 0) return 0;
    if (!raw->attribute_mask) return add_plain(stats, event);
    struct counters_input in = input_of(event);
    if (raw->attribute_mask & 1u << ATTRIBUTE_MODE) in.mode = (uint32_t)raw->attribute[ATTRIBUTE_MODE];
    if (raw->attribute_mask & 1u << ATTRIBUTE_FLAGS) in.flags = (uint32_t)raw->attribute[ATTRIBUTE_FLAGS];
    if (raw->attribute_mask & 1u << ATTRIBUTE_COMM_SIZE) in.comm_size = (uint32_t)raw->attribute[ATTRIBUTE_COMM_SIZE];
    in.has_hints = raw->attribute_mask & 1u << ATTRIBUTE_HINTS && raw->attribute[ATTRIBUTE_HINTS];
    unsigned layer = counters_layer(in.call, in.flags);
    if (layer == LAYER_NONE) return 0;
    if (wants_file(stats, event, event->file)) FORWARD(add_input(stats, layer, event->file, &in));
    if (!event->file2 || !counters_has_target(in.call) || !wants_file(stats, event, event->file2)) return 0;
    in.is_target = true;
    in.renamed_from = event->file ? event->file->record_id : 0;
    return add_input(stats, layer, event->file2, &in);
}

static int add_events(void *state, const struct log_event *event, size_t count) {
    for (size_t i = 0; i < count; i++) FORWARD(add_event(state, &event[i]));
    return 0;
}

// Decodes counters from after the trace cap. Returns 1, or 0 if they are damaged or their file or layer is unknown.
static int read_stored(struct log *log, const struct log_process *process, const struct counters_row *row,
                       struct spill_counters *entry, const struct log_file **file) {
    uint32_t id;
    const struct fields_in body = {.at = row->body, .end = row->body + row->len};
    if (counters_get(body, &id, entry) < 0) {
        pthread_mutex_lock(&log->damage);
        log->health.records_damaged++;
        pthread_mutex_unlock(&log->damage);
        return 0;
    }
    *file = log_process_file(log, process, entry->file);
    return *file && entry->layer != LAYER_NONE;
}

// These calls come after the trace.
static int add_stored(struct stats *stats, const struct counters_row *row) {
    struct spill_counters entry;
    const struct log_file *file;
    const struct log_filter *filter = stats->filter;
    if (!read_stored(stats->log, stats->process, row, &entry, &file)) return 0;
    if (filter->layers && !(filter->layers >> entry.layer & 1)) return 0;
    if (filter->file_glob && !glob_match(filter->file_glob, file->name)) return 0;

    uint64_t *renamed_from = &entry.counters.value[COUNTER_RENAMED_FROM];
    const struct log_file *old = log_process_file(stats->log, stats->process, (uint32_t)*renamed_from);
    *renamed_from = old ? old->record_id : 0;

    struct log_stats_slot *slot = lookup_slot(stats, entry.layer, file);
    RETURN_IF(!slot, -ENOMEM);
    struct counters_common left_out[2] = {{.used = 0}, {.used = 0}};
    counters_merge(&slot->record.counters, &entry.counters, left_out);
    for (unsigned i = 0; i < left_out[0].used; i++)
        FORWARD(log_value_counts_add(&slot->sizes, left_out[0].value[i], left_out[0].count[i], &stats->value_budget));
    for (unsigned i = 0; i < left_out[1].used; i++)
        FORWARD(log_value_counts_add(&slot->strides, left_out[1].value[i], left_out[1].count[i], &stats->value_budget));
    return 0;
}

static int add_all_stored(struct stats *stats) {
    const struct log_filter *filter = stats->filter;
    if (filter->classes || filter->has_from || filter->has_to) return 0;
    const struct counters_row *rows = stats->log->counters.item;
    size_t low = 0, high = stats->log->counters.count;
    while (low < high) { // finds the first of this process
        size_t middle = low + (high - low) / 2;
        if (rows[middle].process < stats->process->id)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < stats->log->counters.count && rows[low].process == stats->process->id; low++)
        FORWARD(add_stored(stats, &rows[low]));
    return 0;
}

// Files are in one array, so their addresses have the log's order.
static int compare_slots(const void *a, const void *b) {
    const struct log_stats_record *left = &(*(struct log_stats_slot *const *)a)->record;
    const struct log_stats_record *right = &(*(struct log_stats_slot *const *)b)->record;
    if (left->layer != right->layer) return left->layer < right->layer ? -1 : 1;
    return left->file < right->file ? -1 : left->file > right->file;
}

static void discard(void *state) {
    struct stats *stats = state;
    for (size_t i = 0; i < stats->count; i++) {
        log_stats_slot_free(stats->slot[i]);
        free(stats->slot[i]);
    }
    lookup_free(&stats->by_key);
    free(stats->slot);
    free(stats);
}

static int begin(void *context, const struct log_process *process, void **state) {
    static const struct log_filter everything;
    const struct log_stats_request *request = context;
    struct stats *stats = calloc(1, sizeof *stats);
    RETURN_IF(!stats, -ENOMEM);
    stats->log = request->log;
    stats->process = process;
    stats->filter = request->filter ? request->filter : &everything;
    stats->value_budget = VALUE_BUDGET;
    *state = stats;
    return 0;
}

static int end(void *context, void *state) {
    const struct log_stats_request *request = context;
    struct stats *stats = state;
    int code = 0;
    for (size_t i = 0; i < RUNS && code == 0; i++) code = stats->run[i].count ? end_run(stats, &stats->run[i]) : 0;
    if (code == 0) code = add_all_stored(stats);
    if (stats->count > 1) qsort(stats->slot, stats->count, sizeof *stats->slot, compare_slots);
    for (size_t i = 0; i < stats->count && code == 0; i++) {
        if (request->slot_callback) {
            code = request->slot_callback(stats->slot[i], request->context);
        } else {
            code = log_stats_slot_finish(stats->slot[i]);
            if (code == 0) code = request->callback(&stats->slot[i]->record, request->context);
        }
    }
    discard(stats);
    return code;
}

struct log_consumer log_stats_consumer(struct log_stats_request *request) {
    return (struct log_consumer){
        .context = request, .begin = begin, .events = add_events, .end = end, .discard = discard};
}

int log_stats_visit(struct log_stats_request *request) {
    const struct log_consumer consumer = log_stats_consumer(request);
    return log_visit(
        &(struct log_visit){.log = request->log, .filter = request->filter, .consumer = &consumer, .consumers = 1});
}

int log_stats_slot_finish(struct log_stats_slot *slot) {
    FORWARD(log_value_counts_finish(&slot->sizes, &slot->record.counters.sizes));
    return log_value_counts_finish(&slot->strides, &slot->record.counters.strides);
}

void log_stats_slot_free(struct log_stats_slot *slot) {
    log_value_counts_free(&slot->sizes);
    log_value_counts_free(&slot->strides);
}

int log_stats(struct log *log, const struct log_filter *filter, log_stats_callback *callback, void *context) {
    return log_stats_visit(
        &(struct log_stats_request){.log = log, .filter = filter, .callback = callback, .context = context});
}

int log_stats_untraced(struct log *log, log_stats_callback *callback, void *context) {
    const struct counters_row *rows = log->counters.item;
    for (size_t i = 0; i < log->counters.count; i++) {
        struct spill_counters entry;
        struct log_stats_record record = {.process = log_process_find(log, rows[i].process)};
        if (!record.process || !read_stored(log, record.process, &rows[i], &entry, &record.file)) continue;
        record.has_rank = record.process->has_rank;
        record.rank = record.process->rank;
        record.world = record.process->world;
        record.layer = entry.layer;
        record.counters = entry.counters;
        FORWARD(callback(&record, context));
    }
    return 0;
}
