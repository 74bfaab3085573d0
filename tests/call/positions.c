// Where in the file: positions, appends, ends of files, shared descriptors.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

enum { THREADS = 8, ROUNDS = 50, BLOCK = 64 };

static void short_read(void) {
    fixture_begin();
    lseek(f.fd, DATA_BYTES - 10, SEEK_SET);
    case_start();
    ssize_t first = read(f.fd, f.buf, LENGTH);
    ssize_t second = read(f.fd, f.buf, LENGTH);
    case_stop(first * 100 + second);
    CHECK(first == 10 && second == 0);
    expect("read", f.path, DATA_BYTES - 10, LENGTH, 10);
    expect("read", f.path, DATA_BYTES, LENGTH, 0);
    fixture_end();
}

static void short_vector(void) {
    fixture_begin();
    case_start();
    ssize_t moved = preadv(f.fd, f.iov, 2, DATA_BYTES - 20);
    moved += pread(f.fd, f.buf, LENGTH, DATA_BYTES * 2);
    case_stop(moved);
    expect("preadv", f.path, DATA_BYTES - 20, LENGTH, 20);
    expect("pread", f.path, DATA_BYTES * 2, LENGTH, 0);
    fixture_end();
}

static void pread_keeps_position(void) {
    fixture_begin();
    case_start();
    pread(f.fd, f.buf, LENGTH, OFFSET);
    pwrite(f.fd, f.buf, LENGTH, OFFSET + LENGTH);
    ssize_t moved = read(f.fd, f.buf, LENGTH);
    case_stop(moved);
    expect("pread", f.path, OFFSET, LENGTH, LENGTH);
    expect("pwrite", f.path, OFFSET + LENGTH, LENGTH, LENGTH);
    expect("read", f.path, POSITION, LENGTH, LENGTH);
    fixture_end();
}

static void vector_at_position(void) {
    fixture_begin();
    case_start();
    ssize_t moved = preadv2(f.fd, f.iov, 2, -1, 0) + read(f.fd, f.buf, 8);
    case_stop(moved);
    expect("preadv2", f.path, POSITION, LENGTH, LENGTH);
    expect("read", f.path, POSITION + LENGTH, 8, 8);
    fixture_end();
}

static void append(void) {
    fixture_begin();
    int fd = open(f.path, O_WRONLY | O_APPEND);
    case_start();
    ssize_t moved = write(fd, f.buf, LENGTH) + pwrite(fd, f.buf, 8, 0) + writev(fd, f.iov, 2);
    case_stop(moved);
    expect("write", f.path, DATA_BYTES, LENGTH, LENGTH);
    expect("pwrite", f.path, DATA_BYTES + LENGTH, 8, 8);
    expect("writev", f.path, DATA_BYTES + LENGTH + 8, LENGTH, LENGTH);
    fixture_end();
}

static void append_flag_of_one_call(void) {
    fixture_begin();
    case_start();
    ssize_t moved = pwritev2(f.fd, f.iov, 2, 0, RWF_APPEND);
    case_stop(moved);
    expect("pwritev2", f.path, DATA_BYTES, LENGTH, LENGTH);
    fixture_end();
}

static void append_at_position(void) {
    fixture_begin();
    case_start();
    ssize_t moved = pwritev2(f.fd, f.iov, 2, -1, RWF_APPEND) + write(f.fd, f.buf, 8);
    case_stop(moved);
    expect("pwritev2", f.path, DATA_BYTES, LENGTH, LENGTH);
    expect("write", f.path, DATA_BYTES + LENGTH, 8, 8);
    fixture_end();
}

static void append_switched(void) {
    fixture_begin();
    case_start();
    int flags = fcntl(f.fd, F_GETFL);
    fcntl(f.fd, F_SETFL, flags | O_APPEND);
    write(f.fd, f.buf, LENGTH);
    fcntl(f.fd, F_SETFL, flags);
    ssize_t moved = pwrite(f.fd, f.buf, LENGTH, 0);
    case_stop(moved);
    expect("fcntl", f.path, NONE, NONE, flags);
    expect("fcntl", f.path, NONE, NONE, 0);
    expect("write", f.path, DATA_BYTES, LENGTH, LENGTH);
    expect("fcntl", f.path, NONE, NONE, 0);
    expect("pwrite", f.path, 0, LENGTH, LENGTH);
    fixture_end();
}

static void append_from_two(void) {
    fixture_begin();
    int one = open(f.path, O_WRONLY | O_APPEND);
    int two = open(f.path, O_WRONLY | O_APPEND);
    case_start();
    ssize_t moved = write(one, f.buf, 10) + write(two, f.buf, 20) + write(one, f.buf, 5);
    case_stop(moved);
    expect("write", f.path, DATA_BYTES, 10, 10);
    expect("write", f.path, DATA_BYTES + 10, 20, 20);
    expect("write", f.path, DATA_BYTES + 30, 5, 5);
    fixture_end();
}

static void two_descriptors(void) {
    fixture_begin();
    int other = open(f.path, O_RDWR);
    case_start();
    ssize_t moved = read(f.fd, f.buf, 10) + read(other, f.buf, 20) + read(f.fd, f.buf, 30);
    case_stop(moved);
    expect("read", f.path, POSITION, 10, 10);
    expect("read", f.path, 0, 20, 20);
    expect("read", f.path, POSITION + 10, 30, 30);
    fixture_end();
}

static void duplicates(void) {
    fixture_begin();
    int by_dup = dup(f.fd), by_fcntl = fcntl(f.fd, F_DUPFD_CLOEXEC, 20);
    dup2(f.fd, HIGH_FD);
    case_start();
    ssize_t moved = read(f.fd, f.buf, 1) + read(by_dup, f.buf, 2) + read(by_fcntl, f.buf, 3);
    lseek(HIGH_FD, 100, SEEK_CUR);
    close(f.fd);
    moved += read(by_dup, f.buf, 4);
    case_stop(moved);
    expect("read", f.path, POSITION, 1, 1);
    expect("read", f.path, POSITION + 1, 2, 2);
    expect("read", f.path, POSITION + 3, 3, 3);
    expect("lseek", f.path, NONE, NONE, POSITION + 106);
    expect("close", f.path, NONE, NONE, 0);
    expect("read", f.path, POSITION + 106, 4, 4);
    fixture_end();
}

static void replaced_by_dup2(void) {
    fixture_begin();
    case_start();
    int fd = dup2(f.fd, f.out);
    ssize_t moved = read(f.out, f.buf, LENGTH);
    case_stop(moved);
    expect("dup2", f.path, NONE, NONE, fd);
    expect("read", f.path, POSITION, LENGTH, LENGTH);
    fixture_end();
}

static void seeks(void) {
    fixture_begin();
    case_start();
    lseek(f.fd, 8, SEEK_CUR);
    read(f.fd, f.buf, 8);
    lseek(f.fd, -8, SEEK_END);
    ssize_t moved = read(f.fd, f.buf, LENGTH);
    lseek(f.fd, -1, SEEK_SET);
    case_stop(moved);
    expect("lseek", f.path, NONE, NONE, POSITION + 8);
    expect("read", f.path, POSITION + 8, 8, 8);
    expect("lseek", f.path, NONE, NONE, DATA_BYTES - 8);
    expect("read", f.path, DATA_BYTES - 8, LENGTH, 8);
    expect("lseek", f.path, NONE, NONE, -1);
    fixture_end();
}

static void position_over_fork(void) {
    fixture_begin();
    case_start();
    read(f.fd, f.buf, 10);
    pid_t pid = fork();
    if (pid == 0) {
        read(f.fd, f.buf, 20);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    ssize_t moved = read(f.fd, f.buf, 30);
    case_stop(moved);
    expect("read", f.path, POSITION, 10, 10);
    expect("read", f.path, POSITION + 10, 20, 20);
    expect("read", f.path, POSITION + 30, 30, 30);
    expect_process(pid, "_exit");
    fixture_end();
}

static void position_after_child_is_gone(void) {
    fixture_begin();
    pid_t pid = fork();
    if (pid == 0) {
        lseek(f.fd, 1000, SEEK_SET);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    case_start();
    ssize_t moved = write(f.fd, f.buf, LENGTH) + read(f.fd, f.buf, 8);
    case_stop(moved);
    expect("write", f.path, 1000, LENGTH, LENGTH);
    expect("read", f.path, 1000 + LENGTH, 8, 8);
    fixture_end();
}

// A descriptor that came over a socket: no call that was seen opened it.
static void received(void) {
    char control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec byte = {f.room, 1};
    struct msghdr message = {
        .msg_iov = &byte, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    fixture_begin();
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, f.pair) < 0) return;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &f.fd, sizeof(int));
    int fd = -1;
    case_start();
    sendmsg(f.pair[0], &message, 0);
    recvmsg(f.pair[1], &message, 0);
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    ssize_t moved = read(fd, f.buf, LENGTH);
    case_stop(moved);
    CHECK(fd != f.fd);
    expect("read", f.path, POSITION, LENGTH, LENGTH);
    fixture_end();
}

static void *write_blocks(void *argument) {
    char block[BLOCK] = {0};
    (void)argument;
    for (int i = 0; i < ROUNDS; i++) {
        if (write(f.fd, block, BLOCK) != BLOCK) return argument;
    }
    return NULL;
}

static void *read_blocks(void *argument) {
    char block[BLOCK];
    for (int i = 0; i < DATA_BYTES / BLOCK / THREADS; i++) {
        if (read(f.fd, block, BLOCK) != BLOCK) return argument;
    }
    return NULL;
}

static void *write_own_blocks(void *argument) {
    char block[BLOCK] = {0};
    off_t own = (off_t)(intptr_t)argument * ROUNDS * BLOCK;
    for (int i = 0; i < ROUNDS; i++) pwrite(f.fd, block, BLOCK, own + i * BLOCK);
    return NULL;
}

static void run_threads(void *(*body)(void *)) {
    pthread_t thread[THREADS];
    for (intptr_t i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, body, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
}

static void threads_write(void) {
    fixture_begin();
    lseek(f.fd, 0, SEEK_SET);
    case_start();
    run_threads(write_blocks);
    case_stop(0);
    CHECK(lseek(f.fd, 0, SEEK_CUR) == THREADS * ROUNDS * BLOCK);
    expect_sum("write", f.path, THREADS * ROUNDS * BLOCK);
    fixture_end();
}

static void threads_append(void) {
    fixture_begin();
    fcntl(f.fd, F_SETFL, O_APPEND);
    case_start();
    run_threads(write_blocks);
    case_stop(0);
    expect_sum("write", f.path, THREADS * ROUNDS * BLOCK);
    fixture_end();
}

static void threads_read(void) {
    fixture_begin();
    lseek(f.fd, 0, SEEK_SET);
    case_start();
    run_threads(read_blocks);
    case_stop(0);
    expect_sum("read", f.path, DATA_BYTES);
    fixture_end();
}

static void threads_pwrite(void) {
    fixture_begin();
    case_start();
    run_threads(write_own_blocks);
    case_stop(0);
    expect_sum("pwrite", f.path, THREADS * ROUNDS * BLOCK);
    fixture_end();
}

static void wrong_way(void) {
    fixture_begin();
    int fd = open(f.path, O_RDONLY);
    case_start();
    ssize_t moved = write(fd, f.buf, LENGTH);
    case_stop(moved);
    CHECK(case_error() == EBADF);
    expect("write", f.path, 0, LENGTH, -1);
    fixture_end();
}

static void no_descriptor(void) {
    fixture_begin();
    case_start();
    ssize_t moved = read(-1, f.buf, LENGTH);
    case_stop(moved);
    CHECK(case_error() == EBADF);
    expect("read", NULL, NONE, LENGTH, -1);
    fixture_end();
}

static void bad_memory(void) {
    void *volatile nowhere = (void *)8;
    fixture_begin();
    case_start();
    ssize_t moved = read(f.fd, nowhere, LENGTH) + readv(f.fd, nowhere, 2) + open(nowhere, O_RDONLY) +
                    rename(nowhere, f.path) + access(nowhere, F_OK);
    case_stop(moved);
    CHECK(moved == -5 && case_error() == EFAULT);
    expect("read", f.path, POSITION, LENGTH, -1);
    expect("readv", f.path, POSITION, 0, -1);
    expect("open", NULL, NONE, NONE, -1);
    expect("rename", NULL, NONE, NONE, -1);
    expect("access", NULL, NONE, NONE, -1);
    fixture_end();
}

static void nothing(void) {
    fixture_begin();
    case_start();
    ssize_t moved = read(f.fd, f.buf, 0) + pwrite(f.fd, f.buf, 0, 7);
    case_stop(moved);
    expect("read", f.path, POSITION, 0, 0);
    expect("pwrite", f.path, 7, 0, 0);
    fixture_end();
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {
        {"short read at the end of the file", short_read},
        {"short vectors, reads past the end", short_vector},
        {"pread and pwrite leave the position alone", pread_keeps_position},
        {"preadv2 at the position", vector_at_position},
        {"O_APPEND: the true offsets", append},
        {"RWF_APPEND: the true offset", append_flag_of_one_call},
        {"RWF_APPEND at the position", append_at_position},
        {"O_APPEND switched on and off", append_switched},
        {"O_APPEND through two descriptors", append_from_two},
        {"two descriptors on one file", two_descriptors},
        {"duplicates share the position", duplicates},
        {"dup2 over an open file", replaced_by_dup2},
        {"seeks", seeks},
        {"a position shared over fork", position_over_fork},
        {"a position moved by a child", position_after_child_is_gone},
        {"a descriptor received over a socket", received},
        {"eight threads write through one descriptor", threads_write},
        {"eight threads append through one descriptor", threads_append},
        {"eight threads read through one descriptor", threads_read},
        {"eight threads write with pwrite", threads_pwrite},
        {"a write to a file open for reading", wrong_way},
        {"descriptor -1", no_descriptor},
        {"pointers that lead nowhere", bad_memory},
        {"transfers of no bytes", nothing},
        {NULL, NULL},
    };
    return case_main(argc, argv, cases);
}
