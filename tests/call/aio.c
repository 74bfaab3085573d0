// POSIX asynchronous I/O: an event lasts from submission until the program could see its completion.
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "fixture.h"

enum { PAUSE_US = 3000 };

static struct aiocb block_at(off_t offset) {
    return (struct aiocb){.aio_fildes = f.fd, .aio_buf = f.room, .aio_nbytes = LENGTH, .aio_offset = offset};
}

static void wait_for(struct aiocb *block) {
    const struct aiocb *list[] = {block};
    while (aio_error(block) == EINPROGRESS) aio_suspend(list, 1, NULL);
}

static void transfer(const char *op) {
    int (*submit)(struct aiocb *) = case_symbol();
    if (!submit) return;
    fixture_begin();
    struct aiocb block = block_at(OFFSET);
    case_start();
    int result = submit(&block);
    usleep(PAUSE_US);
    wait_for(&block);
    ssize_t moved = aio_return(&block);
    case_stop(result * 1000 + moved);
    CHECK(moved == LENGTH);
    expect_lasting(expect(op, f.path, OFFSET, LENGTH, LENGTH), PAUSE_US * 1000);
    fixture_end();
}

static void read_case(void) { transfer("aio_read"); }

static void write_case(void) { transfer("aio_write"); }

static void sync_case(void) {
    int (*submit)(int, struct aiocb *) = case_symbol();
    if (!submit) return;
    fixture_begin();
    struct aiocb block = block_at(0);
    case_start();
    int result = submit(O_SYNC, &block);
    wait_for(&block);
    aio_return(&block);
    case_stop(result);
    expect("aio_fsync", f.path, NONE, NONE, 0);
    fixture_end();
}

// The functions that see the completion; `look` returns 0 once it is there.
static void observe_with(int (*look)(void *, struct aiocb *)) {
    void *symbol = case_symbol();
    if (!symbol) return;
    fixture_begin();
    struct aiocb block = block_at(OFFSET);
    case_start();
    int result = aio_read(&block);
    for (int i = 0; i < 1000 && look(symbol, &block); i++) usleep(1000);
    case_stop(result);
    int error = aio_error(&block); // aio_cancel may have come in time
    expect_error("aio_read", f.path, OFFSET, LENGTH, error == ECANCELED ? -1 : LENGTH, error == ECANCELED ? error : 0);
    fixture_end();
}

static int look_error(void *symbol, struct aiocb *block) {
    return ((int (*)(const struct aiocb *))symbol)(block) == EINPROGRESS;
}

static int look_return(void *symbol, struct aiocb *block) {
    usleep(PAUSE_US);
    return ((ssize_t(*)(struct aiocb *))symbol)(block) != LENGTH;
}

static int look_suspend(void *symbol, struct aiocb *block) {
    const struct aiocb *list[] = {NULL, block};
    return ((int (*)(const struct aiocb *const *, int, const struct timespec *))symbol)(list, 2, NULL) != 0;
}

static int look_cancel(void *symbol, struct aiocb *block) {
    return ((int (*)(int, struct aiocb *))symbol)(f.fd, block) != AIO_ALLDONE;
}

static void error_case(void) { observe_with(look_error); }

static void return_case(void) { observe_with(look_return); }

static void suspend_case(void) { observe_with(look_suspend); }

static void cancel_case(void) { observe_with(look_cancel); }

static void list_case(void) {
    int (*submit)(int, struct aiocb *const *, int, struct sigevent *) = case_symbol();
    if (!submit) return;
    fixture_begin();
    struct aiocb one = block_at(0), two = block_at(OFFSET), three = block_at(DATA_BYTES - 8), none = block_at(0);
    one.aio_lio_opcode = LIO_READ;
    two.aio_lio_opcode = LIO_WRITE;
    three.aio_lio_opcode = LIO_READ;
    none.aio_lio_opcode = LIO_NOP;
    struct aiocb *list[] = {&one, &none, &two, NULL, &three};
    case_start();
    int result = submit(LIO_WAIT, list, 5, NULL);
    case_stop(result);
    int parent = expect("lio_listio", NULL, NONE, NONE, 0);
    expect_child(parent, "aio_read", f.path, 0, LENGTH, LENGTH);
    expect_child(parent, "aio_write", f.path, OFFSET, LENGTH, LENGTH);
    expect_child(parent, "aio_read", f.path, DATA_BYTES - 8, LENGTH, 8);
    fixture_end();
}

static void list_of_one(void) {
    fixture_begin();
    struct aiocb one = block_at(OFFSET);
    one.aio_lio_opcode = LIO_WRITE;
    struct aiocb *list[] = {&one};
    case_start();
    int result = lio_listio(LIO_NOWAIT, list, 1, NULL);
    wait_for(&one);
    case_stop(result);
    expect("aio_write", f.path, OFFSET, LENGTH, LENGTH);
    fixture_end();
}

static void many(void) {
    enum { BLOCKS = 16 };
    struct aiocb block[BLOCKS];
    int result = 0;
    fixture_begin();
    case_start();
    for (int i = 0; i < BLOCKS; i++) {
        block[i] = block_at(i * LENGTH);
        result += aio_read(&block[i]);
    }
    for (int i = 0; i < BLOCKS; i++) wait_for(&block[i]);
    case_stop(result);
    for (int i = 0; i < BLOCKS; i++) expect("aio_read", f.path, i * LENGTH, LENGTH, LENGTH);
    fixture_end();
}

static void fails(void) {
    fixture_begin();
    struct aiocb block = block_at(OFFSET);
    block.aio_fildes = BAD_FD;
    case_start();
    int result = aio_read(&block);
    wait_for(&block);
    int error = aio_error(&block);
    ssize_t moved = aio_return(&block);
    case_stop(result * 10 + moved);
    CHECK(error == EBADF && moved == -1);
    expect_error("aio_read", NULL, OFFSET, LENGTH, -1, EBADF);
    fixture_end();
}

static void refused(void) {
    fixture_begin();
    struct aiocb block = block_at(OFFSET);
    block.aio_reqprio = -1;
    case_start();
    int result = aio_write(&block);
    case_stop(result);
    CHECK(result == -1 && case_error() == EINVAL);
    expect("aio_write", f.path, OFFSET, LENGTH, -1);
    fixture_end();
}

int main(int argc, char **argv) {
    static const struct test_case cases[] = {
        {"aio_read", read_case},
        {"aio_read64", read_case},
        {"aio_write", write_case},
        {"aio_write64", write_case},
        {"aio_fsync", sync_case},
        {"aio_fsync64", sync_case},
        {"aio_error", error_case},
        {"aio_error64", error_case},
        {"aio_return", return_case},
        {"aio_return64", return_case},
        {"aio_suspend", suspend_case},
        {"aio_suspend64", suspend_case},
        {"aio_cancel", cancel_case},
        {"aio_cancel64", cancel_case},
        {"lio_listio", list_case},
        {"lio_listio64", list_case},
        {"lio_listio with one block", list_of_one},
        {"sixteen aio_read at once", many},
        {"aio_read fails", fails},
        {"aio_write refused", refused},
        {NULL, NULL},
    };
    return case_main(argc, argv, cases);
}
