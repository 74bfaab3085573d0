#include "rec/tracer/rings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rec/asking.h"
#include "rec/async/pending.h"
#include "rec/async/uring.h"
#include "rec/memory.h"
#include "rec/spill.h"
#include "rec/tracer/traced_call.h"

enum { RINGS = 16, MOST_ENTRIES = 32768 };

struct ring {
    struct ring_view view; // points to the copies below
    struct io_uring_params params;
    long submissions, completions, requests; // addresses in the process; 0: not mapped yet
    unsigned sq_head, sq_tail, sq_mask, cq_head, cq_tail, cq_mask;
    unsigned *array; // of params.sq_entries
    char **texts;    // names in the requests of the last call
};

PER_PROCESS static struct ring *rings[RINGS];

static struct ring *ring_of(int fd) {
    for (unsigned i = 0; i < RINGS; i++) {
        if (rings[i] && rings[i]->view.ring_fd == fd) return rings[i];
    }
    return NULL;
}

static void free_texts(struct ring *ring) {
    for (unsigned i = 0; i < ring->params.sq_entries; i++) {
        free(ring->texts[i]);
        ring->texts[i] = NULL;
    }
}

// --- setup

// Without a number to enter the kernel with, nothing tells the tracer when something is submitted.
static bool can_follow(const struct io_uring_params *params) {
    // Later flags change where the rings lie, and what is in them.
    const unsigned later = ~(2 * IORING_SETUP_DEFER_TASKRUN - 1u);
    const unsigned other_layouts = IORING_SETUP_SQPOLL | IORING_SETUP_SQE128 | IORING_SETUP_CQE32 | later;
    return !(params->flags & other_layouts) && params->sq_entries <= MOST_ENTRIES &&
           params->cq_entries <= 2 * MOST_ENTRIES;
}

static struct ring *new_ring(int fd, const struct io_uring_params *params) {
    struct ring *ring = memory_alloc(sizeof *ring);
    if (!ring) return NULL;
    ring->params = *params;
    ring->array = memory_alloc(params->sq_entries * sizeof *ring->array);
    ring->texts = memory_alloc(params->sq_entries * sizeof *ring->texts);
    struct io_uring_sqe *requests = memory_alloc(params->sq_entries * sizeof *requests);
    struct io_uring_cqe *completions = memory_alloc(params->cq_entries * sizeof *completions);
    ring->view = (struct ring_view){
        .sq = {.khead = &ring->sq_head, .ktail = &ring->sq_tail, .kring_mask = &ring->sq_mask, .sqes = requests},
        .cq = {.khead = &ring->cq_head, .ktail = &ring->cq_tail, .kring_mask = &ring->cq_mask, .cqes = completions},
        .flags = params->flags,
        .ring_fd = fd,
        .features = params->features,
    };
    ring->sq_mask = params->sq_entries - 1;
    ring->cq_mask = params->cq_entries - 1;
    return ring->array && ring->texts && requests && completions ? ring : NULL;
}

bool rings_before_setup(struct probe *probe, const long word[6]) {
    (void)word;
    return enter(probe);
}

void rings_after_setup(struct probe *probe, const long word[6], long returned) {
    (void)probe;
    if (returned < 0) return;
    const struct io_uring_params *params = tracer_copy(0, word[1], sizeof *params);
    unsigned at = 0;
    struct ring *old = ring_of((int)returned);
    while (at < RINGS && rings[at] != old) at++; // the place of a ring that was closed, or a free one
    struct ring *ring = at < RINGS && params && can_follow(params) ? new_ring((int)returned, params) : NULL;
    if (at < RINGS) rings[at] = ring;
    if (!ring) atomic_fetch_add(&recorder.spill->raw_rings, 1);
}

void rings_mapped(const long word[6], long address) {
    struct ring *ring = address < 0 && address > -4096 ? NULL : ring_of((int)word[4]);
    if (!ring) return;
    if (word[5] == IORING_OFF_SQ_RING) ring->submissions = address;
    if (word[5] == IORING_OFF_CQ_RING) ring->completions = address;
    if (word[5] == IORING_OFF_SQES) ring->requests = address;
    if (word[5] == IORING_OFF_SQ_RING && ring->params.features & IORING_FEAT_SINGLE_MMAP) ring->completions = address;
}

// --- copies

static bool copy_number(unsigned *out, long ring, unsigned offset) {
    return tracer_read(out, ring + offset, sizeof *out);
}

// The probes read vectors and names through the addresses in a request.
static void make_local(struct ring *ring, struct io_uring_sqe *request, unsigned place) {
    switch (request->opcode) {
    case IORING_OP_READV:
    case IORING_OP_WRITEV: {
        unsigned count = request->len < IOV_MAX ? request->len : IOV_MAX;
        const struct iovec *iov = tracer_copy(0, (long)request->addr, count * sizeof *iov);
        request->len = iov ? (unsigned)pending_vector_bytes(iov, count) : 0;
        request->addr = iov && count ? (uintptr_t)iov->iov_base : 0;
        request->opcode = request->opcode == IORING_OP_READV ? IORING_OP_READ : IORING_OP_WRITE;
        break;
    }
    case IORING_OP_OPENAT:
    case IORING_OP_OPENAT2:
    case IORING_OP_STATX:
    case IORING_OP_RENAMEAT:
    case IORING_OP_UNLINKAT:
    case IORING_OP_MKDIRAT: {
        const char *text = tracer_text(0, (long)request->addr);
        ring->texts[place] = text ? strdup(text) : NULL;
        request->addr = (uintptr_t)(ring->texts[place] ? ring->texts[place] : "");
        break;
    }
    default: break;
    }
}

// The requests that this call submits, in their order.
static void copy_requests(struct ring *ring, unsigned wanted) {
    const struct io_sqring_offsets *at = &ring->params.sq_off;
    const unsigned entries = ring->params.sq_entries;
    free_texts(ring);
    ring->view.sq.sqe_head = ring->view.sq.sqe_tail = 0;
    if (!wanted || !ring->submissions || !ring->requests) return;
    if (!copy_number(&ring->sq_head, ring->submissions, at->head) ||
        !copy_number(&ring->sq_tail, ring->submissions, at->tail) ||
        !tracer_read(ring->array, ring->submissions + at->array, entries * sizeof *ring->array))
        return;
    unsigned ready = ring->sq_tail - ring->sq_head, count = 0;
    if (ready > entries) return;
    for (unsigned i = 0; i < ready && i < wanted; i++) {
        unsigned place = (ring->sq_head + i) & ring->sq_mask, from = ring->array[place];
        struct io_uring_sqe *request = &ring->view.sq.sqes[place];
        long address = ring->requests + (long)(from * sizeof *request);
        if (from >= entries || !tracer_read(request, address, sizeof *request)) break;
        make_local(ring, request, place);
        count++;
    }
    ring->view.sq.sqe_head = ring->sq_head;
    ring->view.sq.sqe_tail = ring->sq_head + count;
}

static void copy_completions(struct ring *ring) {
    const struct io_cqring_offsets *at = &ring->params.cq_off;
    unsigned tail;
    if (!ring->completions || !copy_number(&tail, ring->completions, at->tail) ||
        !copy_number(&ring->cq_head, ring->completions, at->head))
        return;
    size_t bytes = ring->params.cq_entries * sizeof *ring->view.cq.cqes;
    if (tracer_read(ring->view.cq.cqes, ring->completions + at->cqes, bytes)) ring->cq_tail = tail;
}

// --- probes

bool rings_before_enter(struct probe *probe, const long word[6]) {
    struct ring *ring = ring_of((int)word[0]);
    if (!ring) return false;
    copy_requests(ring, (unsigned)word[1]);
    copy_completions(ring);
    return enter_uring(probe, (const struct io_uring *)&ring->view, true);
}

void rings_after_enter(struct probe *probe, const long word[6], long returned) {
    struct ring *ring = ring_of((int)word[0]);
    if (!ring) return;
    copy_completions(ring);
    leave_uring(probe, CALL_none, (const struct io_uring *)&ring->view, (int)(returned < 0 ? -errno : returned));
}

void rings_end(struct thread *thread) {
    struct probe probe = {.thread = thread};
    current_thread = thread;
    for (unsigned i = 0; i < RINGS; i++) {
        if (!rings[i]) continue;
        copy_completions(rings[i]);
        free_texts(rings[i]);
        enter_uring_exit(&probe, (const struct io_uring *)&rings[i]->view);
    }
}
