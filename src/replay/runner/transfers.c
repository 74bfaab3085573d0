// Transfers: their memory and data, and nonblocking transfers.
#include "replay/runner/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"

enum { BUFFER_ALIGN = 4096, MALLOC_OFFSET = 16, LARGEST_BUFFER = 1 << 30, MOST_TOGETHER = 64 };

// --- memory and data

const struct model_type *transfers_memory_type(const struct runner *runner, const struct model_step *step) {
    uint32_t place = step->kind->memory;
    if (!place || place > runner->model.types.count || step->kind->layer != LAYER_MPIIO) return NULL;
    const struct model_type *type = &runner->model.types.type[place - 1];
    bool whole = type->bytes && !(step->op->at[AT_SIZE] % (int64_t)type->bytes);
    return whole && !type->cut && type->flat.low >= 0 && type->extent > 0 ? type : NULL;
}

// Memory that a transfer needs: more than it moves if its datatype has holes.
static size_t memory_bytes(const struct runner *runner, const struct model_step *step) {
    const struct model_type *type = transfers_memory_type(runner, step);
    int64_t size = step->op->at[AT_SIZE];
    if (!type || !size) return (size_t)size;
    return (size_t)(size / (int64_t)type->bytes - 1) * (size_t)type->extent + (size_t)type->flat.high;
}

// Data begins where malloc would put it, 16 bytes after a page begins: a transfer of pages then touches one page more.
static int reserve_buffer(struct replay_thread *thread, const struct replay_file *file, size_t bytes) {
    struct buffer *buffer = &thread->buffer;
    size_t room = (bytes + 2 * BUFFER_ALIGN - 1) / BUFFER_ALIGN * BUFFER_ALIGN;
    if (!buffer->memory && thread->spares) *buffer = thread->spare[--thread->spares];
    if (room > buffer->bytes) {
        free(buffer->memory);
        *buffer = (struct buffer){.memory = aligned_alloc(BUFFER_ALIGN, room)};
        RETURN_IF(!buffer->memory, -ENOMEM);
        data_fill(buffer->memory, 0, 0, 0, room);
        buffer->bytes = room;
    }
    thread->data = (unsigned char *)buffer->memory + (file->flags & O_DIRECT ? 0 : MALLOC_OFFSET);
    return 0;
}

// Filling all of the data may take longer than the program's pause. Unless the data is verified, each page gets only 8
// bytes. Text must have no zeros, which an earlier read may have left.
static void prepare_data(struct replay_thread *thread, const struct replay_file *file, const struct model_step *step) {
    uint64_t bytes = (uint64_t)step->op->at[AT_SIZE], offset = (uint64_t)step->op->at[AT_OFFSET];
    if (thread->runner->job->verify || step->kind->layer == LAYER_STDIO) {
        data_of_step(thread->data, transfers_memory_type(thread->runner, step), file, step, bytes, false);
        return;
    }
    for (uint64_t at = 0; at < bytes; at += BUFFER_ALIGN) {
        uint64_t part = bytes - at < sizeof(uint64_t) ? bytes - at : sizeof(uint64_t);
        data_fill(thread->data + at, file->set, file->member, offset + at, part);
    }
}

static void verify(struct runner *runner, const struct model_step *step, const struct replay_file *file, void *data,
                   int64_t moved) {
    if (!runner->job->verify || step->kind->class != CLASS_READ || moved <= 0) return;
    if (!step->kind->has_offset) return; // with a shared file pointer the place is not known
    uint64_t wrong = data_of_step(data, transfers_memory_type(runner, step), file, step, (uint64_t)moved, true);
    __atomic_fetch_add(&runner->result.wrong_bytes, wrong, __ATOMIC_RELAXED);
}

// --- nonblocking transfers

static int keep_pending(struct replay_thread *thread, const struct replay_backend *backend, struct replay_file *file,
                        const struct model_step *step, double start, double end) {
    FORWARD(array_room(thread->pending, thread->pendings));
    FORWARD(array_room(thread->spare, thread->pendings + thread->spares));
    struct model_overlap overlap = pauses_overlap(thread, step);
    thread->pending[thread->pendings++] = (struct pending){
        .request = thread->submitted,
        .backend = backend,
        .file = file,
        .kind = step->kind,
        .op = *step->op,
        .buffer = thread->buffer,
        .data = thread->data,
        .start = start,
        .submitted = end - start,
        .hides = thread->hides,
        .busy_until = end + (thread->runner->job->think ? (double)overlap.work_ns / 1e9 : 0),
        .ahead = overlap.ahead,
        .phase = step->phase,
    };
    thread->submitted = NULL;
    thread->buffer = (struct buffer){0};
    return 0;
}

// The time of one that hides behind other work is what the program notices: until the call returns, and its share of
// the wait.
static void end_pending(struct replay_thread *thread, const struct pending *pending, int64_t result, double waited) {
    struct model_step step = {.kind = pending->kind, .op = &pending->op, .phase = pending->phase};
    double seconds = pending->hides ? pending->submitted + waited : thread->free_at - pending->start;
    operations_add(thread->runner, &thread->runner->time[pending->phase].seconds, seconds);
    thread->spare[thread->spares++] = pending->buffer;
    if (result < 0 && !pending->kind->error) operations_failed(thread, &step, pending->file, result);
    verify(thread->runner, &step, pending->file, pending->data, result);
}

// Transfers of one back end, which end together.
static void complete(struct replay_thread *thread, const struct pending *pending, size_t count) {
    void *request[MOST_TOGETHER];
    int64_t result[MOST_TOGETHER];
    double busy_until = 0;
    for (size_t i = 0; i < count; i++) {
        request[i] = pending[i].request;
        if (pending[i].busy_until > busy_until) busy_until = pending[i].busy_until;
    }
    waits_pause(thread, busy_until);
    thread->place.pauses = true;
    while (clock_seconds() < busy_until) continue;
    thread->place.pauses = false;
    double start = clock_seconds();
    pending->backend->complete(request, count, result);
    thread->free_at = clock_seconds();
    double waited = (thread->free_at - start) / (double)count;
    for (size_t i = 0; i < count; i++) end_pending(thread, &pending[i], result[i], waited);
}

// Completes those that `ends` chooses.
static void complete_some(struct replay_thread *thread, bool (*ends)(struct pending *pending, const void *context),
                          const void *context) {
    struct pending together[MOST_TOGETHER];
    size_t kept = 0, count = 0;
    for (size_t i = 0; i < thread->pendings; i++) {
        struct pending *pending = &thread->pending[i];
        if (!ends(pending, context)) {
            thread->pending[kept++] = *pending;
            continue;
        }
        if (count == MOST_TOGETHER || (count && together[0].backend != pending->backend)) {
            complete(thread, together, count);
            count = 0;
        }
        together[count++] = *pending;
    }
    thread->pendings = kept;
    if (count) complete(thread, together, count);
}

struct moment {
    const struct replay_file *closed;
    bool all;
};

static bool ends_now(struct pending *pending, const void *context) {
    const struct moment *moment = context;
    if (pending->hides) return false;
    if (moment->all || !pending->ahead || pending->file == moment->closed) return true;
    pending->ahead--;
    return false;
}

void transfers_complete(struct replay_thread *thread, const struct replay_file *closed, bool all) {
    complete_some(thread, ends_now, &(struct moment){closed, all});
}

static bool is_hidden(struct pending *pending, const void *context) {
    (void)context;
    return pending->hides;
}

void transfers_end_hidden(struct replay_thread *thread) { complete_some(thread, is_hidden, NULL); }

// --- a transfer

int transfers_run(struct replay_thread *thread, const struct replay_backend *backend, struct replay_file *file,
                  const struct model_step *step) {
    struct runner *runner = thread->runner;
    int64_t size = step->op->at[AT_SIZE], moved = size - step->op->at[AT_SHORT];
    struct op op = *step->op;
    struct model_step smaller = *step;
    if (size < 0 || size > LARGEST_BUFFER) { // the program asked for everything that there is, and got less
        smaller.op = &op;
        op.at[AT_SIZE] = moved;
        op.at[AT_SHORT] = 0;
        step = &smaller;
    }
    files_make_ready(thread, backend, file, step);
    FORWARD(reserve_buffer(thread, file, memory_bytes(runner, step)));
    if (step->kind->class == CLASS_WRITE) prepare_data(thread, file, step);
    pauses_wait(thread, step);
    double start = clock_seconds();
    int64_t result = backend->transfer(thread, file, step, thread->data);
    double end = clock_seconds();
    thread->free_at = end; // verifying is part of the next pause
    if (thread->submitted) return keep_pending(thread, backend, file, step, start, end);
    operations_add_time(runner, step, end - start);
    if (result < 0 && !step->kind->error) operations_failed(thread, step, file, result);
    verify(runner, step, file, thread->data, result);
    return 0;
}

void transfers_free(struct replay_thread *thread) {
    for (size_t i = 0; i < thread->spares; i++) free(thread->spare[i].memory);
    free(thread->spare);
    free(thread->pending);
    free(thread->buffer.memory);
}
