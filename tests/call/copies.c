// Copies inside the kernel: a read of one file and a write of another; with a pipe or socket only one of them.
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fixture.h"

static void sendfile_at_position(void) {
    fixture_begin();
    case_start();
    ssize_t moved = sendfile(f.out, f.fd, NULL, LENGTH);
    moved += read(f.fd, f.buf, 8) + write(f.out, f.buf, 8);
    case_stop(moved);
    int parent = expect("sendfile", NULL, NONE, LENGTH, LENGTH);
    expect_child(parent, "sendfile_read", f.path, POSITION, LENGTH, LENGTH);
    expect_child(parent, "sendfile_write", f.other, POSITION, LENGTH, LENGTH);
    expect("read", f.path, POSITION + LENGTH, 8, 8);
    expect("write", f.other, POSITION + LENGTH, 8, 8);
    fixture_end();
}

static void sendfile_to_socket(void) {
    fixture_begin();
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, f.pair) < 0) return;
    off_t offset = OFFSET;
    case_start();
    ssize_t moved = sendfile(f.pair[0], f.fd, &offset, LENGTH);
    case_stop(moved);
    CHECK(offset == OFFSET + LENGTH);
    expect("sendfile_read", f.path, OFFSET, LENGTH, LENGTH);
    fixture_end();
}

static void short_copy(void) {
    fixture_begin();
    lseek(f.fd, DATA_BYTES - 10, SEEK_SET);
    case_start();
    ssize_t moved = copy_file_range(f.fd, NULL, f.out, NULL, 1 << 20, 0);
    case_stop(moved);
    CHECK(moved == 10);
    int parent = expect("copy_file_range", NULL, NONE, 1 << 20, 10);
    expect_child(parent, "copy_file_range_read", f.path, DATA_BYTES - 10, 1 << 20, 10);
    expect_child(parent, "copy_file_range_write", f.other, POSITION, 1 << 20, 10);
    fixture_end();
}

static void splice_to_file(void) {
    fixture_begin();
    fixture_pipe();
    case_start();
    ssize_t moved = write(f.pair[1], f.buf, LENGTH);
    moved += splice(f.pair[0], NULL, f.out, NULL, LENGTH, 0);
    case_stop(moved);
    expect("splice_write", f.other, POSITION, LENGTH, LENGTH);
    fixture_end();
}

static void within_one_file(void) {
    fixture_begin();
    int fd = open(f.other, O_RDONLY);
    case_start();
    ssize_t moved = sendfile(f.out, fd, NULL, DATA_BYTES);
    case_stop(moved);
    int parent = expect("sendfile", NULL, NONE, DATA_BYTES, moved);
    expect_child(parent, "sendfile_read", f.other, 0, DATA_BYTES, moved);
    expect_child(parent, "sendfile_write", f.other, POSITION, DATA_BYTES, moved);
    fixture_end();
}

static void bad_offset(void) {
    off_t *volatile nowhere = (off_t *)8;
    fixture_begin();
    case_start();
    ssize_t moved = sendfile(f.out, f.fd, nowhere, LENGTH);
    case_stop(moved);
    int parent = expect("sendfile", NULL, NONE, LENGTH, -1);
    expect_child(parent, "sendfile_read", f.path, NONE, LENGTH, -1);
    expect_child(parent, "sendfile_write", f.other, ANY, LENGTH, -1);
    fixture_end();
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {
        {"sendfile moves both positions", sendfile_at_position},
        {"sendfile to a socket is one read", sendfile_to_socket},
        {"copy_file_range up to the end", short_copy},
        {"splice from a pipe is one write", splice_to_file},
        {"sendfile within one file", within_one_file},
        {"sendfile with a pointer that leads nowhere", bad_offset},
        {NULL, NULL},
    };
    return case_main(argc, argv, cases);
}
