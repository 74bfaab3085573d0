// POSIX asynchronous I/O: libc moves the bytes in threads of its own.
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 8, BYTES = 1000 };

static char block[BLOCKS][BYTES];

static ssize_t finish(struct aiocb *request) {
    const struct aiocb *list[] = {request};
    while (aio_error(request) == EINPROGRESS) aio_suspend(list, 1, NULL);
    return aio_return(request);
}

static struct aiocb request_for(int fd, int number, int operation) {
    return (struct aiocb){.aio_fildes = fd,
                          .aio_buf = block[number],
                          .aio_nbytes = BYTES,
                          .aio_offset = (off_t)number * BYTES,
                          .aio_lio_opcode = operation};
}

int main(void) {
    memset(block, 'a', sizeof(block));
    int fd = open("asynchronous", O_RDWR | O_CREAT | O_TRUNC, 0644);
    struct aiocb one = request_for(fd, 0, LIO_WRITE), sync = {.aio_fildes = fd};
    printf("%d\n", aio_write(&one));
    printf("%zd\n", finish(&one));
    struct aiocb many[BLOCKS], *list[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        many[i] = request_for(fd, i, i % 2 ? LIO_WRITE : LIO_READ);
        list[i] = &many[i];
    }
    printf("%d\n", lio_listio(LIO_WAIT, list, BLOCKS, NULL));
    for (int i = 1; i < BLOCKS; i += 2) printf("%zd\n", finish(&many[i]));
    printf("%d\n", aio_fsync(O_SYNC, &sync));
    printf("%zd\n", finish(&sync));
    one = request_for(fd, BLOCKS - 1, LIO_READ);
    one.aio_offset += BYTES / 2;
    printf("%d\n", aio_read(&one));
    printf("%zd\n", finish(&one));
    close(fd);
    return 0;
}
