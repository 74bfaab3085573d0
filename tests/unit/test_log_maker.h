// Makes small logs for the tests of the reader, without the packer.
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "calls.h"
#include "fmt/block.h"
#include "fmt/call.h"
#include "fmt/counters.h"
#include "fmt/records.h"
#include "fmt/stream_put.h"
#include "log/log.h"

enum { MAKER_ROOM = 64 << 10 };

struct log_maker {
    struct bytes log;
    struct bytes index;
    struct fields_out records; // of the block of records under way
    uint8_t record_data[MAKER_ROOM];
    struct stream_writer writer; // of the block of events under way
    struct log_block block;
    _Atomic uint32_t used;
    uint8_t event_data[MAKER_ROOM];
    uint64_t class_count[CLASS_COUNT]; // of the next block of events, for the index; all 0: it has none
};

static inline void maker_long_block(struct log_maker *maker, struct log_block *block, const uint8_t *raw, size_t len) {
    uint8_t header[LOG_BLOCK_HEADER_BYTES];
    struct bytes stored = {0};
    log_block_store(block, raw, len, &stored);
    log_block_put(header, block);
    bytes_append(&maker->log, header, sizeof header);
    bytes_append(&maker->log, stored.data, stored.len);
    bytes_free(&stored);
}

static inline void maker_block(struct log_maker *maker, struct log_block *block, const uint8_t *raw, size_t len) {
    uint8_t entry[128];
    uint64_t offset = maker->log.len;
    struct fields_out out = {.at = entry, .end = entry + sizeof entry};
    // Only the long form takes records that make no sense.
    if (block->type == BLOCK_EVENTS || log_block_append(block, raw, len, &maker->log) < 0)
        maker_long_block(maker, block, raw, len);
    fields_begin(&out, RECORD_BLOCK);
    fields_number(&out, INDEX_OFFSET, offset);
    fields_number(&out, INDEX_TYPE, block->type);
    fields_number(&out, INDEX_STREAM, block->stream);
    fields_number(&out, INDEX_EVENTS, block->events);
    fields_number(&out, INDEX_START_NS, block->start_ns);
    fields_number(&out, INDEX_END_NS, block->end_ns);
    fields_number(&out, INDEX_STORED_LEN, block->stored_len);
    if (block->type == BLOCK_EVENTS) fields_indexed(&out, INDEX_CLASS_COUNT, maker->class_count, CLASS_COUNT);
    fields_end(&out);
    bytes_append(&maker->index, entry, (size_t)(out.at - entry));
}

static inline struct log_maker *maker_new(void) {
    struct log_maker *maker = calloc(1, sizeof *maker);
    const struct log_header header = {.version = LOG_VERSION, .min_reader = LOG_MIN_READER};
    uint8_t bytes[LOG_HEADER_BYTES];
    log_header_put(bytes, &header);
    bytes_append(&maker->log, bytes, sizeof bytes);
    maker->records = (struct fields_out){.at = maker->record_data, .end = maker->record_data + MAKER_ROOM};
    return maker;
}

// A record of numbers: key, value, key, value … ended by key 0.
static inline void maker_numbers(struct log_maker *maker, unsigned kind, ...) {
    va_list list;
    va_start(list, kind);
    fields_begin(&maker->records, kind);
    for (unsigned key; (key = va_arg(list, unsigned)) != 0;)
        fields_number(&maker->records, key, va_arg(list, uint64_t));
    fields_end(&maker->records);
    va_end(list);
}

static inline void maker_process(struct log_maker *maker, uint64_t id, uint64_t pid, uint64_t rank_plus_1) {
    struct fields_out *out = &maker->records;
    fields_begin(out, RECORD_PROCESS);
    fields_number(out, PROCESS_ID, id);
    fields_number(out, PROCESS_PID, pid);
    fields_string(out, PROCESS_HOST, "host");
    fields_string(out, PROCESS_ARG, "program");
    fields_string(out, PROCESS_ARG, "-x");
    fields_string(out, PROCESS_ARG, "");
    fields_number(out, PROCESS_CLOCK_UNITS, 1000);
    fields_signed(out, PROCESS_CLOCK_NS, 0);
    fields_number(out, PROCESS_CLOCK_SPAN_UNITS, 100);
    fields_number(out, PROCESS_CLOCK_SPAN_NS, 200);
    if (rank_plus_1) fields_number(out, PROCESS_RANK, rank_plus_1);
    fields_end(out);
}

// A file, under the same number in the log and in a process.
static inline void maker_file(struct log_maker *maker, uint64_t id, const char *name, uint64_t process) {
    fields_begin(&maker->records, RECORD_FILE);
    fields_number(&maker->records, FILE_ID, id);
    fields_string(&maker->records, FILE_NAME, name);
    fields_number(&maker->records, FILE_BLOCK_SIZE, 4096);
    fields_end(&maker->records);
    maker_numbers(maker, RECORD_PROCESS_FILE, LINK_PROCESS, process, LINK_LOCAL, id, LINK_GLOBAL, id, 0);
}

static inline void maker_stream(struct log_maker *maker, uint64_t id, uint64_t process, uint64_t local) {
    maker_numbers(maker, RECORD_STREAM, STREAM_ID, id, STREAM_PROCESS, process, STREAM_LOCAL, local, 0);
}

static inline void maker_flush_records(struct log_maker *maker) {
    struct log_block block = {.type = BLOCK_RECORDS};
    maker_block(maker, &block, maker->record_data, (size_t)(maker->records.at - maker->record_data));
    maker->records.at = maker->record_data;
}

// Starts a block of events; times given to stream_put_… are clock units, 2 ns each from 1000 on.
static inline struct stream_writer *maker_begin(struct log_maker *maker, uint32_t stream, uint64_t first_number,
                                                uint64_t start) {
    maker->block = (struct log_block){
        .type = BLOCK_EVENTS, .stream = stream, .tid = stream, .first_number = first_number, .base = start};
    stream_put_start(&maker->writer, maker->event_data, MAKER_ROOM, &maker->used, start);
    maker->writer.next_number = first_number;
    return &maker->writer;
}

static inline void maker_end(struct log_maker *maker, uint32_t events, bool sorted, uint64_t start, uint64_t end) {
    maker->block.events = events;
    maker->block.flags = sorted ? BLOCK_SORTED : 0;
    maker->block.start_ns = (start - 1000) * 2;
    maker->block.end_ns = (end - 1000) * 2;
    maker_block(maker, &maker->block, maker->event_data, maker->used);
}

// Index and trailer; the bytes are then in maker->log.
static inline void maker_finish(struct log_maker *maker) {
    struct log_block block = {.type = BLOCK_INDEX};
    uint8_t trailer[LOG_TRAILER_BYTES];
    struct bytes index = maker->index;
    maker->index = (struct bytes){0};
    size_t before = maker->log.len;
    maker_block(maker, &block, index.data, index.len);
    log_trailer_put(trailer, (uint32_t)(maker->log.len - before));
    bytes_append(&maker->log, trailer, sizeof trailer);
    bytes_free(&index);
}

static inline void maker_free(struct log_maker *maker) {
    bytes_free(&maker->log);
    bytes_free(&maker->index);
    free(maker);
}

// Opens bytes as a log.
static inline int maker_open(struct log **log, const uint8_t *data, size_t len) {
    char path[64];
    int fd = memfd_create("log", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, len) != (ssize_t)len) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int code = log_open(log, path);
    close(fd);
    return code;
}

// Returns the log and frees the maker.
static inline struct log *maker_close(struct log_maker *maker) {
    struct log *log;
    maker_finish(maker);
    if (maker_open(&log, maker->log.data, maker->log.len)) abort();
    maker_free(maker);
    return log;
}

// Two processes (pids 11 and 12, the second one rank 0), three streams, every kind of record. Process 1 has a nested
// call (stream 1), a child of it in another stream (2) and, in a second block of that stream, an event that starts
// before the first one's last.
static inline void maker_sample(struct log_maker *maker) {
    const struct stream_put_extra ends = {.flags = EVENT_ENDS_BEGUN};
    fields_begin(&maker->records, RECORD_JOB);
    fields_string(&maker->records, JOB_COMMAND, "program");
    fields_string(&maker->records, JOB_COMMAND, "-x");
    fields_number(&maker->records, JOB_START_NS, 1700000000000000000);
    fields_end(&maker->records);
    maker_process(maker, 1, 11, 0);
    maker_process(maker, 2, 12, 1);
    maker_file(maker, 1, "/data/a", 1);
    maker_file(maker, 2, "/data/b", 1);
    maker_file(maker, 3, "/tmp/c", 2);
    maker_stream(maker, 1, 1, 1);
    maker_stream(maker, 2, 1, 2);
    maker_stream(maker, 3, 2, 1);
    maker_numbers(maker, RECORD_LOSS, LOSS_PROCESS, (uint64_t)2, LOSS_REASON, (uint64_t)LOSS_SIGNAL, LOSS_COUNT,
                  (uint64_t)9, 0);
    fields_begin(&maker->records, RECORD_CALLSITE);
    fields_number(&maker->records, CALLSITE_PROCESS, 1);
    fields_number(&maker->records, CALLSITE_ID, 4);
    fields_string(&maker->records, CALLSITE_LINE, "main.c:12");
    fields_end(&maker->records);
    maker_flush_records(maker);

    struct stream_writer *writer = maker_begin(maker, 1, 0, 1000);
    stream_put_slot(writer, 0, 1, CALL_open, 1, 1, SLOT_CALLSITE, 4);
    stream_put_slot(writer, 1, 1, CALL_fwrite, 1, 1, 0, 0);
    stream_put_slot(writer, 2, 1, CALL_write, 1, 1, 0, 0);
    stream_put_plain(writer, 0, 0, 0, 1010, 1020);
    stream_put_begin(writer);
    stream_put_plain(writer, 2, 0, 10, 1040, 1050);
    stream_put_plain(writer, 2, 10, 10, 1060, 1070);
    stream_put_extended(writer, 1, 0, 20, 1030, 1080, &ends);
    maker_end(maker, 4, false, 1010, 1080);

    writer = maker_begin(maker, 2, 0, 1000);
    stream_put_slot(writer, 0, 1, CALL_pread, 2, 1, 0, 0);
    struct stream_put_extra child = {0};
    stream_put_attribute(&child, ATTRIBUTE_PARENT_STREAM, 1);
    stream_put_attribute(&child, ATTRIBUTE_PARENT_NUMBER, 1);
    stream_put_extended(writer, 0, 0, 100, 1045, 1046, &child);
    stream_put_plain(writer, 0, 100, 100, 1090, 1095);
    maker_end(maker, 2, false, 1045, 1095);
    writer = maker_begin(maker, 2, 2, 1095);
    stream_put_slot(writer, 0, 1, CALL_pread, 2, 1, 0, 0);
    child = (struct stream_put_extra){0};
    stream_put_extended(writer, 0, 200, 100, 1085, 1096, &child);
    maker_end(maker, 1, true, 1085, 1096);

    writer = maker_begin(maker, 3, 0, 1000);
    stream_put_slot(writer, 5, 1, CALL_pwrite, 3, 1, 0, 0);
    for (unsigned i = 0; i < 4; i++) stream_put_plain(writer, 5, i * 50, 50, 1015 + 20 * i, 1016 + 20 * i);
    maker_end(maker, 4, true, 1015, 1076);
}
