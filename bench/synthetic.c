// synthetic LOG PATTERN PROCESSES EVENTS: writes a synthetic log of an MPI job with EVENTS events in total. All
// processes transfer 4 KiB blocks of one file, or of several:
//   dumps      dumps, separated by communication, of one block per process at a time; at the end all are read
//   random     at random offsets
//   mixed      alternating reads and writes, with barriers, and headers written by the first process
//   different  each process has its own number of blocks at a time and its own order
//   files      one block of each of 100 files in turn
//   own        each process opens, writes and closes 2,000 files of its own
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_log_maker.h"

enum { BLOCK = 4096, RECORDS_ROOM = MAKER_ROOM - 8192, SLOT_WRITE = 0, SLOT_READ = 1, FILES = 100, OWN_FILES = 2000 };

struct making {
    struct log_maker *maker;
    struct stream_writer *writer;
    uint64_t process, processes, events;
    uint32_t in_block; // events
    uint64_t first;    // their start
    uint64_t now;      // clock units
    uint64_t left;     // events of this process
    uint64_t random;
    uint64_t files; // of the process
};

static void start_block(struct making *m) {
    m->writer = maker_begin(m->maker, (uint32_t)m->process + 1, m->events - m->left, m->now);
    stream_put_slot(m->writer, SLOT_WRITE, 1, CALL_pwrite, 1, 1, 0, 0);
    stream_put_slot(m->writer, SLOT_READ, 2, CALL_pread, 1, 1, 0, 0);
    m->in_block = 0;
    m->first = m->now;
}

static void end_block(struct making *m) {
    if (m->in_block) maker_end(m->maker, m->in_block, true, m->first, m->now);
}

static void make_room(struct making *m) {
    if (!stream_put_full(m->writer)) return;
    end_block(m);
    start_block(m);
}

static void transfer(struct making *m, unsigned slot, uint64_t block) {
    if (!m->left) return;
    make_room(m);
    stream_put_plain(m->writer, slot, block * BLOCK, BLOCK, m->now + 50, m->now + 150 + m->left % 7);
    m->now += 150 + m->left % 7;
    m->in_block++;
    m->left--;
}

static void communicate(struct making *m, enum stream_comm_kind kind) {
    const uint64_t values[] = {1, UINT64_C(1) << kind, 1, kind == COMM_MOVING ? 8192 : 0, 20};
    stream_put_control(m->writer, KIND_COMM, values, 5);
}

static uint64_t random_below(struct making *m, uint64_t limit) {
    m->random = m->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (m->random >> 33) % limit;
}

static void make_dumps(struct making *m) {
    uint64_t dumps = 50, blocks = m->left / (dumps + 2), all = m->left;
    for (uint64_t dump = 0; dump < dumps; dump++) {
        for (uint64_t i = 0; i < blocks; i++) transfer(m, SLOT_WRITE, (dump * m->processes + m->process) * blocks + i);
        communicate(m, COMM_MOVING);
    }
    for (uint64_t i = 0; m->left; i++) transfer(m, SLOT_READ, m->process * all + i);
}

static void make_random(struct making *m) {
    while (m->left) transfer(m, SLOT_READ, random_below(m, 1 << 24));
}

static void make_mixed(struct making *m) {
    uint64_t all = m->left;
    if (!m->process) transfer(m, SLOT_WRITE, 0);
    for (uint64_t i = 0; m->left; i++) {
        transfer(m, SLOT_WRITE, m->process * all + i);
        communicate(m, COMM_SYNCHRONISING);
        if (m->left) transfer(m, SLOT_READ, m->process * all + i / 2);
    }
}

static void make_different(struct making *m) {
    uint64_t blocks = 5 + m->process;
    for (uint64_t dump = 0; m->left; dump++) {
        for (uint64_t i = 0; i < blocks + dump % 3; i++) {
            transfer(m, (dump + m->process) % 2, (dump * m->processes + m->process) * 100 + i * (1 + m->process % 5));
        }
        communicate(m, COMM_MOVING);
    }
}

static void make_files(struct making *m) {
    for (uint64_t i = 0; m->left; i++) {
        make_room(m);
        stream_put_slot(m->writer, SLOT_WRITE, 1, CALL_pwrite, (uint32_t)(i % FILES) + 1, 1, 0, 0);
        transfer(m, SLOT_WRITE, i / FILES * m->processes + m->process);
    }
}

static void make_own(struct making *m) {
    uint64_t events = (m->left + OWN_FILES - 1) / OWN_FILES, blocks = events > 3 ? events - 2 : 1;
    for (uint32_t file = (uint32_t)m->process * OWN_FILES + 1; m->left; file++) {
        const enum call_id calls[] = {CALL_open, CALL_pwrite, CALL_close};
        for (uint64_t i = 0; i < blocks + 2; i++) {
            unsigned call = i == 0 ? 0 : i <= blocks ? 1 : 2;
            make_room(m);
            stream_put_slot(m->writer, SLOT_WRITE, 1, calls[call], file, 1, 0, 0);
            transfer(m, SLOT_WRITE, call == 1 ? i - 1 : 0);
        }
    }
}

static void flush_if_full(struct log_maker *maker) {
    if (maker->records.at > maker->record_data + RECORDS_ROOM) maker_flush_records(maker);
}

static void put_own_files(const struct making *m) {
    char name[64];
    for (uint64_t i = 1; i <= OWN_FILES; i++) {
        snprintf(name, sizeof name, "/data/rank-%04" PRIu64 "/part-%06" PRIu64 ".dat", m->process, i);
        maker_file(m->maker, m->process * OWN_FILES + i, name, m->process + 1);
        flush_if_full(m->maker);
    }
}

static void put_files(const struct making *m, uint64_t process) {
    char name[32];
    for (uint64_t id = 1; id <= (m->files == FILES ? FILES : 1); id++) {
        snprintf(name, sizeof name, id == 1 ? "/data/shared" : "/data/%" PRIu64, id);
        if (process == 1) maker_file(m->maker, id, name, process);
        if (process > 1)
            maker_numbers(m->maker, RECORD_PROCESS_FILE, LINK_PROCESS, process, LINK_LOCAL, id, LINK_GLOBAL, id, 0);
    }
}

static void put_process(struct making *m) {
    struct log_maker *maker = m->maker;
    uint64_t id = m->process + 1;
    fields_begin(&maker->records, RECORD_PROCESS);
    fields_number(&maker->records, PROCESS_ID, id);
    fields_number(&maker->records, PROCESS_PID, 1000 + id);
    fields_string(&maker->records, PROCESS_HOST, "host");
    fields_number(&maker->records, PROCESS_CLOCK_SPAN_UNITS, 100);
    fields_number(&maker->records, PROCESS_CLOCK_SPAN_NS, 200);
    fields_number(&maker->records, PROCESS_RANK, id);
    fields_number(&maker->records, PROCESS_MPI_SIZE, m->processes);
    fields_end(&maker->records);
    if (m->files == OWN_FILES)
        put_own_files(m);
    else
        put_files(m, id);
    maker_stream(maker, id, id, 1);
    flush_if_full(maker);
}

static int write_log(const struct log_maker *maker, const char *path) {
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(maker->log.data, 1, maker->log.len, out) != maker->log.len || fclose(out)) {
        perror(path);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    static const struct pattern {
        const char *name;
        void (*make)(struct making *m);
        uint64_t files;
    } patterns[] = {{"dumps", make_dumps, 1},         {"random", make_random, 1},   {"mixed", make_mixed, 1},
                    {"different", make_different, 1}, {"files", make_files, FILES}, {"own", make_own, OWN_FILES}};
    const struct pattern *pattern = NULL;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns && argc == 5; i++) {
        if (!strcmp(patterns[i].name, argv[2])) pattern = &patterns[i];
    }
    if (!pattern) return 2;
    struct making m = {.maker = maker_new(), .processes = strtoull(argv[3], NULL, 10), .files = pattern->files};
    m.events = m.processes ? strtoull(argv[4], NULL, 10) / m.processes : 0;
    for (m.process = 0; m.process < m.processes; m.process++) put_process(&m);
    maker_flush_records(m.maker);
    for (m.process = 0; m.process < m.processes; m.process++) {
        m.left = m.events;
        m.now = 1000;
        m.random = m.process;
        start_block(&m);
        pattern->make(&m);
        end_block(&m);
    }
    maker_finish(m.maker);
    int status = write_log(m.maker, argv[1]);
    maker_free(m.maker);
    return status;
}
