#include "log/stats.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/glob.h"
#include "log/private.h"
#include "log/stats_slot.h"

enum {
    VALUE_BUDGET = 1 << 20, // values beyond the candidates, in all records of a process
    MOST_SLOTS = 1 << 15,   // of all processes; a slot has two kilobytes
    RUNS = 16,
};

// A slot, or its contents in a tenth of the memory. An ordered visit counts all processes that run at one time: beyond
// MOST_SLOTS, each keeps a few slots only.
struct place {
    unsigned layer;
    const struct log_file *file;
    struct log_stats_slot *slot; // NULL: packed
    struct packed {
        struct log_value_counts sizes;
        struct log_value_counts strides;
        size_t len;
        uint8_t counters[];
    } * packed;
};

// The records of one process while its events are counted.
struct stats {
    struct log *log;
    const struct log_process *process;
    const struct log_filter *filter;
    struct log_stats_request *request;
    struct place *place;
    size_t count;
    size_t full;          // places with a slot
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
    struct counters_position *positions; // of files behind aggregates; NULL: there was none so far
};

// --- slots

static int make_slot(struct stats *stats, struct place *place) {
    struct log_stats_slot *slot = calloc(1, sizeof *slot);
    RETURN_IF(!slot, -ENOMEM);
    slot->record.process = stats->process;
    slot->record.has_rank = stats->process->has_rank;
    slot->record.rank = stats->process->rank;
    slot->record.world = stats->process->world;
    slot->record.layer = place->layer;
    slot->record.file = place->file;
    place->slot = slot;
    stats->full++;
    __atomic_fetch_add(&stats->request->slots, 1, __ATOMIC_RELAXED);
    return 0;
}

static void drop_slot(struct stats *stats, struct place *place) {
    free(place->slot);
    place->slot = NULL;
    stats->full--;
    __atomic_fetch_sub(&stats->request->slots, 1, __ATOMIC_RELAXED);
}

static int pack(struct stats *stats, struct place *place) {
    uint8_t data[COUNTERS_MAX_RECORD];
    struct log_stats_slot *slot = place->slot;
    const struct spill_counters entry = {.layer = place->layer, .counters = slot->record.counters};
    struct fields_out out = {.at = data, .end = data + sizeof data};
    counters_put(&out, 0, &entry);
    RETURN_IF(out.overflow, ERR_LIMIT);
    size_t len = (size_t)(out.at - data);
    place->packed = malloc(sizeof *place->packed + len);
    RETURN_IF(!place->packed, -ENOMEM);
    *place->packed = (struct packed){slot->sizes, slot->strides, len};
    memcpy(place->packed->counters, data, len);
    drop_slot(stats, place);
    return 0;
}

static int unpack(struct stats *stats, struct place *place) {
    struct packed *packed = place->packed;
    struct fields_in in = {packed->counters, packed->counters + packed->len}, body;
    struct spill_counters entry;
    uint32_t process;
    unsigned kind;
    RETURN_IF(fields_next_record(&in, &kind, &body) <= 0, ERR_FORMAT);
    FORWARD(counters_get(body, &process, &entry));
    FORWARD(make_slot(stats, place));
    place->slot->record.counters = entry.counters;
    place->slot->sizes = packed->sizes;
    place->slot->strides = packed->strides;
    free(packed);
    place->packed = NULL;
    return 0;
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

// Packs several slots at a time, so that the search is worth it.
static int pack_slots(struct stats *stats) {
    uint64_t most = stats->request->most_slots ? stats->request->most_slots : MOST_SLOTS;
    if (stats->full <= 8 + stats->count / 16) return 0;
    if (__atomic_load_n(&stats->request->slots, __ATOMIC_RELAXED) < most) return 0;
    for (size_t i = 0; i < RUNS; i++) {
        if (stats->run[i].count) FORWARD(end_run(stats, &stats->run[i]));
        stats->run[i].call = NULL;
    }
    for (size_t i = 0; i < stats->count; i++) {
        if (stats->place[i].slot) FORWARD(pack(stats, &stats->place[i]));
    }
    return 0;
}

static int lookup_slot(struct stats *stats, unsigned layer, const struct log_file *file, struct log_stats_slot **slot) {
    uint64_t key = lookup_pair(layer, (uint32_t)log_file_index(stats->log, file));
    uint32_t at = lookup_find(&stats->by_key, key);
    if (at == LOOKUP_NONE) {
        at = (uint32_t)stats->count;
        FORWARD(lookup_set(&stats->by_key, key, at));
        FORWARD(array_push(stats->place, stats->count, (struct place){.layer = layer, .file = file}));
    }
    struct place *place = &stats->place[at];
    if (!place->slot) {
        FORWARD(pack_slots(stats));
        FORWARD(place->packed ? unpack(stats, place) : make_slot(stats, place));
    }
    *slot = place->slot;
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
        struct log_stats_slot *slot = NULL;
        if (layer != LAYER_NONE) FORWARD(lookup_slot(stats, layer, event->file, &slot));
        run->slot = slot;
        run->call = event->call;
        run->file = event->file;
        run->is_access = counters_is_access(event->call->build_id) && !event->file->is_aggregate;
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

// What stands for several files compares the calls of each open file with each other.
static int add_apart(struct stats *stats, struct log_stats_slot *slot, uint32_t handle, const struct counters_input *in,
                     unsigned *missed) {
    if (!stats->positions) stats->positions = calloc(COUNTERS_POSITIONS, sizeof *stats->positions);
    RETURN_IF(!stats->positions, -ENOMEM);
    struct counters_position *position = counters_position_of(stats->positions, handle, slot->record.layer);
    *missed = counters_add_apart(&slot->record.counters, in, position);
    return 0;
}

static int add_to_slot(struct stats *stats, struct log_stats_slot *slot, uint32_t handle, struct counters_input *in) {
    unsigned missed;
    FORWARD(end_run_of(stats, slot));
    in->block_size = slot->record.file->block_size;
    if (slot->record.file->is_aggregate)
        FORWARD(add_apart(stats, slot, handle, in, &missed));
    else
        missed = counters_add(&slot->record.counters, in);
    uint64_t stride = slot->record.counters.value[COUNTER_LAST_STRIDE];
    if (missed & MISSED_SIZE)
        FORWARD(log_value_counts_add(&slot->sizes, counters_size_key((uint64_t)in->result, in->shape), 1,
                                     &stats->value_budget));
    if (missed & MISSED_STRIDE) FORWARD(log_value_counts_add(&slot->strides, stride, 1, &stats->value_budget));
    return 0;
}

static int add_input(struct stats *stats, unsigned layer, const struct log_file *file, uint32_t handle,
                     struct counters_input *in) {
    struct log_stats_slot *slot;
    FORWARD(lookup_slot(stats, layer, file, &slot));
    return add_to_slot(stats, slot, handle, in);
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
    return add_to_slot(stats, run->slot, event->raw.handle, &in);
}

static struct counters_dataset dataset_of(const struct log_dataset *from) {
    struct counters_dataset dataset = {.ndims = from->rank, .type_size = from->bytes, .is_deprecated = from->old_call};
    dataset.npoints = 1;
    for (unsigned i = 0; i < from->rank; i++) dataset.npoints *= from->dims[i];
    dataset.has_records = from->rank && from->max_dims[0] == UINT64_MAX;
    for (unsigned i = 0; i < from->chunk_rank && i < COUNTERS_DIMS; i++)
        dataset.chunk[i] = from->chunk[from->chunk_rank - 1 - i];
    return dataset;
}

static int add_object_event(struct stats *stats, const struct log_event *event, struct counters_input *in) {
    struct counters_dataset dataset;
    if (event->selection) in->selection = event->selection->kind;
    if (in->selection == SELECTION_REGULAR) in->shape = event->selection->id;
    if (event->dataset) {
        dataset = dataset_of(event->dataset);
        in->dataset = &dataset;
    }
    in->is_collective = log_event_is_collective(event);
    return event->file ? add_input(stats, event->call->layer, event->file, event->raw.handle, in) : 0;
}

static int add_event(struct stats *stats, const struct log_event *event) {
    const struct log_event_raw *raw = &event->raw;
    bool has_failed = raw->error || !raw->has_result || raw->result < 0;
    if (has_failed && call_table[event->call->build_id].count != COUNT_WAIT) return 0;
    if (!raw->attribute_mask && !has_failed) return add_plain(stats, event);
    struct counters_input in = input_of(event);
    if (raw->attribute_mask & 1u << ATTRIBUTE_MODE) in.mode = (uint32_t)raw->attribute[ATTRIBUTE_MODE];
    if (raw->attribute_mask & 1u << ATTRIBUTE_FLAGS) in.flags = (uint32_t)raw->attribute[ATTRIBUTE_FLAGS];
    if (raw->attribute_mask & 1u << ATTRIBUTE_COMM_SIZE) in.comm_size = (uint32_t)raw->attribute[ATTRIBUTE_COMM_SIZE];
    in.has_hints = raw->attribute_mask & 1u << ATTRIBUTE_HINTS && raw->attribute[ATTRIBUTE_HINTS];
    in.has_failed = has_failed;
    unsigned layer = counters_layer(in.call, in.flags);
    if (layer == LAYER_NONE) return 0;
    if (call_layer_is_above(layer)) return add_object_event(stats, event, &in);
    if (wants_file(stats, event, event->file)) FORWARD(add_input(stats, layer, event->file, raw->handle, &in));
    if (!event->file2 || !counters_has_target(in.call) || !wants_file(stats, event, event->file2)) return 0;
    in.is_target = true;
    in.renamed_from = event->file ? event->file->record_id : 0;
    return add_input(stats, layer, event->file2, 0, &in);
}

// The recorder's counters do not say which classes and times they are of.
static bool wants_stored(const struct log_filter *filter) {
    return !filter->classes && !filter->has_from && !filter->has_to;
}

static int add_events(void *state, const struct log_event *event, size_t count) {
    const struct stats *stats = state;
    if (stats->process->counts_all && wants_stored(stats->filter)) return 0;
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

    struct log_stats_slot *slot;
    FORWARD(lookup_slot(stats, entry.layer, file, &slot));
    struct counters_common left_out[2] = {{.used = 0}, {.used = 0}};
    counters_merge(&slot->record.counters, &entry.counters, left_out);
    for (unsigned i = 0; i < left_out[0].used; i++)
        FORWARD(log_value_counts_add(&slot->sizes, left_out[0].value[i], left_out[0].count[i], &stats->value_budget));
    for (unsigned i = 0; i < left_out[1].used; i++)
        FORWARD(log_value_counts_add(&slot->strides, left_out[1].value[i], left_out[1].count[i], &stats->value_budget));
    return 0;
}

static int add_all_stored(struct stats *stats) {
    if (!wants_stored(stats->filter)) return 0;
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

static int add_bytes(struct stats *stats, const char *name, const uint64_t bytes[2]) {
    struct log_stats_slot *slot;
    for (size_t i = 0; i < stats->count; i++) {
        const struct log_file *file = stats->place[i].file;
        if (stats->place[i].layer != LAYER_PNETCDF || file->object || strcmp(file->name, name)) continue;
        FORWARD(lookup_slot(stats, LAYER_PNETCDF, file, &slot));
        slot->record.counters.value[COUNTER_BYTES_READ] += bytes[0];
        slot->record.counters.value[COUNTER_BYTES_WRITTEN] += bytes[1];
        return 0;
    }
    return 0;
}

// The bytes of a file of PnetCDF are those of its variables.
static int add_bytes_to_files(struct stats *stats) {
    for (size_t i = 0; i < stats->count; i++) {
        const struct log_file *variable = stats->place[i].file;
        struct log_stats_slot *slot;
        if (stats->place[i].layer != LAYER_PNETCDF || !variable->object) continue;
        FORWARD(lookup_slot(stats, LAYER_PNETCDF, variable, &slot));
        const uint64_t *v = slot->record.counters.value;
        const uint64_t bytes[2] = {v[COUNTER_BYTES_READ], v[COUNTER_BYTES_WRITTEN]};
        FORWARD(add_bytes(stats, variable->name, bytes));
    }
    return 0;
}

// Files are in one array, so their addresses have the log's order.
static int compare_places(const void *a, const void *b) {
    const struct place *left = a, *right = b;
    if (left->layer != right->layer) return left->layer < right->layer ? -1 : 1;
    return left->file < right->file ? -1 : left->file > right->file;
}

static void free_place(struct stats *stats, struct place *place) {
    if (place->slot) {
        log_stats_slot_free(place->slot);
        drop_slot(stats, place);
    }
    if (place->packed) {
        log_value_counts_free(&place->packed->sizes);
        log_value_counts_free(&place->packed->strides);
        free(place->packed);
        place->packed = NULL;
    }
}

static void discard(void *state) {
    struct stats *stats = state;
    for (size_t i = 0; i < stats->count; i++) free_place(stats, &stats->place[i]);
    lookup_free(&stats->by_key);
    free(stats->positions);
    free(stats->place);
    free(stats);
}

static int begin(void *context, const struct log_process *process, void **state) {
    static const struct log_filter everything;
    struct log_stats_request *request = context;
    struct stats *stats = calloc(1, sizeof *stats);
    RETURN_IF(!stats, -ENOMEM);
    stats->log = request->log;
    stats->process = process;
    stats->request = request;
    stats->filter = request->filter ? request->filter : &everything;
    stats->value_budget = VALUE_BUDGET;
    *state = stats;
    return 0;
}

// Objects that are no datasets (groups) have no counters.
static bool is_dataset(const struct log_stats_record *record) {
    const uint64_t *v = record->counters.value;
    return v[COUNTER_DATATYPE_SIZE] || v[COUNTER_READS] || v[COUNTER_WRITES];
}

static int hand_over(const struct log_stats_request *request, struct log_stats_slot *slot) {
    const struct log_file *file = slot->record.file;
    if (file && file->object && !is_dataset(&slot->record)) return 0;
    if (request->slot_callback) return request->slot_callback(slot, request->context);
    FORWARD(log_stats_slot_finish(slot));
    return request->callback(&slot->record, request->context);
}

static int end(void *context, void *state) {
    const struct log_stats_request *request = context;
    struct stats *stats = state;
    int code = 0;
    for (size_t i = 0; i < RUNS && code == 0; i++) code = stats->run[i].count ? end_run(stats, &stats->run[i]) : 0;
    if (code == 0) code = add_all_stored(stats);
    if (code == 0) code = add_bytes_to_files(stats);
    if (stats->count > 1) qsort(stats->place, stats->count, sizeof *stats->place, compare_places);
    for (size_t i = 0; i < stats->count && code == 0; i++) {
        struct place *place = &stats->place[i];
        if (place->packed) code = unpack(stats, place);
        if (code == 0) code = hand_over(request, place->slot);
        free_place(stats, place);
    }
    discard(stats);
    return code;
}

struct log_consumer log_stats_consumer(struct log_stats_request *request) {
    return (struct log_consumer){
        .context = request, .wants_above = true, .begin = begin, .events = add_events, .end = end, .discard = discard};
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

// --- counters that ranks added up

static void shift_moments(struct counters *c, int64_t ns) {
    for (unsigned i = 0; i < COUNTER_COUNT; i++) {
        if (!counter_is_moment(i) || !c->value[i]) continue;
        int64_t moment = (int64_t)(c->value[i] & INT64_MAX / 4) + ns;
        c->value[i] = moment > 0 ? (uint64_t)moment : 1;
    }
}

static const struct log_process *process_of_rank(const struct log *log, uint32_t world, int64_t rank) {
    for (size_t i = 0; i < log_process_count(log); i++) {
        const struct log_process *process = log_process_at(log, i);
        if (!process->group && process->has_rank && process->world == world && process->rank == rank) return process;
    }
    return NULL;
}

static struct log_reduction reduction_of(const struct log *log, const struct counters_row *row) {
    const struct log_reduction *reductions = log->reductions.item;
    return row->reduction < log->reductions.count ? reductions[row->reduction] : (struct log_reduction){0};
}

static void describe_ranks(const struct log *log, const struct log_reduction *reduction,
                           struct log_stats_record *record) {
    const struct log_process *known = log_process_find(log, reduction->process);
    record->is_added_up = record->has_rank = true;
    record->world = known ? known->world : LOG_NO_WORLD;
    record->is_reduced = record->ranks.count > 1;
    record->rank = record->is_reduced ? -1 : record->ranks.fastest.rank;
    if (!record->is_reduced && known) record->process = process_of_rank(log, record->world, record->rank);
}

// Returns 1, or 0 if the record is damaged or its file is unknown.
static int read_added_up(struct log *log, const struct counters_row *row, struct log_stats_record *record) {
    const struct fields_in body = {.at = row->body, .end = row->body + row->len};
    struct spill_counters entry;
    uint32_t process;
    int code = counters_get(body, &process, &entry);
    if (code == 0) code = counters_get_ranks(body, &entry.counters, &record->ranks);
    if (code < 0) log->health.records_damaged++;
    record->file = log_file_find(log, row->file);
    record->layer = entry.layer;
    if (code < 0 || !record->file || entry.layer == LAYER_NONE) return 0;
    record->counters = entry.counters;
    const struct log_reduction reduction = reduction_of(log, row);
    shift_moments(&record->counters, reduction.start_ns);
    describe_ranks(log, &reduction, record);
    return !record->file->object || is_dataset(record);
}

// As add_bytes_to_files: the bytes of a file of PnetCDF are those of its variables.
static void add_variables(struct log *log, const struct counters_row *row, struct log_stats_record *record) {
    const struct counters_row *rows = log->counters.item;
    if (record->layer != LAYER_PNETCDF || record->file->object) return;
    for (size_t i = 0; i < log->counters.count && !rows[i].process; i++) {
        struct log_stats_record other = {0};
        const struct log_file *file = log_file_find(log, rows[i].file);
        if (rows[i].reduction != row->reduction) continue;
        if (!file || !file->object || strcmp(file->name, record->file->name)) continue;
        if (!read_added_up(log, &rows[i], &other) || other.layer != LAYER_PNETCDF) continue;
        for (unsigned j = COUNTER_BYTES_READ; j <= COUNTER_BYTES_WRITTEN; j++)
            record->counters.value[j] += other.counters.value[j];
    }
}

static bool wants_ranks(const struct log_filter *filter, const struct log_stats_record *record) {
    if (!filter) return true;
    if (filter->classes || filter->has_from || filter->has_to || filter->has_pid || filter->has_tid) return false;
    if (filter->process || (filter->has_rank && filter->rank != record->rank)) return false;
    if (filter->layers && !(filter->layers >> record->layer & 1)) return false;
    return !filter->file_glob || glob_match(filter->file_glob, record->file->name);
}

int log_stats_added_up(struct log *log, const struct log_filter *filter, log_stats_callback *callback, void *context) {
    const struct counters_row *rows = log->counters.item;
    if (log->is_import) return log_imported_stats(log, filter, false, callback, context);
    for (size_t i = 0; i < log->counters.count && !rows[i].process; i++) {
        struct log_stats_record record = {0};
        if (!read_added_up(log, &rows[i], &record) || !wants_ranks(filter, &record)) continue;
        add_variables(log, &rows[i], &record);
        FORWARD(callback(&record, context));
    }
    return 0;
}

int log_stats_untraced(struct log *log, log_stats_callback *callback, void *context) {
    FORWARD(log_stats_added_up(log, NULL, callback, context));
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

// As Darshan has it: the slowest dimension is the last of the five.
static void shape_of(const void *context, uint32_t number, struct counters_shape *shape) {
    const struct log_selection *selection = log_selection_find(context, number);
    for (unsigned i = 0; selection && selection->count && i < selection->rank && i < COUNTERS_DIMS; i++) {
        shape->length[COUNTERS_DIMS - 1 - i] = selection->count[i] * selection->block[i];
        shape->stride[COUNTERS_DIMS - 1 - i] = selection->stride[i];
    }
}

struct counters_module log_stats_module(const struct log *log, const struct log_stats_record *record) {
    return (struct counters_module){.layer = record->layer,
                                    .is_object = record->file && record->file->object,
                                    .ranks = record->is_reduced ? &record->ranks : NULL,
                                    .numbers = record->imported ? record->imported->number : NULL,
                                    .reals = record->imported ? record->imported->real : NULL,
                                    .shape_of = shape_of,
                                    .context = log};
}
