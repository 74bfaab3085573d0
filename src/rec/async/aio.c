// POSIX asynchronous I/O, which libc does in threads of its own, unseen; and libaio.
#include <errno.h>
#include <linux/aio_abi.h>
#include <string.h>
#include <sys/syscall.h>

#include "rec/async/pending.h"
#include "rec/shims.h"
#include "rec/spill.h"

static const char posix_queue[1]; // its address names the one queue of aio_read and friends

// --- POSIX

static bool describe_block(const struct probe *p, uint32_t call, const struct aiocb *block, struct pending *out)
{
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

// Result and error are in the block when it is done. Reading them there leaves aio_return to the program.
static void observe(struct thread *thread, const struct aiocb *block, uint64_t since)
{
    struct pending done;
    if (!thread || !block || real.aio_error(block) == EINPROGRESS) return;
    if (!pending_remove(thread, posix_queue, (uintptr_t)block, &done)) return;
    int error = real.aio_error(block);
    pending_emit(thread, &done, error ? -error : block->__return_value, event_clock_now() - since);
}

static int observed(struct thread *thread, const struct aiocb *const blocks[], int count, uint64_t since, int result)
{
    int error = errno;
    for (int i = 0; i < count; i++) observe(thread, blocks[i], since);
    errno = error;
    return result;
}

// The transfer must be in the table before the real call: another thread may see it done at once.
PROBE_INLINE bool submit(struct probe *p, uint32_t call, const struct aiocb *block)
{
    struct pending what;
    if (!enter_by_hand(p) || !block || !describe_block(p, call, block, &what)) return false;
    pending_add(p->thread, &what);
    return true;
}

static int submitted(struct probe *p, bool watched, const struct aiocb *block, int result)
{
    struct pending failed;
    int error = errno;
    if (watched && result >= 0) {
        pending_spent(p->thread, posix_queue, (uintptr_t)block, event_clock_now() - p->start);
    } else if (watched && pending_remove(p->thread, posix_queue, (uintptr_t)block, &failed)) {
        pending_emit(p->thread, &failed, -error, event_clock_now() - p->start);
    }
    errno = error;
    return result;
}

#define SHIM64(type, name, ...)                                                                                        \
    EXPORT type shim_##name##64(__VA_ARGS__) __asm__(#name "64") __attribute__((alias(#name)))

SHIM(int, aio_read, struct aiocb *block)
{
    struct probe p;
    bool watched = submit(&p, CALL_aio_read, block);
    return submitted(&p, watched, block, real.aio_read(block));
}
SHIM64(int, aio_read, struct aiocb *block);

SHIM(int, aio_write, struct aiocb *block)
{
    struct probe p;
    bool watched = submit(&p, CALL_aio_write, block);
    return submitted(&p, watched, block, real.aio_write(block));
}
SHIM64(int, aio_write, struct aiocb *block);

SHIM(int, aio_fsync, int flags, struct aiocb *block)
{
    struct probe p;
    bool watched = submit(&p, CALL_aio_fsync, block);
    return submitted(&p, watched, block, real.aio_fsync(flags, block));
}
SHIM64(int, aio_fsync, int flags, struct aiocb *block);

SHIM(int, aio_error, const struct aiocb *block)
{
    struct thread *thread = recorder_thread();
    uint64_t since = event_clock_now();
    return observed(thread, &block, 1, since, real.aio_error(block));
}
SHIM64(int, aio_error, const struct aiocb *block);

SHIM(ssize_t, aio_return, struct aiocb *block)
{
    struct thread *thread = recorder_thread();
    observe(thread, block, event_clock_now());
    return real.aio_return(block);
}
SHIM64(ssize_t, aio_return, struct aiocb *block);

SHIM(int, aio_suspend, const struct aiocb *const blocks[], int count, const struct timespec *timeout)
{
    struct thread *thread = recorder_thread();
    uint64_t since = event_clock_now();
    return observed(thread, blocks, count, since, real.aio_suspend(blocks, count, timeout));
}
SHIM64(int, aio_suspend, const struct aiocb *const blocks[], int count, const struct timespec *timeout);

SHIM(int, aio_cancel, int fd, struct aiocb *block)
{
    struct thread *thread = recorder_thread();
    uint64_t since = event_clock_now();
    return observed(thread, (const struct aiocb *const *)&block, 1, since, real.aio_cancel(fd, block));
}
SHIM64(int, aio_cancel, int fd, struct aiocb *block);

static bool describe_listed(const struct probe *p, const void *context, const void *queue, long index,
                            struct pending *out)
{
    const struct aiocb *block = ((struct aiocb *const *)queue)[index];
    (void)context;
    if (!block || block->aio_lio_opcode == LIO_NOP) return false;
    return describe_block(p, block->aio_lio_opcode == LIO_READ ? CALL_aio_read : CALL_aio_write, block, out);
}

SHIM(int, lio_listio, int mode, struct aiocb *const blocks[], int count, struct sigevent *event)
{
    struct probe p;
    struct pending_batch batch;
    if (!enter_by_hand(&p)) return real.lio_listio(mode, blocks, count, event);
    pending_begin_batch(&batch, &p, describe_listed, posix_queue, blocks, count);
    int result = real.lio_listio(mode, blocks, count, event);
    int error = errno;
    pending_end_batch(&batch, &p, CALL_lio_listio, result, result < 0 ? error : 0);
    for (int i = 0; mode == LIO_WAIT && i < count; i++) observe(p.thread, blocks[i], p.start);
    errno = error;
    return result;
}
SHIM64(int, lio_listio, int mode, struct aiocb *const blocks[], int count, struct sigevent *event);

// --- libaio: the kernel's own structures; the id is the block's address

static uint32_t kernel_call(const struct iocb *block)
{
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
                                  struct pending *out)
{
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

// Of `count` blocks the kernel has taken `result`; or -errno.
static void kernel_submitted(struct probe *p, struct pending_batch *batch, const void *context, long count,
                             struct iocb **blocks, long result)
{
    struct pending refused;
    pending_end_batch(batch, p, CALL_io_submit, result, result < 0 ? (int)-result : 0);
    for (long i = result < 0 ? 0 : result; i < count; i++) {
        if (!pending_remove(p->thread, context, (uintptr_t)blocks[i], &refused)) continue;
        if (result < 0) pending_emit(p->thread, &refused, result, event_clock_now() - p->start);
    }
}

// libaio may go through syscall(2).
static struct thread *enter_library(void)
{
    struct thread *thread = recorder_thread();
    if (thread) thread->in_library = true;
    return thread;
}

// `count` completions were returned, or a negative code.
static int kernel_completed(struct thread *thread, const void *context, int count, const struct io_event *events,
                            uint64_t since)
{
    struct pending done;
    if (thread) thread->in_library = false;
    for (int i = 0; thread && i < count; i++) {
        if (!pending_remove(thread, context, events[i].obj, &done)) continue;
        pending_emit(thread, &done, (int64_t)events[i].res, event_clock_now() - since);
    }
    return count;
}

SHIM(int, io_submit, io_context_t context, long count, struct iocb **blocks)
{
    struct probe p;
    struct pending_batch batch;
    if (!enter_by_hand(&p) || count <= 0) return REAL_LATE(io_submit)(context, count, blocks);
    pending_begin_batch(&batch, &p, describe_kernel_block, context, blocks, count);
    p.thread->in_library = true;
    int result = REAL_LATE(io_submit)(context, count, blocks);
    p.thread->in_library = false;
    kernel_submitted(&p, &batch, context, count, blocks, result);
    return result;
}

SHIM(int, io_getevents, io_context_t context, long least, long most, struct io_event *events, struct timespec *timeout)
{
    struct thread *thread = enter_library();
    uint64_t since = event_clock_now();
    int result = REAL_LATE(io_getevents)(context, least, most, events, timeout);
    return kernel_completed(thread, context, result, events, since);
}

SHIM(int, io_pgetevents, io_context_t context, long least, long most, struct io_event *events, struct timespec *timeout,
     sigset_t *mask)
{
    struct thread *thread = enter_library();
    uint64_t since = event_clock_now();
    int result = REAL_LATE(io_pgetevents)(context, least, most, events, timeout, mask);
    return kernel_completed(thread, context, result, events, since);
}

bool aio_is_number(long number)
{
    return number == SYS_io_submit || number == SYS_io_getevents || number == SYS_io_pgetevents;
}

long aio_system_call(long number, const long argument[6])
{
    struct probe p;
    if (!enter_by_hand(&p) || p.thread->in_library) return system_call_real(number, argument);
    const void *context = (const void *)argument[0];
    if (number == SYS_io_submit) {
        struct pending_batch batch;
        struct iocb **blocks = (struct iocb **)argument[2];
        pending_begin_batch(&batch, &p, describe_kernel_block, context, blocks, argument[1]);
        long result = system_call_real(number, argument);
        int error = errno;
        kernel_submitted(&p, &batch, context, argument[1], blocks, result < 0 ? -error : result);
        errno = error;
        return result;
    }
    long result = system_call_real(number, argument);
    return kernel_completed(p.thread, context, (int)result, (const struct io_event *)argument[3], p.start);
}
