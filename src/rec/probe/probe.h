// The probes: what the shims do before (enter_…) and after (leave_…) the real call. calls/*.calls says which probe a
// call uses and which of its parameters the probe gets. The caller's address is set by the shim. The probes of
// transfers are inline: programs call them millions of times.
#pragma once

#include "calls.h"
#include "rec/call_types.h"
#include "rec/emit.h"
#include "rec/probe/known_name.h"

// Of a transfer, which may have to ask the kernel for its position.
struct asking {
    struct handle *handle;
    uint32_t arrival;
    bool asks;
    bool alone_at_start;
};

struct probe {
    struct thread *thread;
    struct handle *handle;
    uint64_t start;
    uintptr_t caller;
    union {
        struct handle *out; // copies
        struct {            // mappings
            struct file *file;
            uint32_t serial;
            uint64_t offset; // in the file, of the address
            bool mapped_known;
            uint64_t mapped[MAPPED_KINDS]; // bytes that were moved through the pages
        };
        struct {              // stdio
            uint64_t left;    // bytes in the read buffer before the call
            uint64_t pending; // bytes in the write buffer before the call
            const char *read_end;
            const char *read_base;
            off_t file_offset; // as the stream knows it
            bool had_error;
            FILE *locked; // by the shim, for the time of the call
        };
        struct handle *target; // dup2: the previous handle of the new number
        int fd;                // closes
        int status;            // of a child, if the program does not ask for it
        struct {               // submissions of asynchronous transfers (async/pending.h)
            struct call_frame frame;
            long recorded; // transfers
            bool submits;
            unsigned first_request, end_request; // of a ring
        };
        struct asking asking; // transfers
    };
};

#define PROBE_INLINE static inline __attribute__((always_inline))

enum {
    SHM_DIRECTORY = FILES_SHM_DIRFD,
    HANDLE_RARE_AT = HANDLE_UNKNOWN | HANDLE_LEFT_OUT | HANDLE_APPEND,
    HANDLE_RARE = HANDLE_RARE_AT | HANDLE_SHARED,
};

static inline bool open_has_mode(int flags) { return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE; }

// --- what probes share

// The handle of a descriptor that another thread or an unseen library may have made.
static inline struct handle *probe_handle(int fd) {
    struct handle *handle = handles_get(fd);
    return UNLIKELY(handle->flags & HANDLE_UNKNOWN) ? handles_resolve(fd) : handle;
}

// Sets the handle, and then the start time.
PROBE_INLINE bool probe_start(struct probe *p, struct handle *handle) {
    p->handle = handle;
    p->start = event_clock_now();
    return true;
}

PROBE_INLINE struct plain_event probe_transfer(const struct probe *p, uint32_t call, bool unaligned, uint64_t offset,
                                               uint64_t size, uint64_t end) {
    return (struct plain_event){call, unaligned, offset, size, p->start, end, p->caller};
}

PROBE_INLINE struct plain_event probe_event(const struct probe *p, uint32_t call, uint64_t offset, uint64_t size,
                                            uint64_t end) {
    return probe_transfer(p, call, false, offset, size, end);
}

// Starts an event on the probe's handle.
void probe_emission(struct emission *e, const struct probe *p, struct plain_event event);
// Writes an event on the probe's handle without offset and size.
void probe_emit(const struct probe *p, uint32_t call, int64_t result, int error, uint64_t end);
// Writes a transfer or a seek whose result may differ from the expected one. event.offset -1: not known.
void probe_emit_transfer(const struct probe *p, const struct handle *handle, struct plain_event event, int64_t moved,
                         int error);

// Copies memory of the program that may not be mapped; returns false if it is not.
bool probe_copy_memory(void *out, const void *from, size_t len);
// Returns the file position at which `moved` bytes were transferred, and advances it; -1 if it is not known. After a
// transfer on a shared descriptor, and after an append, only the kernel knows it. `asking` is the probe of the
// transfer, or NULL if the caller did not note whether others ran at the same time.
off_t probe_advance_position(struct handle *handle, int fd, int64_t moved, bool is_write, const struct probe *asking);
// The entry for a name relative to a directory descriptor; NULL if it is left out (*left_out) or has no known name.
struct file *probe_file(int dirfd, const char *path, bool *left_out);

// --- any call

PROBE_INLINE bool enter(struct probe *p) {
    p->thread = recorder_thread();
    if (UNLIKELY(!p->thread)) return false;
    p->start = event_clock_now();
    return true;
}

PROBE_INLINE bool enter_fd(struct probe *p, int fd) {
    p->thread = recorder_thread();
    return LIKELY(p->thread) && probe_start(p, probe_handle(fd));
}

// Before a limit on address space is set, the recorder releases its reserves. Nothing is recorded.
bool enter_limit(struct probe *p, int resource, const void *limit);
static inline void leave_nothing(struct probe *p, uint32_t call, ssize_t result) { (void)p, (void)call, (void)result; }

// Ends of children (exec_exit_wait.c).
bool enter_wait(struct probe *p, int **status);
void leave_wait(struct probe *p, uint32_t call, const int *status, pid_t result);
void leave_waitid(struct probe *p, uint32_t call, const siginfo_t *info, int options, int result);

// --- transfers

// If the kernel must be asked for the position afterwards, another thread's transfer may come in between: notes whether
// others run.
struct asking begin_rare_transfer(struct handle *handle, uint32_t asking_flags);

PROBE_INLINE bool enter_transfer(struct probe *p, int fd) {
    enum { ASKING = HANDLE_APPEND | HANDLE_SHARED };
    p->thread = recorder_thread();
    if (UNLIKELY(!p->thread)) return false;
    p->handle = handles_get(fd);
    p->asking.asks = false;
    if (UNLIKELY(p->handle->flags & (HANDLE_UNKNOWN | ASKING))) { // one test for both
        if (p->handle->flags & HANDLE_UNKNOWN) p->handle = handles_resolve(fd);
        p->asking = begin_rare_transfer(p->handle, ASKING);
    }
    p->start = event_clock_now();
    return true;
}

// A transfer on a handle that needs care gets the unknown handle, which has no slot, and its own one in p->asking. So
// one test is enough for the time before the call and after it.
PROBE_INLINE bool enter_transfer_at(struct probe *p, int fd) {
    p->thread = recorder_thread();
    if (UNLIKELY(!p->thread)) return false;
    p->handle = handles_get(fd);
    uint32_t flags = p->handle->flags;
    if (UNLIKELY(flags & HANDLE_RARE_AT)) {
        if (flags & HANDLE_UNKNOWN) p->handle = handles_resolve(fd);
        if (p->handle->flags & HANDLE_RARE_AT) {
            p->asking = begin_rare_transfer(p->handle, HANDLE_APPEND);
            p->handle = &handles_all[0];
        }
    }
    p->start = event_clock_now();
    return true;
}

// A transfer that is short, has failed, or is on a special descriptor. event.offset -1: at the file position.
void leave_rare_transfer(const struct probe *p, int fd, struct plain_event event, ssize_t result);

// A copy of the probe of a transfer, so that the compiler keeps the probe itself in registers.
PROBE_INLINE struct probe probe_copy(const struct probe *p) {
    struct probe copy;
    copy.thread = p->thread;
    copy.handle = p->handle;
    copy.start = p->start;
    copy.caller = p->caller;
    copy.asking = p->asking;
    return copy;
}

// A transfer at an offset that is not the next of its slot, or that has the unknown handle.
void leave_transfer_at_slowly(struct probe *p, int fd, struct plain_event event, ssize_t result);

PROBE_INLINE void leave_transfer_at(struct probe *p, uint32_t call, int fd, const void *buf, size_t len, off_t off,
                                    ssize_t result) {
    uint64_t end = event_clock_now();
    bool unaligned = ((uintptr_t)buf & 7) != 0;
    struct plain_event event = probe_transfer(p, call, unaligned, (uint64_t)off, len, end);
    if (LIKELY(result == (ssize_t)len && emit_quickly(p->thread, p->handle->serial, event))) return;
    struct probe copy = probe_copy(p);
    leave_transfer_at_slowly(&copy, fd, emit_copy(event), result);
}

PROBE_INLINE void leave_transfer(struct probe *p, uint32_t call, int fd, const void *buf, size_t len, ssize_t result) {
    uint64_t end = event_clock_now();
    bool unaligned = ((uintptr_t)buf & 7) != 0;
    if (LIKELY(result == (ssize_t)len && !(p->handle->flags & HANDLE_RARE))) {
        uint64_t offset = atomic_fetch_add_explicit(&p->handle->position, len, memory_order_relaxed);
        emit(p->thread, p->handle, probe_transfer(p, call, unaligned, offset, len, end));
    } else {
        struct probe copy = probe_copy(p);
        leave_rare_transfer(&copy, fd, probe_transfer(&copy, call, unaligned, UINT64_MAX, len, end), result);
    }
}

void leave_vector_at(struct probe *p, uint32_t call, int fd, const struct iovec *iov, int count, off_t off,
                     ssize_t result);
void leave_vector_flags(struct probe *p, uint32_t call, int fd, const struct iovec *iov, int count, off_t off,
                        int flags, ssize_t result);

// --- the others (descriptors.c, paths.c, mappings.c, copies.c)

bool enter_close(struct probe *p, int fd);
bool enter_dup2(struct probe *p, int fd, int fd2);
bool enter_dir(struct probe *p, DIR *dir);
bool enter_mmap(struct probe *p, int fd, int flags);
bool enter_mapping(struct probe *p, const void *address);
bool enter_munmap(struct probe *p, const void *address, size_t len);
bool enter_msync(struct probe *p, const void *address, size_t len, int flags);
bool enter_mremap(struct probe *p, const void *address, size_t len, size_t new_len);
// A forked process begins: what its parent has moved through mappings is not its own.
void mappings_begin(void);
// The process ends: estimates what was moved through all mappings. And it goes on after all. The caller has claimed its
// thread.
void mappings_end(void);
void mappings_resume(void);
bool enter_copy(struct probe *p, int in, int out);

void leave_open(struct probe *p, uint32_t call, int dirfd, const char *path, int flags, mode_t mode, int result);
void leave_close(struct probe *p, uint32_t call, int result);
void leave_close_range(struct probe *p, uint32_t call, unsigned first, unsigned last, int flags, int result);
void leave_dup(struct probe *p, uint32_t call, int result);
void leave_dup2(struct probe *p, uint32_t call, int fd, int fd2, int result);
void leave_fcntl(struct probe *p, uint32_t call, int command, long argument, int result);
void leave_newfd(struct probe *p, uint32_t call, int result);
void leave_newfds(struct probe *p, uint32_t call, const int fds[2], int result);
void leave_seek(struct probe *p, uint32_t call, int whence, off_t result);
void leave_fd(struct probe *p, uint32_t call, off_t off, off_t len, int flags, int error, ssize_t result);
void leave_path_slowly(struct thread *thread, int dirfd, const char *path, struct plain_event event, ssize_t result);

PROBE_INLINE void leave_path(struct probe *p, uint32_t call, int dirfd, const char *path, off_t len, ssize_t result) {
    struct plain_event event = probe_event(p, call, 0, (uint64_t)len, event_clock_now());
    struct file *file = LIKELY(result == 0) ? known_file(p->thread, dirfd, path) : NULL;
    if (LIKELY(file && emit_quickly(p->thread, emit_subject(0, file), event))) return;
    leave_path_slowly(p->thread, dirfd, path, emit_copy(event), result);
}

void leave_paths(struct probe *p, uint32_t call, int dirfd, const char *path, int dirfd2, const char *path2,
                 int result);
void leave_everything(struct probe *p, uint32_t call, int result);
void leave_chdir(struct probe *p, uint32_t call, const char *path, int result);
void leave_fchdir(struct probe *p, uint32_t call, int result);

void leave_mmap(struct probe *p, uint32_t call, off_t off, size_t len, int protection, int flags, void *result);
void leave_munmap(struct probe *p, uint32_t call, size_t len, int result);
void leave_mremap(struct probe *p, uint32_t call, const void *address, size_t len, size_t new_len, void *result);

void leave_copy(struct probe *p, uint32_t call, int in, const off_t *in_offset, int out, const off_t *out_offset,
                size_t len, ssize_t result);
