#include "rec/async/pending.h"

#include "rec/asking.h"
#include "rec/memory.h"
#include "rec/spill.h"

enum { BUCKETS = 256 };

PER_PROCESS static struct pending *bucket[BUCKETS];
PER_PROCESS static struct pending *spare;
static _Atomic uint32_t lock;

static struct pending **head_of(const void *context, uint64_t id) {
    uint64_t mixed = ((uintptr_t)context ^ id) * 0x9e3779b97f4a7c15u;
    return &bucket[mixed >> 56];
}

static struct pending *take_entry(struct pending **at) {
    struct pending *entry = *at;
    *at = entry->next;
    return entry;
}

static void give_back(struct pending *entry) {
    entry->next = spare;
    spare = entry;
}

// Removes the entry with that id, if there is one.
static bool remove_entry(const void *context, uint64_t id, struct pending *out) {
    for (struct pending **at = head_of(context, id); *at; at = &(*at)->next) {
        if ((*at)->context != context || (*at)->id != id) continue;
        *out = **at;
        give_back(take_entry(at));
        return true;
    }
    return false;
}

// First in, first out within a bucket: some queues use one id for several transfers.
void pending_add(struct thread *thread, const struct pending *what) {
    if (!emit_claim(thread)) return;
    spin_lock(&lock);
    struct pending forgotten;
    if (what->unique && remove_entry(what->context, what->id, &forgotten)) spill_count_loss(LOSS_ASYNC, 1);
    struct pending *entry = spare;
    if (entry) {
        spare = entry->next;
    } else {
        entry = memory_alloc(sizeof *entry);
    }
    if (entry) {
        *entry = *what;
        entry->next = NULL;
        struct pending **at = head_of(what->context, what->id);
        while (*at) at = &(*at)->next;
        *at = entry;
    } else {
        spill_count_loss(LOSS_ASYNC, 1);
    }
    spin_unlock(&lock);
    emit_unclaim(thread);
}

void pending_spent(struct thread *thread, const void *context, uint64_t id, uint64_t time) {
    if (!emit_claim(thread)) return;
    spin_lock(&lock);
    struct pending *entry = *head_of(context, id);
    while (entry && (entry->context != context || entry->id != id || entry->call_time)) entry = entry->next;
    if (entry) entry->call_time = time;
    spin_unlock(&lock);
    emit_unclaim(thread);
}

struct pending *pending_find(struct thread *thread, const void *context, uint64_t id) {
    if (!emit_claim(thread)) return NULL;
    spin_lock(&lock);
    struct pending *entry = *head_of(context, id);
    while (entry && (entry->context != context || entry->id != id)) entry = entry->next;
    spin_unlock(&lock);
    emit_unclaim(thread);
    return entry;
}

static bool may_touch(const struct pending *what, uint64_t offset, uint64_t size) {
    bool is_known = what->has_offset && !what->has_view && size > 0;
    return !is_known || (offset < what->offset + what->size && what->offset < offset + size);
}

struct pending *pending_choose(struct pending **choices, unsigned count, const struct file *file, uint64_t offset,
                               uint64_t size) {
    struct pending *by_file = NULL, *by_bytes = NULL;
    unsigned files = 0, bytes = 0;
    if (count == 1) return choices[0];
    for (unsigned i = 0; i < count; i++) {
        if (choices[i]->file != file) continue;
        by_file = choices[i];
        files++;
        if (!may_touch(by_file, offset, size)) continue;
        by_bytes = by_file;
        bytes++;
    }
    return files == 1 ? by_file : bytes == 1 ? by_bytes : NULL;
}

bool pending_remove(struct thread *thread, const void *context, uint64_t id, struct pending *out) {
    bool found = false;
    if (!emit_claim(thread)) return false;
    spin_lock(&lock);
    found = remove_entry(context, id, out);
    spin_unlock(&lock);
    emit_unclaim(thread);
    return found;
}

void pending_take_group(struct thread *thread, const struct pending_group *group, struct pending **list) {
    while (*list) list = &(*list)->next;
    if (!emit_claim(thread)) return;
    spin_lock(&lock);
    for (unsigned i = 0; i < BUCKETS; i++) {
        for (struct pending **at = &bucket[i]; *at;) {
            bool is_wanted = (*at)->context == group->context && (*at)->id >> 32 == group->number &&
                             (!group->class || call_table[(*at)->call].class == group->class);
            if (!is_wanted) {
                at = &(*at)->next;
                continue;
            }
            *list = take_entry(at);
            (*list)->next = NULL;
            list = &(*list)->next;
        }
    }
    spin_unlock(&lock);
    emit_unclaim(thread);
}

void pending_take(struct thread *thread, const void *context, uint64_t id, struct pending **list) {
    while (*list) list = &(*list)->next;
    if (!emit_claim(thread)) return;
    spin_lock(&lock);
    struct pending **at = head_of(context, id);
    while (*at && ((*at)->context != context || (*at)->id != id)) at = &(*at)->next;
    if (*at) {
        *list = take_entry(at);
        (*list)->next = NULL;
    }
    spin_unlock(&lock);
    emit_unclaim(thread);
}

void pending_give_back(struct thread *thread, struct pending *list) {
    if (!emit_claim(thread)) return; // they are lost, a few bytes
    spin_lock(&lock);
    while (list) {
        struct pending *next = list->next;
        give_back(list);
        list = next;
    }
    spin_unlock(&lock);
    emit_unclaim(thread);
}

uint64_t pending_vector_bytes(const struct iovec *iov, uint64_t count) {
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < count; i++) bytes += iov[i].iov_len;
    return bytes;
}

bool pending_describe(const struct probe *p, uint32_t call, int fd, struct pending *out) {
    struct handle *handle = probe_handle(fd);
    *out = (struct pending){.call = call,
                            .serial = handle->serial,
                            .file = handle->file,
                            .start = p->start,
                            .caller = p->caller,
                            .has_offset = !(handle->flags & HANDLE_APPEND && call_table[call].class == CLASS_WRITE),
                            .is_child = p->thread->frame,
                            .own_number = STREAM_NO_PARENT,
                            .parent_stream = p->thread->stream,
                            .parent_number = emit_announce(p->thread, handle->file),
                            .tick = recorder_tick()};
    return !(handle->flags & HANDLE_LEFT_OUT);
}

void pending_emit(struct thread *thread, const struct pending *what, int64_t result, uint64_t call_time) {
    struct emission e;
    struct plain_event event = {what->call,  what->unaligned,   what->offset, what->size,
                                what->start, event_clock_now(), what->caller};
    emit_start(&e, event, what->file, what->serial);
    e.is_child = what->is_child;
    int error = result < 0 ? (int)-result : 0;
    bool transfers = call_table[what->call].traits & CALL_TRANSFERS;
    if (!what->has_offset) e.extra.flags |= EVENT_NO_OFFSET;
    emit_attribute(&e, ATTRIBUTE_CALL_TIME, what->call_time + call_time);
    if (what->parent_number != STREAM_NO_PARENT) {
        emit_attribute(&e, ATTRIBUTE_PARENT_STREAM, what->parent_stream);
        emit_attribute(&e, ATTRIBUTE_PARENT_NUMBER, what->parent_number);
    }
    if (what->own_number != STREAM_NO_PARENT) {
        emit_attribute(&e, ATTRIBUTE_OWN_STREAM, what->own_stream);
        emit_attribute(&e, ATTRIBUTE_OWN_NUMBER, what->own_number);
    }
    if (what->tick) emit_attribute(&e, ATTRIBUTE_TICK, what->tick);
    if (what->has_view) emit_attribute(&e, ATTRIBUTE_VIEW_OFFSET, what->view_offset);
    if (what->datatype) emit_attribute(&e, ATTRIBUTE_DATATYPE, what->datatype);
    if (what->selection) emit_attribute(&e, ATTRIBUTE_SELECTION, what->selection);
    if (what->is_collective) emit_attribute(&e, ATTRIBUTE_COLLECTIVE, 1);
    emit_result(&e, error ? -1 : result, transfers ? (int64_t)what->size : 0, error);
    emit_slowly(thread, &e);
}

void pending_begin_batch(struct probe *p, pending_describe_function *describe, const void *context, const void *queue,
                         long count) {
    struct pending what;
    p->recorded = 0;
    for (long i = 0; i < count; i++) p->recorded += describe(p, context, queue, i, &what);
    if (p->recorded > 1) emit_push(p->thread, &p->frame, CALL_FRAME_SILENT);
    for (long i = 0; p->recorded && i < count; i++) {
        if (!describe(p, context, queue, i, &what)) continue;
        if (p->recorded > 1) {
            what.parent_stream = p->thread->stream;
            what.parent_number = p->frame.number;
        }
        pending_add(p->thread, &what);
    }
}

void pending_end_batch(struct probe *p, uint32_t call, int64_t result, int error) {
    if (p->recorded < 2) return;
    struct emission e;
    emit_start(&e, probe_event(p, call, 0, 0, event_clock_now()), NULL, 0);
    emit_result(&e, error ? -1 : result, 0, error);
    emit_finish(p->thread, &p->frame, &e);
}
