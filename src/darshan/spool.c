#include "darshan/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

#include "base/err.h"
#include "base/io.h"

enum { PIECE = 1 << 16 };

// Small additions are collected: a codec is slow to call.
struct spool {
    int fd;
    size_t waiting; // bytes of `in`
    uint8_t in[PIECE];
#ifdef HAVE_ZLIB
    z_stream zlib;
    uint8_t out[PIECE];
#endif
};

int spool_file(const char *beside) {
    char *path;
    RETURN_IF(asprintf(&path, "%s.XXXXXX", beside) < 0, -ENOMEM);
    int fd = mkostemp(path, O_CLOEXEC), code = fd < 0 ? -errno : fd;
    if (fd >= 0) unlink(path);
    free(path);
    return code;
}

#ifdef HAVE_ZLIB
enum darshan_codec spool_codec(void) { return DARSHAN_ZLIB; }

static int begin(struct spool *spool) { return deflateInit(&spool->zlib, Z_DEFAULT_COMPRESSION) == Z_OK ? 0 : -ENOMEM; }

static int flush(struct spool *spool, int mode) {
    z_stream *zlib = &spool->zlib;
    zlib->next_in = spool->in;
    zlib->avail_in = (unsigned)spool->waiting;
    spool->waiting = 0;
    do {
        zlib->next_out = spool->out;
        zlib->avail_out = sizeof spool->out;
        deflate(zlib, mode);
        FORWARD(io_write_all(spool->fd, spool->out, sizeof spool->out - zlib->avail_out));
    } while (zlib->avail_out == 0);
    return 0;
}

static int write_waiting(struct spool *spool) { return flush(spool, Z_NO_FLUSH); }
static int finish(struct spool *spool) { return flush(spool, Z_FINISH); }
static void end(struct spool *spool) { deflateEnd(&spool->zlib); }
#else
enum darshan_codec spool_codec(void) { return DARSHAN_PLAIN; }

static int begin(struct spool *spool) {
    (void)spool;
    return 0;
}

static int write_waiting(struct spool *spool) {
    size_t len = spool->waiting;
    spool->waiting = 0;
    return io_write_all(spool->fd, spool->in, len);
}

static int finish(struct spool *spool) { return write_waiting(spool); }
static void end(struct spool *spool) { (void)spool; }
#endif

int spool_open(struct spool **out, const char *beside) {
    struct spool *spool = calloc(1, sizeof *spool);
    RETURN_IF(!spool, -ENOMEM);
    int code = begin(spool);
    if (code < 0) {
        free(spool);
        return code;
    }
    *out = spool;
    spool->fd = spool_file(beside);
    return spool->fd < 0 ? spool->fd : 0;
}

int spool_add(struct spool *spool, const void *data, size_t len) {
    for (const uint8_t *at = data; len;) {
        size_t room = sizeof spool->in - spool->waiting, part = len < room ? len : room;
        memcpy(spool->in + spool->waiting, at, part);
        spool->waiting += part;
        at += part;
        len -= part;
        if (spool->waiting == sizeof spool->in) FORWARD(write_waiting(spool));
    }
    return 0;
}

int spool_copy(struct spool *spool, int fd, uint64_t *len) {
    FORWARD(finish(spool));
    RETURN_IF(lseek(spool->fd, 0, SEEK_SET) < 0, -errno);
    for (*len = 0;;) {
        ssize_t got = read(spool->fd, spool->in, sizeof spool->in);
        if (got == 0) return 0;
        RETURN_IF(got < 0 && errno != EINTR, -errno);
        if (got < 0) continue;
        FORWARD(io_write_all(fd, spool->in, (size_t)got));
        *len += (uint64_t)got;
    }
}

void spool_free(struct spool *spool) {
    if (!spool) return;
    end(spool);
    if (spool->fd >= 0) close(spool->fd);
    free(spool);
}
