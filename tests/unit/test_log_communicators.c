// Communicators of processes, and the partners of communication, as readers get them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "log/communication.h"
#include "log/iter.h"
#include "test_log_maker.h"

static void put_communicator(struct log_maker *maker, uint64_t process, uint64_t number, uint64_t size,
                             const char *members, size_t len) {
    fields_begin(&maker->records, RECORD_COMMUNICATOR);
    fields_number(&maker->records, COMMUNICATOR_PROCESS, process);
    fields_number(&maker->records, COMMUNICATOR_NUMBER, number);
    fields_number(&maker->records, COMMUNICATOR_ORIGIN, ORIGIN_SPLIT);
    fields_number(&maker->records, COMMUNICATOR_SIZE, size);
    fields_bytes(&maker->records, COMMUNICATOR_MEMBERS, members, len);
    fields_end(&maker->records);
}

static void put_communication(struct stream_writer *writer, uint64_t comm, enum partner_role role, uint64_t peer) {
    stream_put_control(writer, KIND_COMM, (uint64_t[]){1, 3, 1, 0, 5, 1, 8, 5}, 8);
    stream_put_control(writer, KIND_PARTNERS, (uint64_t[]){1, comm << 3 | role, peer, 1}, 4);
}

static void put_open(struct stream_writer *writer, uint64_t comm, uint64_t start) {
    struct stream_put_extra extra = {0};
    stream_put_attribute(&extra, ATTRIBUTE_COMM, comm);
    stream_put_slot(writer, 0, 1, CALL_MPI_File_open, 1, 1, 0, 0);
    stream_put_extended(writer, 0, 0, 0, start, start + 10, &extra);
}

// Two blocks of one stream: communication, an open, communication; communication, an open.
static struct log *make(void) {
    struct log_maker *maker = maker_new();
    maker_process(maker, 1, 11, 1);
    maker_file(maker, 1, "/data/a", 1);
    maker_stream(maker, 1, 1, 1);
    put_communicator(maker, 1, 3, 2, "\x01\x04\x02", 3);
    put_communicator(maker, 1, 4, 9, "\x01\x04\x02", 3); // damaged: its list is too short
    maker_flush_records(maker);
    struct stream_writer *writer = maker_begin(maker, 1, 0, 1000);
    put_communication(writer, 1, PARTNER_ALL, 0);
    put_open(writer, 3, 1010);
    put_communication(writer, 3, PARTNER_SEND, 1);
    maker_end(maker, 1, true, 1010, 1020);
    writer = maker_begin(maker, 1, 1, 1020);
    put_communication(writer, 3, PARTNER_RECEIVE, 1);
    put_communication(writer, 3, PARTNER_SEND, 1);
    put_open(writer, 4, 1030);
    maker_end(maker, 1, true, 1030, 1040);
    return maker_close(maker);
}

static void communicators_of_opens(void **state) {
    (void)state;
    struct log *log = make();
    struct log_iter *iter;
    const struct log_event *event;
    assert_int_equal(log_communicator_count(log), 1);
    assert_int_equal(log_health(log)->records_damaged, 1);
    assert_int_equal(log_iter_open(&iter, log, NULL), 0);
    assert_int_equal(log_iter_next(iter, &event), 1);
    assert_non_null(event->comm);
    assert_true(event->comm->number == 3 && event->comm->local.size == 2 && event->comm->origin == ORIGIN_SPLIT);
    assert_int_equal(log_iter_next(iter, &event), 1);
    assert_null(event->comm);
    log_iter_close(iter);
    log_close(log);
}

struct seen {
    unsigned rows;
    unsigned partners[8];
    struct stream_partner partner[8][4];
};

static int see(const struct log_comm *comm, void *context) {
    struct seen *seen = context;
    assert_true(seen->rows < 8 && comm->partner_count <= 4);
    for (unsigned i = 0; i < comm->partner_count; i++) seen->partner[seen->rows][i] = comm->partners[i];
    seen->partners[seen->rows++] = comm->partner_count;
    return 0;
}

// What ends a block belongs to the next event, and comes first.
static void partners_of_communication(void **state) {
    (void)state;
    struct log *log = make();
    struct seen seen = {0};
    assert_int_equal(log_comm(log, NULL, see, &seen), 0);
    assert_int_equal(seen.rows, 4); // two kinds before each open; the first has the partners
    assert_int_equal(seen.partners[0], 1);
    assert_int_equal(seen.partner[0][0].role, PARTNER_ALL);
    assert_int_equal(seen.partners[1], 0);
    assert_int_equal(seen.partners[2], 2);
    assert_true(seen.partner[2][0].role == PARTNER_SEND && seen.partner[2][0].count == 2);
    assert_true(seen.partner[2][1].role == PARTNER_RECEIVE && seen.partner[2][1].count == 1);
    assert_int_equal(seen.partners[3], 0);
    log_close(log);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(communicators_of_opens),
        cmocka_unit_test(partners_of_communication),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
