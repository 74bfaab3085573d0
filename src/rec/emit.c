#include "rec/emit.h"

#include <string.h>

#include "rec/asking.h"
#include "rec/async/pending.h"
#include "rec/callsites.h"
#include "rec/file_counters.h"
#include "rec/spill.h"
#include "rec/triggers.h"

// Communication that is not written yet moves to the new tally.
static void change_tally(struct thread *thread, struct spill_tally *tally) {
    memcpy(tally->comm, thread->comm, sizeof tally->comm);
    memset(thread->comm, 0, sizeof tally->comm);
    thread->tally = tally;
    thread->comm = tally->comm;
}

// From here on there are only counters. Left-out bytes are still counted, in a chunk without events.
static void end_trace(struct thread *thread, enum loss_reason reason) {
    uint32_t none = LOSS_NONE;
    atomic_compare_exchange_strong(&recorder.spill->trace_ended, &none, reason);
    thread->writer.limit = NULL;
    thread->chunk = spill_claim(CHUNK_COUNTERS, SPILL_ALIGN, &reason);
    if (thread->chunk) change_tally(thread, &thread->chunk->tally);
}

// A chunk can be decoded by itself, so a new one names the calls that are still open.
static void reopen_frames(struct stream_writer *writer, const struct call_frame *frame) {
    if (!frame) return;
    reopen_frames(writer, frame->up);
    if (frame->number != CALL_FRAME_SILENT) stream_put_reopen(writer, frame->number);
}

bool emit_next_chunk(struct thread *thread, uint64_t base) {
    struct spill_chunk *old = thread->chunk;
    if (thread->trace_ended) return false;
    enum loss_reason reason = atomic_load_explicit(&recorder.spill->trace_ended, memory_order_relaxed);
    struct spill_chunk *chunk = NULL;
    if (!reason) {
        chunk = spill_claim(CHUNK_EVENTS, spill_next_bytes(old), &reason);
    }
    if (chunk) change_tally(thread, &chunk->tally);
    // The announcement of a call may wait for the next record to become visible. Communication that is visible came
    // before that call, not before its first child.
    if (old) stream_put_commit(&thread->writer, thread->writer.at);
    if (old) spill_retire(old);
    if (!chunk) {
        thread->trace_ended = true;
        end_trace(thread, reason);
        return false;
    }
    if (!thread->chunks++) thread->stream = atomic_fetch_add(&recorder.spill->streams, 1);
    thread->chunk = chunk;
    chunk->stream = thread->stream;
    chunk->tid = thread->tid;
    chunk->first_number = thread->writer.next_number;
    chunk->base = base;
    chunk->tick = thread->tick_written;
    thread->saved_limit = NULL;
    stream_put_start(&thread->writer, spill_payload(chunk), chunk->bytes - SPILL_CHUNK_HEADER_BYTES, &chunk->used,
                     base);
    reopen_frames(&thread->writer, thread->frame);
    return true;
}

static void define_slot(struct thread *thread, unsigned slot, uint64_t key, const struct emission *e) {
    uint32_t flags = e->event.unaligned ? SLOT_UNALIGNED : 0;
    uint32_t callsite = recorder.callsites ? callsites_number(e->event.caller) : 0;
    if (callsite) flags |= SLOT_CALLSITE;
    if (e->file) files_announce(e->file);
    // With call sites or triggers no key may match in emit(): every event must come here, where the caller is compared,
    // too, and where it is chosen.
    if (recorder.callsites || recorder.selects) key = 0;
    stream_put_slot(&thread->writer, slot, key, e->event.call, e->file ? e->file->id : 0, e->serial, flags, callsite);
}

// Sets the slot's key and caller; returns whether they were the same before, in this chunk.
static bool set_site(struct thread *thread, unsigned slot, uint64_t key, uintptr_t caller) {
    bool same = thread->site[slot].caller == caller && thread->site[slot].key == key &&
                thread->site[slot].chunk == thread->chunks;
    thread->site[slot].caller = caller;
    thread->site[slot].key = key;
    thread->site[slot].chunk = thread->chunks;
    return same;
}

static uint64_t attribute(const struct emission *e, uint32_t id) {
    for (unsigned i = 0; i < e->extra.attributes; i++) {
        if (e->extra.attribute[i].id == id) return e->extra.attribute[i].value;
    }
    return 0;
}

// Adds the time in calls. A call inside another one is part of that one; asynchronous transfers count only their time
// inside calls. Calls above MPI-IO do not count: what they contain does.
static void tally_time(struct thread *thread, const struct emission *e) {
    const struct call_frame *around = thread->frame;
    if (around && e->ends_frame) around = around->up;
    while (around && around->is_above) around = around->up;
    if (around || e->is_child || call_layer_is_above(call_table[e->event.call].layer)) return;
    bool is_async = call_table[e->event.call].traits & CALL_ASYNC;
    thread->tally->io_units += is_async ? attribute(e, ATTRIBUTE_CALL_TIME) : e->event.end - e->event.start;
}

// After the end of the trace an event only changes the counters of its file (and of a rename's target).
static void count(struct thread *thread, const struct emission *e) {
    const struct call_info *call = &call_table[e->event.call];
    tally_time(thread, e);
    struct counters_input input = {.call = e->event.call,
                                   .offset = e->event.offset,
                                   .has_offset = !(e->extra.flags & EVENT_NO_OFFSET) && call->traits & CALL_HAS_OFFSET,
                                   .unaligned = e->event.unaligned,
                                   .result = call->traits & CALL_TRANSFERS ? (int64_t)e->event.size : 0,
                                   .start = e->event.start,
                                   .duration = e->event.end - e->event.start,
                                   .mode = (uint32_t)attribute(e, ATTRIBUTE_MODE),
                                   .flags = (uint32_t)attribute(e, ATTRIBUTE_FLAGS),
                                   .comm_size = (uint32_t)attribute(e, ATTRIBUTE_COMM_SIZE),
                                   .has_hints = attribute(e, ATTRIBUTE_HINTS),
                                   .is_collective = attribute(e, ATTRIBUTE_COLLECTIVE)};
    if (e->extra.flags & EVENT_RESULT) input.result = e->extra.result;
    unsigned layer = counters_layer(e->event.call, input.flags);
    if (layer == LAYER_NONE || e->extra.flags & EVENT_ERROR || input.result < 0) return;
    if (e->file) {
        input.block_size = e->file->block_bytes;
        file_counters_add(e->file, e->serial, layer, &input);
    }
    if (e->file2 && counters_has_target(e->event.call)) {
        input.block_size = e->file2->block_bytes;
        input.is_target = true;
        input.renamed_from = e->file ? e->file->id : 0;
        file_counters_add(e->file2, 0, layer, &input);
    }
}

// A varint that is mostly a single byte.
static inline uint8_t *put_small(uint8_t *at, uint64_t value) {
    if (UNLIKELY(value >= 0x80)) return varint_put_wide(at, value);
    *at = (uint8_t)value;
    return at + 1;
}

static inline uint8_t *put_partner(uint8_t *at, struct partner *partner) {
    memcpy(at, partner->entry, sizeof partner->entry);
    at = put_small(at + partner->entry_bytes, partner->calls + 1);
    partner->calls = PARTNER_IDLE;
    return at;
}

// The first ones stay, so that two runs of a program have the same; the calls of all others are one number.
static __attribute__((noinline, cold)) void clip_partners(struct partners *partners) {
    uint64_t calls = 0;
    for (uint32_t i = RECORDER_FURTHER; i < partners->used_count; i++) {
        calls += partners->used[i]->calls + 1;
        partners->used[i]->calls = PARTNER_IDLE;
    }
    for (uint32_t i = 0; i < RECORDER_FURTHER; i++) {
        if (partners->used[i] != &partners->rest) continue; // of a communicator without a number
        partners->rest.calls += calls;
        partners->used_count = RECORDER_FURTHER;
        return;
    }
    partners->rest = (struct partner){.entry_bytes = 2, .entry = {PARTNER_MORE}, .calls = calls - 1};
    partners->used[RECORDER_FURTHER] = &partners->rest;
    partners->used_count = RECORDER_FURTHER + 1;
}

// With whom the communication was.
static inline uint8_t *put_partners(uint8_t *at, struct partners *partners) {
    if (UNLIKELY(partners->used_count > RECORDER_FURTHER)) clip_partners(partners);
    struct partner **used = partners->used, **end = used + partners->used_count;
    at = stream_put_kind(at, 0, KIND_PARTNERS);
    *at++ = (uint8_t)partners->used_count;
    do at = put_partner(at, *used++);
    while (UNLIKELY(used < end));
    partners->used_count = partners->further_count = 0;
    return at;
}

static inline uint8_t *put_comm(uint8_t *at, struct stream_comm *comm) {
    at = put_small(at, comm->count);
    at = put_small(at, comm->bytes);
    at = stream_put_time(at, comm->units);
    *comm = (struct stream_comm){0};
    return at;
}

// Writes the process's tick and the communication since the last event.
static void write_comm(struct thread *thread) {
    struct stream_writer *writer = &thread->writer;
    uint64_t tick = recorder_tick();
    struct stream_comm *comm = thread->comm;
    uint8_t *at = put_small(stream_put_kind(writer->at, 0, KIND_COMM), tick - thread->tick_written);
    uint8_t *mask_at = at++;
    unsigned mask = 0;
#pragma GCC unroll 3
    for (unsigned kind = 0; kind < STREAM_COMM_KINDS; kind++) {
        if (!comm[kind].count) continue;
        mask |= 1u << kind;
        at = put_comm(at, &comm[kind]);
    }
    if (tick == thread->tick_written && !mask) return;
    *mask_at = (uint8_t)mask;
    // Not before the communication: the partner of a call under way is known, but what it does first is not.
    if (mask && thread->partners.used_count) at = put_partners(at, &thread->partners);
    thread->tick_written = tick;
    stream_put_commit(writer, at);
}

// Called if the chunk is full, or emit_next_slowly() has made it look full. Returns false if the trace has ended. A new
// chunk's clock begins at `base`, 0: now.
static __attribute__((noinline)) bool make_room(struct thread *thread, uint64_t base) {
    struct stream_writer *writer = &thread->writer;
    if (thread->saved_limit) {
        writer->limit = thread->saved_limit;
        thread->saved_limit = NULL;
    }
    if (UNLIKELY(writer->at >= writer->limit) && !emit_next_chunk(thread, base ? base : event_clock_now()))
        return false;
    write_comm(thread);
    return true;
}

// Makes room for a record and writes what must come before it. Returns false if the trace has ended.
static inline bool make_ready(struct thread *thread) {
    struct stream_writer *writer = &thread->writer;
    if (writer->at >= writer->limit) return make_room(thread, 0);
    uint64_t tick = recorder_tick();
    if (tick != thread->tick_written) stream_put_tick(writer, tick - thread->tick_written);
    thread->tick_written = tick;
    return true;
}

// Withdraws the announcement of a call if nothing was written after it; returns whether it did.
static inline bool withdraw(struct stream_writer *writer, struct call_frame *frame) {
    if (writer->at != frame->behind) return false;
    writer->at = frame->before;
    if (!frame->is_known) writer->next_number--;
    frame->number = CALL_FRAME_SILENT;
    return true;
}

// Inside a wait for several transfers: the one that a call on these bytes serves becomes the parent of what follows.
static void choose(struct thread *thread, const struct file *file, uint64_t offset, uint64_t size) {
    struct stream_writer *writer = &thread->writer;
    struct call_frame *frame = thread->frame;
    struct pending *chosen = pending_choose(frame->choices, frame->choice_count, file, offset, size);
    bool elsewhere = chosen && chosen->own_number != STREAM_NO_PARENT && chosen->own_stream != thread->stream;
    if (elsewhere) chosen = NULL; // numbers are valid in their own stream only
    if (chosen == frame->chosen) return;
    if (frame->chosen) stream_put_control(writer, KIND_LEAVE, NULL, 0);
    frame->chosen = chosen;
    frame->number = CALL_FRAME_SILENT;
    if (!chosen) return;
    if (chosen->own_number == STREAM_NO_PARENT) {
        chosen->own_number = stream_put_begin(writer);
        chosen->own_stream = thread->stream;
    } else {
        stream_put_reopen(writer, chosen->own_number);
    }
    frame->number = chosen->own_number;
}

// Communication inside a call above MPI-IO came after what the call contains so far. Readers take it to have come
// before the event that follows it, and this call began earlier. So it is kept back until the call is over.
static bool ends_above(const struct thread *thread, const struct emission *e) {
    return e->ends_frame && thread->frame->is_above && thread->saved_limit;
}

static bool is_once(uint32_t id) { return call_table[id].class == CLASS_OPEN || call_table[id].class == CLASS_CLOSE; }

static bool is_unwanted(uint32_t id) {
    const struct call_info *call = &call_table[id];
    return (recorder.unwanted_layers >> call->layer | recorder.unwanted_classes >> call->class) & 1;
}

// The kernel counts the bytes of system calls, so they must not be missing.
static void leave_out(struct thread *thread, const struct emission *e) {
    const struct call_info *call = &call_table[e->event.call];
    int64_t bytes = e->extra.flags & EVENT_RESULT ? e->extra.result : (int64_t)e->event.size;
    bool is_counted = call->layer == LAYER_POSIX && call->traits & CALL_TRANSFERS && !(call->traits & CALL_UNCOUNTED);
    emit_left_out(thread, call->class == CLASS_WRITE, LEFT_OUT_NONE, is_counted ? bytes : 0);
}

// There is no room for the event. With triggers it has been counted already.
static void count_instead(struct thread *thread, const struct emission *e) {
    if (is_unwanted(e->event.call)) {
        leave_out(thread, e);
        return;
    }
    if (!recorder.selects) count(thread, e);
    if (recorder.trace_cap) spill_count_loss(LOSS_TRACE_CAP, 1); // with --no-trace nothing is lost
}

// Counts a call where triggers choose the events; returns whether it becomes one. A call that contains chosen ones
// does.
static bool is_chosen(struct thread *thread, const struct emission *e) {
    if (is_unwanted(e->event.call)) return true; // put_event leaves it out
    count(thread, e);
    bool is_announced = e->ends_frame && thread->frame->number != CALL_FRAME_SILENT;
    return triggers_choose(e) || (is_announced && !withdraw(&thread->writer, thread->frame));
}

static void put_event(struct thread *thread, struct emission *e) {
    struct stream_writer *writer = &thread->writer;
    if (UNLIKELY(ends_above(thread, e))) {
        writer->limit = thread->saved_limit;
        thread->saved_limit = NULL;
        bool has_room = writer->at < writer->limit || emit_next_chunk(thread, e->event.start);
        if (has_room)
            put_event(thread, e);
        else
            count_instead(thread, e);
        emit_next_slowly(thread);
        return;
    }
    if (UNLIKELY(writer->at >= writer->limit)) {
        if (!make_room(thread, e->event.start)) {
            count_instead(thread, e);
            return;
        }
        if (thread->frame && thread->frame->choice_count) {
            choose(thread, e->file, e->event.offset, e->event.size);
            emit_next_slowly(thread);
        }
    }
    if (e->ends_frame && thread->frame->number != CALL_FRAME_SILENT && !withdraw(writer, thread->frame)) {
        e->extra.flags |= EVENT_ENDS_BEGUN;
    } else if (UNLIKELY(is_unwanted(e->event.call))) { // one that contains recorded calls is their parent and stays
        leave_out(thread, e);
        return;
    }
    uint64_t subject = emit_subject(e->serial, e->file);
    // A handle is opened and closed once: for its file, the same slot is defined again and again.
    unsigned slot = (unsigned)emit_slot(is_once(e->event.call) ? emit_subject(0, e->file) : subject, e->event.call);
    uint64_t key = emit_key(subject, e->event.call, e->event.unaligned);
    if (recorder.callsites || recorder.selects ? !set_site(thread, slot, key, e->event.caller)
                                               : writer->slot[slot].key != key) {
        define_slot(thread, slot, key, e);
    }
    if (e->file2) {
        files_announce(e->file2);
        emit_attribute(e, ATTRIBUTE_FILE2, e->file2->id);
    }
    if (e->extra.flags == 0 && e->extra.attributes == 0 && e->event.start >= writer->clock) {
        stream_put_plain(writer, slot, e->event.offset, e->event.size, e->event.start, e->event.end);
    } else {
        stream_put_extended(writer, slot, e->event.offset, e->event.size, e->event.start, e->event.end, &e->extra);
    }
}

static void write_event(struct thread *thread, struct emission *e) {
    if (UNLIKELY(recorder.selects) && !is_chosen(thread, e)) return;
    put_event(thread, e);
}

// Called in a signal handler that has interrupted its own thread. Another handler may interrupt this one, so each
// reserves its place before it fills it.
static void defer_event(struct thread *thread, const struct emission *emission) {
    for (unsigned i = 0; thread->deferred_events && i < EMIT_DEFERRED_MOST; i++) {
        if (atomic_flag_test_and_set(&thread->deferred_events[i].taken)) continue;
        thread->deferred_events[i].emission = *emission;
        thread->deferred_events[i].emission.ends_frame = false; // emit_finish ends the frame
        atomic_signal_fence(memory_order_seq_cst);
        thread->deferred_events[i].full = true;
        thread->deferred = true;
        return;
    }
    spill_count_loss(LOSS_SIGNAL, 1);
}

void emit_deferred(struct thread *thread) {
    while (thread->deferred && emit_claim(thread)) {
        thread->deferred = false;
        for (unsigned i = 0; i < EMIT_DEFERRED_MOST; i++) {
            struct deferred_event *place = &thread->deferred_events[i];
            if (!place->full) continue;
            write_event(thread, &place->emission);
            place->full = false;
            atomic_signal_fence(memory_order_seq_cst);
            atomic_flag_clear(&place->taken);
        }
        atomic_signal_fence(memory_order_seq_cst);
        thread->busy = false;
    }
}

void emit_slowly(struct thread *thread, struct emission *emission) {
    if (UNLIKELY(!thread->ready) && !(thread = recorder_thread())) return; // as in emit_left_out
    if (!emit_claim(thread)) {
        defer_event(thread, emission);
        return;
    }
    write_event(thread, emission);
    emit_unclaim(thread);
}

void emit_plain_slowly(struct thread *thread, uint32_t serial, struct file *file, struct plain_event event) {
    struct emission e;
    emit_start(&e, event, file, serial);
    emit_slowly(thread, &e);
}

// Prepares an open or a close where nothing is chosen or left out and nothing has to come before it: claims the thread
// and defines the slot.
static inline __attribute__((always_inline)) bool begin_once(struct thread *thread, uint32_t serial, struct file *file,
                                                             const struct plain_event *event, size_t *slot) {
    struct stream_writer *writer = &thread->writer;
    if (UNLIKELY(!file || !emit_claim(thread))) return false;
    if (UNLIKELY(writer->at >= writer->limit || event->start < writer->clock || recorder.unwanted_layers ||
                 recorder.unwanted_classes || recorder.callsites || recorder.selects)) {
        thread->busy = false;
        return false;
    }
    *slot = emit_slot(emit_subject(0, file), event->call);
    uint64_t key = emit_key(serial, event->call, 0);
    if (UNLIKELY(writer->slot[*slot].key == key)) return true;
    files_announce(file);
    stream_put_slot(writer, (unsigned)*slot, key, event->call, file->id, serial, 0, 0);
    return true;
}

void emit_open(struct thread *thread, const struct handle *handle, const struct plain_event *event,
               const struct stream_open *open) {
    size_t slot;
    if (LIKELY(open->result > 0 && begin_once(thread, handle->serial, handle->file, event, &slot))) {
        stream_put_open(&thread->writer, slot, event->start, event->end, open);
        emit_unclaim(thread);
        return;
    }
    struct emission e;
    emit_start(&e, *event, handle->file, handle->serial);
    emit_attribute(&e, ATTRIBUTE_FLAGS, open->flags);
    if (open->has_mode) emit_attribute(&e, ATTRIBUTE_MODE, open->mode);
    if (open->size) emit_attribute(&e, ATTRIBUTE_FILE_SIZE, open->size);
    emit_result(&e, open->result, 0, 0);
    emit_slowly(thread, &e);
}

bool emit_close(struct thread *thread, uint32_t serial, struct file *file, const struct plain_event *event) {
    size_t slot;
    if (UNLIKELY(!begin_once(thread, serial, file, event, &slot))) return false;
    stream_put_run(&thread->writer, slot, 0, 0, event->start, event->end);
    emit_unclaim(thread);
    return true;
}

void emit_named_two(struct thread *thread, struct file *file, struct file *file2, struct plain_event event) {
    struct stream_writer *writer = &thread->writer;
    uint64_t subject = emit_subject(0, file);
    size_t slot = emit_slot(subject, event.call);
    if (LIKELY(emit_claim(thread))) {
        if (LIKELY(writer->at < writer->limit && writer->slot[slot].key == emit_key(subject, event.call, 0) &&
                   writer->slot[slot].size == event.size)) {
            files_announce(file2);
            stream_put_end(writer, (unsigned)slot, event.offset, event.start, event.end, ATTRIBUTE_FILE2, file2->id, 0);
            writer->next_number++;
            emit_unclaim(thread);
            return;
        }
        thread->busy = false;
    }
    struct emission e;
    emit_start(&e, event, file, 0);
    e.file2 = file2;
    emit_slowly(thread, &e);
}

static bool push(struct thread *thread, struct call_frame *frame) {
    frame->up = thread->frame;
    frame->number = CALL_FRAME_SILENT;
    frame->behind = NULL;
    frame->is_above = false;
    frame->choice_count = 0;
    thread->frame = frame;
    return thread->ready;
}

void emit_push(struct thread *thread, struct call_frame *frame, uint64_t known) {
    struct stream_writer *writer = &thread->writer;
    if (!push(thread, frame) || (recorder.selects && !triggers_are_on()) || !emit_claim(thread)) return;
    if (make_ready(thread)) {
        frame->before = writer->at;
        frame->is_known = known != CALL_FRAME_SILENT;
        if (frame->is_known) {
            stream_put_reopen(writer, known);
            frame->number = known;
        } else {
            frame->number = stream_put_begin(writer);
        }
        frame->behind = writer->at;
    }
    emit_unclaim(thread);
}

void emit_push_choice(struct thread *thread, struct call_frame *frame, struct pending **choices, unsigned count) {
    if (!push(thread, frame)) return;
    frame->choices = choices;
    frame->choice_count = count;
    frame->chosen = NULL;
    emit_next_slowly(thread);
}

void emit_finish(struct thread *thread, struct call_frame *frame, struct emission *emission) {
    emission->ends_frame = thread->frame == frame;
    emit_slowly(thread, emission);
    thread->frame = frame->up;
}

void emit_leave(struct thread *thread, struct call_frame *frame) {
    if (frame->number != CALL_FRAME_SILENT && emit_claim(thread)) {
        if (!withdraw(&thread->writer, frame) && make_ready(thread)) {
            stream_put_control(&thread->writer, KIND_LEAVE, NULL, 0);
        }
        thread->frame = frame->up;
        emit_unclaim(thread);
    }
    thread->frame = frame->up;
}

uint64_t emit_announce(struct thread *thread, const struct file *file) {
    struct call_frame *frame = thread->frame;
    if (!frame) return STREAM_NO_PARENT;
    if (frame->choice_count && emit_claim(thread)) {
        if (make_ready(thread)) choose(thread, file, 0, 0);
        emit_next_slowly(thread);
        emit_unclaim(thread);
    }
    frame->behind = NULL;
    return frame->number;
}

void emit_flush_comm(struct thread *thread) {
    if (!thread->saved_limit || !emit_claim(thread)) return;
    make_ready(thread);
    emit_unclaim(thread);
}
