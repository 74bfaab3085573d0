// POSIX calls: on names, on descriptors, on mappings and directories.
#include <aio.h>

#include "base/array.h"
#include "replay/runner/ops.h"
#include "replay/runner/unrecorded.h"

enum { MOST_MAPPINGS = 64 }; // of a file

static int descriptor_of(const struct replay_file *file) {
    if (file->fd >= 0) return file->fd;
    if (file->directory) return dirfd(file->directory);
    return file->stdio ? file->stdio->_fileno : file->spare; // not fileno(), which a recorder would see
}

static struct replay_arguments arguments_of(const struct replay_file *file, int fd, const struct model_step *step) {
    return (struct replay_arguments){.path = file->path,
                                     .fd = fd,
                                     .flags = (int)step->kind->flags,
                                     .off = step->op->at[AT_OFFSET],
                                     .len = (size_t)step->op->at[AT_SIZE],
                                     .fails = step->kind->error != 0,
                                     .dir = file->directory};
}

// --- open and close

static int64_t open_directory(struct replay_thread *thread, struct replay_file *file, bool adopts) {
    DIR *directory = adopts ? fdopendir(file->fd) : opendir(file->path);
    if (!directory) return -errno;
    if (adopts) file->fd = -1;
    if (file->directory) closedir(file->directory);
    file->directory = directory;
    files_opened(thread->runner, file);
    return 0;
}

// A stream on an inherited descriptor continues on the file that was just opened: this is how a shell redirects its
// standard output.
static void redirect_stream(struct replay_file *file, int fd, int flags) {
    if (!file->stdio || !file->stdio_is_adopted) return;
    bool fits = (flags & O_ACCMODE) == (file->flags & O_ACCMODE);
    if (fits && unrecorded_dup2(fd, file->stdio->_fileno) >= 0) return;
    file->stdio = NULL; // ends with the process
}

static int64_t posix_open(struct replay_thread *thread, struct replay_file *file, const struct model_step *step) {
    const struct replay_call *call = replay_call_of(step);
    struct replay_arguments a = arguments_of(file, -1, step);
    if (call->form == REPLAY_OPENDIR || call->form == REPLAY_FDOPENDIR) {
        return open_directory(thread, file, call->form == REPLAY_FDOPENDIR && file->fd >= 0);
    }
    if (call_table[step->kind->call_id].effect == EFFECT_CREATE) a.flags = O_WRONLY | O_CREAT | O_TRUNC;
    // A file without a name has one in the model, which must be the same in the replay. A later one may have it again.
    if (op_flags_nameless((unsigned)a.flags)) a.flags = (a.flags & ~(O_TMPFILE | O_EXCL)) | O_CREAT | O_TRUNC;
    if (file->is_own) a.flags |= O_CREAT; // another rank made the file that all shared
    if (file->fd >= 0 && file->spare < 0)
        file->spare = file->fd; // opened twice: no later call uses the older descriptor
    int fd = call->form == REPLAY_OPEN ? (int)call->run(&a) : open(a.path, a.flags, 0600);
    if (fd < 0) return -errno;
    redirect_stream(file, fd, a.flags);
    file->fd = fd;
    file->flags = a.flags;
    file->uses_own = false;
    file->position = 0;
    files_opened(thread->runner, file);
    return 0;
}

static int64_t posix_close(struct replay_thread *thread, struct replay_file *file, const struct model_step *step) {
    int fd = file->fd;
    if (replay_call_of(step)->form == REPLAY_CLOSEDIR) {
        DIR *directory = file->directory;
        file->directory = NULL;
        return directory && closedir(directory) < 0 ? -errno : 0;
    }
    if (fd < 0) return 0;
    file->uses_own = false;
    bool threads = model_threads(&thread->runner->model, thread->runner->job->program) > 1;
    if (file->duplicated || !threads) { // the file stays open if it has another descriptor
        file->duplicated = false;
        file->fd = file->spare;
        file->spare = -1;
        return close(fd) < 0 ? -errno : 0;
    }
    if (file->spare < 0) file->spare = unrecorded_dup(fd);
    file->fd = -1;
    return close(fd) < 0 ? -errno : 0;
}

// --- transfers

static int64_t submit(struct replay_thread *thread, int fd, const struct model_step *step, void *data) {
    struct aiocb *block = calloc(1, sizeof *block);
    if (!block) return -ENOMEM;
    *block = (struct aiocb){.aio_fildes = fd,
                            .aio_buf = data,
                            .aio_nbytes = (size_t)step->op->at[AT_SIZE],
                            .aio_offset = step->op->at[AT_OFFSET]};
    if ((step->kind->class == CLASS_WRITE ? aio_write(block) : aio_read(block)) < 0) {
        int error = errno;
        free(block);
        return -error;
    }
    thread->submitted = block;
    return step->op->at[AT_SIZE];
}

static int64_t complete(struct aiocb *block) {
    const struct aiocb *const list[] = {block};
    while (aio_error(block) == EINPROGRESS) aio_suspend(list, 1, NULL);
    int error = aio_error(block);
    ssize_t moved = aio_return(block);
    free(block);
    return error ? -error : moved;
}

static void posix_complete(void *const *request, size_t count, int64_t *moved) {
    for (size_t i = 0; i < count; i++) moved[i] = complete(request[i]);
}

// Duplicates the descriptor to a number that stays the file's own.
static void use_own(struct replay_file *file, int fd) {
    int own = file->own < 0 ? unrecorded_dup(fd) : unrecorded_dup2(fd, file->own);
    file->uses_own = own >= 0;
    if (own >= 0) file->own = own;
}

// The program shared the position with other processes, which moved it. A recorder that saw the open would not notice
// such a move, so from now on this uses a duplicate that the recorder does not know.
static void seek_unseen(struct replay_file *file, int fd, off_t offset) {
    if (!file->uses_own) use_own(file, fd);
    file->position = file->uses_own ? unrecorded_seek(file->own, offset) : lseek(fd, offset, SEEK_SET);
}

static int64_t transfer_at_position(struct replay_file *file, const struct model_step *step,
                                    struct replay_arguments *a) {
    bool appends = step->kind->class == CLASS_WRITE && file->flags & O_APPEND;
    if (step->kind->has_offset && file->position != a->off && !appends) seek_unseen(file, a->fd, a->off);
    if (file->uses_own) a->fd = file->own;
    int64_t moved = replay_call_of(step)->run(a);
    if (moved < 0) return -errno;
    file->position = (appends ? a->off : file->position) + moved;
    return moved;
}

static int64_t posix_transfer(struct replay_thread *thread, struct replay_file *file, const struct model_step *step,
                              void *data) {
    const struct replay_call *call = replay_call_of(step);
    struct replay_arguments a = arguments_of(file, file->uses_own ? file->own : descriptor_of(file), step);
    a.buf = data;
    if (a.fd < 0) return -EBADF;
    if (step->kind->nonblocking) return submit(thread, a.fd, step, data);
    if (call->form == REPLAY_POSITION) {
        pthread_mutex_lock(&file->position_lock);
        int64_t moved = transfer_at_position(file, step, &a);
        pthread_mutex_unlock(&file->position_lock);
        return moved;
    }
    int64_t moved = call->form == REPLAY_AT            ? call->run(&a)
                    : step->kind->class == CLASS_WRITE ? pwrite(a.fd, data, a.len, a.off)
                                                       : pread(a.fd, data, a.len, a.off);
    return moved < 0 ? -errno : moved;
}

// --- which calls need a descriptor

static bool needs_descriptor(const struct model_step *step) {
    unsigned form = replay_call_of(step)->form;
    return step->kind->class == CLASS_READ || step->kind->class == CLASS_WRITE ||
           (form >= REPLAY_FD && form <= REPLAY_MMAP);
}

// The file was opened several times, and the last descriptor has the wrong access mode.
static bool lacks_access(const struct replay_file *file, unsigned class) {
    int access = file->flags & O_ACCMODE;
    if (file->uses_own || access == O_RDWR) return false;
    return (class == CLASS_READ && access == O_WRONLY) || (class == CLASS_WRITE && access == O_RDONLY);
}

static bool posix_lacks(const struct replay_file *file, const struct model_step *step) {
    unsigned class = step->kind->class;
    if (class == CLASS_CLOSE) return file->fd < 0 && replay_call_of(step)->form != REPLAY_CLOSEDIR;
    return descriptor_of(file) >= 0 ? lacks_access(file, class) : needs_descriptor(step);
}

static void posix_make_ready(const struct runner *runner, struct replay_file *file, const struct model_step *step) {
    int open = descriptor_of(file), flags = file->flags;
    if (open >= 0 && lacks_access(file, step->kind->class)) {
        int fd = files_open_inherited(runner, file, step);
        file->flags = flags;
        if (fd < 0) return;
        use_own(file, fd);
        unrecorded_close(fd);
        return;
    }
    file->fd = open < 0 ? files_open_inherited(runner, file, step) : unrecorded_dup(open);
}

// --- copies inside the kernel: one operation for the call, one for what it read, one for what it wrote

bool posix_copies(const struct replay_thread *thread, const struct model_step *step) {
    return thread->copies && replay_call_of(step)->form == REPLAY_COPY_HALF;
}

// NULL if the descriptor has that position already.
static off_t *unless_there(const struct replay_file *file, off_t *offset) {
    return file->position == *offset ? NULL : offset;
}

static int64_t copy(uint16_t call, struct replay_file *source, off_t from, struct replay_file *file,
                    const struct model_step *step) {
    struct replay_arguments a = arguments_of(file, descriptor_of(source), step);
    a.fd2 = descriptor_of(file);
    a.in_offset = unless_there(source, &from);
    a.out_offset = unless_there(file, &a.off);
    if (a.out_offset && replay_calls[call].form == REPLAY_SENDFILE) {
        file->position = lseek(a.fd2, a.off, SEEK_SET);
        a.out_offset = NULL;
    }
    int64_t moved = replay_calls[call].run(&a);
    if (moved < 0) return -errno;
    if (!a.in_offset) source->position += moved;
    if (!a.out_offset) file->position += moved;
    return moved;
}

static int64_t copy_half(struct replay_thread *thread, struct replay_file *file, const struct model_step *step) {
    if (step->kind->class == CLASS_READ) {
        thread->source = file;
        thread->source_offset = step->op->at[AT_OFFSET];
        thread->source_phase = step->phase;
        return 0;
    }
    struct replay_file *source = thread->source;
    uint16_t call = thread->copies;
    thread->copies = 0;
    thread->source = NULL;
    return source ? copy(call, source, thread->source_offset, file, step) : -EINVAL;
}

// --- other calls: each returns 0 or more, or -1 with errno

// dup2 and dup3 get a number that nothing else has.
static int64_t duplicate(struct replay_file *file, const struct model_step *step, struct replay_arguments *a) {
    if (replay_call_of(step)->form == REPLAY_DUP2) a->fd2 = file->spare >= 0 ? file->spare : unrecorded_dup(a->fd);
    file->spare = (int)replay_call_of(step)->run(a);
    file->duplicated = file->spare >= 0;
    return file->spare;
}

// Threads share the list.
static int64_t keep_mapping(struct replay_file *file, struct replay_mapping mapping) {
    pthread_mutex_lock(&file->position_lock);
    if (file->mappings == MOST_MAPPINGS) {
        unrecorded_unmap(file->mapping[0].at, file->mapping[0].bytes);
        memmove(file->mapping, file->mapping + 1, --file->mappings * sizeof *file->mapping);
    }
    int code = array_push(file->mapping, file->mappings, mapping);
    pthread_mutex_unlock(&file->position_lock);
    return code;
}

// The last one of that size, or else the last one.
static struct replay_mapping find_mapping(struct replay_file *file, size_t bytes, bool take) {
    struct replay_mapping found = {0};
    pthread_mutex_lock(&file->position_lock);
    size_t place = file->mappings;
    while (place && file->mapping[place - 1].bytes != bytes) place--;
    if (!place) place = file->mappings;
    if (place) found = file->mapping[place - 1];
    if (place && take)
        memmove(&file->mapping[place - 1], &file->mapping[place], (file->mappings-- - place) * sizeof found);
    pthread_mutex_unlock(&file->position_lock);
    return found;
}

static int64_t unmap(struct replay_file *file, size_t bytes) {
    struct replay_mapping mapping = find_mapping(file, bytes, true);
    return munmap(mapping.at, mapping.bytes);
}

static int64_t sync_mapping(struct replay_file *file, size_t bytes) {
    struct replay_mapping mapping = find_mapping(file, bytes, false);
    return msync(mapping.at, mapping.bytes, MS_SYNC);
}

// A log does not contain what the program did with mapped memory: the replay maps the file and does not touch the
// memory.
static int64_t map(struct replay_file *file, const struct replay_arguments *a) {
    int protection = (file->flags & O_ACCMODE) == O_RDWR ? PROT_READ | PROT_WRITE : PROT_READ;
    if (a->fails) return mmap(NULL, a->len, protection, 0, a->fd, a->off) == MAP_FAILED ? -1 : 0;
    void *at = mmap(NULL, a->len, protection, MAP_SHARED, a->fd, a->off);
    if (at == MAP_FAILED) at = mmap(NULL, a->len, protection, MAP_PRIVATE, a->fd, a->off);
    return at == MAP_FAILED ? -1 : keep_mapping(file, (struct replay_mapping){at, a->len});
}

static int64_t seek(struct replay_file *file, const struct model_step *step, const struct replay_arguments *a) {
    pthread_mutex_lock(&file->position_lock);
    int64_t to = replay_call_of(step)->run(a);
    if (to >= 0) file->position = to;
    if (to >= 0 && file->uses_own) unrecorded_seek(file->own, to); // it may be another open of the file
    pthread_mutex_unlock(&file->position_lock);
    return to;
}

static int64_t call_on_descriptor(struct replay_file *file, const struct model_step *step) {
    struct replay_arguments a = arguments_of(file, descriptor_of(file), step);
    if (a.fd < 0) {
        errno = EBADF;
        return -1;
    }
    switch (replay_call_of(step)->form) {
    case REPLAY_SEEK: return seek(file, step, &a);
    case REPLAY_DUP:
    case REPLAY_DUP2: return duplicate(file, step, &a);
    case REPLAY_MMAP: return map(file, &a);
    default: return replay_call_of(step)->run(&a);
    }
}

static int64_t call_on_name(struct replay_thread *thread, const struct replay_file *file,
                            const struct model_step *step) {
    struct runner *runner = thread->runner;
    struct replay_arguments a = arguments_of(file, -1, step);
    a.path2 = runner->paths.link_target; // a log does not contain the target of a symbolic link: use a file that exists
    if (replay_call_of(step)->form == REPLAY_NAMES) {
        const struct replay_file *second = files_get(runner, step->kind->set2, (uint32_t)step->op->at[AT_SECOND]);
        if (!second) return -1;
        a.path2 = second->path;
    }
    if (call_table[step->kind->call_id].effect == EFFECT_REMOVE) {
        a.is_directory = paths_has_files(&runner->paths, file->set, file->member);
    }
    return replay_call_of(step)->run(&a);
}

// Calls without a file. A call that failed because its descriptor was not open, or its name empty, fails again.
static int64_t call_on_nothing(struct replay_thread *thread, const struct model_step *step) {
    const struct replay_call *call = replay_call_of(step);
    struct replay_arguments a = {.fd = -1, .path = "", .path2 = ""};
    bool on_descriptor = (call->form >= REPLAY_FD && call->form < REPLAY_MMAP) || call->form == REPLAY_CLOSE;
    bool on_name = call->form == REPLAY_NAME || call->form == REPLAY_NAMES || call->form == REPLAY_OPEN;
    if (call->form == REPLAY_EVERYTHING || (on_descriptor && step->kind->error == EBADF) ||
        (on_name && step->kind->error == ENOENT)) {
        return call->run(&a);
    }
    operations_skip(thread->runner, step);
    return 0;
}

static bool can_call(const struct replay_file *file, const struct model_step *step) {
    switch (replay_call_of(step)->form) {
    case REPLAY_NAMES: return step->kind->set2 != OP_NO_SET;
    case REPLAY_MUNMAP:
    case REPLAY_MSYNC: return file->mappings;
    case REPLAY_DIR: return file->directory;
    default: return true;
    }
}

static int64_t call_on_file(struct replay_thread *thread, struct replay_file *file, const struct model_step *step) {
    struct replay_arguments a = {.dir = file->directory};
    switch (can_call(file, step) ? replay_call_of(step)->form : REPLAY_SKIP) {
    case REPLAY_NAME:
    case REPLAY_NAMES: return call_on_name(thread, file, step);
    case REPLAY_FD:
    case REPLAY_SEEK:
    case REPLAY_DUP:
    case REPLAY_DUP2:
    case REPLAY_MMAP: return call_on_descriptor(file, step);
    case REPLAY_MUNMAP: return unmap(file, (size_t)step->op->at[AT_SIZE]);
    case REPLAY_MSYNC: return sync_mapping(file, (size_t)step->op->at[AT_SIZE]);
    case REPLAY_DIR:
    case REPLAY_EVERYTHING: return replay_call_of(step)->run(&a);
    default: operations_skip(thread->runner, step); return 0;
    }
}

static int64_t posix_other(struct replay_thread *thread, struct replay_file *file, const struct model_step *step) {
    unsigned form = replay_call_of(step)->form;
    if (form == REPLAY_COPY || form == REPLAY_SENDFILE) {
        // To check the data, the copy is made as its two halves, a read and a write.
        bool copies = !step->kind->error && !thread->runner->job->verify;
        thread->copies = copies ? step->kind->call_id : 0;
        return 0;
    }
    if (file && posix_copies(thread, step)) return copy_half(thread, file, step);
    int64_t result = file ? call_on_file(thread, file, step) : call_on_nothing(thread, step);
    return result < 0 ? -errno : 0;
}

// Everything else that is open is closed at the end of the process, as in the program.
static void posix_end_file(struct replay_file *file) {
    if (file->directory) closedir(file->directory);
    file->directory = NULL;
}

const struct replay_backend replay_posix = {
    .layer = LAYER_POSIX,
    .lacks = posix_lacks,
    .make_ready = posix_make_ready,
    .open = posix_open,
    .close = posix_close,
    .transfer = posix_transfer,
    .other = posix_other,
    .complete = posix_complete,
    .end_file = posix_end_file,
};
