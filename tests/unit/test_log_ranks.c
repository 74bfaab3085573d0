// Logs of MPI jobs: which ranks belong together, shared files made one record, communication between events.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "log/communication.h"
#include "log/stats.h"
#include "test_log_maker.h"

static void put_process(struct log_maker *maker, uint64_t id, uint64_t parent, const char *host, const char *exe,
                        uint64_t rank_plus_1, uint64_t size) {
    struct fields_out *out = &maker->records;
    fields_begin(out, RECORD_PROCESS);
    fields_number(out, PROCESS_ID, id);
    fields_number(out, PROCESS_PID, 100 + id);
    fields_number(out, PROCESS_PPID, 100 + parent);
    fields_string(out, PROCESS_HOST, host);
    fields_string(out, PROCESS_EXE, exe);
    fields_number(out, PROCESS_START_NS, id);
    fields_number(out, PROCESS_CLOCK_UNITS, 1000);
    fields_number(out, PROCESS_CLOCK_SPAN_UNITS, 100);
    fields_number(out, PROCESS_CLOCK_SPAN_NS, 200);
    if (rank_plus_1) {
        fields_number(out, PROCESS_RANK, rank_plus_1);
        fields_number(out, PROCESS_MPI_SIZE, size);
        fields_string(out, PROCESS_MPI, "an MPI");
    }
    fields_end(out);
}

static uint32_t world_of(const struct log *log, uint32_t id) { return log_process_find(log, id)->world; }

// Two jobs of the same size at the same time, each below its own launcher, one of them through a shell.
static void test_launchers(void **state) {
    (void)state;
    struct log_maker *maker = maker_new();
    put_process(maker, 1, 0, "a", "/bin/sh", 0, 0);
    put_process(maker, 2, 1, "a", "/usr/bin/mpiexec.hydra", 0, 0);
    put_process(maker, 3, 1, "a", "/usr/bin/mpiexec.hydra", 0, 0);
    put_process(maker, 4, 2, "a", "/usr/bin/hydra_pmi_proxy", 0, 0);
    put_process(maker, 5, 4, "a", "/bin/sh", 0, 0);
    put_process(maker, 6, 5, "a", "/x", 1, 2);
    put_process(maker, 7, 3, "a", "/x", 2, 2);
    put_process(maker, 8, 4, "a", "/x", 2, 2);
    put_process(maker, 9, 3, "a", "/x", 1, 2);
    maker_flush_records(maker);
    struct log *log = maker_close(maker);
    assert_int_equal(log_world_count(log), 2);
    assert_true(world_of(log, 6) == 0 && world_of(log, 8) == 0);
    assert_true(world_of(log, 7) == 1 && world_of(log, 9) == 1);
    assert_true(world_of(log, 1) == LOG_NO_WORLD && world_of(log, 2) == LOG_NO_WORLD);
    assert_true(log_world_at(log, 0)->size == 2 && log_world_at(log, 0)->ranks == 2);
    assert_true(log_process_find(log, 2)->is_launcher && log_process_find(log, 4)->is_launcher);
    assert_false(log_process_find(log, 5)->is_launcher || log_process_find(log, 6)->is_launcher);
    log_close(log);
}

// Without a launcher in the log: one after the other, of several sizes, and over two hosts.
static void test_without_launchers(void **state) {
    (void)state;
    struct log_maker *maker = maker_new();
    put_process(maker, 1, 0, "a", "/x", 1, 2);
    put_process(maker, 2, 0, "b", "/x", 2, 2);
    put_process(maker, 3, 0, "a", "/x", 1, 1);
    put_process(maker, 4, 0, "a", "/x", 1, 2);
    put_process(maker, 5, 0, "b", "/x", 2, 2);
    put_process(maker, 6, 6, "a", "/x", 2, 3); // its own parent: damage
    maker_flush_records(maker);
    struct log *log = maker_close(maker);
    assert_int_equal(log_world_count(log), 4);
    assert_true(world_of(log, 1) == world_of(log, 2));
    assert_true(world_of(log, 4) == world_of(log, 5) && world_of(log, 4) != world_of(log, 1));
    assert_int_equal(log_world_at(log, world_of(log, 6))->ranks, 1);
    log_close(log);
}

// A separate launcher on each host does not make a separate job.
static void test_two_hosts(void **state) {
    (void)state;
    struct log_maker *maker = maker_new();
    put_process(maker, 1, 0, "a", "/usr/bin/orted", 0, 0);
    put_process(maker, 2, 0, "b", "/usr/bin/orted", 0, 0);
    put_process(maker, 3, 1, "a", "/x", 1, 2);
    put_process(maker, 4, 2, "b", "/x", 2, 2);
    maker_flush_records(maker);
    struct log *log = maker_close(maker);
    assert_int_equal(log_world_count(log), 1);
    log_close(log);
}

struct taken {
    size_t count;
    struct log_stats_record record[16];
};

static int take(const struct log_stats_record *record, void *context) {
    struct taken *taken = context;
    assert_true(taken->count < 16);
    taken->record[taken->count++] = *record;
    return 0;
}

// Three ranks of which each writes `/all`, two also `/some`; a process without a rank is there too.
static struct log *three_ranks(void) {
    struct log_maker *maker = maker_new();
    put_process(maker, 1, 0, "a", "/x", 0, 0);
    for (uint64_t rank = 0; rank < 3; rank++) put_process(maker, 2 + rank, 1, "a", "/x", rank + 1, 3);
    for (uint64_t process = 1; process <= 4; process++) {
        maker_file(maker, 1, "/all", process);
        maker_file(maker, 2, "/some", process);
        maker_stream(maker, process, process, 1);
    }
    maker_flush_records(maker);
    for (unsigned process = 1; process <= 4; process++) {
        struct stream_writer *writer = maker_begin(maker, process, 0, 1000);
        stream_put_slot(writer, 0, 1, CALL_pwrite, 1, 0, 0, 0);
        stream_put_slot(writer, 1, 1, CALL_pwrite, 2, 0, 0, 0);
        uint64_t now = 1010;
        for (unsigned i = 0; i < 40; i++, now += 10) // more sizes than there are candidates
            stream_put_plain(writer, 0, i * 100, i + (process == 4), now, now + process);
        if (process != 4) stream_put_plain(writer, 1, 0, 7, now, now + 1);
        maker_end(maker, process != 4 ? 41 : 40, true, 1010, now + 1);
    }
    return maker_close(maker);
}

static void test_reduced(void **state) {
    (void)state;
    struct log *log = three_ranks();
    struct taken taken = {0};
    assert_int_equal(log_reduce(log, NULL, false, take, &taken), 0);
    assert_int_equal(taken.count, 5); // /all of the ranks and of the other, /some of two ranks and of the other
    const struct log_stats_record *all = &taken.record[0];
    assert_true(all->has_rank && all->rank == -1 && all->is_reduced && !all->process);
    assert_string_equal(all->file->name, "/all");
    const uint64_t *value = all->counters.value;
    assert_int_equal(value[COUNTER_WRITES], 120);
    assert_int_equal(value[COUNTER_BYTES_WRITTEN], 2 * 780 + 820);
    assert_int_equal(value[COUNTER_WRITE_TIME], 40 * (2 + 3 + 4) * 2);
    assert_int_equal(value[COUNTER_WRITE_START], 20);
    assert_true(all->ranks.fastest.rank == 0 && all->ranks.fastest.time == 160 && all->ranks.fastest.bytes == 780);
    assert_true(all->ranks.slowest.rank == 2 && all->ranks.slowest.time == 320 && all->ranks.slowest.bytes == 820);
    double third = 40.0 / 3;
    assert_true(all->ranks.variance_bytes > 2 * third * third - 0.001);
    assert_true(all->ranks.variance_bytes < 2 * third * third + 0.001);
    struct counters_value values[COUNTERS_MAX_VALUES];
    size_t count =
        counters_list(&all->counters, &(struct counters_module){.layer = all->layer, .ranks = &all->ranks}, values);
    for (size_t i = 0; i < count; i++) { // sizes 1 to 39 occur three times, 0 and 40 fewer
        if (strcmp(values[i].name, "POSIX_ACCESS1_ACCESS") == 0) assert_int_equal(values[i].integer, 39);
        if (strcmp(values[i].name, "POSIX_ACCESS4_COUNT") == 0) assert_int_equal(values[i].integer, 3);
    }
    assert_true(!taken.record[1].has_rank && taken.record[1].process->id == 1);
    assert_true(taken.record[2].rank == 0 && !taken.record[2].is_reduced && taken.record[3].rank == 1);
    assert_string_equal(taken.record[2].file->name, "/some");

    taken.count = 0;
    assert_int_equal(log_reduce(log, NULL, true, take, &taken), 0);
    assert_int_equal(taken.count, 7);
    assert_true(taken.record[0].rank == 0 && taken.record[2].rank == 2 && !taken.record[3].has_rank);
    log_close(log);
}

struct comms {
    size_t count;
    struct log_comm comm[16];
};

static int take_comm(const struct log_comm *comm, void *context) {
    struct comms *comms = context;
    assert_true(comms->count < 16);
    comms->comm[comms->count++] = *comm;
    return 0;
}

static void put_comm(struct stream_writer *writer, uint64_t mask, uint64_t bytes, uint64_t units) {
    stream_put_control(writer, KIND_COMM, (uint64_t[]){1, mask, 1, bytes, units}, 5);
}

// Communication at a block's end belongs to the next one's first event; a call that was announced comes before its
// children; communication at the end has no event.
static void test_communication(void **state) {
    (void)state;
    const struct stream_put_extra ends = {.flags = EVENT_ENDS_BEGUN};
    struct log_maker *maker = maker_new();
    put_process(maker, 1, 0, "a", "/x", 1, 2);
    put_process(maker, 2, 0, "a", "/x", 2, 2);
    maker_file(maker, 1, "/f", 1);
    maker_stream(maker, 1, 1, 1);
    maker_stream(maker, 2, 2, 1);
    maker_flush_records(maker);
    struct stream_writer *writer = maker_begin(maker, 1, 0, 1000);
    stream_put_slot(writer, 0, 1, CALL_pwrite, 1, 0, 0, 0);
    put_comm(writer, 1 << COMM_SYNCHRONISING, 0, 5);
    stream_put_plain(writer, 0, 0, 8, 1010, 1020);
    put_comm(writer, 1 << COMM_MOVING, 80, 6);
    maker_end(maker, 1, true, 1010, 1020);
    writer = maker_begin(maker, 1, 1, 1020);
    stream_put_slot(writer, 0, 1, CALL_pwrite, 1, 0, 0, 0);
    put_comm(writer, 1 << COMM_MOVING, 20, 4);
    stream_put_begin(writer);
    stream_put_plain(writer, 0, 8, 8, 1030, 1040);
    stream_put_extended(writer, 0, 8, 8, 1025, 1045, &ends);
    put_comm(writer, 1 << COMM_COMPLETING, 0, 9);
    maker_end(maker, 2, false, 1025, 1045);
    writer = maker_begin(maker, 2, 0, 1000);
    stream_put_slot(writer, 0, 1, CALL_pwrite, 1, 0, 0, 0);
    put_comm(writer, 1 << COMM_SYNCHRONISING, 0, 3);
    stream_put_plain(writer, 0, 0, 8, 1010, 1020);
    maker_end(maker, 1, true, 1010, 1020);
    struct log *log = maker_close(maker);

    struct comms comms = {0};
    assert_int_equal(log_comm(log, NULL, take_comm, &comms), 0);
    assert_int_equal(comms.count, 4);
    const struct log_comm *comm = comms.comm;
    assert_true(comm[0].kind == COMM_SYNCHRONISING && comm[0].count == 1 && comm[0].time_ns == 10 && comm[0].tick == 1);
    assert_true(comm[0].has_event && comm[0].event == (1ull << 32));
    assert_true(comm[1].kind == COMM_MOVING && comm[1].count == 2 && comm[1].bytes == 100 && comm[1].time_ns == 20);
    assert_true(comm[1].has_event && comm[1].event == (1ull << 32) + 1);
    assert_true(comm[2].kind == COMM_COMPLETING && !comm[2].has_event && comm[2].time_ns == 18);
    assert_true(comm[3].process->rank == 1 && comm[3].event == (2ull << 32));

    comms.count = 0;
    assert_int_equal(log_comm(log, &(struct log_filter){.has_rank = true, .rank = 1}, take_comm, &comms), 0);
    assert_int_equal(comms.count, 1);
    comms.count = 0;
    assert_int_equal(log_comm(log, &(struct log_filter){.has_to = true, .to_ns = 30}, take_comm, &comms), 0);
    assert_int_equal(comms.count, 2);
    log_close(log);
}

// A process whose trace ended, or that was killed: its record has the communication that no event has.
static void test_untraced_communication(void **state) {
    (void)state;
    struct log_maker *maker = maker_new();
    struct fields_out *out = &maker->records;
    fields_begin(out, RECORD_PROCESS);
    fields_number(out, PROCESS_ID, 1);
    fields_number(out, PROCESS_RANK, 1);
    fields_number(out, PROCESS_TRACE_ENDED, LOSS_TRACE_CAP);
    fields_number(out, PROCESS_COMM_CALLS, 3 << 4 | COMM_SYNCHRONISING);
    fields_number(out, PROCESS_COMM_CALLS, 2 << 4 | COMM_MOVING);
    fields_number(out, PROCESS_COMM_CALLS, 1 << 4 | 15); // of a later version
    fields_number(out, PROCESS_COMM_BYTES, 800 << 4 | COMM_MOVING);
    fields_number(out, PROCESS_COMM_NS, 30 << 4 | COMM_SYNCHRONISING);
    fields_number(out, PROCESS_COMM_NS, 20 << 4 | COMM_MOVING);
    fields_number(out, PROCESS_IO_NS, 70);
    fields_end(out);
    put_process(maker, 2, 0, "a", "/x", 2, 2);
    maker_flush_records(maker);
    struct log *log = maker_close(maker);

    const struct log_process *process = log_process_find(log, 1);
    assert_true(process->io_known && process->io_ns == 70);
    assert_false(log_process_find(log, 2)->io_known);
    struct comms comms = {0};
    assert_int_equal(log_comm(log, NULL, take_comm, &comms), 0);
    assert_int_equal(comms.count, 2);
    const struct log_comm *comm = comms.comm;
    assert_true(comm[0].process == process && !comm[0].has_thread && !comm[0].has_event);
    assert_true(comm[0].kind == COMM_SYNCHRONISING && comm[0].count == 3 && comm[0].bytes == 0 &&
                comm[0].time_ns == 30);
    assert_true(comm[1].kind == COMM_MOVING && comm[1].count == 2 && comm[1].bytes == 800 && comm[1].time_ns == 20);
    comms.count = 0;
    assert_int_equal(log_comm(log, &(struct log_filter){.has_rank = true, .rank = 1}, take_comm, &comms), 0);
    assert_int_equal(log_comm(log, &(struct log_filter){.has_to = true, .to_ns = 30}, take_comm, &comms), 0);
    assert_int_equal(comms.count, 0);
    log_close(log);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launchers),     cmocka_unit_test(test_without_launchers),
        cmocka_unit_test(test_two_hosts),     cmocka_unit_test(test_reduced),
        cmocka_unit_test(test_communication), cmocka_unit_test(test_untraced_communication),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
