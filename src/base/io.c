#include "base/io.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
