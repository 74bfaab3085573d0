// Open files and their data: moved at once, answered when the emulated device would have done it.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "target/emulate_private.h"

// Flags for the file below. It is written at the offsets that the kernel says, also by those who append, and through
// its page cache whatever the program asked for: its speed is not what is emulated.
static int flags_below(int flags)
{
    return (flags & ~(O_APPEND | O_DIRECT | O_NOFOLLOW | O_SYNC | O_DSYNC)) | O_CLOEXEC;
}

static void set_caching(const struct emulate *emulate, struct fuse_file_info *file)
{
    file->direct_io = !emulate->kernel_cache;
    file->keep_cache = emulate->kernel_cache;
}

static void on_open(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file)
{
    int fd = open(emulate_path(emulate_node(request, number)).text, flags_below(file->flags) & ~O_CREAT);
    if (fd < 0) {
        fuse_reply_err(request, errno);
        return;
    }
    file->fh = (uint64_t)fd;
    set_caching(emulate_of(request), file);
    if (fuse_reply_open(request, file) == -ENOENT) close(fd);
}

static void on_create(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *file)
{
    struct emulate *emulate = emulate_of(request);
    struct node *directory = emulate_node(request, parent);
    const struct fuse_ctx *caller = fuse_req_ctx(request);
    struct fuse_entry_param entry;
    int fd = openat(directory->fd, name, flags_below(file->flags) | O_CREAT, mode), error = fd < 0 ? errno : 0;
    if (!error && geteuid() == 0 && (caller->uid || caller->gid) && fchown(fd, caller->uid, caller->gid) < 0)
        error = errno;
    if (!error) error = emulate_look_up(emulate, directory, name, &entry);
    emulate_wait_meta(request);
    if (error) {
        if (fd >= 0) close(fd);
        fuse_reply_err(request, error);
        return;
    }
    file->fh = (uint64_t)fd;
    set_caching(emulate, file);
    if (fuse_reply_create(request, &entry, file) == -ENOENT) close(fd);
}

static void on_flush(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file)
{
    (void)number;
    fuse_reply_err(request, close(dup((int)file->fh)) < 0 ? errno : 0);
}

static void on_release(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file)
{
    (void)number;
    close((int)file->fh);
    fuse_reply_err(request, 0);
}

// The file below is not made durable: nothing outlives the machine here, and its device is not the emulated one.
static void on_fsync(fuse_req_t request, fuse_ino_t number, int data_only, struct fuse_file_info *file)
{
    (void)number, (void)data_only, (void)file;
    emulate_wait(request, emulate_now_ns() + emulate_of(request)->device.settings.latency_ns);
    fuse_reply_err(request, 0);
}

// --- transfers

static void on_read(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset, struct fuse_file_info *file)
{
    struct device *device = &emulate_of(request)->device;
    int64_t now_ns = emulate_now_ns();
    char *buffer = malloc(size ? size : 1);
    ssize_t got = buffer ? pread((int)file->fh, buffer, size, offset) : -1;
    int error = !buffer ? ENOMEM : got < 0 ? errno : 0;
    struct device_request what = {false, number, (uint64_t)offset, error ? 0 : (uint64_t)got};
    emulate_wait(request, device_admit(device, &what, now_ns));
    if (error) {
        fuse_reply_err(request, error);
    } else {
        fuse_reply_buf(request, buffer, (size_t)got);
    }
    device_end(device, emulate_now_ns());
    free(buffer);
}

static void on_write_buf(fuse_req_t request, fuse_ino_t number, struct fuse_bufvec *from, off_t offset,
                         struct fuse_file_info *file)
{
    struct device *device = &emulate_of(request)->device;
    int64_t now_ns = emulate_now_ns();
    struct fuse_bufvec to = FUSE_BUFVEC_INIT(fuse_buf_size(from));
    to.buf[0].flags = FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK;
    to.buf[0].fd = (int)file->fh;
    to.buf[0].pos = offset;
    ssize_t put = fuse_buf_copy(&to, from, 0);
    struct device_request what = {true, number, (uint64_t)offset, put < 0 ? 0 : (uint64_t)put};
    emulate_wait(request, device_admit(device, &what, now_ns));
    if (put < 0) {
        fuse_reply_err(request, (int)-put);
    } else {
        fuse_reply_write(request, (size_t)put);
    }
    device_end(device, emulate_now_ns());
}

static void on_fallocate(fuse_req_t request, fuse_ino_t number, int mode, off_t offset, off_t length,
                         struct fuse_file_info *file)
{
    (void)number;
    int error = fallocate((int)file->fh, mode, offset, length) < 0 ? errno : 0;
    emulate_wait_meta(request);
    fuse_reply_err(request, error);
}

static void on_lseek(fuse_req_t request, fuse_ino_t number, off_t offset, int whence, struct fuse_file_info *file)
{
    (void)number;
    off_t found = lseek((int)file->fh, offset, whence);
    if (found < 0) {
        fuse_reply_err(request, errno);
    } else {
        fuse_reply_lseek(request, found);
    }
}

// Copied inside the storage it still goes through both bandwidths.
static void on_copy(fuse_req_t request, fuse_ino_t from, off_t from_offset, struct fuse_file_info *from_file,
                    fuse_ino_t to, off_t to_offset, struct fuse_file_info *to_file, size_t length, int flags)
{
    struct device *device = &emulate_of(request)->device;
    int64_t now_ns = emulate_now_ns();
    off_t from_at = from_offset, to_at = to_offset;
    ssize_t copied = copy_file_range((int)from_file->fh, &from_at, (int)to_file->fh, &to_at, length, (unsigned)flags);
    if (copied < 0) {
        fuse_reply_err(request, errno);
        return;
    }
    struct device_request reading = {false, from, (uint64_t)from_offset, (uint64_t)copied};
    struct device_request writing = {true, to, (uint64_t)to_offset, (uint64_t)copied};
    int64_t read_ns = device_admit(device, &reading, now_ns), written_ns = device_admit(device, &writing, now_ns);
    emulate_wait(request, read_ns > written_ns ? read_ns : written_ns);
    fuse_reply_write(request, (size_t)copied);
    device_end(device, emulate_now_ns());
    device_end(device, emulate_now_ns());
}

void emulate_data_operations(struct fuse_lowlevel_ops *operations)
{
    operations->open = on_open;
    operations->create = on_create;
    operations->flush = on_flush;
    operations->release = on_release;
    operations->fsync = on_fsync;
    operations->read = on_read;
    operations->write_buf = on_write_buf;
    operations->fallocate = on_fallocate;
    operations->lseek = on_lseek;
    operations->copy_file_range = on_copy;
}
