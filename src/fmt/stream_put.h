// Writes events in the format of stream.h. Nearly everything is inline, because it is the recorder's hot path.
// No allocation, no lock, no division; `used` is moved after each complete record, so a reader never sees half of one.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "base/varint.h"
#include "fmt/stream.h"

struct stream_put_slot {
    uint64_t key; // what the slot stands for, chosen by the caller; 0: nothing
    uint64_t expected;
    int64_t displacement;
    uint64_t size;
};

struct stream_writer {
    uint8_t *at;    // next free byte of the chunk
    uint8_t *limit; // no record may start here or later
    uint8_t *payload;
    _Atomic uint32_t *used;
    uint64_t clock; // end of the last event
    uint64_t next_number;
    uint32_t last_file, last_handle; // of the slot that was defined last in the chunk
    struct stream_put_slot slot[STREAM_SLOTS];
};

// What the plain forms cannot express.
struct stream_put_extra {
    uint32_t flags; // EVENT_RESULT, EVENT_ERROR, EVENT_ENDS_BEGUN, EVENT_NO_OFFSET, EVENT_NO_RESULT
    int error;      // with EVENT_ERROR
    int64_t result; // with EVENT_RESULT
    bool numbered;  // by ATTRIBUTE_OWN_NUMBER: it takes no new number
    unsigned attributes;
    struct {
        uint32_t id;
        uint64_t value;
    } attribute[8];
};

static inline void stream_put_attribute(struct stream_put_extra *extra, uint32_t id, uint64_t value) {
    extra->attribute[extra->attributes].id = id;
    extra->attribute[extra->attributes].value = value;
    extra->attributes++;
    if (id == ATTRIBUTE_OWN_NUMBER) extra->numbered = true;
}

static inline void stream_put_commit(struct stream_writer *w, uint8_t *at) {
    w->at = at;
    atomic_store_explicit(w->used, (uint32_t)(at - w->payload), memory_order_release);
}

// Starts a chunk and clears all slots, so that the chunk can be read by itself.
static inline void stream_put_start(struct stream_writer *w, uint8_t *payload, uint32_t len, _Atomic uint32_t *used,
                                    uint64_t base) {
    w->at = w->payload = payload;
    w->limit = payload + len - STREAM_MAX_RECORD;
    w->used = used;
    w->clock = base;
    w->last_file = w->last_handle = 0;
    for (unsigned i = 0; i < STREAM_SLOTS; i++) w->slot[i].key = 0;
}

static inline int stream_put_full(const struct stream_writer *w) { return w->at > w->limit; }

static inline uint8_t *stream_put_kind(uint8_t *at, unsigned slot, enum stream_kind kind) {
    *at++ = (uint8_t)(slot << 2 | FORM_EXTENDED);
    *at++ = (uint8_t)kind;
    return at;
}

static inline void stream_put_slot(struct stream_writer *w, unsigned slot, uint64_t key, uint32_t call, uint32_t file,
                                   uint32_t handle, uint32_t flags, uint32_t callsite) {
    w->slot[slot] = (struct stream_put_slot){.key = key};
    uint8_t *at = stream_put_kind(w->at, slot, KIND_SLOT);
    at = varint_put(at, call);
    at = varint_put(at, varint_fold((int64_t)file - w->last_file));
    at = varint_put(at, varint_fold((int64_t)handle - w->last_handle));
    at = varint_put(at, flags | SLOT_STEP);
    w->last_file = file;
    w->last_handle = handle;
    if (flags & SLOT_CALLSITE) at = varint_put(at, callsite);
    stream_put_commit(w, at);
}

static inline void stream_put_control(struct stream_writer *w, enum stream_kind kind, const uint64_t *values,
                                      unsigned count) {
    uint8_t *at = stream_put_kind(w->at, 0, kind);
    for (unsigned i = 0; i < count; i++) at = varint_put(at, values[i]);
    stream_put_commit(w, at);
}

enum { STREAM_BEGIN_BYTES = 2 };

// Announces the call under way and returns its number. The announcement becomes visible to readers with the next
// record; until then it can be withdrawn.
static inline uint64_t stream_put_begin(struct stream_writer *w) {
    w->at = stream_put_kind(w->at, 0, KIND_BEGIN);
    return w->next_number++;
}

// The tick alone, without communication. It becomes visible with the next record, like an announcement.
static inline void stream_put_tick(struct stream_writer *w, uint64_t advance) {
    uint8_t *at = varint_put(stream_put_kind(w->at, 0, KIND_COMM), advance);
    *at = 0;
    w->at = at + 1;
}

// Both, for a call that moves the tick by one: six bytes in one store, which writes two more.
static inline uint64_t stream_put_next(struct stream_writer *w) {
    const uint64_t record =
        FORM_EXTENDED | KIND_COMM << 8 | 1 << 16 | (uint64_t)FORM_EXTENDED << 32 | (uint64_t)KIND_BEGIN << 40;
    memcpy(w->at, &(uint64_t){htole64(record)}, sizeof record);
    w->at += 4 + STREAM_BEGIN_BYTES;
    return w->next_number++;
}

// The same for a call that already has a number.
static inline void stream_put_reopen(struct stream_writer *w, uint64_t number) {
    w->at = varint_put(stream_put_kind(w->at, 0, KIND_REOPEN), number);
}

// Times of more than two bytes are rare. Out of line, and equally fast for any length.
uint8_t *stream_put_long_time(uint8_t *at, uint64_t units);

static inline uint8_t *stream_put_time(uint8_t *at, uint64_t units) {
    return __builtin_expect(units < 0x4000, 1) ? varint_put(at, units) : stream_put_long_time(at, units);
}

static inline uint8_t *stream_put_times(struct stream_writer *w, uint8_t *at, uint64_t gap, uint64_t start,
                                        uint64_t end) {
    at = stream_put_time(at, gap);
    at = stream_put_time(at, end - start);
    w->clock = end;
    return at;
}

// Writes the head of an event that does not continue its slot's run; returns the byte after it. Out of line, because
// the hot path is the run.
uint8_t *stream_put_moved(struct stream_put_slot *s, unsigned slot, uint8_t *at, uint64_t offset, uint64_t size);
// Writes a gap and a duration of any length.
uint8_t *stream_put_any_times(uint8_t *at, uint64_t gap, uint64_t duration);

// An event with its expected result: the size for transfers, 0 for the others. Returns false, and does nothing, if it
// begins before the end of the last one.
static inline __attribute__((always_inline)) bool stream_put_run(struct stream_writer *w, size_t slot, uint64_t offset,
                                                                 uint64_t size, uint64_t start, uint64_t end) {
    struct stream_put_slot *s = &w->slot[slot];
    uint64_t gap = start - w->clock, duration = end - start;
    uint8_t *at = w->at;
    if (__builtin_expect((int64_t)gap < 0, 0)) return false;
    if (__builtin_expect(offset == s->expected && size == s->size, 1)) {
        *at++ = (uint8_t)(slot << 2 | FORM_RUN);
        s->expected += (uint64_t)s->displacement;
    } else {
        at = stream_put_moved(s, (unsigned)slot, at, offset, size);
    }
    if (__builtin_expect(gap >= 0x80 || duration >= 0x4000, 0)) { // most gaps take a byte and most durations two
        at = stream_put_any_times(at, gap, duration);
    } else {
        at[0] = (uint8_t)gap;
        if (duration < 0x80) {
            at[1] = (uint8_t)duration;
            at += 2;
        } else {
            at[1] = (uint8_t)(duration | 0x80);
            at[2] = (uint8_t)(duration >> 7);
            at += 3;
        }
    }
    w->clock = end;
    w->next_number++;
    stream_put_commit(w, at);
    return true;
}

// The same; `start` must not lie before w->clock.
static inline void stream_put_plain(struct stream_writer *w, unsigned slot, uint64_t offset, uint64_t size,
                                    uint64_t start, uint64_t end) {
    stream_put_run(w, slot, offset, size, start, end);
}

// An event that ends the innermost announced call, with its slot's size, its expected result, and one attribute or none
// (ATTRIBUTE_LIMIT). `flags` is EVENT_ENDS_BEGUN, or 0 if the announcement was withdrawn: its number is the event's.
static inline void stream_put_end(struct stream_writer *w, unsigned slot, uint64_t offset, uint64_t start, uint64_t end,
                                  enum event_attribute attribute, uint64_t value, uint32_t flags) {
    struct stream_put_slot *s = &w->slot[slot];
    uint64_t gap = start - w->clock;
    uint8_t *at = stream_put_kind(w->at, slot, KIND_EVENT) + 1;
    if (start < w->clock) flags |= EVENT_NEGATIVE_GAP, gap = -gap;
    if (__builtin_expect(offset != s->expected, 0)) {
        int64_t moved = (int64_t)(offset - s->expected + (uint64_t)s->displacement);
        flags |= EVENT_OFFSET;
        at = varint_put_wide(at, varint_fold(moved));
        s->displacement = moved;
    }
    s->expected = offset + (uint64_t)s->displacement;
    if (attribute != ATTRIBUTE_LIMIT) {
        flags |= EVENT_ATTRIBUTES;
        *at++ = 1;
        *at++ = (uint8_t)attribute;
        at = varint_put_wide(at, value);
    }
    w->at[2] = (uint8_t)flags;
    at = stream_put_times(w, at, gap, start, end);
    stream_put_commit(w, at);
}

// What an open has.
struct stream_open {
    uint32_t flags;
    uint32_t mode;
    uint64_t size; // 0: not told
    int32_t result;
    bool has_mode;
};

// The first event of a slot, an open that returned a positive number. `start` must not lie before w->clock.
static inline void stream_put_open(struct stream_writer *w, size_t slot, uint64_t start, uint64_t end,
                                   const struct stream_open *open) {
    uint8_t *at = stream_put_kind(w->at, (unsigned)slot, KIND_EVENT);
    *at = EVENT_RESULT | EVENT_ATTRIBUTES;
    at = varint_put(at + 1, varint_fold(open->result));
    *at++ = (uint8_t)(1 + open->has_mode + (open->size != 0));
    *at++ = ATTRIBUTE_FLAGS;
    at = varint_put(at, open->flags);
    if (open->has_mode) {
        *at++ = ATTRIBUTE_MODE;
        at = varint_put(at, open->mode);
    }
    if (open->size) {
        *at++ = ATTRIBUTE_FILE_SIZE;
        at = varint_put_wide(at, open->size);
    }
    at = stream_put_times(w, at, start - w->clock, start, end);
    w->next_number++;
    stream_put_commit(w, at);
}

// Any other event.
static inline void stream_put_extended(struct stream_writer *w, unsigned slot, uint64_t offset, uint64_t size,
                                       uint64_t start, uint64_t end, const struct stream_put_extra *extra) {
    struct stream_put_slot *s = &w->slot[slot];
    uint32_t flags = extra->flags;
    int64_t moved = (int64_t)(offset - s->expected + (uint64_t)s->displacement);
    if (!(flags & EVENT_NO_OFFSET) && offset != s->expected) flags |= EVENT_OFFSET;
    if (size != s->size) flags |= EVENT_SIZE;
    if (start < w->clock) flags |= EVENT_NEGATIVE_GAP;
    if (extra->attributes) flags |= EVENT_ATTRIBUTES;

    uint8_t *at = stream_put_kind(w->at, slot, KIND_EVENT);
    at = varint_put(at, flags);
    if (flags & EVENT_OFFSET) at = varint_put(at, varint_fold(moved));
    if (flags & EVENT_SIZE) at = varint_put(at, size);
    if (flags & EVENT_RESULT) at = varint_put(at, varint_fold(extra->result));
    if (flags & EVENT_ERROR) at = varint_put(at, (uint64_t)extra->error);
    if (flags & EVENT_ATTRIBUTES) {
        at = varint_put(at, extra->attributes);
        for (unsigned i = 0; i < extra->attributes; i++) {
            at = varint_put(at, extra->attribute[i].id);
            at = varint_put(at, extra->attribute[i].value);
        }
    }
    if (!(flags & EVENT_NO_OFFSET)) {
        if (flags & EVENT_OFFSET) s->displacement = moved;
        if (flags & EVENT_SIZE) s->displacement = (int64_t)size;
        s->expected = offset + (uint64_t)s->displacement;
    }
    s->size = size;
    at = stream_put_times(w, at, start < w->clock ? w->clock - start : start - w->clock, start, end);
    if (!(flags & EVENT_ENDS_BEGUN) && !extra->numbered) w->next_number++;
    stream_put_commit(w, at);
}
