// POSIX calls: by the name that the program called where there is a simple way, else by pread and pwrite.
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "replay/runner.h"

enum { FAR = 256 }; // from descriptors that are in use

static int64_t posix_open(struct lane_run *lane, struct replay_file *file, const struct model_step *step)
{
    const char *call = step->kind->call;
    int flags = (int)step->kind->flags;
    if (!strcmp(call, "creat")) flags = O_WRONLY | O_CREAT | O_TRUNC;
    if (file->fd >= 0 && file->spare < 0) file->spare = file->fd; // opened twice: the older one serves nobody by name
    int fd = !strcmp(call, "creat")    ? creat(file->path, 0600)
             : !strcmp(call, "openat") ? openat(AT_FDCWD, file->path, flags, 0600)
                                       : open(file->path, flags, 0600);
    if (fd < 0) return -errno;
    file->fd = fd;
    file->flags = flags;
    file->position = 0;
    runner_opened(lane->runner, file);
    return 0;
}

static int64_t posix_close(struct lane_run *lane, struct replay_file *file, const struct model_step *step)
{
    (void)lane, (void)step;
    int fd = file->fd;
    if (fd < 0) return 0;
    if (file->duplicated) { // goes on under another number
        file->duplicated = false;
        file->fd = file->spare;
        file->spare = -1;
        return close(fd) < 0 ? -errno : 0;
    }
    if (file->spare < 0 && model_threads(&lane->runner->model, lane->runner->options->program) > 1)
        file->spare = dup(fd);
    file->fd = -1;
    return close(fd) < 0 ? -errno : 0;
}

static int64_t by_aio(int fd, bool is_write, void *data, size_t size, off_t offset)
{
    struct aiocb control = {.aio_fildes = fd, .aio_buf = data, .aio_nbytes = size, .aio_offset = offset};
    const struct aiocb *const list[] = {&control};
    if ((is_write ? aio_write(&control) : aio_read(&control)) < 0) return -errno;
    while (aio_error(&control) == EINPROGRESS) aio_suspend(list, 1, NULL);
    int error = aio_error(&control);
    ssize_t moved = aio_return(&control);
    return error ? -error : moved;
}

static int64_t at_position(struct replay_file *file, int fd, const struct model_step *step, void *data)
{
    bool is_write = step->kind->class == CLASS_WRITE, is_vector = strchr(step->kind->call, 'v') != NULL;
    size_t size = (size_t)step->op->at[AT_SIZE];
    off_t offset = step->op->at[AT_OFFSET];
    struct iovec piece = {data, size};
    if (step->kind->has_offset && file->position != offset) file->position = lseek(fd, offset, SEEK_SET);
    ssize_t moved = is_vector  ? is_write ? writev(fd, &piece, 1) : readv(fd, &piece, 1)
                     : is_write ? write(fd, data, size)
                               : read(fd, data, size);
    if (moved < 0) return -errno;
    file->position += moved;
    return moved;
}

static int64_t posix_transfer(struct lane_run *lane, struct replay_file *file, const struct model_step *step,
                              void *data)
{
    const char *call = step->kind->call;
    int fd = file->fd >= 0 ? file->fd : file->spare;
    bool is_write = step->kind->class == CLASS_WRITE;
    size_t size = (size_t)step->op->at[AT_SIZE];
    off_t offset = step->op->at[AT_OFFSET];
    ssize_t moved;
    (void)lane;
    if (fd < 0) return -EBADF;
    if (!strncmp(call, "aio_", 4)) return by_aio(fd, is_write, data, size, offset);
    if (!strcmp(call, "read") || !strcmp(call, "write") || !strcmp(call, "readv") || !strcmp(call, "writev")) {
        return at_position(file, fd, step, data);
    }
    if (!strncmp(call, "preadv", 6) || !strncmp(call, "pwritev", 7)) {
        struct iovec piece = {data, size};
        moved = is_write ? pwritev(fd, &piece, 1, offset) : preadv(fd, &piece, 1, offset);
    } else {
        moved = is_write ? pwrite(fd, data, size, offset) : pread(fd, data, size, offset);
    }
    return moved < 0 ? -errno : moved;
}

// Calls that need an open file.
static int64_t on_open_file(struct replay_file *file, int fd, const struct model_step *step, bool *known)
{
    const char *call = step->kind->call;
    int64_t size = step->op->at[AT_SIZE];
    *known = true;
    if (!strncmp(call, "dup", 3)) {
        // dup2 and dup3 name a number: one that nothing else has.
        file->spare = call[3] == '2' ? dup2(fd, fd + FAR) : call[3] == '3' ? dup3(fd, fd + FAR, 0) : dup(fd);
        file->duplicated = file->spare >= 0;
        return file->spare < 0 ? -errno : 0;
    }
    if (!strcmp(call, "lseek")) {
        off_t to = lseek(fd, step->op->at[AT_OFFSET], SEEK_SET);
        if (to >= 0) file->position = to;
        return to < 0 ? -errno : 0;
    }
    if (!strcmp(call, "fsync")) return fsync(fd) < 0 ? -errno : 0;
    if (!strcmp(call, "fdatasync")) return fdatasync(fd) < 0 ? -errno : 0;
    if (!strcmp(call, "ftruncate")) return ftruncate(fd, size) < 0 ? -errno : 0;
    if (!strcmp(call, "fstat")) {
        struct stat about;
        return fstat(fd, &about) < 0 ? -errno : 0;
    }
    *known = false;
    return 0;
}

static int64_t on_name(struct lane_run *lane, struct replay_file *file, const struct model_step *step, bool *known)
{
    const char *call = step->kind->call;
    struct stat about;
    *known = true;
    if (!strcmp(call, "stat")) return stat(file->path, &about) < 0 ? -errno : 0;
    if (!strcmp(call, "lstat")) return lstat(file->path, &about) < 0 ? -errno : 0;
    if (!strcmp(call, "access")) return access(file->path, F_OK) < 0 ? -errno : 0;
    if (!strcmp(call, "unlink")) return unlink(file->path) < 0 ? -errno : 0;
    if (!strcmp(call, "mkdir")) return mkdir(file->path, 0700) < 0 ? -errno : 0;
    if (!strcmp(call, "rmdir")) return rmdir(file->path) < 0 ? -errno : 0;
    if (!strcmp(call, "truncate")) return truncate(file->path, step->op->at[AT_SIZE]) < 0 ? -errno : 0;
    if (!strcmp(call, "rename") && step->kind->set2 != OP_NO_SET) {
        struct replay_file *to = runner_file(lane->runner, step->kind->set2, (uint32_t)step->op->at[AT_SECOND]);
        return !to ? -ENOMEM : rename(file->path, to->path) < 0 ? -errno : 0;
    }
    *known = false;
    return 0;
}

static int64_t posix_other(struct lane_run *lane, struct replay_file *file, const struct model_step *step)
{
    bool known = false;
    int64_t result = 0;
    int fd = file ? file->fd >= 0 ? file->fd : file->spare : -1;
    if (fd >= 0) result = on_open_file(file, fd, step, &known);
    if (!known && file) result = on_name(lane, file, step, &known);
    if (!known) lane->runner->skipped++;
    return result;
}

static void posix_end_file(struct replay_file *file)
{
    if (file->fd >= 0) close(file->fd);
    file->fd = -1; // a spare one ends with the process: the program had none to close
}

const struct replay_backend replay_posix = {
    .layer = LAYER_POSIX,
    .open = posix_open,
    .close = posix_close,
    .transfer = posix_transfer,
    .other = posix_other,
    .end_file = posix_end_file,
};
