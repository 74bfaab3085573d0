// POSIX asynchronous I/O, which libc does in threads that the recorder does not see; and libaio.
#include <errno.h>
#include <linux/aio_abi.h>
#include <sys/syscall.h>

#include "rec/async/pending.h"
#include "rec/shims.h"
#include "rec/spill.h"

static const char posix_queue[1]; // its address names the one queue of aio_read and friends

// --- POSIX

static bool describe_block(const struct probe *p, uint32_t call, const struct aiocb *block, struct pending *out) {
    bool recorded = pending_describe(p, call, block->aio_fildes, out);
    out->context = posix_queue;
    out->id = (uintptr_t)block;
    out->unique = true;
    if (call_table[call].traits & CALL_TRANSFERS) {
        out->offset = (uint64_t)block->aio_offset;
        out->size = block->aio_nbytes;
        out->unaligned = (uintptr_t)block->aio_buf & 7;
    }
    return recorded;
}

// When a transfer is done, its block has the result and the error. Reading them there leaves aio_return to the program.
static void observe(struct thread *thread, const struct aiocb *block, uint64_t since) {
    struct pending done;
    if (!thread || !block || real.aio_error(block) == EINPROGRESS) return;
    if (!pending_remove(thread, posix_queue, (uintptr_t)block, &done)) return;
    int error = real.aio_error(block);
    pending_emit(thread, &done, error ? -error : block->__return_value, event_clock_now() - since);
}

void leave_aio_observe(struct probe *p, uint32_t call, const void *blocks, int count, int result) {
    int error = errno;
    (void)call, (void)result;
    for (int i = 0; i < count; i++) observe(p->thread, ((const struct aiocb *const *)blocks)[i], p->start);
    errno = error;
}

// Before the call: afterwards the program may use the block again.
bool enter_aio_return(struct probe *p, const struct aiocb *block) {
    if (enter(p)) observe(p->thread, block, p->start);
    return false;
}

// The transfer must be in the table before the real call: another thread may see it done at once.
bool enter_aio_submit(struct probe *p, const struct aiocb *block, uint32_t submits) {
    struct pending what;
    if (!enter(p) || !block || !describe_block(p, submits, block, &what)) return false;
    pending_add(p->thread, &what);
    return true;
}

void leave_aio_submit(struct probe *p, uint32_t call, const struct aiocb *block, int result) {
    struct pending failed;
    int error = errno;
    (void)call;
    if (result >= 0) {
        pending_spent(p->thread, posix_queue, (uintptr_t)block, event_clock_now() - p->start);
    } else if (pending_remove(p->thread, posix_queue, (uintptr_t)block, &failed)) {
        pending_emit(p->thread, &failed, -error, event_clock_now() - p->start);
    }
    errno = error;
}

static bool describe_listed(const struct probe *p, const void *context, const void *queue, long index,
                            struct pending *out) {
    const struct aiocb *block = ((struct aiocb *const *)queue)[index];
    (void)context;
    if (!block || block->aio_lio_opcode == LIO_NOP) return false;
    return describe_block(p, block->aio_lio_opcode == LIO_READ ? CALL_aio_read : CALL_aio_write, block, out);
}

bool enter_lio_listio(struct probe *p, struct aiocb *const blocks[], int count) {
    if (!enter(p)) return false;
    pending_begin_batch(p, describe_listed, posix_queue, blocks, count);
    return true;
}

void leave_lio_listio(struct probe *p, uint32_t call, int mode, struct aiocb *const blocks[], int count, int result) {
    int error = errno;
    pending_end_batch(p, call, result, result < 0 ? error : 0);
    for (int i = 0; mode == LIO_WAIT && i < count; i++) observe(p->thread, blocks[i], p->start);
    errno = error;
}

// --- libaio: the kernel's own structures; the id is the block's address

static uint32_t kernel_call(const struct iocb *block) {
    switch (block->aio_lio_opcode) {
    case IOCB_CMD_PREAD:
    case IOCB_CMD_PREADV: return CALL_io_submit_read;
    case IOCB_CMD_PWRITE:
    case IOCB_CMD_PWRITEV: return CALL_io_submit_write;
    case IOCB_CMD_FSYNC:
    case IOCB_CMD_FDSYNC: return CALL_io_submit_sync;
    default: return CALL_none;
    }
}

static bool describe_kernel_block(const struct probe *p, const void *context, const void *queue, long index,
                                  struct pending *out) {
    const struct iocb *block = ((struct iocb *const *)queue)[index];
    uint32_t call = kernel_call(block);
    if (call == CALL_none || !pending_describe(p, call, (int)block->aio_fildes, out)) return false;
    out->context = context;
    out->id = (uintptr_t)block;
    out->unique = true;
    if (call == CALL_io_submit_sync) return true;
    out->offset = (uint64_t)block->aio_offset;
    out->size = block->aio_nbytes;
    out->unaligned = block->aio_buf & 7;
    if (block->aio_lio_opcode == IOCB_CMD_PREADV || block->aio_lio_opcode == IOCB_CMD_PWRITEV) {
        const struct iovec *iov = (const struct iovec *)(uintptr_t)block->aio_buf;
        out->size = pending_vector_bytes(iov, block->aio_nbytes);
    }
    return true;
}

// `result` is how many of the `count` blocks the kernel has accepted, or -errno.
static void submitted(struct probe *p, const void *context, struct iocb **blocks, long count, long result) {
    struct pending refused;
    pending_end_batch(p, CALL_io_submit, result, result < 0 ? (int)-result : 0);
    for (long i = result < 0 ? 0 : result; i < count; i++) {
        if (!pending_remove(p->thread, context, (uintptr_t)blocks[i], &refused)) continue;
        if (result < 0) pending_emit(p->thread, &refused, result, event_clock_now() - p->start);
    }
}

static void completed(struct probe *p, const void *context, const struct io_event *events, long count) {
    struct pending done;
    for (long i = 0; i < count; i++) {
        if (!pending_remove(p->thread, context, events[i].obj, &done)) continue;
        pending_emit(p->thread, &done, (int64_t)events[i].res, event_clock_now() - p->start);
    }
}

// libaio may go through syscall(2), which must then not be recorded a second time.
bool enter_io_submit(struct probe *p, const void *context, struct iocb **blocks, long count) {
    if (!enter(p) || count <= 0) return false;
    pending_begin_batch(p, describe_kernel_block, context, blocks, count);
    p->thread->in_library = true;
    return true;
}

void leave_io_submit(struct probe *p, uint32_t call, const void *context, struct iocb **blocks, long count,
                     int result) {
    (void)call;
    p->thread->in_library = false;
    submitted(p, context, blocks, count, result);
}

bool enter_io_getevents(struct probe *p) {
    if (!enter(p)) return false;
    p->thread->in_library = true;
    return true;
}

void leave_io_getevents(struct probe *p, uint32_t call, const void *context, const struct io_event *events,
                        int result) {
    (void)call;
    p->thread->in_library = false;
    completed(p, context, events, result);
}

bool aio_is_number(long number) {
    return number == SYS_io_submit || number == SYS_io_getevents || number == SYS_io_pgetevents;
}

long aio_system_call(long number, const long argument[6]) {
    struct probe p = {.caller = system_call_caller};
    if (!enter(&p) || p.thread->in_library) return system_call_real(number, argument);
    const void *context = (const void *)argument[0];
    struct iocb **blocks = (struct iocb **)argument[2];
    if (number == SYS_io_submit) pending_begin_batch(&p, describe_kernel_block, context, blocks, argument[1]);
    long result = system_call_real(number, argument);
    int error = errno;
    if (number == SYS_io_submit) {
        submitted(&p, context, blocks, argument[1], result < 0 ? -error : result);
    } else {
        completed(&p, context, (const struct io_event *)argument[3], result);
    }
    errno = error;
    return result;
}
