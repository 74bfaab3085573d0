#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"

int io_read_all(int fd, struct bytes *out, size_t limit) {
    enum { PIECE = 1 << 16 };
    for (;;) {
        uint8_t *room = bytes_reserve(out, PIECE);
        RETURN_IF(!room, -ENOMEM);
        ssize_t got = read(fd, room, PIECE);
        if (got == 0) return 0;
        RETURN_IF(got < 0 && errno != EINTR, -errno);
        if (got > 0) out->len += (size_t)got;
        RETURN_IF(out->len > limit, ERR_LIMIT);
    }
}

bool io_first_line(const char *path, char *line, size_t size) {
    FILE *file = fopen(path, "re");
    bool read = file && fgets(line, (int)size, file);
    if (file) fclose(file);
    line[read ? strcspn(line, "\n") : 0] = 0;
    return read;
}

int io_write_all(int fd, const void *data, size_t len) {
    for (const uint8_t *at = data; len > 0;) {
        ssize_t done = write(fd, at, len);
        if (done < 0 && errno == EINTR) continue;
        RETURN_IF(done <= 0, done < 0 ? -errno : -EIO);
        at += done;
        len -= (size_t)done;
    }
    return 0;
}

int io_write_text(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    RETURN_IF(fd < 0, -errno);
    int code = write(fd, text, strlen(text)) < 0 ? -errno : 0;
    close(fd);
    return code;
}

int64_t io_read_at(int fd, void *out, size_t len, uint64_t offset) {
    size_t done = 0;
    while (done < len) {
        ssize_t got = pread(fd, (uint8_t *)out + done, len - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        RETURN_IF(got < 0, -errno);
        if (got == 0) break;
        done += (size_t)got;
    }
    return (int64_t)done;
}

int io_write_at(int fd, const void *data, size_t len, uint64_t offset) {
    for (const uint8_t *at = data; len > 0;) {
        ssize_t done = pwrite(fd, at, len, (off_t)offset);
        if (done < 0 && errno == EINTR) continue;
        RETURN_IF(done <= 0, done < 0 ? -errno : -EIO);
        at += done;
        offset += (uint64_t)done;
        len -= (size_t)done;
    }
    return 0;
}

int io_beside_open(struct io_beside *beside, const char *path, mode_t mode) {
    RETURN_IF(snprintf(beside->path, sizeof beside->path, "%s.new", path) >= PATH_MAX, -ENAMETOOLONG);
    unlink(beside->path);
    beside->fd = open(beside->path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode);
    return beside->fd < 0 ? -errno : 0;
}

int io_beside_close(struct io_beside *beside, const char *path, int code) {
    if (close(beside->fd) < 0 && code >= 0) code = -errno;
    if (code >= 0 && rename(beside->path, path) < 0) code = -errno;
    if (code < 0) unlink(beside->path);
    return code;
}

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *place) {
    (void)about, (void)kind, (void)place;
    remove(path);
    return 0;
}

int io_make_beside(const char *path, int (*make)(void *context, const char *beside), void *context) {
    enum { OPEN_FOLDERS = 8 };
    char *beside;
    RETURN_IF(asprintf(&beside, "%s.%ld.part", path, (long)getpid()) < 0, -ENOMEM);
    int code = make(context, beside);
    if (code == 0 && rename(beside, path)) code = -errno;
    if (code < 0) nftw(beside, remove_entry, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    free(beside);
    return code;
}

int io_lock(int fd, int timeout_ms) {
    enum { RETRY_NS = 5000000 };
    int64_t until_ns = clock_now_ns() + timeout_ms * INT64_C(1000000);
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        RETURN_IF(errno != EWOULDBLOCK && errno != EINTR, -errno);
        RETURN_IF(clock_now_ns() >= until_ns, -ETIMEDOUT);
        clock_sleep_until(clock_now_ns() + RETRY_NS);
    }
    return 0;
}
