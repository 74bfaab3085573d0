// io_uring through liburing: every exported function that submits, waits or looks.
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <unistd.h>

#include "fixture.h"

enum { ENTRIES = 16, PAUSE_US = 3000 };

static struct io_uring ring;

static bool prepare(void) {
    fixture_begin();
    if (io_uring_queue_init(ENTRIES, &ring, 0) < 0) {
        case_skip("no io_uring here");
        return false;
    }
    return true;
}

static void finish(void) {
    io_uring_queue_exit(&ring);
    fixture_end();
}

static void ask_to_read(void) {
    struct io_uring_sqe *request = io_uring_get_sqe(&ring);
    io_uring_prep_read(request, f.fd, f.room, LENGTH, OFFSET);
    io_uring_sqe_set_data64(request, 1);
}

// Takes all available completions, without a call that the recorder sees.
static int take_all(void) {
    struct io_uring_cqe *found;
    unsigned head;
    int count = 0;
    io_uring_for_each_cqe(&ring, head, found) count++;
    io_uring_cq_advance(&ring, (unsigned)count);
    return count;
}

// One read, submitted and waited for by `run`, which gets the function that the case is about.
static void one_read(int (*run)(void *)) {
    void *symbol = case_symbol();
    if (!symbol || !prepare()) return;
    ask_to_read();
    case_start();
    int result = run(symbol);
    case_stop(result);
    expect("io_uring_read", f.path, OFFSET, LENGTH, LENGTH);
    finish();
}

static int run_submit(void *symbol) {
    struct io_uring_cqe *found = NULL;
    int result = ((int (*)(struct io_uring *))symbol)(&ring);
    io_uring_wait_cqes(&ring, &found, 1, NULL, NULL);
    return result * 10 + take_all();
}

static int run_submit_and_wait(void *symbol) {
    int result = ((int (*)(struct io_uring *, unsigned))symbol)(&ring, 1);
    return result * 10 + take_all();
}

static int run_submit_and_wait_timeout(void *symbol) {
    struct io_uring_cqe *found = NULL;
    struct __kernel_timespec timeout = {.tv_sec = 5};
    ((int (*)(struct io_uring *, struct io_uring_cqe **, unsigned, struct __kernel_timespec *, sigset_t *))symbol)(
        &ring, &found, 1, &timeout, NULL);
    return take_all();
}

static int run_wait_cqes(void *symbol) {
    struct io_uring_cqe *found = NULL;
    io_uring_submit(&ring);
    int result = ((int (*)(struct io_uring *, struct io_uring_cqe **, unsigned, struct __kernel_timespec *,
                           sigset_t *))symbol)(&ring, &found, 1, NULL, NULL);
    return result * 10 + take_all();
}

static int run_wait_cqe_timeout(void *symbol) {
    struct io_uring_cqe *found = NULL;
    struct __kernel_timespec timeout = {.tv_sec = 5};
    io_uring_submit(&ring);
    int result = ((int (*)(struct io_uring *, struct io_uring_cqe **, struct __kernel_timespec *))symbol)(&ring, &found,
                                                                                                          &timeout);
    return result * 10 + take_all();
}

static int run_get_cqe(void *symbol) {
    struct io_uring_cqe *found = NULL;
    io_uring_submit(&ring);
    int result = ((int (*)(struct io_uring *, struct io_uring_cqe **, unsigned, unsigned, sigset_t *))symbol)(
        &ring, &found, 0, 1, NULL);
    return result * 10 + take_all();
}

static int run_peek(void *symbol) {
    struct io_uring_cqe *found[4];
    unsigned count = 0;
    io_uring_submit(&ring);
    for (int i = 0; i < 1000 && count == 0; i++) {
        usleep(1000);
        count = ((unsigned (*)(struct io_uring *, struct io_uring_cqe **, unsigned))symbol)(&ring, found, 4);
    }
    io_uring_cq_advance(&ring, count);
    return (int)count;
}

static int run_get_events(void *symbol) {
    io_uring_submit(&ring);
    usleep(PAUSE_US);
    int result = ((int (*)(struct io_uring *))symbol)(&ring);
    return result < 0 ? result : take_all();
}

static int run_submit_and_get_events(void *symbol) {
    ((int (*)(struct io_uring *))symbol)(&ring);
    usleep(PAUSE_US);
    io_uring_get_events(&ring);
    return take_all();
}

static int run_queue_exit(void *symbol) {
    io_uring_submit(&ring);
    usleep(PAUSE_US);
    ((void (*)(struct io_uring *))symbol)(&ring);
    return io_uring_queue_init(ENTRIES, &ring, 0);
}

static void submit_case(void) { one_read(run_submit); }

static void submit_and_wait_case(void) { one_read(run_submit_and_wait); }

static void submit_and_wait_timeout_case(void) { one_read(run_submit_and_wait_timeout); }

static void wait_cqes_case(void) { one_read(run_wait_cqes); }

static void wait_cqe_timeout_case(void) { one_read(run_wait_cqe_timeout); }

static void get_cqe_case(void) { one_read(run_get_cqe); }

static void peek_case(void) { one_read(run_peek); }

static void get_events_case(void) { one_read(run_get_events); }

static void submit_and_get_events_case(void) { one_read(run_submit_and_get_events); }

static void queue_exit_case(void) { one_read(run_queue_exit); }

static void wait_for(int count) {
    struct io_uring_cqe *found;
    for (int i = 0; i < count && io_uring_wait_cqe(&ring, &found) == 0; i++) io_uring_cqe_seen(&ring, found);
}

// The read waits for a timeout that it is linked to.
static void lasting(void) {
    struct __kernel_timespec pause = {.tv_nsec = PAUSE_US * 1000};
    if (!prepare()) return;
    struct io_uring_sqe *request = io_uring_get_sqe(&ring);
    io_uring_prep_timeout(request, &pause, 0, 0);
    io_uring_sqe_set_flags(request, IOSQE_IO_HARDLINK);
    ask_to_read();
    case_start();
    int result = io_uring_submit(&ring);
    wait_for(2);
    case_stop(result);
    expect_lasting(expect("io_uring_read", f.path, OFFSET, LENGTH, LENGTH), PAUSE_US * 1000);
    finish();
}

// Requests that wait in the ring are not transfers yet, whatever else is called meanwhile.
static void not_yet_submitted(void) {
    if (!prepare()) return;
    ask_to_read();
    case_start();
    int result = io_uring_get_events(&ring);
    result += io_uring_submit_and_wait(&ring, 1);
    case_stop(result);
    expect("io_uring_read", f.path, OFFSET, LENGTH, LENGTH);
    finish();
}

static void eight(void) {
    if (!prepare()) return;
    for (int i = 0; i < 4; i++) {
        struct io_uring_sqe *request = io_uring_get_sqe(&ring);
        io_uring_prep_read(request, f.fd, f.room + i * LENGTH, LENGTH, (unsigned)(i * LENGTH));
        io_uring_sqe_set_data64(request, (unsigned)i);
    }
    io_uring_prep_readv(io_uring_get_sqe(&ring), f.fd, f.iov, 2, DATA_BYTES - 20);
    io_uring_prep_write(io_uring_get_sqe(&ring), f.out, f.room, LENGTH, 100);
    io_uring_prep_writev(io_uring_get_sqe(&ring), f.out, f.iov, 2, 500);
    io_uring_prep_fsync(io_uring_get_sqe(&ring), f.fd, 0);
    case_start();
    int result = io_uring_submit_and_wait(&ring, 8);
    case_stop(result);
    CHECK(result == 8);
    int parent = expect("io_uring_submit", NULL, NONE, NONE, 8);
    for (int i = 0; i < 4; i++) expect_child(parent, "io_uring_read", f.path, i * LENGTH, LENGTH, LENGTH);
    expect_child(parent, "io_uring_read", f.path, DATA_BYTES - 20, LENGTH, 20);
    expect_child(parent, "io_uring_write", f.other, 100, LENGTH, LENGTH);
    expect_child(parent, "io_uring_write", f.other, 500, LENGTH, LENGTH);
    expect_child(parent, "io_uring_sync", f.path, NONE, NONE, 0);
    wait_for(8);
    finish();
}

static void names(void) {
    if (!prepare()) return;
    struct statx data;
    case_start();
    io_uring_prep_openat(io_uring_get_sqe(&ring), f.dirfd, "fresh", O_RDWR | O_CREAT, 0600);
    io_uring_submit_and_wait(&ring, 1);
    take_all();
    io_uring_prep_statx(io_uring_get_sqe(&ring), f.dirfd, "fresh", 0, STATX_SIZE, &data);
    io_uring_submit_and_wait(&ring, 1);
    take_all();
    io_uring_prep_close(io_uring_get_sqe(&ring), f.fd);
    io_uring_submit_and_wait(&ring, 1);
    int result = take_all();
    case_stop(result);
    expect("io_uring_open", f.fresh, NONE, NONE, ANY);
    expect("io_uring_meta", f.fresh, NONE, NONE, 0);
    expect("io_uring_close", f.path, NONE, NONE, 0);
    finish();
}

static void fails(void) {
    if (!prepare()) return;
    case_start();
    io_uring_prep_read(io_uring_get_sqe(&ring), BAD_FD, f.room, LENGTH, OFFSET);
    int result = io_uring_submit_and_wait(&ring, 1);
    case_stop(result);
    expect_error("io_uring_read", NULL, OFFSET, LENGTH, -1, EBADF);
    finish();
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {
        {"io_uring_submit", submit_case},
        {"io_uring_submit_and_wait", submit_and_wait_case},
        {"io_uring_submit_and_wait_timeout", submit_and_wait_timeout_case},
        {"io_uring_wait_cqes", wait_cqes_case},
        {"io_uring_wait_cqe_timeout", wait_cqe_timeout_case},
        {"__io_uring_get_cqe", get_cqe_case},
        {"io_uring_peek_batch_cqe", peek_case},
        {"io_uring_get_events", get_events_case},
        {"io_uring_submit_and_get_events", submit_and_get_events_case},
        {"io_uring_queue_exit", queue_exit_case},
        {"an io_uring request lasts until it is seen done", lasting},
        {"io_uring requests not yet submitted", not_yet_submitted},
        {"io_uring with eight requests", eight},
        {"io_uring opens, asks and closes", names},
        {"io_uring_read fails", fails},
        {NULL, NULL},
    };
    return case_main(argc, argv, cases);
}
