// POSIX calls: by the name that the program called where there is a simple way, else by pread and pwrite.
#include <aio.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "replay/runner/runner.h"
#include "replay/runner/unrecorded.h"

static int descriptor_of(const struct replay_file *file)
{
    if (file->fd >= 0) return file->fd;
    if (file->directory) return dirfd(file->directory);
    return file->stream ? file->stream->_fileno : file->spare; // fileno() would be seen, and is not the program's
}

static bool is_call(const struct model_step *step, const char *name)
{
    return !strcmp(step->kind->call, name);
}

// --- open and close

static int64_t directory_open(struct lane_run *lane, struct replay_file *file, const struct model_step *step)
{
    bool adopts = is_call(step, "fdopendir") && file->fd >= 0;
    DIR *directory = adopts ? fdopendir(file->fd) : opendir(file->path);
    if (!directory) return -errno;
    if (adopts) file->fd = -1;
    if (file->directory) closedir(file->directory);
    file->directory = directory;
    runner_opened(lane->runner, file);
    return 0;
}

// The stream goes on with what has been opened now, as where a shell makes it the program's standard output.
static void move_stream(struct replay_file *file, int fd, int flags)
{
    if (!file->stream || !file->stream_is_on) return;
    bool fits = (flags & O_ACCMODE) == (file->flags & O_ACCMODE);
    if (fits && unseen_dup2(fd, file->stream->_fileno) >= 0) return;
    file->stream = NULL; // ends with the process
}

static int64_t posix_open(struct lane_run *lane, struct replay_file *file, const struct model_step *step)
{
    int flags = (int)step->kind->flags;
    if (is_call(step, "opendir") || is_call(step, "fdopendir")) return directory_open(lane, file, step);
    if (is_call(step, "creat")) flags = O_WRONLY | O_CREAT | O_TRUNC;
    if (file->fd >= 0 && file->spare < 0) file->spare = file->fd; // opened twice: the older one serves nobody by name
    int fd = is_call(step, "creat")    ? creat(file->path, 0600)
             : is_call(step, "openat") ? openat(AT_FDCWD, file->path, flags, 0600)
                                       : open(file->path, flags, 0600);
    if (fd < 0) return -errno;
    move_stream(file, fd, flags);
    file->fd = fd;
    file->flags = flags;
    file->uses_own = false;
    file->position = 0;
    runner_opened(lane->runner, file);
    return 0;
}

static int64_t posix_close(struct lane_run *lane, struct replay_file *file, const struct model_step *step)
{
    int fd = file->fd;
    if (is_call(step, "closedir")) {
        DIR *directory = file->directory;
        file->directory = NULL;
        return directory && closedir(directory) < 0 ? -errno : 0;
    }
    if (fd < 0) return 0;
    file->uses_own = false;
    bool threads = model_threads(&lane->runner->model, lane->runner->options->program) > 1;
    if (file->duplicated || !threads) { // goes on under another number, if there is one
        file->duplicated = false;
        file->fd = file->spare;
        file->spare = -1;
        return close(fd) < 0 ? -errno : 0;
    }
    if (file->spare < 0) file->spare = unseen_dup(fd);
    file->fd = -1;
    return close(fd) < 0 ? -errno : 0;
}

// --- transfers

static int64_t submit(struct lane_run *lane, int fd, const struct model_step *step, void *data)
{
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
    lane->submitted = block;
    return step->op->at[AT_SIZE];
}

static int64_t posix_complete(void *request)
{
    struct aiocb *block = request;
    const struct aiocb *const list[] = {block};
    while (aio_error(block) == EINPROGRESS) aio_suspend(list, 1, NULL);
    int error = aio_error(block);
    ssize_t moved = aio_return(block);
    free(block);
    return error ? -error : moved;
}

// Puts what the descriptor is of under a number that is the file's for good.
static void use_own(struct replay_file *file, int fd)
{
    int own = file->own < 0 ? unseen_dup(fd) : unseen_dup2(fd, file->own);
    file->uses_own = own >= 0;
    if (own >= 0) file->own = own;
}

// Others moved the position that the program shared with them. A recorder that saw the file opened would not notice
// that: from now on a duplicate serves which it knows nothing of.
static void seek_unseen(struct replay_file *file, int fd, off_t offset)
{
    if (!file->uses_own) use_own(file, fd);
    file->position = file->uses_own ? unseen_seek(file->own, offset) : lseek(fd, offset, SEEK_SET);
}

static int64_t at_position(struct replay_file *file, int fd, const struct model_step *step, void *data)
{
    bool is_write = step->kind->class == CLASS_WRITE, is_vector = strchr(step->kind->call, 'v') != NULL;
    size_t size = (size_t)step->op->at[AT_SIZE];
    off_t offset = step->op->at[AT_OFFSET];
    struct iovec piece = {data, size};
    bool appends = is_write && file->flags & O_APPEND;
    if (step->kind->has_offset && file->position != offset && !appends) seek_unseen(file, fd, offset);
    if (file->uses_own) fd = file->own;
    ssize_t moved;
    if (step->kind->layer == LAYER_STDIO)
        moved = dprintf(fd, "%.*s", (int)size, (const char *)data);
    else if (is_vector)
        moved = is_write ? writev(fd, &piece, 1) : readv(fd, &piece, 1);
    else
        moved = is_write ? write(fd, data, size) : read(fd, data, size);
    if (moved < 0) return -errno;
    file->position = (appends ? offset : file->position) + moved;
    return moved;
}

static int64_t posix_transfer(struct lane_run *lane, struct replay_file *file, const struct model_step *step,
                              void *data)
{
    const char *call = step->kind->call;
    int fd = file->uses_own ? file->own : descriptor_of(file);
    bool is_write = step->kind->class == CLASS_WRITE;
    size_t size = (size_t)step->op->at[AT_SIZE];
    off_t offset = step->op->at[AT_OFFSET];
    ssize_t moved;
    if (fd < 0) return -EBADF;
    if (step->kind->nonblocking) return submit(lane, fd, step, data);
    if (step->kind->layer == LAYER_STDIO || !strcmp(call, "read") || !strcmp(call, "write") || !strcmp(call, "readv") ||
        !strcmp(call, "writev")) {
        return at_position(file, fd, step, data);
    }
    if (!strncmp(call, "preadv", 6) || !strncmp(call, "pwritev", 7)) {
        struct iovec piece = {data, size};
        bool second = strchr(call, '2') != NULL;
        moved = second     ? is_write ? pwritev2(fd, &piece, 1, offset, 0) : preadv2(fd, &piece, 1, offset, 0)
                    : is_write ? pwritev(fd, &piece, 1, offset)
                           : preadv(fd, &piece, 1, offset);
    } else {
        moved = is_write ? pwrite(fd, data, size, offset) : pread(fd, data, size, offset);
    }
    return moved < 0 ? -errno : moved;
}

// --- calls on an open file; each gives 0 or more, or -1 with errno

static int64_t do_dup(struct replay_file *file, int fd, const struct model_step *step)
{
    if (is_call(step, "dup")) {
        file->spare = dup(fd);
    } else { // to a number that nothing else has
        int to = file->spare >= 0 ? file->spare : unseen_dup(fd);
        file->spare = is_call(step, "dup2") ? dup2(fd, to) : dup3(fd, to, 0);
    }
    file->duplicated = file->spare >= 0;
    return file->spare;
}

static int64_t do_lseek(struct replay_file *file, int fd, const struct model_step *step)
{
    off_t to = lseek(fd, step->op->at[AT_OFFSET], SEEK_SET);
    if (to >= 0) file->position = to;
    return to;
}

static int64_t do_fsync(struct replay_file *file, int fd, const struct model_step *step)
{
    (void)file, (void)step;
    return fsync(fd);
}

static int64_t do_fdatasync(struct replay_file *file, int fd, const struct model_step *step)
{
    (void)file, (void)step;
    return fdatasync(fd);
}

static int64_t do_syncfs(struct replay_file *file, int fd, const struct model_step *step)
{
    (void)file, (void)step;
    return syncfs(fd);
}

static int64_t do_sync_range(struct replay_file *file, int fd, const struct model_step *step)
{
    (void)file;
    unsigned all = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    return sync_file_range(fd, step->op->at[AT_OFFSET], step->op->at[AT_SIZE], all);
}

static int64_t do_ftruncate(struct replay_file *file, int fd, const struct model_step *step)
{
    (void)file;
    return ftruncate(fd, step->op->at[AT_SIZE]);
}

static int64_t do_fallocate(struct replay_file *file, int fd, const struct model_step *step)
{
    (void)file;
    if (is_call(step, "fallocate")) return fallocate(fd, 0, step->op->at[AT_OFFSET], step->op->at[AT_SIZE]);
    errno = posix_fallocate(fd, step->op->at[AT_OFFSET], step->op->at[AT_SIZE]);
    return errno ? -1 : 0;
}

static int64_t do_advise(struct replay_file *file, int fd, const struct model_step *step)
{
    (void)file;
    if (is_call(step, "readahead")) return readahead(fd, step->op->at[AT_OFFSET], (size_t)step->op->at[AT_SIZE]);
    errno = posix_fadvise(fd, step->op->at[AT_OFFSET], step->op->at[AT_SIZE], POSIX_FADV_NORMAL);
    return errno ? -1 : 0;
}

static int64_t do_fstat(struct replay_file *file, int fd, const struct model_step *step)
{
    struct stat about;
    (void)file, (void)step;
    return fstat(fd, &about);
}

static int64_t do_fstatfs(struct replay_file *file, int fd, const struct model_step *step)
{
    struct statfs about;
    struct statvfs more;
    (void)file;
    return is_call(step, "fstatfs") ? fstatfs(fd, &about) : fstatvfs(fd, &more);
}

static int64_t do_fcntl(struct replay_file *file, int fd, const struct model_step *step)
{
    (void)file, (void)step;
    return fcntl(fd, F_GETFL);
}

// Shared: nobody waits for ever.
static int64_t do_lock(struct replay_file *file, int fd, const struct model_step *step)
{
    (void)file;
    return is_call(step, "flock") ? flock(fd, LOCK_SH) : lockf(fd, F_TEST, step->op->at[AT_SIZE]);
}

static int64_t do_fchmod(struct replay_file *file, int fd, const struct model_step *step)
{
    (void)file;
    return is_call(step, "fchmod") ? fchmod(fd, 0700) : fchown(fd, (uid_t)-1, (gid_t)-1);
}

static int64_t do_fchdir(struct replay_file *file, int fd, const struct model_step *step)
{
    (void)file, (void)step;
    return fchdir(fd);
}

static int64_t do_futimens(struct replay_file *file, int fd, const struct model_step *step)
{
    (void)file, (void)step;
    return futimens(fd, NULL);
}

// What a program does with mapped memory is not in the log: the mapping is made and not touched.
static int64_t do_mmap(struct replay_file *file, int fd, const struct model_step *step)
{
    int protection = (file->flags & O_ACCMODE) == O_RDWR ? PROT_READ | PROT_WRITE : PROT_READ;
    if (file->mapping) munmap(file->mapping, file->mapped_bytes);
    void *at = mmap(NULL, (size_t)step->op->at[AT_SIZE], protection, MAP_SHARED, fd, step->op->at[AT_OFFSET]);
    if (at == MAP_FAILED)
        at = mmap(NULL, (size_t)step->op->at[AT_SIZE], protection, MAP_PRIVATE, fd, step->op->at[AT_OFFSET]);
    file->mapping = at == MAP_FAILED ? NULL : at;
    file->mapped_bytes = (size_t)step->op->at[AT_SIZE];
    return file->mapping ? 0 : -1;
}

static int64_t do_getdents(struct replay_file *file, int fd, const struct model_step *step)
{
    char entries[4096];
    (void)file, (void)step;
    return getdents64(fd, entries, sizeof entries);
}

static const struct {
    const char *call;
    int64_t (*run)(struct replay_file *file, int fd, const struct model_step *step);
} open_calls[] = {
    {"dup", do_dup},
    {"dup2", do_dup},
    {"dup3", do_dup},
    {"lseek", do_lseek},
    {"fsync", do_fsync},
    {"fdatasync", do_fdatasync},
    {"syncfs", do_syncfs},
    {"ftruncate", do_ftruncate},
    {"sync_file_range", do_sync_range},
    {"fstat", do_fstat},
    {"fallocate", do_fallocate},
    {"posix_fallocate", do_fallocate},
    {"readahead", do_advise},
    {"posix_fadvise", do_advise},
    {"fstatfs", do_fstatfs},
    {"fstatvfs", do_fstatfs},
    {"fcntl", do_fcntl},
    {"flock", do_lock},
    {"lockf", do_lock},
    {"fchmod", do_fchmod},
    {"fchown", do_fchmod},
    {"futimens", do_futimens},
    {"aio_fsync", do_fsync},
    {"io_submit_sync", do_fsync},
    {"io_uring_sync", do_fsync},
    {"mmap", do_mmap},
    {"fchdir", do_fchdir},
    {"getdents64", do_getdents},
};

enum { OPEN_CALLS = sizeof open_calls / sizeof *open_calls };

// --- what the calls need

static size_t find_open_call(const struct model_step *step)
{
    size_t i = 0;
    while (i < OPEN_CALLS && !is_call(step, open_calls[i].call)) i++;
    return i;
}

// The file was opened several times, and the last one is not for this.
static bool access_lacks(const struct replay_file *file, unsigned class)
{
    int access = file->flags & O_ACCMODE;
    if (file->uses_own || access == O_RDWR) return false;
    return (class == CLASS_READ && access == O_WRONLY) || (class == CLASS_WRITE && access == O_RDONLY);
}

static bool posix_lacks(const struct replay_file *file, const struct model_step *step)
{
    unsigned class = step->kind->class;
    if (class == CLASS_CLOSE) return file->fd < 0 && !is_call(step, "closedir");
    if (descriptor_of(file) >= 0) return access_lacks(file, class);
    return class == CLASS_READ || class == CLASS_WRITE || find_open_call(step) < OPEN_CALLS;
}

static void posix_make_ready(const struct runner *runner, struct replay_file *file, const struct model_step *step)
{
    int open = descriptor_of(file), flags = file->flags;
    if (open >= 0 && access_lacks(file, step->kind->class)) {
        int fd = runner_open_inherited(runner, file, step);
        file->flags = flags;
        if (fd < 0) return;
        use_own(file, fd);
        unseen_close(fd);
        return;
    }
    file->fd = open < 0 ? runner_open_inherited(runner, file, step) : unseen_dup(open);
}

// --- calls on nothing, or on what is not a descriptor

// On what is not a descriptor: mappings and directories.
static int64_t on_other(struct replay_file *file, const struct model_step *step, bool *known)
{
    *known = true;
    if (is_call(step, "munmap") && file->mapping) {
        void *mapping = file->mapping;
        file->mapping = NULL;
        return munmap(mapping, file->mapped_bytes) < 0 ? -errno : 0;
    }
    if (is_call(step, "msync") && file->mapping) {
        return msync(file->mapping, file->mapped_bytes, MS_SYNC) < 0 ? -errno : 0;
    }
    if (is_call(step, "readdir") && file->directory) {
        readdir(file->directory);
        return 0;
    }
    if (is_call(step, "rewinddir") && file->directory) {
        rewinddir(file->directory);
        return 0;
    }
    *known = false;
    return 0;
}

// What failed because nothing was open fails again.
static bool on_nothing(const struct model_step *step)
{
    if (is_call(step, "fcntl")) return fcntl(-1, F_GETFL) < 0;
    if (is_call(step, "close")) return close(-1) < 0;
    return false;
}

// --- copies inside the kernel: a call of its own, then what it read and what it wrote

bool posix_copies(const struct lane_run *lane, const struct model_step *step)
{
    const char *call = step->kind->call;
    return lane->copies && (!strncmp(call, "copy_file_range_", 16) || !strncmp(call, "sendfile_", 9));
}

// NULL where it is the position that a descriptor has.
static off_t *unless_there(const struct replay_file *file, off_t *offset)
{
    return file->position == *offset ? NULL : offset;
}

static int64_t copy(struct replay_file *source, off_t from, struct replay_file *file, const struct model_step *step)
{
    int in = descriptor_of(source), out = descriptor_of(file);
    size_t size = (size_t)step->op->at[AT_SIZE];
    off_t to = step->op->at[AT_OFFSET], *in_offset = unless_there(source, &from), *out_offset = unless_there(file, &to);
    ssize_t moved;
    if (!strncmp(step->kind->call, "sendfile", 8)) {
        if (out_offset) file->position = lseek(out, to, SEEK_SET);
        out_offset = NULL;
        moved = sendfile(out, in, in_offset, size);
    } else {
        moved = copy_file_range(in, in_offset, out, out_offset, size, 0);
    }
    if (moved < 0) return -errno;
    if (!in_offset) source->position += moved;
    if (!out_offset) file->position += moved;
    return moved;
}

static int64_t copy_half(struct lane_run *lane, struct replay_file *file, const struct model_step *step)
{
    if (step->kind->class == CLASS_READ) {
        lane->source = file;
        lane->source_offset = step->op->at[AT_OFFSET];
        lane->source_phase = step->phase;
        return 0;
    }
    struct replay_file *source = lane->source;
    lane->copies = false;
    lane->source = NULL;
    return source ? copy(source, lane->source_offset, file, step) : -EINVAL;
}

// Where data is checked it must be the file's own: then the halves are done one by one.
static bool begins_copy(struct lane_run *lane, const struct model_step *step)
{
    if (!is_call(step, "copy_file_range") && !is_call(step, "sendfile")) return false;
    lane->copies = !step->kind->error && !lane->runner->options->verify;
    return true;
}

// --- the rest

static int64_t posix_other(struct lane_run *lane, struct replay_file *file, const struct model_step *step)
{
    bool known = false;
    if (is_call(step, "sync")) {
        sync();
        return 0;
    }
    if (begins_copy(lane, step)) return 0;
    if (file && posix_copies(lane, step)) return copy_half(lane, file, step);
    size_t call = file ? find_open_call(step) : OPEN_CALLS;
    if (call < OPEN_CALLS) {
        int fd = descriptor_of(file);
        return fd < 0 ? -EBADF : open_calls[call].run(file, fd, step) < 0 ? -errno : 0;
    }
    int64_t result = file ? on_other(file, step, &known) : 0;
    if (!known && file) result = names_call(lane, file, step, &known);
    if (!file && step->kind->error == EBADF && on_nothing(step)) return -EBADF;
    if (!known) runner_skip(lane->runner, step);
    return result;
}

// What else is open ends with the process, as the program's did.
static void posix_end_file(struct replay_file *file)
{
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
