#include "log/cursor.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"

// An unsorted block is sorted in groups of this many events. The writer's blocks have fewer; in a larger block each
// group is sorted by itself.
enum { SORT_EVENTS = 1 << 20, EVENT_HEAD_BYTES = offsetof(struct stream_event, attribute) };

enum { EVERY_EVENT_BYTES = offsetof(struct log_event, parent) };

struct log_sort_key {
    uint64_t start;
    uint64_t number;
    size_t offset; // in `events`
};

static const struct log_file *second_file(const struct log_cursor *cursor) {
    const struct stream_event *raw = &cursor->raw_event;
    if (!(raw->attribute_mask & 1u << ATTRIBUTE_FILE2)) return NULL;
    return log_process_file(cursor->log, cursor->place->process, (uint32_t)raw->attribute[ATTRIBUTE_FILE2]);
}

// Most calls go to a few files.
static inline const struct log_file *first_file(struct log_cursor *cursor, uint32_t local) {
    unsigned at = local % CURSOR_RECENT_FILES;
    if (local != cursor->recent[at].local) {
        cursor->recent[at].local = local;
        cursor->recent[at].file = log_process_file(cursor->log, cursor->place->process, local);
    }
    return cursor->recent[at].file;
}

static inline int64_t ns_of(const struct log_cursor *cursor, uint64_t units) {
    return clock_map_ns_at(&cursor->place->process->clock, cursor->clock_rate, units);
}

static inline bool time_passes(const struct log_cursor *cursor, uint64_t start, uint64_t duration) {
    const struct log_filter *filter = &cursor->matcher->filter;
    int64_t start_ns = ns_of(cursor, start), last_ns = start_ns;
    if (filter->under_way) last_ns = ns_of(cursor, start + duration);
    return (!filter->has_from || last_ns >= filter->from_ns) && (!filter->has_to || start_ns <= filter->to_ns);
}

static bool fields_pass(const struct log_filter *filter, const struct stream_event *raw) {
    bool is_on = raw->attribute_mask & 1u << ATTRIBUTE_SERVER && raw->attribute[ATTRIBUTE_SERVER] == filter->server;
    return (!filter->has_tid || raw->tid == filter->tid) && (!filter->failed || raw->error) &&
           (!filter->has_server || is_on);
}

static bool passes(struct log_cursor *cursor) {
    const struct log_matcher *matcher = cursor->matcher;
    const struct stream_event *raw = &cursor->raw_event;
    if (matcher->calls && !(raw->call < matcher->call_ids && matcher->calls[raw->call])) return false;
    if (matcher->has_fields && !fields_pass(&matcher->filter, raw)) return false;
    if (matcher->has_time && !time_passes(cursor, raw->start, raw->duration)) return false;
    if (!matcher->files) return true;
    return log_matcher_has_file(matcher, cursor->log, first_file(cursor, raw->file)) ||
           log_matcher_has_file(matcher, cursor->log, second_file(cursor));
}

// --- numbers of the log

// The log's number of the stream that has this number in its process. Returns false if it is unknown.
static bool lookup_stream(const struct log_cursor *cursor, uint64_t local, uint32_t *stream) {
    const struct log *log = cursor->log;
    uint64_t key = lookup_pair(cursor->place->process->id, (uint32_t)local);
    uint32_t at = local > UINT32_MAX ? LOOKUP_NONE : lookup_find(&log->stream_by_local, key);
    if (at == LOOKUP_NONE) return false;
    *stream = ((const struct stream_row *)log->streams.item)[at].id;
    return true;
}

static inline uint64_t id_of(const struct log_cursor *cursor) {
    const uint32_t own = 1u << ATTRIBUTE_OWN_STREAM | 1u << ATTRIBUTE_OWN_NUMBER;
    const struct stream_event *raw = &cursor->raw_event;
    uint32_t stream = cursor->stream;
    if ((raw->attribute_mask & own) == own) lookup_stream(cursor, raw->attribute[ATTRIBUTE_OWN_STREAM], &stream);
    return lookup_pair(stream, (uint32_t)raw->number);
}

// --- communication

static int note_partners(struct log_comm_notes *notes, struct log_comm_note *note, const struct stream_partner *partner,
                         uint32_t count) {
    note->partner_first = notes->partners;
    note->partner_count = count;
    for (uint32_t i = 0; i < count; i++) FORWARD(array_push(notes->partner, notes->partners, partner[i]));
    return 0;
}

// An asynchronous transfer is written when it is complete. If another event came after its start, the communication
// before the record may have come after that event, so it belongs to the next event instead.
static bool is_late(const struct log_cursor *cursor, uint64_t last_end) {
    const struct stream_event *raw = &cursor->raw_event;
    bool is_async = raw->call < cursor->log->call_ids && cursor->log->traits[raw->call] & CALL_ASYNC;
    return is_async && raw->start < last_end;
}

// The outermost call that began since partners are carried and is not over. They came before it.
static uint64_t call_after_carried(const struct log_cursor *cursor) {
    const struct stream_decoder *decoder = &cursor->decoder;
    bool is_later =
        cursor->comm->carried_count && decoder->depth && decoder->open_numbers[0] >= cursor->comm->carried_from;
    return is_later ? decoder->open_numbers[0] : STREAM_NO_PARENT;
}

static void carry_partners(struct log_cursor *cursor, const struct stream_partner *partner, uint32_t count) {
    struct log_comm_notes *notes = cursor->comm;
    if (!notes->carried_count) notes->carried_from = cursor->decoder.next_number;
    for (uint32_t i = 0; i < count; i++) stream_add_partner(notes->carried, &notes->carried_count, partner[i]);
}

static int note_comm(struct log_cursor *cursor, uint64_t last_end) {
    struct log_comm_notes *notes = cursor->comm;
    const struct stream_event *raw = &cursor->raw_event;
    FORWARD(array_room(notes->note, notes->count));
    struct log_comm_note *note = &notes->note[notes->count++];
    uint64_t other = raw->comm_mask ? raw->comm_number : STREAM_NO_PARENT;
    if (other == STREAM_NO_PARENT) other = call_after_carried(cursor);
    bool is_before_other = other != STREAM_NO_PARENT;
    *note = (struct log_comm_note){
        .event = is_before_other ? lookup_pair(cursor->stream, (uint32_t)other) : id_of(cursor),
        .tid = raw->tid,
        .tick = raw->tick,
        .start = raw->start,
        .mask = raw->comm_mask,
    };
    if (raw->comm_mask) memcpy(note->comm, raw->comm, sizeof note->comm);
    uint32_t count = raw->comm_mask ? raw->partner_count : 0;
    if (!is_before_other && is_late(cursor, last_end)) {
        carry_partners(cursor, raw->partners, count);
        return 0;
    }
    if (!notes->carried_count) return note_partners(notes, note, raw->partners, count);
    carry_partners(cursor, raw->partners, count);
    count = notes->carried_count;
    notes->carried_count = 0;
    if (!note->mask) note->mask = 1u << COMM_MOVING;
    return note_partners(notes, note, notes->carried, count);
}

static int note_behind(struct log_cursor *cursor) {
    const struct stream_decoder *decoder = &cursor->decoder;
    struct log_comm_notes *notes = cursor->comm;
    notes->behind = (struct log_comm_note){
        .tid = decoder->tid, .tick = decoder->tick, .start = decoder->clock, .mask = decoder->comm_mask};
    memcpy(notes->behind.comm, decoder->comm, sizeof notes->behind.comm);
    notes->announced = decoder->comm_number;
    if (notes->announced == STREAM_NO_PARENT) notes->announced = call_after_carried(cursor);
    carry_partners(cursor, decoder->partners, decoder->comm_mask ? decoder->partner_count : 0);
    if (notes->carried_count && !notes->behind.mask) notes->behind.mask = 1u << COMM_MOVING;
    return note_partners(notes, &notes->behind, notes->carried, notes->carried_count);
}

// --- decoding

static void note_call(struct log *log, uint32_t call) {
    if (call < log->call_ids && !__atomic_load_n(&log->call_seen[call], __ATOMIC_RELAXED))
        __atomic_store_n(&log->call_seen[call], true, __ATOMIC_RELAXED);
}

// Decodes up to the next event that passes the filter. After damage, counts the remaining events as lost.
static int decode_next(struct log_cursor *cursor) {
    struct stream_event *raw = &cursor->raw_event;
    int more = 0;
    cursor->plain_made = 0; // slots may be defined anew
    uint64_t last_end = cursor->decoder.clock;
    for (; !cursor->failed && (more = stream_decode(&cursor->decoder, raw)) > 0; last_end = cursor->decoder.clock) {
        cursor->decoded++;
        note_call(cursor->log, raw->call);
        bool has_comm = cursor->comm && (raw->comm_mask || cursor->comm->carried_count || !cursor->comm->count);
        if (has_comm) FORWARD(note_comm(cursor, last_end));
        if (passes(cursor)) return 1;
    }
    if (more < 0) {
        cursor->failed = true;
        uint64_t claimed = cursor->place->events;
        log_note_damage(cursor->log, cursor->place, claimed > cursor->decoded ? claimed - cursor->decoded : 0,
                        ns_of(cursor, cursor->decoder.clock));
    }
    if (!cursor->comm || cursor->is_over) return 0;
    cursor->is_over = true; // who sorts events comes here twice
    return note_behind(cursor);
}

static int keep_event(struct log_cursor *cursor) {
    const struct stream_event *raw = &cursor->raw_event;
    FORWARD(array_room(cursor->key, cursor->key_count));
    cursor->key[cursor->key_count++] = (struct log_sort_key){raw->start, raw->number, cursor->events.len};
    FORWARD(bytes_append(&cursor->events, raw, EVENT_HEAD_BYTES));
    for (uint32_t mask = raw->attribute_mask; mask; mask &= mask - 1) {
        uint64_t value = raw->attribute[__builtin_ctz(mask)];
        FORWARD(bytes_append(&cursor->events, &value, sizeof value));
    }
    return 0;
}

static void restore_event(struct log_cursor *cursor, size_t offset) {
    struct stream_event *raw = &cursor->raw_event;
    const uint8_t *at = cursor->events.data + offset;
    memcpy(raw, at, EVENT_HEAD_BYTES);
    at += EVENT_HEAD_BYTES;
    for (uint32_t mask = raw->attribute_mask; mask; mask &= mask - 1, at += sizeof(uint64_t))
        memcpy(&raw->attribute[__builtin_ctz(mask)], at, sizeof(uint64_t));
}

// At the same start time the lower id comes first: a parent has a lower id than its children.
static int compare_keys(const void *a, const void *b) {
    const struct log_sort_key *left = a, *right = b;
    if (left->start != right->start) return left->start < right->start ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

static int sort_more(struct log_cursor *cursor) {
    int more = 1;
    cursor->events.len = 0;
    cursor->key_count = cursor->key_at = 0;
    while (cursor->key_count < SORT_EVENTS && (more = decode_next(cursor)) > 0) FORWARD(keep_event(cursor));
    FORWARD(more);
    if (cursor->key_count > 1) qsort(cursor->key, cursor->key_count, sizeof *cursor->key, compare_keys);
    return 0;
}

int log_cursor_start(struct log_cursor *cursor, const struct log_place *place, struct log_comm_notes *comm) {
    struct log_block block;
    FORWARD(log_read_events(cursor->log, place, &block, &cursor->stored, &cursor->raw, &cursor->decoder));
    cursor->place = place;
    cursor->comm = comm;
    cursor->stream = block.stream;
    cursor->sorted = block.flags & BLOCK_SORTED;
    cursor->failed = cursor->is_over = cursor->is_plain = false;
    cursor->last_thread = 0;
    cursor->decoded = 0;
    cursor->key_count = cursor->key_at = 0;
    cursor->clock_rate = clock_map_rate(&place->process->clock);
    memset(cursor->recent, 0, sizeof cursor->recent);
    for (unsigned i = 0; i < STREAM_SLOTS; i++)
        cursor->plain[i].slot.defined = false; // these may belong to another process
    return 0;
}

void log_cursor_free(struct log_cursor *cursor) {
    bytes_free(&cursor->stored);
    bytes_free(&cursor->raw);
    bytes_free(&cursor->events);
    free(cursor->key);
}

// --- fields that the log adds to those of the stream

static inline void complete_parent(struct log_cursor *cursor) {
    const struct stream_event *raw = &cursor->raw_event;
    struct log_event *event = &cursor->event;
    event->has_parent = raw->parent_number != STREAM_NO_PARENT;
    if (!event->has_parent) return;
    uint32_t stream = cursor->stream;
    if (raw->attribute_mask & 1u << ATTRIBUTE_PARENT_STREAM)
        event->has_parent = lookup_stream(cursor, raw->attribute[ATTRIBUTE_PARENT_STREAM], &stream);
    event->parent = lookup_pair(stream, (uint32_t)raw->parent_number);
}

static const struct log_datatype *datatype_of(const struct log_cursor *cursor, enum event_attribute attribute) {
    const struct stream_event *raw = &cursor->raw_event;
    if (!(raw->attribute_mask & 1u << attribute)) return NULL;
    return log_process_datatype(cursor->log, cursor->place->process, raw->attribute[attribute]);
}

static void complete_attributes(struct log_cursor *cursor) {
    const struct stream_event *raw = &cursor->raw_event;
    const struct log_process *process = cursor->place->process;
    struct log_event *event = &cursor->event;
    event->file2 = second_file(cursor);
    event->etype = datatype_of(cursor, ATTRIBUTE_ETYPE);
    event->filetype = datatype_of(cursor, ATTRIBUTE_FILETYPE);
    event->datatype = datatype_of(cursor, ATTRIBUTE_DATATYPE);
    if (raw->attribute_mask & 1u << ATTRIBUTE_COMM)
        event->comm = log_process_communicator(cursor->log, process, raw->attribute[ATTRIBUTE_COMM]);
    if (raw->attribute_mask & 1u << ATTRIBUTE_HINTS_ID)
        event->hints = log_process_hints(cursor->log, process, raw->attribute[ATTRIBUTE_HINTS_ID]);
    if (raw->attribute_mask & 1u << ATTRIBUTE_SELECTION)
        event->selection = log_process_selection(cursor->log, process, raw->attribute[ATTRIBUTE_SELECTION]);
    if (raw->attribute_mask & 1u << ATTRIBUTE_DATASET)
        event->dataset = log_process_dataset(cursor->log, process, raw->attribute[ATTRIBUTE_DATASET]);
    if (raw->attribute_mask & 1u << ATTRIBUTE_CALL_TIME)
        event->call_time_ns = clock_map_scale(&process->clock, (int64_t)raw->attribute[ATTRIBUTE_CALL_TIME]);
}

static void complete_event(struct log_cursor *cursor) {
    const struct stream_event *raw = &cursor->raw_event;
    const struct log_process *process = cursor->place->process;
    int64_t start_ns = ns_of(cursor, raw->start), duration_ns = ns_of(cursor, raw->start + raw->duration) - start_ns;
    cursor->event = (struct log_event){
        .id = id_of(cursor),
        .start_ns = start_ns,
        .duration_ns = duration_ns,
        .call_time_ns = duration_ns,
        .process = process,
        .call = log_call_of(cursor->log, raw->call),
        .file = first_file(cursor, raw->file),
        .line = raw->callsite ? log_callsite(cursor->log, process, raw->callsite) : NULL,
        .raw = {.offset = raw->offset,
                .size = raw->size,
                .result = raw->result,
                .tick = raw->tick,
                .attribute = raw->attribute,
                .attribute_mask = raw->attribute_mask,
                .tid = raw->tid,
                .handle = raw->handle,
                .error = raw->error,
                .has_offset = raw->has_offset,
                .has_result = raw->has_result,
                .unaligned = raw->unaligned},
    };
    complete_parent(cursor);
    if (raw->attribute_mask) complete_attributes(cursor);
}

// --- plain events

static bool is_of_slot(const struct stream_slot_state *a, const struct stream_slot_state *b) {
    return a->call == b->call && a->file == b->file && a->handle == b->handle && a->callsite == b->callsite &&
           a->unaligned == b->unaligned && a->defined;
}

static void make_plain(struct log_cursor *cursor, struct log_cursor_plain *plain,
                       const struct stream_slot_state *slot) {
    const struct log_process *process = cursor->place->process;
    note_call(cursor->log, slot->call);
    plain->slot = *slot;
    plain->event = (struct log_event){
        .process = process,
        .call = log_call_of(cursor->log, slot->call),
        .file = first_file(cursor, slot->file),
        .line = slot->callsite ? log_callsite(cursor->log, process, slot->callsite) : NULL,
        .raw = {.handle = slot->handle,
                .has_offset = slot->traits & CALL_HAS_OFFSET,
                .has_result = true,
                .unaligned = slot->unaligned},
    };
    plain->event.moves = log_call_moves(plain->event.call);
}

static inline uint64_t plain_id(const struct log_cursor *cursor) {
    return lookup_pair(cursor->stream, (uint32_t)(cursor->decoder.next_number - 1));
}

static inline void put_plain(struct log_cursor *cursor, const struct stream_plain *found, int64_t start_ns,
                             struct log_event *event) {
    const struct stream_decoder *d = &cursor->decoder;
    const struct stream_slot_state *slot = &d->slot[found->slot];
    struct log_cursor_plain *plain = &cursor->plain[found->slot];
    if (!(cursor->plain_made >> found->slot & 1)) {
        if (!is_of_slot(&plain->slot, slot)) make_plain(cursor, plain, slot);
        cursor->plain_made |= UINT64_C(1) << found->slot;
    }
    if (event->has_parent || event->in_above || event->raw.attribute_mask)
        memset(&event->parent, 0, sizeof *event - EVERY_EVENT_BYTES);
    memcpy(event, &plain->event, EVERY_EVENT_BYTES);
    event->id = plain_id(cursor);
    event->start_ns = start_ns;
    event->duration_ns = ns_of(cursor, found->start + found->duration) - start_ns;
    event->raw.offset = slot->last;
    event->raw.size = slot->size;
    event->raw.tick = d->tick;
    event->raw.tid = d->tid;
    if (slot->traits & CALL_TRANSFERS) {
        event->raw.result = (int64_t)slot->size;
    } else if (slot->traits & CALL_RESULT_IS_OFFSET) {
        event->raw.result = (int64_t)slot->last;
    }
}

// Whether plain events need not be decoded further than their times to know if they pass.
static bool is_by_time(const struct log_cursor *cursor) {
    const struct log_matcher *matcher = cursor->matcher;
    return cursor->sorted && !cursor->failed && !matcher->calls && !matcher->has_fields && !matcher->files &&
           !(matcher->has_time && cursor->comm);
}

// Ends the block if all events after a plain one are too late.
static inline void end_if_late(struct log_cursor *cursor, const struct stream_plain *found) {
    const struct log_filter *filter = &cursor->matcher->filter;
    if (filter->has_to && ns_of(cursor, found->start) > filter->to_ns) cursor->decoder.at = cursor->decoder.end;
}

static inline void make_current(struct log_cursor *cursor, const struct stream_plain *found, int64_t start_ns) {
    cursor->found = *found;
    cursor->event.start_ns = start_ns;
    cursor->event.id = plain_id(cursor);
    cursor->is_plain = true;
}

// Leaves out plain events of another time. Returns 1 if the one after them is now the current event.
static int skip_plain(struct log_cursor *cursor) {
    struct stream_plain found;
    while (stream_decode_plain(&cursor->decoder, &found)) {
        cursor->decoded++;
        if (time_passes(cursor, found.start, found.duration)) {
            make_current(cursor, &found, ns_of(cursor, found.start));
            return 1;
        }
        end_if_late(cursor, &found);
    }
    return 0;
}

int log_cursor_next(struct log_cursor *cursor) {
    if (cursor->matcher->has_time && is_by_time(cursor) && skip_plain(cursor)) return 1;
    if (cursor->sorted) {
        int more = decode_next(cursor);
        if (more <= 0) return more;
    } else {
        if (cursor->key_at == cursor->key_count) FORWARD(sort_more(cursor));
        if (cursor->key_at == cursor->key_count) return 0;
        restore_event(cursor, cursor->key[cursor->key_at++].offset);
    }
    complete_event(cursor);
    return 1;
}

size_t log_cursor_run(struct log_cursor *cursor, struct log_event *event, size_t most, int64_t until_ns,
                      bool *has_current) {
    bool has_time = cursor->matcher->has_time;
    struct stream_plain found;
    size_t count = 0;
    *has_current = false;
    if (!is_by_time(cursor)) return 0;
    while (count < most && stream_decode_plain(&cursor->decoder, &found)) {
        int64_t start_ns = ns_of(cursor, found.start);
        cursor->decoded++;
        if (has_time && !time_passes(cursor, found.start, found.duration)) {
            end_if_late(cursor, &found);
            continue;
        }
        if (start_ns >= until_ns) {
            make_current(cursor, &found, start_ns);
            *has_current = true;
            break;
        }
        put_plain(cursor, &found, start_ns, &event[count++]);
    }
    return count;
}

void log_cursor_put(struct log_cursor *cursor, struct log_event *event) {
    if (cursor->is_plain) {
        put_plain(cursor, &cursor->found, cursor->event.start_ns, event);
        cursor->is_plain = false;
    } else {
        *event = cursor->event;
    }
}
