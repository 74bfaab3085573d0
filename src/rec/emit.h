// Writes completed calls as events into the thread's stream. emit() is the hot path: the call continues a run or opens
// a new one. Everything rare goes to emit_slowly().
#pragma once

#include "rec/event_clock.h"
#include "rec/files.h"
#include "rec/handles.h"
#include "rec/recorder.h"

// What a slot stands for: an open handle, or a file by name.
static inline uint64_t emit_subject(uint32_t serial, const struct file *file) {
    return serial ? serial : (uint64_t)1 << 33 | (file ? file->id : 0);
}

static inline uint64_t emit_key(uint64_t subject, uint32_t call, unsigned unaligned) {
    return subject << 12 | call << 1 | unaligned;
}

static inline size_t emit_slot(uint64_t subject, uint32_t call) { return (subject * 5 + call) % STREAM_SLOTS; }

// An event with its expected result: the size for transfers, else 0.
struct plain_event {
    uint32_t call;
    bool unaligned;
    uint64_t offset;
    uint64_t size;
    uint64_t start;
    uint64_t end;
    uintptr_t caller;
};

// Everything that the log says about one event.
struct emission {
    struct plain_event event;
    uint32_t serial; // of the handle, 0 without
    struct file *file;
    struct file *file2; // the target of rename and link, or NULL
    bool ends_frame;    // the event belongs to the thread's innermost frame
    bool is_child;      // it was submitted inside another call, which may be over by now
    struct stream_put_extra extra;
};

// Does not initialise the attributes: there are many.
static inline void emit_start(struct emission *e, struct plain_event event, struct file *file, uint32_t serial) {
    e->event = event;
    e->serial = serial;
    e->file = file;
    e->file2 = NULL;
    e->ends_frame = false;
    e->is_child = false;
    e->extra.flags = 0;
    e->extra.numbered = false;
    e->extra.attributes = 0;
}

enum { EMIT_DEFERRED_MOST = 8 }; // events of signal handlers that a thread can defer

struct pending; // async/pending.h

struct deferred_event {
    atomic_flag taken;
    volatile bool full;
    struct emission emission;
};

void emit_slowly(struct thread *thread, struct emission *emission);
void emit_plain_slowly(struct thread *thread, uint32_t serial, struct file *file, struct plain_event event);

// The transfers inside a call on several objects. When each took place is unknown: they divide the time of the call in
// proportion to their bytes, so that its time is counted once.
struct emit_parts {
    uint64_t start, end; // of those to come
    uint64_t bytes;      // of them
};

static inline void emit_next_part(struct emit_parts *parts, struct plain_event *event) {
    double part = event->size < parts->bytes ? (double)event->size / (double)parts->bytes : 1;
    event->start = parts->start;
    event->end = parts->start + (uint64_t)((double)(parts->end - parts->start) * part);
    parts->start = event->end;
    parts->bytes -= event->size < parts->bytes ? event->size : parts->bytes;
}

// Claims the thread's state for a short time. Returns false in a signal handler that has interrupted a claim of its own
// thread: the handler must neither write into the stream nor wait for a lock.
static inline bool emit_claim(struct thread *thread) {
    if (UNLIKELY(thread->busy)) return false;
    thread->busy = true;
    atomic_signal_fence(memory_order_seq_cst);
    return true;
}

// Writes the deferred events of signal handlers.
void emit_deferred(struct thread *thread);

static inline void emit_unclaim(struct thread *thread) {
    atomic_signal_fence(memory_order_seq_cst);
    thread->busy = false;
    if (UNLIKELY(thread->deferred)) emit_deferred(thread);
}

// Writes an event if its subject's slot is defined and nothing has to come before it; returns whether it did.
static inline __attribute__((always_inline)) bool emit_quickly(struct thread *thread, uint64_t subject,
                                                               struct plain_event event) {
    uint64_t key = emit_key(subject, event.call, event.unaligned);
    size_t slot = emit_slot(subject, event.call);
    struct stream_writer *writer = &thread->writer;
    if (UNLIKELY(!emit_claim(thread))) return false;
    // If the chunk is full or the trace has ended, the limit is NULL or passed; with call sites no key matches.
    if (LIKELY(writer->at < writer->limit && writer->slot[slot].key == key &&
               stream_put_run(writer, slot, event.offset, event.size, event.start, event.end))) {
        emit_unclaim(thread);
        return true;
    }
    thread->busy = false;
    return false;
}

// A copy for the slow path, so that the compiler keeps the event itself in registers.
static inline struct plain_event emit_copy(struct plain_event event) {
    return (struct plain_event){event.call,  event.unaligned, event.offset, event.size,
                                event.start, event.end,       event.caller};
}

// Writes an event on an open file.
static inline __attribute__((always_inline)) void emit(struct thread *thread, const struct handle *handle,
                                                       struct plain_event event) {
    if (LIKELY(emit_quickly(thread, handle->serial, event))) return;
    emit_plain_slowly(thread, handle->serial, handle->file, emit_copy(event));
}

// The open that has made a handle.
void emit_open(struct thread *thread, const struct handle *handle, const struct plain_event *event,
               const struct stream_open *open);
// A close that succeeded. Returns false if it must be written by emit_slowly().
bool emit_close(struct thread *thread, uint32_t serial, struct file *file, const struct plain_event *event);

// An event on a file by name, with a second one: the target of rename and link.
void emit_named_two(struct thread *thread, struct file *file, struct file *file2, struct plain_event event);

// Writes the communication since the last event.
void emit_flush_comm(struct thread *thread);

// Gives the thread its next chunk. Returns false if the trace has ended; the thread then still has a tally.
bool emit_next_chunk(struct thread *thread, uint64_t base);

// Makes the thread's next event take the slow path, which writes communication first. The hot path needs no check for
// this: it finds the chunk full. Returns false if the thread has no state any more, as in emit_left_out.
static inline bool emit_next_slowly(struct thread *thread) {
    if (!thread->saved_limit) {
        thread->saved_limit = thread->writer.limit;
        thread->writer.limit = NULL;
    }
    return thread->ready;
}

// Begins a call that may have children: events between emit_push and emit_finish are its children, and `emission` is
// its own event. `known` is the number of the call that this one continues, or CALL_FRAME_SILENT. The announcement is
// written at once, so that children can take the hot path; it is withdrawn if no child comes.
void emit_push(struct thread *thread, struct call_frame *frame, uint64_t known);
// Begins a wait for transfers that were submitted earlier: each child belongs to the transfer that it serves.
void emit_push_choice(struct thread *thread, struct call_frame *frame, struct pending **choices, unsigned count);
void emit_finish(struct thread *thread, struct call_frame *frame, struct emission *emission);

// Like emit_push, but writes only the tick of the call itself.
static inline __attribute__((always_inline)) void emit_push_plain(struct thread *thread, struct call_frame *frame,
                                                                  uint64_t tick) {
    struct stream_writer *writer = &thread->writer;
    if (LIKELY(emit_claim(thread))) {
        if (LIKELY(writer->at < writer->limit && tick == thread->tick_written + 1)) {
            thread->tick_written = tick;
            frame->up = thread->frame;
            frame->choice_count = 0;
            frame->is_above = frame->is_known = false;
            frame->number = stream_put_next(writer);
            frame->behind = writer->at;
            frame->before = writer->at - STREAM_BEGIN_BYTES;
            thread->frame = frame;
            emit_unclaim(thread);
            return;
        }
        thread->busy = false;
    }
    emit_push(thread, frame, CALL_FRAME_SILENT);
}

// Like emit_finish, for a transfer through a handle with at most one attribute (ATTRIBUTE_LIMIT: none). Returns false
// and does nothing if there is more to write. Calls without children have it only if they `may_be_alone`, a constant.
static inline __attribute__((always_inline)) bool emit_finish_plain(struct thread *thread, struct call_frame *frame,
                                                                    uint32_t serial, struct plain_event event,
                                                                    enum event_attribute attribute, uint64_t value,
                                                                    bool may_be_alone) {
    struct stream_writer *writer = &thread->writer;
    size_t slot = emit_slot(serial, event.call);
    uint64_t key = emit_key(serial, event.call, 0);
    if (UNLIKELY(frame->number == CALL_FRAME_SILENT || !emit_claim(thread))) return false;
    // A thread that has lost its state has no room in its chunk either.
    // Without children and attributes there is a shorter form.
    bool has_children = writer->at != frame->behind;
    bool is_alone = may_be_alone && !has_children && attribute != ATTRIBUTE_LIMIT && !frame->is_known;
    bool is_plain = LIKELY(writer->at < writer->limit && (has_children || is_alone) && writer->slot[slot].key == key &&
                           writer->slot[slot].size == event.size);
    if (is_plain) {
        if (is_alone) writer->at = frame->before;
        stream_put_end(writer, (unsigned)slot, event.offset, event.start, event.end, attribute, value,
                       is_alone ? 0 : EVENT_ENDS_BEGUN);
        thread->frame = frame->up;
    }
    emit_unclaim(thread);
    return is_plain;
}

// Ends a call whose event comes later. frame->number is then the number of its announcement, if children needed one.
void emit_leave(struct thread *thread, struct call_frame *frame);
// The innermost frame submits a transfer on this file. The transfer is its child wherever it completes, so the
// announcement must stay. Returns its number.
uint64_t emit_announce(struct thread *thread, const struct file *file);

static inline void emit_attribute(struct emission *emission, uint32_t id, uint64_t value) {
    stream_put_attribute(&emission->extra, id, value);
}

// Sets result and errno if they differ from what is expected.
static inline void emit_result(struct emission *emission, int64_t result, int64_t expected, int error) {
    if (error) {
        emission->extra.flags |= EVENT_ERROR;
        emission->extra.error = error;
        expected = -1;
    }
    if (result != expected) {
        emission->extra.flags |= EVENT_RESULT;
        emission->extra.result = result;
    }
}

// Counts bytes that are left out of the record on purpose.
static inline void emit_left_out(struct thread *thread, bool is_write, unsigned why, int64_t bytes) {
    if (UNLIKELY(!thread->tally)) return; // this is the child of a fork in a signal handler inside the call
    if (bytes > 0) thread->tally->left_out[is_write][why] += (uint64_t)bytes;
    thread->tally->left_out_calls++;
}
