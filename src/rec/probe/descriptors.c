// Probes of calls on descriptors: transfers, seeks, dup, close; and what all probes share.
#include "rec/probe/probe.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "rec/asking.h"
#include "rec/spill.h"

void probe_emission(struct emission *e, const struct probe *p, struct plain_event event) {
    emit_start(e, event, p->handle->file, p->handle->serial);
}

void probe_emit(const struct probe *p, uint32_t call, int64_t result, int error, uint64_t end) {
    struct emission e;
    probe_emission(&e, p, probe_event(p, call, 0, 0, end));
    emit_result(&e, result, 0, error);
    emit_slowly(p->thread, &e);
}

void probe_emit_transfer(const struct probe *p, const struct handle *handle, struct plain_event event, int64_t moved,
                         int error) {
    struct emission e;
    emit_start(&e, event, handle->file, handle->serial);
    if ((int64_t)event.offset < 0) e.extra.flags |= EVENT_NO_OFFSET;
    emit_result(&e, moved, (int64_t)event.size, error);
    emit_slowly(p->thread, &e);
}

// --- transfers

struct asking begin_rare_transfer(struct handle *handle, uint32_t asking_flags) {
    struct asking asking = {.handle = handle};
    if (!(handle->flags & asking_flags)) return asking;
    uint32_t before = atomic_fetch_add(&handle->transfers, HANDLE_ARRIVED + 1);
    asking.arrival = (before + HANDLE_ARRIVED + 1) / HANDLE_ARRIVED;
    asking.asks = true;
    asking.alone_at_start = before % HANDLE_ARRIVED == 0;
    return asking;
}

// Whether no other transfer on the handle was under way at any time since this one began.
static bool was_alone(const struct probe *p) {
    return p->asking.alone_at_start && atomic_load(&p->handle->transfers) / HANDLE_ARRIVED == p->asking.arrival;
}

off_t probe_advance_position(struct handle *handle, int fd, int64_t moved, bool writes, const struct probe *asking) {
    uint64_t bytes = moved > 0 ? (uint64_t)moved : 0;
    bool ask = handle->flags & HANDLE_SHARED || (writes && handle->flags & HANDLE_APPEND);
    uint64_t position = atomic_load(&handle->position);
    if (ask) {
        long now = ask_position(fd);
        if (now < 0) return -1;
        // The kernel's answer is right for a transfer that was alone. Simultaneous transfers share the range that they
        // moved over.
        bool alone = !asking || !asking->asking.asks || was_alone(asking);
        if (alone && atomic_compare_exchange_strong(&handle->position, &position, (uint64_t)now)) {
            return now - (off_t)bytes;
        }
    }
    return (off_t)atomic_fetch_add_explicit(&handle->position, bytes, memory_order_relaxed);
}

// pwrite on a descriptor opened with O_APPEND appends, whatever its offset says.
static off_t appended_at(int fd, ssize_t moved) {
    struct stat data;
    return ask_stat(fd, &data) == 0 ? data.st_size - moved : -1;
}

void leave_rare_transfer(const struct probe *p, int fd, struct plain_event event, ssize_t result) {
    struct handle *handle = p->handle;
    int error = result < 0 ? errno : 0;
    bool writes = call_table[event.call].class == CLASS_WRITE;
    off_t offset = (off_t)event.offset;
    if (handle->flags & HANDLE_LEFT_OUT) {
        emit_left_out(p->thread, writes, handle->left_out, result);
        return;
    }
    if (offset < 0 && !(handle->flags & HANDLE_UNKNOWN)) {
        offset = probe_advance_position(handle, fd, result, writes, p);
    } else if (handle->flags & HANDLE_APPEND && writes && result > 0) {
        offset = appended_at(fd, result);
    }
    if (p->asking.asks) atomic_fetch_sub(&handle->transfers, 1);
    event.offset = (uint64_t)offset;
    probe_emit_transfer(p, handle, event, result, error);
}

void leave_transfer_at_slowly(struct probe *p, int fd, struct plain_event event, ssize_t result) {
    bool is_rare = p->handle == &handles_all[0];
    if (is_rare)
        p->handle = p->asking.handle;
    else
        p->asking.asks = false;
    if (is_rare || result != (ssize_t)event.size)
        leave_rare_transfer(p, fd, event, result);
    else
        emit_plain_slowly(p->thread, p->handle->serial, p->handle->file, event);
}

bool probe_copy_memory(void *out, const void *from, size_t len) {
    struct iovec here = {out, len}, there = {(void *)from, len};
    long pid = cpu_syscall(SYS_getpid, 0);
    return cpu_syscall6(SYS_process_vm_readv, pid, (long)&here, 1, (long)&there, 1, 0) == (long)len;
}

// Length and alignment of a vector. After a failure it may be unreadable.
static uint64_t vector_bytes(const struct iovec *iov, int count, ssize_t result, bool *unaligned) {
    uint64_t bytes = 0;
    *unaligned = false;
    for (int i = 0; i < count && i < IOV_MAX; i++) {
        struct iovec piece;
        if (result >= 0) {
            piece = iov[i];
        } else if (!probe_copy_memory(&piece, &iov[i], sizeof piece)) {
            return 0;
        }
        bytes += piece.iov_len;
        *unaligned |= ((uintptr_t)piece.iov_base & 7) != 0;
    }
    return bytes;
}

void leave_vector_at(struct probe *p, uint32_t call, int fd, const struct iovec *iov, int count, off_t off,
                     ssize_t result) {
    struct plain_event event = probe_event(p, call, (uint64_t)off, 0, event_clock_now());
    event.size = vector_bytes(iov, count, result, &event.unaligned);
    leave_rare_transfer(p, fd, event, result);
}

void leave_vector_flags(struct probe *p, uint32_t call, int fd, const struct iovec *iov, int count, off_t off,
                        int flags, ssize_t result) {
#ifdef RWF_APPEND
    if (flags & RWF_APPEND && result > 0 && !(p->handle->flags & HANDLE_RARE_AT)) {
        bool moves_position = off < 0;
        off = appended_at(fd, result);
        if (moves_position) atomic_store(&p->handle->position, (uint64_t)(off + result));
    }
#else
    (void)flags;
#endif
    leave_vector_at(p, call, fd, iov, count, off, result);
}

void leave_seek(struct probe *p, uint32_t call, int whence, off_t result) {
    uint64_t end = event_clock_now();
    if (p->handle->flags & HANDLE_LEFT_OUT) return;
    if (result >= 0 && !(p->handle->flags & HANDLE_UNKNOWN)) {
        atomic_store_explicit(&p->handle->position, (uint64_t)result, memory_order_relaxed);
        emit(p->thread, p->handle, probe_event(p, call, (uint64_t)result, 0, end));
        return;
    }
    struct emission e;
    probe_emission(&e, p, probe_event(p, call, 0, 0, end));
    e.extra.flags |= EVENT_NO_OFFSET;
    emit_attribute(&e, ATTRIBUTE_WHENCE, (uint64_t)whence);
    emit_result(&e, -1, 0, errno);
    emit_slowly(p->thread, &e);
}

// --- calls on a descriptor

void leave_fd(struct probe *p, uint32_t call, off_t off, off_t len, int flags, int error, ssize_t result) {
    uint64_t end = event_clock_now();
    if (p->handle->flags & HANDLE_LEFT_OUT) {
        emit_left_out(p->thread, false, p->handle->left_out, 0);
        return;
    }
    struct emission e;
    probe_emission(&e, p, probe_event(p, call, (uint64_t)off, (uint64_t)len, end));
    if (flags) emit_attribute(&e, ATTRIBUTE_FLAGS, (uint64_t)flags);
    emit_result(&e, result, 0, error);
    emit_slowly(p->thread, &e);
}

void leave_everything(struct probe *p, uint32_t call, int result) {
    p->handle = &handles_all[0];
    probe_emit(p, call, result, result < 0 ? errno : 0, event_clock_now());
}

void leave_fcntl(struct probe *p, uint32_t call, int command, long argument, int result) {
    if (result >= 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC)) {
        leave_dup(p, call, result);
        return;
    }
    if (result >= 0 && command == F_SETFL && p->handle->file) {
        if (argument & O_APPEND) {
            p->handle->flags |= HANDLE_APPEND;
        } else {
            p->handle->flags &= ~(uint32_t)HANDLE_APPEND;
        }
    }
    leave_fd(p, call, 0, 0, command, result < 0 ? errno : 0, result);
}

// --- new descriptors

void leave_dup(struct probe *p, uint32_t call, int result) {
    uint64_t end = event_clock_now();
    int error = result < 0 ? errno : 0;
    if (result >= 0) handles_dup(p->handle, result);
    if (!(p->handle->flags & HANDLE_LEFT_OUT)) probe_emit(p, call, result, error, end);
}

bool enter_dup2(struct probe *p, int fd, int fd2) {
    p->thread = recorder_thread();
    if (!p->thread) return false;
    p->target = fd == fd2 ? NULL : handles_begin_close(fd2);
    return probe_start(p, probe_handle(fd));
}

void leave_dup2(struct probe *p, uint32_t call, int fd, int fd2, int result) {
    if (p->target) handles_end_close(fd2, result >= 0, p->target);
    if (fd != fd2) {
        leave_dup(p, call, result);
    } else {
        leave_fd(p, call, 0, 0, 0, result < 0 ? errno : 0, result);
    }
}

void leave_newfd(struct probe *p, uint32_t call, int result) {
    (void)p, (void)call;
    handles_forget(result);
}

void leave_newfds(struct probe *p, uint32_t call, const int fds[2], int result) {
    (void)p, (void)call;
    if (result < 0) return;
    handles_forget(fds[0]);
    handles_forget(fds[1]);
}

// --- closing

bool enter_close(struct probe *p, int fd) {
    p->thread = recorder_thread();
    p->fd = fd;
    return p->thread && probe_start(p, handles_begin_close(fd));
}

// Closing a number that is not open is not recorded: programs that close everything up to the limit would fill the log.
void leave_close(struct probe *p, uint32_t call, int result) {
    struct plain_event event = probe_event(p, call, 0, 0, event_clock_now());
    uint32_t serial = p->handle->serial, flags = p->handle->flags;
    struct file *file = p->handle->file;
    int error = result < 0 ? errno : 0;
    handles_end_close(p->fd, error != EBADF, p->handle); // frees the handle
    if (flags & (HANDLE_LEFT_OUT | HANDLE_UNKNOWN)) return;
    if (LIKELY(result == 0 && emit_close(p->thread, serial, file, &event))) return;
    struct emission e;
    emit_start(&e, event, file, serial);
    emit_result(&e, result, 0, error);
    emit_slowly(p->thread, &e);
}

void leave_close_range(struct probe *p, uint32_t call, unsigned first, unsigned last, int flags, int result) {
    uint64_t end = event_clock_now();
    const int only_close_on_exec = 1 << 2; // CLOSE_RANGE_CLOEXEC
    if (result < 0) {
        leave_everything(p, call, result);
        return;
    }
    if (flags & only_close_on_exec) return;
    unsigned highest = (unsigned)handles_highest_fd();
    for (unsigned fd = first; fd <= last && fd <= highest; fd++) {
        p->handle = handles_get((int)fd);
        if (p->handle->file) probe_emit(p, call, 0, 0, end);
        handles_forget((int)fd);
    }
}

// --- limits

// Without a new limit prlimit only asks for the old one.
bool enter_limit(struct probe *p, int resource, const void *limit) {
    p->thread = recorder_thread();
    if (p->thread && limit && resource == RLIMIT_AS) {
        spill_give_back();
        handles_give_back();
    }
    return false;
}
