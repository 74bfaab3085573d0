// Asynchronous I/O: transfers that were submitted and wait for someone to see that they are done.
#pragma once

#include <stdbool.h>

#include "rec/probe/probe.h"

struct pending {
    struct pending *next;
    const void *context; // which kind and queue: aio's table, a libaio context, a ring
    uint64_t id;         // what the queue calls it
    uint32_t call;
    uint32_t serial;
    struct file *file;
    uint64_t offset;
    uint64_t size;
    uint64_t start;
    uint64_t call_time; // clock units spent inside the submitting call
    uintptr_t caller;
    uint32_t parent_stream;
    uint64_t parent_number; // STREAM_NO_PARENT without
    uint32_t own_stream;
    uint64_t own_number; // that the submitting call was announced with; STREAM_NO_PARENT where it was not
    uint64_t tick;       // 0 without MPI
    uint64_t view_offset;
    bool has_view;
    uint32_t datatype; // of memory that is not contiguous: its RECORD_DATATYPE; else 0
    bool has_offset;
    bool unique; // its queue uses an id for one transfer at a time: an older one with it was never seen to complete
    bool unaligned;
    bool is_child; // submitted inside another call
};

// Keeps a copy of `what` until pending_remove finds it; dropped without memory, and counted as lost.
void pending_add(struct thread *thread, const struct pending *what);
// Counts the time inside the submitting call, where nobody has seen the transfer done yet.
void pending_spent(struct thread *thread, const void *context, uint64_t id, uint64_t time);
// The oldest one with that id, or NULL. It stays where it is until it is taken out.
struct pending *pending_find(struct thread *thread, const void *context, uint64_t id);
// The one of several transfers that a call on those bytes serves: the only one on the file, or the only one there that
// these bytes can be of. NULL where it cannot be told.
struct pending *pending_choose(struct pending **choices, unsigned count, const struct file *file, uint64_t offset,
                               uint64_t size);
// Takes one out; false where nobody knows it.
bool pending_remove(struct thread *thread, const void *context, uint64_t id, struct pending *out);
// Writes the event of a transfer whose completion was seen; result as the call reports it, negative: -errno.
void pending_emit(struct thread *thread, const struct pending *what, int64_t result, uint64_t call_time);

// A transfer on `fd`, ready for pending_add; false where its descriptor is left out.
bool pending_describe(const struct probe *p, uint32_t call, int fd, struct pending *out);

// A submission of several transfers. `describe` fills in number `index` of `queue`; false where it is not recorded.
// Where more than one is, the call has an event of its own, which is their parent; between the two it is under way.
typedef bool pending_describe_function(const struct probe *p, const void *context, const void *queue, long index,
                                       struct pending *out);
struct pending_batch {
    struct call_frame frame;
    long recorded;
};
void pending_begin_batch(struct pending_batch *batch, struct probe *p, pending_describe_function *describe,
                         const void *context, const void *queue, long count);
void pending_end_batch(struct pending_batch *batch, struct probe *p, uint32_t call, int64_t result, int error);

// The same services through syscall(2).
bool aio_is_number(long number);
long aio_system_call(long number, const long argument[6]);
