// Probes of calls that name a file: open, stat, rename and the like, and calls on directories.
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "rec/asking.h"
#include "rec/probe/probe.h"

// Whether a string of the program can be read. The kernel tries, in pieces that lie within a page.
static bool is_readable(const char *text) {
    enum { PIECE = 64 };
    char piece[PIECE];
    for (const char *at = text; at && at - text < PATH_MAX;) {
        size_t len = PIECE - ((uintptr_t)at & (PIECE - 1));
        if (!probe_copy_memory(piece, at, len)) return false;
        if (memchr(piece, 0, len)) return true;
        at += len;
    }
    return false;
}

// Whether the path of a call that failed with this error can be read: some errors come before the kernel reads it.
static bool can_read_path(const char *path, int error) {
    switch (error) {
    case EFAULT: return false;
    case EINVAL:
    case EBADF:
    case EPERM:
    case ENOSYS:
    case EOPNOTSUPP: return is_readable(path);
    default: return path != NULL;
    }
}

// The caller has the thread's buffer, so no signal handler does the same; one may look meanwhile. `cwd` is the number
// from before the name was found.
static void know_name(struct thread *thread, int dirfd, const char *path, struct file *file, uint32_t cwd) {
    size_t len = strlen(path), skipped = file->name_len - len;
    bool is_whole = path[0] == '/' && len == file->name_len;
    bool is_end = dirfd == AT_FDCWD && path[0] != '/' && len < file->name_len && file->name[skipped - 1] == '/';
    if (dirfd == FILES_SHM_DIRFD || len + 1 < KNOWN_NAME_LEAST || !(is_whole || is_end) ||
        memcmp(path, file->name + skipped, len) != 0)
        return;
    struct known_name *known = known_name_place(thread, path);
    known->file = NULL;
    atomic_signal_fence(memory_order_seq_cst);
    known->text = file->name + skipped;
    known->bytes = len + 1;
    known->cwd = cwd;
    known->is_relative = is_end;
    atomic_signal_fence(memory_order_seq_cst);
    known->file = file;
}

static struct file *look_up(int dirfd, const char *path, bool *left_out) {
    char *name = files_borrow_buffer();
    struct thread *thread = current_thread;
    *left_out = false;
    if (!name) return NULL;
    uint32_t cwd = atomic_load(&files_cwd_number);
    size_t len = files_absolute(name, dirfd, path);
    *left_out = len && thread->in_mpi_setup;
    struct file *file = len && !*left_out ? files_wanted(name, len, left_out) : NULL;
    if (file && file->kind == FILE_ITSELF && path) know_name(thread, dirfd, path, file, cwd);
    files_return_buffer();
    return file;
}

struct file *probe_file(int dirfd, const char *path, bool *left_out) {
    *left_out = false;
    struct file *known = current_thread ? known_file(current_thread, dirfd, path) : NULL;
    return known ? known : look_up(dirfd, path, left_out);
}

// The file that a descriptor was opened on. A path with ".." may go through symbolic links: only the kernel knows it.
static struct file *opened_file(int fd, int dirfd, const char *path, bool *left_out) {
    *left_out = false;
    struct file *known = current_thread ? known_file(current_thread, dirfd, path) : NULL;
    if (known) return known;
    if (path && (dirfd == FILES_SHM_DIRFD || !files_has_dotdot(path))) return look_up(dirfd, path, left_out);
    handles_forget(fd);
    struct handle *handle = handles_resolve(fd);
    *left_out = handle->flags & HANDLE_LEFT_OUT;
    return handle->file;
}

// Makes the handle of a new descriptor; NULL if it is left out.
static struct handle *handle_of_new(int fd, int dirfd, const char *path, int flags, struct stat *data) {
    bool left_out;
    struct file *file = opened_file(fd, dirfd, path, &left_out);
    if (!file && !left_out) file = files_unnamed();
    enum left_out why = left_out || !file ? LEFT_OUT_EXCLUDED : LEFT_OUT_NONE;
    data->st_size = 0;
    if (file && ask_stat(fd, data) == 0) {
        why = handles_classify(fd, data->st_mode);
        files_note_stat(file, data);
    }
    if (why != LEFT_OUT_NONE) {
        handles_set_left_out(fd, why);
        return NULL;
    }
    return handles_open(fd, file, flags);
}

static void open_failed_or_left_out(struct probe *p, struct plain_event event, int dirfd, const char *path, int flags,
                                    int error) {
    bool left_out = false;
    bool named = error && can_read_path(path, error) && *path;
    struct file *file = named ? probe_file(dirfd, path, &left_out) : NULL;
    if (!error || left_out) {
        emit_left_out(p->thread, false, LEFT_OUT_EXCLUDED, 0);
        return;
    }
    struct emission e;
    emit_start(&e, event, file, 0);
    emit_attribute(&e, ATTRIBUTE_FLAGS, (uint32_t)flags);
    emit_result(&e, -1, 0, error);
    emit_slowly(p->thread, &e);
}

void leave_open(struct probe *p, uint32_t call, int dirfd, const char *path, int flags, mode_t mode, int result) {
    struct plain_event event = probe_event(p, call, 0, 0, event_clock_now());
    int error = result < 0 ? errno : 0;
    struct stat data;
    p->handle = NULL;
    bool unnamed = (flags & O_TMPFILE) == O_TMPFILE; // its path is a directory
    if (!error) p->handle = handle_of_new(result, dirfd, unnamed ? NULL : path, flags, &data);
    if (!p->handle) {
        open_failed_or_left_out(p, event, dirfd, path, flags, error);
        return;
    }
    if (!(flags & O_APPEND)) p->handle->flags &= ~(uint32_t)HANDLE_SHARED; // it is new: no other process has it
    const struct stream_open opened = {.flags = (uint32_t)flags,
                                       .has_mode = open_has_mode(flags),
                                       .mode = mode,
                                       .size = (uint64_t)data.st_size,
                                       .result = result};
    emit_open(p->thread, p->handle, &event, &opened);
}

// --- calls on a path

static void leave_named(struct thread *thread, struct plain_event event, struct file *file, bool left_out,
                        ssize_t result, int error) {
    if (left_out) {
        emit_left_out(thread, false, LEFT_OUT_EXCLUDED, 0);
        return;
    }
    struct emission e;
    emit_start(&e, event, file, 0);
    emit_result(&e, result, 0, error);
    emit_slowly(thread, &e);
}

void leave_path_slowly(struct thread *thread, int dirfd, const char *path, struct plain_event event, ssize_t result) {
    int error = result < 0 ? errno : 0;
    bool left_out = false;
    struct file *file = NULL;
    if (path && !can_read_path(path, error)) {
        file = NULL;
    } else if ((!path || !*path) && dirfd != AT_FDCWD) { // AT_EMPTY_PATH, utimensat(fd, NULL …): the descriptor itself
        struct handle *handle = probe_handle(dirfd);
        file = handle->file;
        left_out = handle->flags & HANDLE_LEFT_OUT;
    } else if (path && (*path || !error)) {
        file = probe_file(dirfd, path, &left_out);
    }
    leave_named(thread, event, file, left_out, result, error);
}

static __attribute__((noinline)) void leave_paths_slowly(struct probe *p, uint32_t call, int dirfd, const char *path,
                                                         int dirfd2, const char *path2, int result, uint64_t end) {
    int error = result < 0 ? errno : 0;
    bool out1 = false, out2 = false;
    struct file *file = can_read_path(path, error) ? probe_file(dirfd, path, &out1) : NULL;
    struct file *file2 = can_read_path(path2, error) ? probe_file(dirfd2, path2, &out2) : NULL;
    if (out1 && out2) {
        emit_left_out(p->thread, false, LEFT_OUT_EXCLUDED, 0);
        return;
    }
    struct emission e;
    emit_start(&e, probe_event(p, call, 0, 0, end), file, 0);
    e.file2 = file2;
    emit_result(&e, result, 0, error);
    emit_slowly(p->thread, &e);
}

void leave_paths(struct probe *p, uint32_t call, int dirfd, const char *path, int dirfd2, const char *path2,
                 int result) {
    uint64_t end = event_clock_now();
    struct file *file = LIKELY(result == 0) ? known_file(p->thread, dirfd, path) : NULL;
    struct file *file2 = LIKELY(file) ? known_file(p->thread, dirfd2, path2) : NULL;
    if (LIKELY(file2)) {
        emit_named_two(p->thread, file, file2, probe_event(p, call, 0, 0, end));
    } else {
        leave_paths_slowly(p, call, dirfd, path, dirfd2, path2, result, end);
    }
}

// --- directories

void leave_chdir(struct probe *p, uint32_t call, const char *path, int result) {
    uint64_t end = event_clock_now();
    int error = result < 0 ? errno : 0;
    bool left_out = false;
    struct file *file = NULL;
    bool moved = !error && call == CALL_chdir;
    if (!moved && can_read_path(path, error)) file = probe_file(AT_FDCWD, path, &left_out);
    if (!error) {
        files_forget_cwd();
        if (call == CALL_chroot) recorder.new_root = true;
    }
    if (moved) file = probe_file(AT_FDCWD, "", &left_out); // only the kernel knows where that is
    leave_named(p->thread, probe_event(p, call, 0, 0, end), file, left_out, result, error);
}

void leave_fchdir(struct probe *p, uint32_t call, int result) {
    if (result == 0) files_forget_cwd();
    leave_fd(p, call, 0, 0, 0, result < 0 ? errno : 0, result);
}

bool enter_dir(struct probe *p, DIR *dir) {
    p->thread = recorder_thread();
    return p->thread && dir && probe_start(p, probe_handle(dirfd(dir)));
}
