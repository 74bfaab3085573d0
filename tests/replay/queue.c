// Writes and reads a file with POSIX asynchronous I/O, with DEPTH transfers active at any time:
//   queue FILE DEPTH COUNT BYTES
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int end(struct aiocb *block) {
    const struct aiocb *const list[] = {block};
    while (aio_error(block) == EINPROGRESS) aio_suspend(list, 1, NULL);
    return aio_return(block) == (ssize_t)block->aio_nbytes ? 0 : -1;
}

static int run(int fd, long depth, long count, size_t bytes, int (*begin)(struct aiocb *)) {
    struct aiocb *block = calloc((size_t)depth, sizeof *block);
    char *data = calloc((size_t)depth, bytes);
    int status = block && data ? 0 : -1;
    for (long i = 0; i < count + depth && !status; i++) {
        struct aiocb *next = &block[i % depth];
        if (i >= depth) status = end(next);
        if (i >= count || status) continue;
        *next = (struct aiocb){.aio_fildes = fd,
                               .aio_buf = data + (size_t)(i % depth) * bytes,
                               .aio_nbytes = bytes,
                               .aio_offset = (off_t)((size_t)i * bytes)};
        status = begin(next);
    }
    free(block);
    free(data);
    return status;
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    long depth = atol(argv[2]), count = atol(argv[3]);
    size_t bytes = (size_t)atol(argv[4]);
    int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
    if (fd < 0 || depth < 1 || count < depth) return 1;
    int status = run(fd, depth, count, bytes, aio_write) || run(fd, depth, count, bytes, aio_read);
    return close(fd) || status ? 1 : 0;
}
