// io_uring through liburing. Inline functions write requests into the ring. They are seen when one of liburing's
// exported functions submits them. Completions are seen in the ring, by the next exported function that is called.
#include "rec/async/uring.h"

#include "rec/asking.h"
#include "rec/async/pending.h"
#include "rec/spill.h"

enum { RINGS = 64 };

PER_PROCESS static struct {
    const struct ring_view *ring;
    unsigned seen; // completions before this one have been seen
} known[RINGS];
static _Atomic uint32_t lock;

// --- submission

static uint32_t request_call(const struct io_uring_sqe *request) {
    switch (request->opcode) {
    case IORING_OP_READV:
    case IORING_OP_READ_FIXED:
    case IORING_OP_READ: return CALL_io_uring_read;
    case IORING_OP_WRITEV:
    case IORING_OP_WRITE_FIXED:
    case IORING_OP_WRITE: return CALL_io_uring_write;
    case IORING_OP_FSYNC:
    case IORING_OP_SYNC_FILE_RANGE: return CALL_io_uring_sync;
    case IORING_OP_OPENAT:
    case IORING_OP_OPENAT2: return CALL_io_uring_open;
    case IORING_OP_CLOSE: return CALL_io_uring_close;
    case IORING_OP_STATX:
    case IORING_OP_FALLOCATE:
    case IORING_OP_FADVISE:
    case IORING_OP_RENAMEAT:
    case IORING_OP_UNLINKAT:
    case IORING_OP_MKDIRAT: return CALL_io_uring_meta;
    default: return CALL_none;
    }
}

static bool names_a_path(const struct io_uring_sqe *request) {
    switch (request->opcode) {
    case IORING_OP_OPENAT:
    case IORING_OP_OPENAT2:
    case IORING_OP_STATX:
    case IORING_OP_RENAMEAT:
    case IORING_OP_UNLINKAT:
    case IORING_OP_MKDIRAT: return true;
    default: return false;
    }
}

static const struct io_uring_sqe *request_at(const struct ring_view *ring, unsigned index) {
    unsigned at = index & *ring->sq.kring_mask;
#ifdef IORING_SETUP_SQE128
    if (ring->flags & IORING_SETUP_SQE128) at <<= 1;
#endif
    return &ring->sq.sqes[at];
}

static bool describe_request(const struct probe *p, const void *context, const void *queue, long index,
                             struct pending *out) {
    const struct ring_view *ring = queue;
    const struct io_uring_sqe *request = request_at(ring, ring->sq.sqe_head + (unsigned)index);
    uint32_t call = request_call(request);
    if (call == CALL_none) return false;
    bool left_out = false;
    if (request->flags & IOSQE_FIXED_FILE || names_a_path(request)) {
        *out = (struct pending){.call = call,
                                .start = p->start,
                                .caller = p->caller,
                                .own_number = STREAM_NO_PARENT,
                                .parent_number = STREAM_NO_PARENT};
        if (names_a_path(request)) {
            out->file = probe_file(request->fd, (const char *)(uintptr_t)request->addr, &left_out);
        }
    } else if (!pending_describe(p, call, request->fd, out)) {
        return false;
    }
    out->context = context;
    out->id = request->user_data;
    if (call_table[call].traits & CALL_TRANSFERS) {
        out->offset = request->off;
        out->has_offset = request->off != UINT64_MAX;
        out->size = request->len;
        out->unaligned = request->addr & 7;
        if (request->opcode == IORING_OP_READV || request->opcode == IORING_OP_WRITEV) {
            const struct iovec *iov = (const struct iovec *)(uintptr_t)request->addr;
            out->size = pending_vector_bytes(iov, request->len);
        }
    }
    return !left_out;
}

// --- completion

// The row of a ring, or with NULL a free one; -1 if there is none.
static int row_of(const struct ring_view *ring) {
    int row = RINGS - 1;
    while (row >= 0 && known[row].ring != ring) row--;
    return row;
}

// The range of completions that were not seen yet; false if the table of rings is full.
static bool unseen_completions(struct thread *thread, const struct ring_view *ring, unsigned *from, unsigned *to) {
    *from = *to = 0;
    if (!emit_claim(thread)) return true;
    spin_lock(&lock);
    unsigned tail = __atomic_load_n(ring->cq.ktail, __ATOMIC_ACQUIRE);
    unsigned entries = *ring->cq.kring_mask + 1;
    int row = row_of(ring);
    if (row < 0 && (row = row_of(NULL)) >= 0) {
        known[row].ring = ring;
        known[row].seen = *ring->cq.khead;
    }
    if (row >= 0) {
        *from = tail - known[row].seen > entries ? tail - entries : known[row].seen;
        *to = tail;
        known[row].seen = tail;
    }
    spin_unlock(&lock);
    emit_unclaim(thread);
    return row >= 0;
}

// Records new completions. Returns false if the ring's completions cannot be seen.
static bool record_completions(struct thread *thread, const struct ring_view *ring, uint64_t since) {
    unsigned from, to;
    struct pending done;
    if (!ring->cq.ktail) return true;
    if (!unseen_completions(thread, ring, &from, &to)) return false;
    for (unsigned i = from; i != to; i++) {
        unsigned at = i & *ring->cq.kring_mask;
#ifdef IORING_SETUP_CQE32
        if (ring->flags & IORING_SETUP_CQE32) at <<= 1;
#endif
        const struct io_uring_cqe *completion = &ring->cq.cqes[at];
        if (!pending_remove(thread, ring, completion->user_data, &done)) continue;
        if (done.call == CALL_io_uring_open && completion->res >= 0) handles_forget(completion->res);
        pending_emit(thread, &done, completion->res, event_clock_now() - since);
    }
    return true;
}

// --- probes

// The requests of a call that submits are read before it, completions before and after it.
bool enter_uring(struct probe *p, const struct io_uring *given, bool submits) {
    const struct ring_view *ring = (const struct ring_view *)given;
    struct pending what;
    p->submits = submits;
    if (!enter(p) || !submits) return p->thread;
    p->first_request = ring->sq.sqe_head;
    p->end_request = ring->sq.sqe_tail;
    long count = (long)(p->end_request - p->first_request);
    if (record_completions(p->thread, ring, p->start)) {
        pending_begin_batch(p, describe_request, ring, ring, count);
        return true;
    }
    for (long i = 0; i < count; i++) spill_count_loss(LOSS_ASYNC, describe_request(p, ring, ring, i, &what));
    return false;
}

void leave_uring(struct probe *p, uint32_t call, const struct io_uring *given, int result) {
    const struct ring_view *ring = (const struct ring_view *)given;
    (void)call;
    if (p->submits) pending_end_batch(p, CALL_io_uring_submit, result, result < 0 ? -result : 0);
    record_completions(p->thread, ring, p->start);
    if (!p->submits || !p->recorded) return;
    uint64_t spent = event_clock_now() - p->start;
    for (unsigned i = p->first_request; i != p->end_request; i++) {
        pending_spent(p->thread, ring, request_at(ring, i)->user_data, spent);
    }
}

bool uring_wait_submits(const struct io_uring *ring, const struct __kernel_timespec *timeout) {
    return timeout && !(((const struct ring_view *)ring)->features & IORING_FEAT_EXT_ARG);
}

bool enter_uring_exit(struct probe *p, const struct io_uring *given) {
    const struct ring_view *ring = (const struct ring_view *)given;
    if (!enter(p)) return false;
    record_completions(p->thread, ring, p->start);
    if (emit_claim(p->thread)) {
        spin_lock(&lock);
        int row = row_of(ring);
        if (row >= 0) known[row].ring = NULL;
        spin_unlock(&lock);
        emit_unclaim(p->thread);
    }
    handles_forget(ring->ring_fd);
    return false;
}
