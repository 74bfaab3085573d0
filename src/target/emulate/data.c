// FUSE requests about open files and their data. Data is moved at once; the reply waits for the emulated storage.
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target/emulate/server.h"

// Flags to open the backing file with. Writes go to the offsets that the kernel gives, even for appending programs, and
// through the page cache whatever the program asked for: the speed of the backing file does not count. With a page
// cache above, the kernel also reads from files that a program opened for writing only.
static int backing_flags(const struct emulate *emulate, int flags) {
    flags = (flags & ~(O_APPEND | O_DIRECT | O_NOFOLLOW | O_SYNC | O_DSYNC)) | O_CLOEXEC;
    bool widen = emulate->kernel_cache && (flags & O_ACCMODE) == O_WRONLY;
    return widen ? (flags & ~O_ACCMODE) | O_RDWR : flags;
}

// --- replies that libfuse 3.14 cannot write, because it does not know FOPEN_PARALLEL_DIRECT_WRITES

static struct fuse_open_out open_reply(const struct emulate *emulate, int fd) {
    uint32_t flags = emulate->kernel_cache ? FOPEN_KEEP_CACHE : FOPEN_DIRECT_IO | FOPEN_PARALLEL_DIRECT_WRITES;
    return (struct fuse_open_out){.fh = (uint64_t)fd, .open_flags = flags};
}

static struct fuse_attr attributes_reply(const struct stat *about) {
    return (struct fuse_attr){
        .ino = about->st_ino,
        .size = (uint64_t)about->st_size,
        .blocks = (uint64_t)about->st_blocks,
        .atime = (uint64_t)about->st_atim.tv_sec,
        .mtime = (uint64_t)about->st_mtim.tv_sec,
        .ctime = (uint64_t)about->st_ctim.tv_sec,
        .atimensec = (uint32_t)about->st_atim.tv_nsec,
        .mtimensec = (uint32_t)about->st_mtim.tv_nsec,
        .ctimensec = (uint32_t)about->st_ctim.tv_nsec,
        .mode = about->st_mode,
        .nlink = (uint32_t)about->st_nlink,
        .uid = about->st_uid,
        .gid = about->st_gid,
        .rdev = (uint32_t)about->st_rdev,
        .blksize = (uint32_t)about->st_blksize,
    };
}

// The kernel looks at the attributes of a file that it has just created. They are valid long enough for that.
enum { ATTRIBUTES_NS = 5000000 };

static int reply_created(fuse_req_t request, const struct fuse_entry_param *entry, int fd) {
    struct {
        struct fuse_entry_out entry;
        struct fuse_open_out open;
    } reply = {
        .entry = {.nodeid = entry->ino,
                  .entry_valid = (uint64_t)entry->entry_timeout,
                  .attr_valid = (uint64_t)entry->attr_timeout,
                  .attr_valid_nsec = ATTRIBUTES_NS,
                  .attr = attributes_reply(&entry->attr)},
        .open = open_reply(emulate_of(request), fd),
    };
    return fuse_reply_buf(request, (const char *)&reply, sizeof reply);
}

// --- opening

static void on_open(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file) {
    const struct emulate *emulate = emulate_of(request);
    struct node_path path = emulate_path(emulate_node(request, number));
    int fd = open(path.text, backing_flags(emulate, file->flags) & ~O_CREAT);
    if (fd < 0 && errno == EACCES) fd = open(path.text, (file->flags & (O_ACCMODE | O_TRUNC)) | O_CLOEXEC);
    if (fd < 0) {
        fuse_reply_err(request, errno);
        return;
    }
    struct fuse_open_out reply = open_reply(emulate, fd);
    if (fuse_reply_buf(request, (const char *)&reply, sizeof reply) == -ENOENT) close(fd);
}

// Takes no time: the look-up that found nothing took it (metadata.c).
static void on_create(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode,
                      struct fuse_file_info *file) {
    struct emulate *emulate = emulate_of(request);
    struct node *directory = emulate_node(request, parent);
    struct fuse_entry_param entry;
    int fd = openat(directory->fd, name, backing_flags(emulate, file->flags) | O_CREAT, mode),
        error = fd < 0 ? errno : 0;
    if (!error) error = emulate_give_to_caller(request, directory->fd, name);
    if (!error) error = emulate_look_up(emulate, directory, name, &entry);
    if (error) {
        if (fd >= 0) close(fd);
        fuse_reply_err(request, error);
    } else if (reply_created(request, &entry, fd) == -ENOENT) {
        emulate_forget(emulate, entry.ino, 1);
        close(fd);
    }
}

static void on_release(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *file) {
    (void)number;
    close((int)file->fh);
    fuse_reply_err(request, 0);
}

// Does not sync the backing file: its device is not the emulated one.
static void on_fsync(fuse_req_t request, fuse_ino_t number, int data_only, struct fuse_file_info *file) {
    (void)number, (void)data_only, (void)file;
    emulate_begin(request);
    emulate_wait(request, emulate_arrival_ns(request) + emulate_of(request)->speed.settings.latency_ns, 0);
    fuse_reply_err(request, 0);
}

// --- transfers

// Bytes that a read will return. It is known before the data is read, so that requests are admitted in order of
// arrival.
static uint64_t bytes_there(int fd, size_t size, off_t offset) {
    struct stat about;
    if (fstat(fd, &about) < 0 || !S_ISREG(about.st_mode)) return size;
    if (offset >= about.st_size) return 0;
    return (uint64_t)(about.st_size - offset) < size ? (uint64_t)(about.st_size - offset) : size;
}

// Returns when the request will be done.
static int64_t admit(fuse_req_t request, const struct client_interval *interval, bool is_write, fuse_ino_t file,
                     off_t offset, uint64_t bytes) {
    struct speed_request what = {is_write, file, (uint64_t)offset, bytes, interval->waited_ns};
    return speed_admit(&emulate_of(request)->speed, &what, emulate_arrival_ns(request));
}

static void end(struct emulate *emulate) { speed_end(&emulate->speed, clock_now_ns()); }

// The reply copies the data a second time. That takes as long as the first copy, unless the read waited for a disk.
enum { COPY_MOST_PS_PER_BYTE = 500 };

static int64_t copy_ns(int64_t began_ns, uint64_t bytes) {
    int64_t took_ns = clock_now_ns() - began_ns, most_ns = (int64_t)(bytes * COPY_MOST_PS_PER_BYTE / 1000);
    return took_ns < most_ns ? took_ns : most_ns;
}

static void on_read(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset, struct fuse_file_info *file) {
    struct emulate *emulate = emulate_of(request);
    uint64_t bytes = bytes_there((int)file->fh, size, offset);
    if (!bytes) {
        fuse_reply_buf(request, NULL, 0);
        return;
    }
    struct client_interval interval = emulate_begin(request);
    int64_t done_ns = admit(request, &interval, false, number, offset, bytes);
    char *buffer = malloc(size);
    int64_t began_ns = clock_now_ns();
    ssize_t got = buffer ? pread((int)file->fh, buffer, size, offset) : -1;
    int error = !buffer ? ENOMEM : got < 0 ? errno : 0;
    emulate_wait(request, done_ns, copy_ns(began_ns, bytes));
    error ? fuse_reply_err(request, error) : fuse_reply_buf(request, buffer, (size_t)got);
    end(emulate);
    free(buffer);
}

static void on_write(fuse_req_t request, fuse_ino_t number, const char *data, size_t size, off_t offset,
                     struct fuse_file_info *file) {
    struct emulate *emulate = emulate_of(request);
    struct client_interval interval = emulate_begin(request);
    int64_t done_ns = admit(request, &interval, true, number, offset, size);
    ssize_t put = pwrite((int)file->fh, data, size, offset);
    int error = put < 0 ? errno : 0;
    emulate_wait(request, done_ns, 0);
    error ? fuse_reply_err(request, error) : fuse_reply_write(request, (size_t)put);
    end(emulate);
}

static void on_fallocate(fuse_req_t request, fuse_ino_t number, int mode, off_t offset, off_t length,
                         struct fuse_file_info *file) {
    (void)number;
    int error = fallocate((int)file->fh, mode, offset, length) < 0 ? errno : 0;
    emulate_wait_meta(request);
    fuse_reply_err(request, error);
}

// Data that the page cache has not written yet would look like a hole. Without a reply the kernel reports data only.
static void on_lseek(fuse_req_t request, fuse_ino_t number, off_t offset, int whence, struct fuse_file_info *file) {
    (void)number;
    if (emulate_of(request)->kernel_cache) {
        fuse_reply_err(request, ENOSYS);
        return;
    }
    emulate_wait_meta(request);
    off_t found = lseek((int)file->fh, offset, whence);
    found < 0 ? fuse_reply_err(request, errno) : fuse_reply_lseek(request, found);
}

// A copy inside the storage uses both bandwidths.
static void on_copy(fuse_req_t request, fuse_ino_t from, off_t from_offset, struct fuse_file_info *from_file,
                    fuse_ino_t to, off_t to_offset, struct fuse_file_info *to_file, size_t length, int flags) {
    struct emulate *emulate = emulate_of(request);
    off_t from_at = from_offset, to_at = to_offset;
    ssize_t copied = copy_file_range((int)from_file->fh, &from_at, (int)to_file->fh, &to_at, length, (unsigned)flags);
    if (copied < 0) {
        fuse_reply_err(request, errno);
        return;
    }
    struct client_interval interval = emulate_begin(request);
    int64_t read_ns = admit(request, &interval, false, from, from_offset, (uint64_t)copied);
    int64_t written_ns = admit(request, &interval, true, to, to_offset, (uint64_t)copied);
    emulate_wait(request, read_ns > written_ns ? read_ns : written_ns, 0);
    fuse_reply_write(request, (size_t)copied);
    end(emulate);
    end(emulate);
}

void emulate_data_operations(struct fuse_lowlevel_ops *operations) {
    operations->open = on_open;
    operations->create = on_create;
    operations->release = on_release;
    operations->fsync = on_fsync;
    operations->read = on_read;
    operations->write = on_write;
    operations->fallocate = on_fallocate;
    operations->lseek = on_lseek;
    operations->copy_file_range = on_copy;
}
