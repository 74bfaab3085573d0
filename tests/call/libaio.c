// libaio: one event per request, below the event of io_submit if it submitted several.
#include <errno.h>
#include <libaio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fixture.h"

enum { BATCH = 4, PAUSE_US = 3000 };

static io_context_t context;
static struct iocb request[BATCH];
static struct iocb *list[BATCH];
static struct io_event done[BATCH];

static bool prepare(void) {
    fixture_begin();
    context = NULL;
    int result = io_setup(BATCH, &context);
    if (result < 0) {
        case_skip("no asynchronous I/O in this kernel");
        return false;
    }
    io_prep_pread(&request[0], f.fd, f.room, LENGTH, OFFSET);
    io_prep_pwrite(&request[1], f.out, f.room, LENGTH, 8);
    io_prep_preadv(&request[2], f.fd, f.iov, 2, DATA_BYTES - 20);
    io_prep_fsync(&request[3], f.out);
    for (int i = 0; i < BATCH; i++) list[i] = &request[i];
    return true;
}

static void finish(void) {
    io_destroy(context);
    fixture_end();
}

static void submit_one(void) {
    int (*submit)(io_context_t, long, struct iocb **) = case_symbol();
    if (!submit || !prepare()) return;
    case_start();
    int result = submit(context, 1, list);
    usleep(PAUSE_US);
    result = result * 10 + io_getevents(context, 1, BATCH, done, NULL);
    case_stop(result);
    CHECK(result == 11 && done[0].res == LENGTH);
    expect_lasting(expect("io_submit_read", f.path, OFFSET, LENGTH, LENGTH), PAUSE_US * 1000);
    finish();
}

static void expect_batch(int parent_result) {
    int parent = expect("io_submit", NULL, NONE, NONE, parent_result);
    expect_child(parent, "io_submit_read", f.path, OFFSET, LENGTH, LENGTH);
    expect_child(parent, "io_submit_write", f.other, 8, LENGTH, LENGTH);
    expect_child(parent, "io_submit_read", f.path, DATA_BYTES - 20, LENGTH, 20);
    expect_child(parent, "io_submit_sync", f.other, NONE, NONE, 0);
}

static void submit_four(void) {
    if (!prepare()) return;
    case_start();
    int result = io_submit(context, BATCH, list);
    for (int seen = 0, more = 1; seen < BATCH && more > 0; seen += more) {
        more = io_getevents(context, 1, BATCH, done, NULL);
    }
    case_stop(result);
    expect_batch(BATCH);
    finish();
}

static void by_number(void) {
    if (!prepare()) return;
    case_start();
    long result = syscall(SYS_io_submit, context, (long)BATCH, list);
    for (long seen = 0, more = 1; seen < BATCH && more > 0; seen += more) {
        more = syscall(SYS_io_getevents, context, 1L, (long)BATCH, done, NULL);
    }
    case_stop(result);
    expect_batch(BATCH);
    finish();
}

static void get_events(void) {
    int (*get)(io_context_t, long, long, struct io_event *, struct timespec *) = case_symbol();
    if (!get || !prepare()) return;
    case_start();
    io_submit(context, 1, list);
    int result = get(context, 1, BATCH, done, NULL);
    case_stop(result);
    expect("io_submit_read", f.path, OFFSET, LENGTH, LENGTH);
    finish();
}

static void get_events_with_mask(void) {
    int (*get)(io_context_t, long, long, struct io_event *, struct timespec *, sigset_t *) = case_symbol();
    if (!get || !prepare()) return;
    case_start();
    io_submit(context, 1, list);
    int result = get(context, 1, BATCH, done, NULL, &f.signals);
    case_stop(result);
    expect("io_submit_read", f.path, OFFSET, LENGTH, LENGTH);
    finish();
}

static void refused(void) {
    if (!prepare()) return;
    request[0].aio_fildes = BAD_FD;
    case_start();
    int result = io_submit(context, 1, list);
    case_stop(result);
    CHECK(result == -EBADF);
    expect_error("io_submit_read", NULL, OFFSET, LENGTH, -1, EBADF);
    finish();
}

static void partly_refused(void) {
    if (!prepare()) return;
    request[1].aio_fildes = BAD_FD;
    case_start();
    int result = io_submit(context, 2, list);
    result = result * 10 + io_getevents(context, 1, BATCH, done, NULL);
    case_stop(result);
    CHECK(result == 11);
    int parent = expect("io_submit", NULL, NONE, NONE, 1);
    expect_child(parent, "io_submit_read", f.path, OFFSET, LENGTH, LENGTH);
    finish();
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {
        {"io_submit", submit_one},
        {"io_submit with four requests", submit_four},
        {"io_submit and io_getevents through syscall", by_number},
        {"io_getevents", get_events},
        {"io_pgetevents", get_events_with_mask},
        {"io_submit refused", refused},
        {"io_submit partly refused", partly_refused},
        {NULL, NULL},
    };
    return case_main(argc, argv, cases);
}
