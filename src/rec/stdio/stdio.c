#include "rec/stdio/stdio.h"

#include <errno.h>
#include <string.h>

#include "rec/asking.h"

// Bits of FILE._flags, fixed by glibc's ABI.
enum { FLAG_NO_READS = 0x4, FLAG_EOF = 0x10, FLAG_ERROR = 0x20, FLAG_IN_BACKUP = 0x100 };

// --- the buffer

// After ungetc the main buffer may be in the save area.
static uint64_t bytes_left(const FILE *stream) {
    int64_t left = stream->_IO_read_end - stream->_IO_read_ptr;
    if (stream->_flags & FLAG_IN_BACKUP) left += stream->_IO_save_end - stream->_IO_save_base;
    return left > 0 ? (uint64_t)left : 0;
}

static uint64_t bytes_pending(const FILE *stream) {
    int64_t pending = stream->_IO_write_ptr - stream->_IO_write_base;
    return pending > 0 ? (uint64_t)pending : 0;
}

static void remember_buffer(struct handle *handle, FILE *stream, uint64_t left, uint64_t pending) {
    // Relaxed: the stream's own lock orders them. Two streams on one open file cannot be told apart anyway.
    atomic_store_explicit(&handle->stream, stream, memory_order_relaxed);
    atomic_store_explicit(&handle->stream_left, left, memory_order_relaxed);
    atomic_store_explicit(&handle->stream_pending, pending, memory_order_relaxed);
}

static void remember(struct handle *handle, FILE *stream) {
    remember_buffer(handle, stream, bytes_left(stream), bytes_pending(stream));
}

static uint64_t position_of(const struct handle *handle) {
    return atomic_load_explicit(&handle->position, memory_order_relaxed);
}

static void move_position(struct handle *handle, int64_t bytes) {
    atomic_fetch_add_explicit(&handle->position, (uint64_t)bytes, memory_order_relaxed);
}

// The count of bytes that stdio read from the kernel (0) or wrote to it (1).
static uint64_t *kernel_bytes(struct probe *p, unsigned writes) {
    static uint64_t nowhere; // this is the child of a fork in a signal handler inside the call
    return p->thread->tally ? &p->thread->tally->stdio_kernel[writes] : &nowhere;
}

static void kernel_wrote(struct probe *p, uint64_t bytes) {
    if (!bytes) return;
    move_position(p->handle, (int64_t)bytes);
    *kernel_bytes(p, 1) += bytes;
}

// Asks the kernel, for streams whose descriptor is shared or appends, and after a refill of the read buffer.
static void note_position(struct handle *handle, int fd) {
    long now = ask_position(fd);
    if (now >= 0) atomic_store_explicit(&handle->position, (uint64_t)now, memory_order_relaxed);
}

static bool position_is_ours(const struct handle *handle) { return !(handle->flags & (HANDLE_SHARED | HANDLE_APPEND)); }

static void emit_bytes(struct probe *p, struct plain_event event, int64_t moved, int error) {
    if (LIKELY(moved == (int64_t)event.size)) {
        emit(p->thread, p->handle, event);
    } else {
        probe_emit_transfer(p, p->handle, event, moved, error);
    }
}

// Bytes that macros moved before the call.
static void emit_unseen(struct probe *p, uint32_t call, uint64_t offset, uint64_t bytes) {
    emit_bytes(p, probe_event(p, call, offset, bytes, p->start), (int64_t)bytes, 0);
}

// All streams were flushed unseen. Macros may have put bytes into the buffer before and after the flush. The kernel's
// position tells how many; if other processes move it, only the bytes after the flush are known.
static void catch_up_after_flush(struct probe *p, FILE *stream, uint64_t position, uint64_t pending_before,
                                 uint64_t pending) {
    uint64_t end_before = position + pending_before;
    uint64_t put = pending;
    kernel_wrote(p, pending_before);
    note_position(p->handle, stream->_fileno);
    uint64_t now = position_of(p->handle);
    if (position_is_ours(p->handle) && now > end_before) {
        *kernel_bytes(p, 1) += now - end_before;
        put += now - end_before;
    }
    if (put) emit_unseen(p, CALL_putc_unlocked, end_before, put);
}

static bool is_as_remembered(const struct handle *handle, const FILE *stream, uint64_t left, uint64_t pending) {
    return handle->stream == stream && atomic_load_explicit(&handle->stream_left, memory_order_relaxed) == left &&
           atomic_load_explicit(&handle->stream_pending, memory_order_relaxed) == pending;
}

// Records what happened to the buffer since the last call that was seen: macros that read or wrote in it, flushes of
// all streams.
static void catch_up(struct probe *p, FILE *stream) {
    struct handle *handle = p->handle;
    if (handle->stream != stream) {
        if (!position_is_ours(handle) || !handle->stream) note_position(handle, stream->_fileno);
        return;
    }
    uint64_t position = position_of(handle);
    uint64_t left = bytes_left(stream);
    uint64_t pending = bytes_pending(stream);
    uint64_t left_before = atomic_load_explicit(&handle->stream_left, memory_order_relaxed);
    uint64_t pending_before = atomic_load_explicit(&handle->stream_pending, memory_order_relaxed);
    if (left < left_before && pending == 0) {
        emit_unseen(p, CALL_getc_unlocked, position - left_before, left_before - left);
    } else if (pending > pending_before) {
        emit_unseen(p, CALL_putc_unlocked, position + pending_before, pending - pending_before);
    } else if (pending < pending_before) {
        catch_up_after_flush(p, stream, position, pending_before, pending);
    }
}

// --- entering

// In a static program the shims of __uflow and others also see the calls that libc makes inside the program's own: on
// the same stream, or on one in memory, which has no lock.
#ifdef IOSEER_LINKED
enum { IS_LINKED = true };
static __thread const FILE *stream_in_call __attribute__((tls_model("initial-exec")));
static bool is_call_of_libc(const FILE *stream) { return !stream->_lock || stream == stream_in_call; }
static void set_stream_in_call(const FILE *stream) { stream_in_call = stream; }
#else
enum { IS_LINKED = false };
static inline bool is_call_of_libc(const FILE *stream) { return (void)stream, false; }
static inline void set_stream_in_call(const FILE *stream) { (void)stream; }
#endif

// Unwinding runs this, too, when the thread is cancelled inside the real call.
void stdio_unlock(struct probe *p) {
    if (!p->locked) return;
    set_stream_in_call(NULL);
    funlockfile(p->locked);
    p->locked = NULL;
}

// A program with one thread needs no lock, and must not wait for one: a signal handler may have left a call by
// siglongjmp.
extern char __libc_single_threaded __attribute__((weak));

static bool is_alone(void) { return &__libc_single_threaded && __libc_single_threaded; }

static bool lock_stream(FILE *stream, enum stdio_lock lock) {
    if (is_alone() || lock == STDIO_TRY) return ftrylockfile(stream) == 0;
    flockfile(stream);
    return true;
}

bool enter_stdio(struct probe *p, FILE *stream, enum stdio_lock lock) {
    p->thread = recorder_thread();
    if (!p->thread) return false;
    if (!stream) return probe_start(p, NULL); // fflush(NULL)
    if (is_call_of_libc(stream)) return false;
    if (stream->_fileno < 0) return false; // in memory
    struct handle *handle = p->handle = probe_handle(stream->_fileno);
    if (UNLIKELY(!is_alone() || IS_LINKED)) {
        if (!lock_stream(stream, lock)) return false;
        p->locked = stream;
        set_stream_in_call(stream);
    }
    p->left = bytes_left(stream);
    p->pending = bytes_pending(stream);
    if (UNLIKELY(handle->file && !is_as_remembered(handle, stream, p->left, p->pending))) {
        p->start = event_clock_now();
        catch_up(p, stream);
    }
    p->read_base = stream->_IO_read_ptr;
    p->read_end = stream->_IO_read_end;
    p->file_offset = stream->_offset;
    p->had_error = stream->_flags & FLAG_ERROR;
    p->start = event_clock_now();
    return true;
}

// Why a read got nothing; 0 at the end of the file. The flag of an earlier error may still be set.
static int read_error(const struct probe *p, const FILE *stream) {
    if (stream->_flags & FLAG_NO_READS) return EBADF;
    bool fresh = !p->had_error || !(stream->_flags & FLAG_EOF);
    return stream->_flags & FLAG_ERROR && fresh ? errno : 0;
}

// --- moving bytes

// Bytes taken by a call that does not return their number: from the buffer, or from the rest of the buffer and its next
// filling.
static int64_t taken_from_buffer(const struct probe *p, const FILE *stream) {
    bool refilled = !p->read_base || stream->_IO_read_end != p->read_end || stream->_IO_read_ptr < p->read_base;
    if (!refilled) return stream->_IO_read_ptr - p->read_base;
    return (int64_t)p->left + (stream->_IO_read_ptr - stream->_IO_read_base);
}

// On pipes, terminals and left-out files only the bytes between buffer and kernel are counted.
static void tally_left_out(struct probe *p, FILE *stream, bool writes, ssize_t moved) {
    int64_t bytes = moved > 0 ? moved : 0;
    if (writes) {
        bytes += (int64_t)p->pending - (int64_t)bytes_pending(stream);
    } else {
        if (moved < 0) bytes = taken_from_buffer(p, stream);
        bytes += (int64_t)bytes_left(stream) - (int64_t)p->left;
    }
    emit_left_out(p->thread, writes, p->handle->left_out, bytes);
}

// Bytes in the buffer of a shared or appending descriptor will go to the position, or to the end, at the time of the
// flush. The best guess is where that is now.
static void guess_position(struct probe *p, int fd) {
    struct stat data;
    if (!(p->handle->flags & HANDLE_APPEND)) {
        note_position(p->handle, fd);
        move_position(p->handle, -(int64_t)p->left);
    } else if (ask_stat(fd, &data) == 0) {
        atomic_store_explicit(&p->handle->position, (uint64_t)data.st_size, memory_order_relaxed);
    }
}

void leave_stdio_write(struct probe *p, uint32_t call, FILE *stream, ssize_t asked, ssize_t moved) {
    uint64_t end = event_clock_now();
    struct handle *handle = p->handle;
    uint64_t now_pending = bytes_pending(stream);
    // Most calls move all that they were asked for, and only in the buffer.
    if (LIKELY(handle->file && moved == asked && moved > 0 && p->left == 0 && bytes_left(stream) == 0 &&
               now_pending == p->pending + (uint64_t)moved && (p->pending || position_is_ours(handle)))) {
        remember_buffer(handle, stream, 0, now_pending);
        stdio_unlock(p);
        emit(p->thread, handle, probe_event(p, call, position_of(handle) + p->pending, (uint64_t)moved, end));
        return;
    }
    if (!handle->file) {
        tally_left_out(p, stream, true, moved);
        stdio_unlock(p);
        return;
    }
    int error = moved < 0 ? errno : 0;
    if (moved < 0) moved = 0;
    int64_t written = moved + (int64_t)p->pending - (int64_t)bytes_pending(stream);
    if (moved && !written && !p->pending && !position_is_ours(handle)) {
        guess_position(p, stream->_fileno);
    } else if (p->left) {
        move_position(handle, -(int64_t)p->left); // it was reading: libc seeks back to where the program is
    }
    uint64_t offset = position_of(handle) + p->pending;
    if (written > 0) {
        kernel_wrote(p, (uint64_t)written);
        if (!position_is_ours(handle)) {
            note_position(handle, stream->_fileno);
            uint64_t now = position_of(handle);
            offset = now + bytes_pending(stream) - (uint64_t)moved;
        }
    }
    remember(handle, stream);
    stdio_unlock(p);
    uint64_t size = (uint64_t)(asked < 0 ? moved : asked);
    emit_bytes(p, probe_event(p, call, offset, size, end), error ? -1 : moved, error);
}

// Whether the call took bytes from the buffer only. `moved` -1: their number is not known.
static bool from_buffer(const struct probe *p, const FILE *stream, ssize_t moved) {
    int64_t taken = stream->_IO_read_ptr - p->read_base;
    return stream->_IO_read_end == p->read_end && p->pending == 0 && taken >= 0 && taken == moved &&
           taken <= (int64_t)p->left;
}

void leave_stdio_read(struct probe *p, uint32_t call, FILE *stream, ssize_t asked, ssize_t moved) {
    uint64_t end = event_clock_now();
    struct handle *handle = p->handle;
    if (LIKELY(handle->file && moved == asked && moved > 0 && from_buffer(p, stream, moved) &&
               !(stream->_flags & (FLAG_IN_BACKUP | FLAG_ERROR | FLAG_NO_READS)))) {
        remember_buffer(handle, stream, p->left - (uint64_t)moved, 0);
        stdio_unlock(p);
        emit(p->thread, handle, probe_event(p, call, position_of(handle) - p->left, (uint64_t)moved, end));
        return;
    }
    if (!handle->file) {
        tally_left_out(p, stream, false, moved);
        stdio_unlock(p);
        return;
    }
    kernel_wrote(p, p->pending); // it was writing: libc flushed first
    uint64_t position = position_of(handle);
    uint64_t offset = position - p->left;
    if (!from_buffer(p, stream, moved)) {
        note_position(handle, stream->_fileno);
        uint64_t now = position_of(handle);
        if (!(handle->flags & HANDLE_SHARED) && now > position) *kernel_bytes(p, 0) += now - position;
        int64_t difference = (int64_t)(now - bytes_left(stream)) - (int64_t)offset;
        if (moved < 0 || !(handle->flags & HANDLE_SHARED)) moved = difference > 0 ? difference : 0;
        if (handle->flags & HANDLE_SHARED) {
            offset = now - bytes_left(stream) - (uint64_t)moved;
            *kernel_bytes(p, 0) += (uint64_t)moved + bytes_left(stream) - p->left;
        }
    }
    int error = read_error(p, stream);
    remember(handle, stream);
    stdio_unlock(p);
    uint64_t size = (uint64_t)(asked < 0 ? moved : asked);
    emit_bytes(p, probe_event(p, call, offset, size, end), error && !moved ? -1 : moved, moved ? 0 : error);
}

// --- opening and closing

static int mode_flags(const char *mode) {
    int flags = strchr(mode, '+') ? O_RDWR : mode[0] == 'r' ? O_RDONLY : O_WRONLY;
    if (mode[0] == 'w') flags |= O_CREAT | O_TRUNC;
    if (mode[0] == 'a') flags |= O_CREAT | O_APPEND;
    return flags;
}

void leave_stdio_open(struct probe *p, uint32_t call, const char *path, const char *mode, FILE *result) {
    leave_open(p, call, AT_FDCWD, path, mode_flags(mode), 0666, result ? result->_fileno : -1);
    struct handle *handle = p->handle;
    if (!result || !handle || !handle->file) return;
    note_position(handle, result->_fileno);
    remember(handle, result);
}

bool enter_stdio_close(struct probe *p, FILE *stream) {
    if (!stream || !enter_stdio(p, stream, STDIO_WAIT)) return false;
    int fd = stream->_fileno;
    if (p->handle->file) {
        kernel_wrote(p, p->pending);
        p->handle->stream = NULL;
    } else if (p->pending) {
        emit_left_out(p->thread, true, p->handle->left_out, (int64_t)p->pending);
    }
    stdio_unlock(p);
    return enter_close(p, fd);
}

// freopen closes the old file and opens the new one, on the same number if possible. Without a path only the mode
// changes.
void leave_stdio_reopen(struct probe *p, uint32_t call, const char *path, const char *mode, FILE *result) {
    int fd = p->fd;
    handles_end_close(fd, true, p->handle);
    if (path || !result) {
        leave_stdio_open(p, call, path ? path : "", mode, result);
        return;
    }
    p->handle = probe_handle(result->_fileno);
    leave_fd(p, call, 0, 0, 0, 0, fd);
}

// --- position and buffer

// A seek that leaves the range of the buffer reads a block ahead. `end` is the kernel's position before, after a flush:
// a buffer of written bytes is empty then. libc does not know the range before the first seek.
static bool seek_refilled(const struct probe *p, const FILE *stream, uint64_t end, uint64_t logical) {
    bool has_range = !p->pending && p->read_end && p->file_offset >= 0;
    uint64_t held = has_range ? (uint64_t)(p->read_end - stream->_IO_buf_base) : 0;
    return stream->_IO_read_end > stream->_IO_read_base && (logical >= end || logical + held < end);
}

// A seek may flush the buffer, drop it and read a block ahead.
void leave_stdio_seek(struct probe *p, uint32_t call, FILE *stream, int result) {
    uint64_t end = event_clock_now();
    struct handle *handle = p->handle;
    int error = result < 0 ? errno : 0;
    if (!handle->file) {
        int64_t buffered = stream->_IO_read_end - stream->_IO_read_base;
        bool refilled = buffered > 0 && stream->_offset != p->file_offset;
        emit_left_out(p->thread, true, handle->left_out, (int64_t)(p->pending - bytes_pending(stream)));
        emit_left_out(p->thread, false, handle->left_out, refilled ? buffered : 0);
        stdio_unlock(p);
        return;
    }
    uint64_t old_end = position_of(handle) + p->pending;
    kernel_wrote(p, p->pending - (bytes_pending(stream) < p->pending ? bytes_pending(stream) : p->pending));
    note_position(handle, stream->_fileno);
    uint64_t now = position_of(handle);
    uint64_t logical = now - bytes_left(stream) + bytes_pending(stream);
    if (seek_refilled(p, stream, old_end, logical))
        *kernel_bytes(p, 0) += (uint64_t)(stream->_IO_read_end - stream->_IO_read_base);
    remember(handle, stream);
    stdio_unlock(p);
    emit_bytes(p, probe_event(p, call, error ? UINT64_MAX : logical, 0, end), error ? -1 : 0, error);
}

// fflush(NULL) is one event without a file; the next call on each stream sees the flush.
void leave_stdio_flush(struct probe *p, uint32_t call, FILE *stream, int result) {
    uint64_t end = event_clock_now();
    struct handle *handle = p->handle;
    int error = result < 0 ? errno : 0;
    if (!stream) {
        leave_everything(p, call, result);
        return;
    }
    uint64_t pending = bytes_pending(stream), flushed = p->pending > pending ? p->pending - pending : 0;
    if (!handle->file) {
        emit_left_out(p->thread, true, handle->left_out, (int64_t)flushed);
        stdio_unlock(p);
        return;
    }
    kernel_wrote(p, flushed);
    if (p->left && !bytes_left(stream)) move_position(handle, -(int64_t)p->left); // a flushed reader seeks back
    if (!position_is_ours(handle)) note_position(handle, stream->_fileno);
    remember(handle, stream);
    stdio_unlock(p);
    probe_emit(p, call, result, error, end);
}

bool enter_stdio_number(struct probe *p, FILE *stream) {
    p->thread = recorder_thread();
    return p->thread && stream && stream->_fileno >= 0 && probe_start(p, probe_handle(stream->_fileno));
}

void leave_stdio_unget(struct probe *p, uint32_t call, FILE *stream, int result) {
    (void)call, (void)result;
    if (p->handle->file) remember(p->handle, stream);
    stdio_unlock(p);
}

void leave_print_fd(struct probe *p, uint32_t call, int fd, int result) {
    uint64_t end = event_clock_now();
    if (result > 0 && p->handle->file) *kernel_bytes(p, 1) += (uint64_t)result;
    leave_rare_transfer(p, fd, probe_event(p, call, UINT64_MAX, result < 0 ? 0 : (uint64_t)result, end), result);
}

// Only libc's own three streams certainly still exist; for the others, uses the state at their last call.
static void finish_stream(struct handle *handle) {
    FILE *stream = handle->stream;
    if (stream == stdin || stream == stdout || stream == stderr) {
        struct probe p = {.thread = current_thread, .handle = handle, .start = event_clock_now()};
        catch_up(&p, stream);
        remember(handle, stream);
    }
    atomic_fetch_add(&recorder.spill->exit_stdio_bytes, handle->stream_pending);
}

void stdio_finish_all(void) {
    FILE *const standard[] = {stdout, stderr};
    for (size_t i = 0; i < sizeof standard / sizeof *standard; i++) {
        struct handle *handle = standard[i]->_fileno < 0 ? NULL : handles_get(standard[i]->_fileno);
        if (handle && handle->flags & HANDLE_LEFT_OUT) {
            emit_left_out(current_thread, true, handle->left_out, (int64_t)bytes_pending(standard[i]));
        }
    }
    handles_each_stream(finish_stream);
}
