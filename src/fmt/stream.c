#include "fmt/stream.h"

#include "base/err.h"
#include "base/varint.h"
#include "fmt/call.h"

void stream_decoder_init(struct stream_decoder *d, const struct stream_start *start, const uint8_t *data, size_t len) {
    d->at = data;
    d->end = data + len;
    d->traits = start->traits;
    d->traits_len = start->traits_len;
    d->stream = start->stream;
    d->tid = start->tid;
    d->next_number = start->first_number;
    d->clock = start->base;
    d->tick = start->tick;
    d->depth = 0;
    d->lost = 0;
    d->comm_mask = 0;
    d->comm_number = STREAM_NO_PARENT;
    d->partner_count = 0;
    d->last_file = d->last_handle = 0;
    for (unsigned i = 0; i < STREAM_SLOTS; i++) d->slot[i].defined = false;
}

static uint8_t call_traits(const struct stream_decoder *d, uint32_t call) {
    if (d->traits) return call < d->traits_len ? d->traits[call] : 0;
    return call < call_table_len ? call_table[call].traits : 0;
}

// The values of a record. `at` becomes NULL, and stays so, if they run over the end or do not fit.
struct values {
    const uint8_t *at;
    const uint8_t *end;
};

static inline uint64_t next_value(struct values *values) {
    uint64_t value = 0;
    if (values->at) values->at = varint_get(values->at, values->end, &value);
    return value;
}

static inline uint32_t next_small(struct values *values) {
    uint64_t value = next_value(values);
    if (value > UINT32_MAX) values->at = NULL;
    return (uint32_t)value;
}

static int define_slot(struct stream_decoder *d, struct stream_slot_state *slot, struct values *values) {
    struct stream_slot_state fresh = {.defined = true};
    fresh.call = next_small(values);
    uint64_t file = next_value(values), handle = next_value(values), flags = next_value(values);
    RETURN_IF(flags & ~(uint64_t)(SLOT_UNALIGNED | SLOT_CALLSITE | SLOT_STEP), ERR_FORMAT);
    if (flags & SLOT_STEP) {
        file = d->last_file + (uint64_t)varint_unfold(file);
        handle = d->last_handle + (uint64_t)varint_unfold(handle);
    }
    RETURN_IF(file > UINT32_MAX || handle > UINT32_MAX, ERR_FORMAT);
    fresh.file = d->last_file = (uint32_t)file;
    fresh.handle = d->last_handle = (uint32_t)handle;
    if (flags & SLOT_CALLSITE) fresh.callsite = next_small(values);
    fresh.unaligned = flags & SLOT_UNALIGNED;
    fresh.traits = call_traits(d, fresh.call);
    *slot = fresh;
    return 0;
}

static int open_call(struct stream_decoder *d, uint64_t number) {
    RETURN_IF(d->depth == STREAM_MAX_DEPTH, ERR_FORMAT);
    d->open_numbers[d->depth++] = number;
    return 0;
}

// Sums up until the next event, because two such records may follow each other.
static int decode_comm(struct stream_decoder *d, struct values *values) {
    d->tick += next_value(values);
    uint64_t mask = next_value(values);
    RETURN_IF(mask >> STREAM_COMM_KINDS, ERR_FORMAT);
    for (unsigned kind = 0; kind < STREAM_COMM_KINDS; kind++) {
        if (!(mask & 1u << kind)) continue;
        if (!(d->comm_mask & 1u << kind)) d->comm[kind] = (struct stream_comm){0};
        d->comm[kind].count += next_value(values);
        d->comm[kind].bytes += next_value(values);
        d->comm[kind].units += next_value(values);
    }
    d->comm_mask |= (uint32_t)mask;
    return 0;
}

static bool is_same_partner(const struct stream_partner *a, const struct stream_partner *b) {
    return a->comm == b->comm && a->role == b->role && a->peer == b->peer;
}

void stream_add_partner(struct stream_partner *list, uint32_t *count, struct stream_partner partner) {
    uint32_t at = 0;
    while (at < *count && !is_same_partner(&list[at], &partner)) at++;
    if (at >= STREAM_MAX_PARTNERS - 1) {
        at = STREAM_MAX_PARTNERS - 1;
        partner = (struct stream_partner){.role = PARTNER_MORE, .count = partner.count};
    }
    if (at == *count) list[(*count)++] = (struct stream_partner){partner.comm, partner.role, partner.peer, 0};
    list[at].count += partner.count;
}

// Adds up like communication, which it is about.
static int decode_partners(struct stream_decoder *d, struct values *values) {
    uint64_t count = next_value(values);
    RETURN_IF(count > STREAM_MAX_PARTNERS || !d->comm_mask, ERR_FORMAT);
    for (uint64_t i = 0; i < count && values->at; i++) {
        uint64_t head = next_value(values);
        struct stream_partner partner = {.comm = (uint32_t)(head >> 3), .role = head & 7, .peer = next_small(values)};
        RETURN_IF(head >> 3 > UINT32_MAX || partner.role >= PARTNER_ROLES, ERR_FORMAT);
        partner.count = next_value(values);
        if (values->at) stream_add_partner(d->partners, &d->partner_count, partner);
    }
    return 0;
}

static void attach_comm(struct stream_decoder *d, struct stream_event *event) {
    for (unsigned kind = 0; kind < STREAM_COMM_KINDS; kind++) event->comm[kind] = d->comm[kind];
    event->comm_number = d->comm_number;
    event->partner_count = d->partner_count;
    event->partners = d->partners;
    d->partner_count = 0;
    d->comm_mask = 0;
    d->comm_number = STREAM_NO_PARENT;
}

static int decode_control(struct stream_decoder *d, unsigned slot, unsigned kind, struct values *values) {
    switch (kind) {
    case KIND_SLOT: return define_slot(d, &d->slot[slot], values);
    case KIND_THREAD: d->tid = next_small(values); return 0;
    case KIND_BEGIN:
        if (d->comm_mask && d->comm_number == STREAM_NO_PARENT) d->comm_number = d->next_number;
        return open_call(d, d->next_number++);
    case KIND_REOPEN: return open_call(d, next_value(values));
    case KIND_LOST:
        next_value(values);
        d->lost += next_value(values);
        return 0;
    case KIND_COMM: return decode_comm(d, values);
    case KIND_LEAVE:
        RETURN_IF(d->depth == 0, ERR_FORMAT);
        d->depth--;
        return 0;
    case KIND_PARTNERS: return decode_partners(d, values);
    default: return ERR_FORMAT;
    }
}

// Fills in the slot's values; the forms then change those that they carry.
static inline void start_event(struct stream_decoder *d, const struct stream_slot_state *slot,
                               struct stream_event *event) {
    event->tid = d->tid;
    event->call = slot->call;
    event->file = slot->file;
    event->handle = slot->handle;
    event->callsite = slot->callsite;
    event->unaligned = slot->unaligned;
    event->has_offset = slot->traits & CALL_HAS_OFFSET;
    event->has_result = true;
    event->error = 0;
    event->attribute_mask = 0;
    event->tick = d->tick;
    event->comm_mask = d->comm_mask;
    if (d->comm_mask) attach_comm(d, event);
}

static inline void set_parent(const struct stream_decoder *d, struct stream_event *event) {
    event->stream = event->parent_stream = d->stream;
    event->parent_number = d->depth ? d->open_numbers[d->depth - 1] : STREAM_NO_PARENT;
}

static inline int64_t expected_result(const struct stream_slot_state *slot, const struct stream_event *event) {
    if (slot->traits & CALL_TRANSFERS) return (int64_t)event->size;
    return slot->traits & CALL_RESULT_IS_OFFSET ? (int64_t)event->offset : 0;
}

static int decode_attributes(struct values *values, struct stream_event *event) {
    uint64_t count = next_value(values);
    RETURN_IF(count > ATTRIBUTE_LIMIT, ERR_FORMAT);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t id = next_value(values);
        RETURN_IF(id >= ATTRIBUTE_LIMIT, ERR_FORMAT);
        event->attribute[id] = next_value(values);
        event->attribute_mask |= 1u << id;
    }
    return 0;
}

static void decode_offset_and_size(struct values *values, uint64_t flags, struct stream_slot_state *slot,
                                   struct stream_event *event) {
    int64_t moved = slot->displacement;
    if (flags & EVENT_OFFSET) moved = varint_unfold(next_value(values));
    if (flags & EVENT_SIZE) slot->size = next_value(values);
    event->size = slot->size;
    event->offset = slot->last + (uint64_t)moved;
    if (flags & EVENT_NO_OFFSET) {
        event->has_offset = false;
        event->offset = 0;
        return;
    }
    slot->last = event->offset;
    slot->displacement = flags & EVENT_SIZE ? (int64_t)slot->size : moved;
}

static void decode_result(struct values *values, uint64_t flags, const struct stream_slot_state *slot,
                          struct stream_event *event) {
    event->result = expected_result(slot, event);
    if (flags & EVENT_RESULT) event->result = varint_unfold(next_value(values));
    if (flags & EVENT_ERROR) {
        event->error = (int)(next_value(values) & INT32_MAX);
        if (!(flags & EVENT_RESULT)) event->result = -1;
    }
    event->has_result = !(flags & EVENT_NO_RESULT);
}

static inline bool has_attribute(const struct stream_event *event, enum event_attribute id) {
    return event->attribute_mask & 1u << id;
}

static int set_number(struct stream_decoder *d, uint64_t flags, struct stream_event *event) {
    if (flags & EVENT_ENDS_BEGUN) {
        RETURN_IF(d->depth == 0, ERR_FORMAT);
        event->number = d->open_numbers[--d->depth];
    } else if (!has_attribute(event, ATTRIBUTE_OWN_NUMBER)) {
        event->number = d->next_number++;
    }
    set_parent(d, event);
    return 0;
}

// Attributes about the event's place in the call tree override what the stream implies.
static void set_place(struct stream_event *event) {
    if (has_attribute(event, ATTRIBUTE_OWN_NUMBER)) {
        event->number = event->attribute[ATTRIBUTE_OWN_NUMBER];
        if (has_attribute(event, ATTRIBUTE_OWN_STREAM))
            event->stream = (uint32_t)event->attribute[ATTRIBUTE_OWN_STREAM];
        event->parent_number = STREAM_NO_PARENT;
    }
    if (has_attribute(event, ATTRIBUTE_TICK)) event->tick = event->attribute[ATTRIBUTE_TICK];
    if (has_attribute(event, ATTRIBUTE_PARENT_NUMBER)) {
        event->parent_number = event->attribute[ATTRIBUTE_PARENT_NUMBER];
        if (has_attribute(event, ATTRIBUTE_PARENT_STREAM))
            event->parent_stream = (uint32_t)event->attribute[ATTRIBUTE_PARENT_STREAM];
    }
}

// KIND_EVENT without its times.
static int decode_extended(struct stream_decoder *d, struct stream_slot_state *slot, uint64_t flags,
                           struct values *values, struct stream_event *event) {
    RETURN_IF(!slot->defined || flags >= EVENT_NO_RESULT << 1, ERR_FORMAT);
    start_event(d, slot, event);
    decode_offset_and_size(values, flags, slot, event);
    decode_result(values, flags, slot, event);
    if (flags & EVENT_ATTRIBUTES) FORWARD(decode_attributes(values, event));
    FORWARD(set_number(d, flags, event));
    if (event->attribute_mask) set_place(event);
    return 0;
}

static inline int decode_times(struct stream_decoder *d, struct values *values, bool negative,
                               struct stream_event *event) {
    uint64_t gap = next_value(values);
    uint64_t duration = next_value(values);
    RETURN_IF(!values->at, ERR_FORMAT);
    event->start = negative ? d->clock - gap : d->clock + gap;
    event->duration = duration;
    d->clock = event->start + duration;
    d->at = values->at;
    return 1;
}

// The first three forms: a transfer that went as expected.
static inline int decode_plain(struct stream_decoder *d, unsigned head, struct stream_event *event) {
    struct values values = {d->at + 1, d->end};
    struct stream_slot_state *slot = &d->slot[head >> 2];
    unsigned form = head & 3;
    RETURN_IF(!slot->defined, ERR_FORMAT);
    if (form != FORM_RUN) slot->displacement = varint_unfold(next_value(&values));
    slot->last += (uint64_t)slot->displacement;
    if (form == FORM_RESIZE) {
        slot->size = next_value(&values);
        slot->displacement = (int64_t)slot->size;
    }
    start_event(d, slot, event);
    event->offset = slot->last;
    event->size = slot->size;
    event->result = expected_result(slot, event);
    event->number = d->next_number++;
    set_parent(d, event);
    return decode_times(d, &values, false, event);
}

int stream_decode(struct stream_decoder *d, struct stream_event *event) {
    while (d->at < d->end) {
        unsigned head = *d->at;
        if ((head & 3) != FORM_EXTENDED) return decode_plain(d, head, event);
        RETURN_IF(d->end - d->at < 2, ERR_FORMAT);
        unsigned kind = d->at[1];
        struct values values = {d->at + 2, d->end};
        if (kind == KIND_EVENT) {
            uint64_t flags = next_value(&values);
            FORWARD(decode_extended(d, &d->slot[head >> 2], flags, &values, event));
            return decode_times(d, &values, flags & EVENT_NEGATIVE_GAP, event);
        }
        FORWARD(decode_control(d, head >> 2, kind, &values));
        RETURN_IF(!values.at, ERR_FORMAT);
        d->at = values.at;
    }
    return 0;
}
