// From a completed call to bytes in the thread's stream. emit() is the hot path: the call continues a run or opens a
// new one; whatever is rare goes to emit_slowly().
#pragma once

#include "rec/event_clock.h"
#include "rec/files.h"
#include "rec/handles.h"
#include "rec/recorder.h"

// Whom a slot stands for: an open handle, or a file by name.
static inline uint64_t emit_subject(uint32_t serial, const struct file *file)
{
    return serial ? serial : (uint64_t)1 << 33 | (file ? file->id : 0);
}

static inline uint64_t emit_key(uint64_t subject, uint32_t call, unsigned unaligned)
{
    return subject << 12 | call << 1 | unaligned;
}

static inline unsigned emit_slot(uint64_t subject, uint32_t call)
{
    return (unsigned)(subject * 5 + call) % STREAM_SLOTS;
}

// Everything there is to say about one event.
struct emission {
    uint32_t call;
    uint32_t serial; // of the handle, 0 without
    struct file *file;
    struct file *file2; // the target of rename and link, or NULL
    bool ends_frame;    // of the thread's innermost frame
    bool is_child;      // was submitted inside another call, which need not be under way any more
    bool unaligned;
    uint64_t offset;
    uint64_t size;
    uint64_t start;
    uint64_t end;
    uintptr_t caller;
    struct stream_put_extra extra;
};

// An event without offset, size and anything special. The places for attributes are not touched: there are many.
static inline void emit_start(struct emission *e, uint32_t call, struct file *file, uint32_t serial, uint64_t start,
                              uint64_t end, uintptr_t caller)
{
    e->call = call;
    e->serial = serial;
    e->file = file;
    e->file2 = NULL;
    e->ends_frame = false;
    e->is_child = false;
    e->unaligned = false;
    e->offset = 0;
    e->size = 0;
    e->start = start;
    e->end = end;
    e->caller = caller;
    e->extra.flags = 0;
    e->extra.numbered = false;
    e->extra.attributes = 0;
}

enum { EMIT_DEFERRED_MOST = 8 }; // events of signal handlers that a thread can put aside

struct pending; // async.h

struct deferred_event {
    atomic_flag taken;
    volatile bool full;
    struct emission emission;
};

void emit_slowly(struct thread *thread, struct emission *emission);
void emit_plain_slowly(struct thread *thread, uint32_t call, struct handle *handle, bool unaligned, uint64_t offset,
                       uint64_t size, uint64_t start, uint64_t end, uintptr_t caller);

// Claims the thread's state for a short while. False: a signal handler came while its thread had claimed it; the
// handler must neither write into the stream nor wait for a lock.
static inline bool emit_claim(struct thread *thread)
{
    if (UNLIKELY(thread->busy)) return false;
    thread->busy = true;
    atomic_signal_fence(memory_order_seq_cst);
    return true;
}

// Writes the events that signal handlers put aside.
void emit_deferred(struct thread *thread);

static inline void emit_unclaim(struct thread *thread)
{
    atomic_signal_fence(memory_order_seq_cst);
    thread->busy = false;
    if (UNLIKELY(thread->deferred)) emit_deferred(thread);
}

// An event on an open file with its expected result (the size for transfers, else 0).
static inline __attribute__((always_inline)) void emit(struct thread *thread, uint32_t call, struct handle *handle,
                                                       unsigned unaligned, uint64_t offset, uint64_t size,
                                                       uint64_t start, uint64_t end, uintptr_t caller)
{
    uint64_t subject = handle->serial;
    uint64_t key = emit_key(subject, call, unaligned);
    unsigned slot = emit_slot(subject, call);
    struct stream_writer *writer = &thread->writer;
    if (LIKELY(emit_claim(thread))) {
        // A full chunk, an ended trace, call sites and open frames all make the limit 0 or the key differ.
        if (LIKELY(writer->at < writer->limit && writer->slot[slot].key == key && start >= writer->clock)) {
            stream_put_plain(writer, slot, offset, size, start, end);
            emit_unclaim(thread);
            return;
        }
        thread->busy = false;
    }
    emit_plain_slowly(thread, call, handle, unaligned, offset, size, start, end, caller);
}

// Writes down the communication that no event has come after.
void emit_flush_comm(struct thread *thread);

// Gives the thread its next chunk; false once the trace has ended (it then has a place for its tallies at least).
bool emit_next_chunk(struct thread *thread, uint64_t base);

// Sends the next event of the thread the slow way, where communication is written down. The hot path needs no check
// for it: it finds the chunk full. False where the thread has no state any more, as in emit_left_out.
bool emit_next_slowly(struct thread *thread);

// A call that may have children: what is written between the two is below it, and `emission` is its own event. `known`
// is the number of the call that this one carries on, or CALL_FRAME_SILENT. The announcement is written at once, so
// that children find nothing to attend to; where none comes it is taken back.
void emit_push(struct thread *thread, struct call_frame *frame, uint64_t known);
// A wait for transfers that were submitted earlier: what comes inside is below the one that it serves.
void emit_push_choice(struct thread *thread, struct call_frame *frame, struct pending **choices, unsigned count);
void emit_finish(struct thread *thread, struct call_frame *frame, struct emission *emission);

// emit_push where there is nothing to attend to but the tick of the call itself.
static inline __attribute__((always_inline)) void emit_push_plain(struct thread *thread, struct call_frame *frame,
                                                                  uint64_t tick)
{
    struct stream_writer *writer = &thread->writer;
    if (LIKELY(emit_claim(thread))) {
        if (LIKELY(writer->at < writer->limit && tick == thread->tick_written + 1)) {
            thread->tick_written = tick;
            frame->up = thread->frame;
            frame->choice_count = 0;
            frame->is_known = false;
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

// emit_finish for a transfer through a handle, with its expected result and at most one attribute (ATTRIBUTE_LIMIT:
// none). False where there is more to say; nothing was done then.
static inline __attribute__((always_inline)) bool emit_finish_plain(struct thread *thread, struct call_frame *frame,
                                                                    uint32_t call, uint32_t serial, uint64_t offset,
                                                                    uint64_t size, uint64_t start, uint64_t end,
                                                                    enum event_attribute attribute, uint64_t value)
{
    struct stream_writer *writer = &thread->writer;
    unsigned slot = emit_slot(serial, call);
    uint64_t key = emit_key(serial, call, 0);
    if (UNLIKELY(frame->number == CALL_FRAME_SILENT || !emit_claim(thread))) return false;
    // A thread without a state any more has no room either.
    bool is_plain = LIKELY(writer->at < writer->limit && writer->at != frame->behind && writer->slot[slot].key == key &&
                           writer->slot[slot].size == size);
    if (is_plain) {
        stream_put_end(writer, slot, offset, start, end, attribute, value);
        thread->frame = frame->up;
    }
    emit_unclaim(thread);
    return is_plain;
}

// The call is over but its event comes later: frame->number then says which number it has, if children gave it one.
void emit_leave(struct thread *thread, struct call_frame *frame);
// What the innermost frame submits, on that file, is its child wherever it completes: the announcement stays. Returns
// its number.
uint64_t emit_announce(struct thread *thread, const struct file *file);

static inline void emit_attribute(struct emission *emission, uint32_t id, uint64_t value)
{
    stream_put_attribute(&emission->extra, id, value);
}

// Sets result and errno as they differ from what is expected.
static inline void emit_result(struct emission *emission, int64_t result, int64_t expected, int error)
{
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

// Bytes that moved but are left out of the record on purpose.
static inline void emit_left_out(struct thread *thread, bool is_write, unsigned why, int64_t bytes)
{
    if (UNLIKELY(!thread->tally)) return; // a handler forked inside the call, and this is the child
    if (bytes > 0) thread->tally->left_out[is_write][why] += (uint64_t)bytes;
    thread->tally->left_out_calls++;
}
