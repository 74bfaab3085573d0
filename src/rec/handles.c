#include "rec/handles.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "rec/asking.h"
#include "rec/files.h"
#include "rec/memory.h"
#include "rec/spill.h"

enum { CLOSING = LEFT_OUT_COUNT, FIRST_REAL };

PER_PROCESS struct handle *handles_all;
PER_PROCESS _Atomic uint64_t *handles_of_fd;
PER_PROCESS _Atomic unsigned handles_limit;

PER_PROCESS static _Atomic uint32_t next_serial;
PER_PROCESS static _Atomic uint32_t used_handles;
PER_PROCESS static _Atomic uint64_t free_list; // tag << 32 | index
PER_PROCESS static _Atomic int highest_fd;

int handles_init(void) {
    handles_limit = recorder_limit(RLIMIT_AS) == UINT64_MAX ? HANDLES_MOST : HANDLES_FEW;
    handles_all = memory_pages(sizeof *handles_all * handles_limit);
    handles_of_fd = memory_pages(sizeof *handles_of_fd * handles_limit);
    if (!handles_all || !handles_of_fd) return -ENOMEM;
    used_handles = FIRST_REAL;
    handles_all[0].flags = HANDLE_UNKNOWN;
    for (uint32_t i = 1; i < FIRST_REAL; i++) {
        handles_all[i].flags = HANDLE_LEFT_OUT;
        handles_all[i].left_out = i < LEFT_OUT_COUNT ? i : LEFT_OUT_OTHER;
    }
    return 0;
}

static struct handle *new_handle(void) {
    uint64_t head = atomic_load(&free_list);
    while ((uint32_t)head) {
        struct handle *handle = &handles_all[(uint32_t)head];
        uint64_t rest = ((head >> 32) + 1) << 32 | atomic_load_explicit(&handle->next_free, memory_order_relaxed);
        if (atomic_compare_exchange_weak(&free_list, &head, rest)) return handle;
    }
    uint32_t index = atomic_fetch_add(&used_handles, 1);
    if (index < handles_limit) return &handles_all[index];
    atomic_fetch_sub(&used_handles, 1);
    return NULL;
}

static void release(struct handle *handle) {
    uint32_t index = (uint32_t)(handle - handles_all);
    if (index < FIRST_REAL || atomic_fetch_sub(&handle->references, 1) != 1) return;
    handle->stream = NULL;
    uint64_t head = atomic_load(&free_list);
    uint64_t pushed;
    do {
        atomic_store_explicit(&handle->next_free, (uint32_t)head, memory_order_relaxed);
        pushed = ((head >> 32) + 1) << 32 | index;
    } while (!atomic_compare_exchange_weak(&free_list, &head, pushed));
}

// Points `fd` at a handle and releases the one that it stood for before.
static void point(int fd, uint32_t index) {
    if ((unsigned)fd >= handles_limit) {
        release(&handles_all[index]);
        spill_count_loss(LOSS_FD_RANGE, 1);
        return;
    }
    uint64_t old = 0; // a load first would map the page of zeros
    while (!atomic_compare_exchange_weak(&handles_of_fd[fd], &old, ((old >> 32) + 1) << 32 | index)) {
    }
    release(&handles_all[(uint32_t)old]);
    int highest = atomic_load_explicit(&highest_fd, memory_order_relaxed);
    while (fd > highest && !atomic_compare_exchange_weak(&highest_fd, &highest, fd)) {
    }
}

uint32_t handles_new_serial(void) { return atomic_fetch_add(&next_serial, 1) + 1; }

struct handle *handles_open(int fd, struct file *file, int open_flags) {
    struct handle *handle = new_handle();
    if (!handle) {
        handles_set_left_out(fd, LEFT_OUT_OTHER);
        return &handles_all[LEFT_OUT_OTHER];
    }
    handle->serial = handles_new_serial();
    handle->flags = open_flags & O_APPEND ? HANDLE_APPEND : 0;
    handle->file = file;
    handle->stream = NULL;
    handle->left_out = LEFT_OUT_NONE;
    atomic_store(&handle->position, 0);
    atomic_store(&handle->references, 1);
    point(fd, (uint32_t)(handle - handles_all));
    return handle;
}

void handles_set_left_out(int fd, enum left_out why) { point(fd, why); }

void handles_dup(struct handle *handle, int new_fd) {
    uint32_t index = (uint32_t)(handle - handles_all);
    if (index >= FIRST_REAL) atomic_fetch_add(&handle->references, 1);
    point(new_fd, index);
}

void handles_forget(int fd) {
    if (fd >= 0) point(fd, 0);
}

struct handle *handles_begin_close(int fd) {
    if ((unsigned)fd >= handles_limit) return &handles_all[LEFT_OUT_OTHER];
    uint64_t old = atomic_load(&handles_of_fd[fd]);
    if ((uint32_t)old == 0) return handles_resolve(fd) == &handles_all[0] ? &handles_all[0] : handles_begin_close(fd);
    while (!atomic_compare_exchange_weak(&handles_of_fd[fd], &old, ((old >> 32) + 1) << 32 | CLOSING)) {
    }
    return &handles_all[(uint32_t)old];
}

// If another thread has opened a file with this number meanwhile, its entry stays.
void handles_end_close(int fd, bool closed, struct handle *handle) {
    if ((unsigned)fd >= handles_limit || handle == &handles_all[0]) return;
    uint64_t old = atomic_load(&handles_of_fd[fd]);
    uint32_t index = closed ? 0 : (uint32_t)(handle - handles_all);
    while ((uint32_t)old == CLOSING &&
           !atomic_compare_exchange_weak(&handles_of_fd[fd], &old, ((old >> 32) + 1) << 32 | index)) {
    }
    if (closed) release(handle);
}

enum left_out handles_classify(int fd, unsigned mode) {
    switch (mode & S_IFMT) {
    case S_IFREG:
    case S_IFDIR:
    case S_IFBLK: return LEFT_OUT_NONE;
    case S_IFIFO: return LEFT_OUT_PIPE;
    case S_IFSOCK: return LEFT_OUT_SOCKET;
    case S_IFCHR: return ask_is_terminal(fd) ? LEFT_OUT_TERMINAL : LEFT_OUT_OTHER;
    default: return LEFT_OUT_OTHER;
    }
}

// The name of a descriptor's file by the kernel's link; 0 if it is not a file.
static size_t link_name(int fd, char name[FILES_NAME_MAX]) {
    static const char deleted[] = " (deleted)";
    struct ask_path link = ask_path_of_fd("/fd/", fd);
    long len = cpu_syscall(SYS_readlinkat, AT_FDCWD, link.text, name, FILES_NAME_MAX - 1);
    if (len <= 0 || name[0] != '/' || strncmp(name, "/memfd:", 7) == 0) return 0;
    size_t tail = sizeof deleted - 1;
    if ((size_t)len > tail && memcmp(name + len - tail, deleted, tail) == 0) len -= (long)tail;
    name[len] = 0;
    return (size_t)len;
}

// The file of a descriptor by the kernel's link; NULL if it is left out, and why.
static struct file *linked_file(int fd, enum left_out *why) {
    char *name = files_borrow_buffer();
    *why = LEFT_OUT_OTHER;
    if (!name) return NULL;
    size_t len = link_name(fd, name);
    bool left_out = false;
    struct file *file = len ? files_wanted(name, len, &left_out) : NULL;
    if (left_out) *why = LEFT_OUT_EXCLUDED;
    files_return_buffer();
    return file;
}

// The descriptor was inherited, received from another process, or opened unseen: its position may be shared.
struct handle *handles_resolve(int fd) {
    struct stat data;
    if (fd < 0 || ask_stat(fd, &data) < 0) return &handles_all[0];
    enum left_out why = handles_classify(fd, data.st_mode);
    struct file *file = why == LEFT_OUT_NONE ? linked_file(fd, &why) : NULL;
    if (!file) {
        handles_set_left_out(fd, why);
        return &handles_all[why];
    }
    files_note_stat(file, &data);
    long flags = ask_open_flags(fd);
    struct handle *handle = handles_open(fd, file, flags < 0 ? 0 : (int)flags);
    if (handle->file) handle->flags |= HANDLE_SHARED;
    return handle;
}

size_t handles_name(int fd, char *name) {
    struct handle *handle = handles_get(fd);
    if (handle->flags & HANDLE_UNKNOWN) handle = handles_resolve(fd);
    if (!handle->file || handle->file->kind != FILE_ITSELF) return link_name(fd, name);
    memcpy(name, handle->file->name, handle->file->name_len);
    name[handle->file->name_len] = 0;
    return handle->file->name_len;
}

int handles_highest_fd(void) { return atomic_load(&highest_fd); }

// The kernel gives the lowest free number, so the end of the tables is not in use.
void handles_give_back(void) {
    unsigned used = atomic_load(&used_handles);
    unsigned fds = (unsigned)atomic_load(&highest_fd) + 1;
    unsigned kept = ((used > fds ? used : fds) + HANDLES_FEW) & ~(HANDLES_FEW - 1u);
    unsigned old = handles_limit;
    if (kept >= old) return;
    handles_limit = kept;
    cpu_syscall(SYS_munmap, &handles_all[kept], (old - kept) * sizeof *handles_all);
    cpu_syscall(SYS_munmap, &handles_of_fd[kept], (old - kept) * sizeof *handles_of_fd);
}

void handles_share_all(void) {
    uint32_t used = atomic_load(&used_handles);
    for (uint32_t i = FIRST_REAL; i < used; i++) handles_all[i].flags |= HANDLE_SHARED;
}

void handles_each_stream(void (*visit)(struct handle *handle)) {
    uint32_t used = atomic_load(&used_handles);
    for (uint32_t i = FIRST_REAL; i < used; i++) {
        if (handles_all[i].stream && atomic_load(&handles_all[i].references)) visit(&handles_all[i]);
    }
}
