// Asynchronous transfers that were submitted and are not yet seen to be done.
#pragma once

#include <stdbool.h>

#include "rec/probe/probe.h"

struct pending {
    struct pending *next;
    const void *context; // the queue: the one of aio_read and the like, a libaio context, or a ring
    uint64_t id;         // identifies it in the queue
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
    uint64_t own_number; // of the submitting call's announcement; STREAM_NO_PARENT without one
    uint64_t tick;       // 0 without MPI
    uint64_t view_offset;
    bool has_view;
    uint32_t datatype;  // RECORD_DATATYPE of memory that is not contiguous; else 0
    uint32_t selection; // RECORD_SELECTION of a transfer above MPI-IO; else 0
    bool is_collective; // it was completed by a collective call
    bool has_offset;
    bool unique; // the queue uses an id for one transfer at a time: an older entry with this id is lost
    bool unaligned;
    bool is_child; // submitted inside another call
};

// Keeps a copy of `what` until pending_remove(). Without memory, counts it as lost.
void pending_add(struct thread *thread, const struct pending *what);
// Sets the time inside the submitting call, if the transfer is still pending.
void pending_spent(struct thread *thread, const void *context, uint64_t id, uint64_t time);
// The oldest one with that id, or NULL. Its address is valid until it is removed.
struct pending *pending_find(struct thread *thread, const void *context, uint64_t id);
// Finds the transfer that a call on these bytes serves: the only one on the file, or the only one on the file that may
// contain these bytes. NULL if more than one may.
struct pending *pending_choose(struct pending **choices, unsigned count, const struct file *file, uint64_t offset,
                               uint64_t size);
// Removes one; false if there is none.
bool pending_remove(struct thread *thread, const void *context, uint64_t id, struct pending *out);

// Take transfers out and append them to a list, to which they belong until they are given back. A group has its number
// in the upper half of the id; without a class it is all of them.
struct pending_group {
    const void *context;
    uint32_t number;
    unsigned class;
};
void pending_take(struct thread *thread, const void *context, uint64_t id, struct pending **list);
void pending_take_group(struct thread *thread, const struct pending_group *group, struct pending **list);
void pending_give_back(struct thread *thread, struct pending *list);

// Writes the event of a completed transfer. The result is as the call reports it; negative: -errno.
void pending_emit(struct thread *thread, const struct pending *what, int64_t result, uint64_t call_time);

// Describes a transfer on `fd` for pending_add(); false if its descriptor is left out.
bool pending_describe(const struct probe *p, uint32_t call, int fd, struct pending *out);

// A submission of several transfers. `describe` fills in number `index` of `queue`, or returns false if it is not
// recorded. If more than one is recorded, the call has an event of its own, which is their parent.
typedef bool pending_describe_function(const struct probe *p, const void *context, const void *queue, long index,
                                       struct pending *out);
void pending_begin_batch(struct probe *p, pending_describe_function *describe, const void *context, const void *queue,
                         long count);
void pending_end_batch(struct probe *p, uint32_t call, int64_t result, int error);

// Bytes of a vector.
uint64_t pending_vector_bytes(const struct iovec *iov, uint64_t count);

// --- probes of POSIX asynchronous I/O and libaio (aio.c)

bool enter_aio_submit(struct probe *p, const struct aiocb *block, uint32_t submits);
void leave_aio_submit(struct probe *p, uint32_t call, const struct aiocb *block, int result);
void leave_aio_observe(struct probe *p, uint32_t call, const void *blocks, int count, int result);
bool enter_aio_return(struct probe *p, const struct aiocb *block);
bool enter_lio_listio(struct probe *p, struct aiocb *const blocks[], int count);
void leave_lio_listio(struct probe *p, uint32_t call, int mode, struct aiocb *const blocks[], int count, int result);
bool enter_io_submit(struct probe *p, const void *context, struct iocb **blocks, long count);
void leave_io_submit(struct probe *p, uint32_t call, const void *context, struct iocb **blocks, long count, int result);
bool enter_io_getevents(struct probe *p);
void leave_io_getevents(struct probe *p, uint32_t call, const void *context, const struct io_event *events, int result);

// libaio's calls through syscall(2).
bool aio_is_number(long number);
long aio_system_call(long number, const long argument[6]);

// --- probes of liburing (uring.c)

// Whether a call that waits also submits: before kernel 5.11 a timeout was a request itself, submitted with the others.
bool uring_wait_submits(const struct io_uring *ring, const struct __kernel_timespec *timeout);
bool enter_uring(struct probe *p, const struct io_uring *ring, bool submits);
void leave_uring(struct probe *p, uint32_t call, const struct io_uring *ring, int result);
bool enter_uring_exit(struct probe *p, const struct io_uring *ring);
