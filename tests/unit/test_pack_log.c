// From spill images to logs, read back with the format's own functions.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "fmt/block.h"
#include "fmt/call.h"
#include "fmt/counters.h"
#include "fmt/stream.h"
#include "pack/pack.h"
#include "test_pack_image.h"

enum { MAX_RECORDS = 4096, MAX_BLOCKS = 16, MAX_KEYS = 48 };

struct record {
    unsigned kind;
    uint64_t number[MAX_KEYS]; // by key, the last of each
    char text[MAX_KEYS][64];
};

// All of a log.
struct contents {
    struct record *record;
    size_t records;
    struct log_block block[MAX_BLOCKS]; // of events
    struct bytes events[MAX_BLOCKS];
    size_t before[MAX_BLOCKS]; // records before it
    size_t blocks;
    size_t index_entries;
};

static uint32_t call_named(const char *name) {
    for (uint32_t id = 1; id < call_table_len; id++) {
        if (call_names[id] && !strcmp(call_names[id], name)) return id;
    }
    fail_msg("no call %s", name);
    return 0;
}

static void read_records(struct contents *contents, const struct bytes *raw) {
    struct fields_in in = {.at = raw->data, .end = raw->data + raw->len};
    struct fields_in body;
    struct field field;
    unsigned kind;
    while (fields_next_record(&in, &kind, &body) > 0) {
        assert_true(contents->records < MAX_RECORDS);
        struct record *record = &contents->record[contents->records++];
        *record = (struct record){.kind = kind};
        while (fields_next(&body, &field) > 0) {
            if (field.key >= MAX_KEYS) continue;
            record->number[field.key] = field.number;
            if (field.is_bytes) snprintf(record->text[field.key], 64, "%.*s", (int)field.len, (const char *)field.data);
        }
    }
    assert_ptr_equal(in.at, in.end);
}

static void read_log(int fd, struct contents *contents) {
    *contents = (struct contents){.record = calloc(MAX_RECORDS, sizeof(struct record))};
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    size_t len = (size_t)status.st_size;
    uint8_t *data = malloc(len);
    assert_int_equal(pread(fd, data, len, 0), len);
    struct log_header header;
    assert_int_equal(log_header_get(data, &header), 0);
    struct log_trailer trailer;
    assert_int_equal(log_trailer_get(data + len, len, len, &trailer), 0);
    assert_int_equal(trailer.bytes, LOG_TRAILER_BYTES);
    for (size_t at = LOG_HEADER_BYTES; at < len - LOG_TRAILER_BYTES;) {
        struct log_block block;
        struct bytes raw = {0};
        assert_int_equal(log_block_get(data + at, len - at, &block), 0);
        assert_int_equal(log_block_load(&block, data + at + block.header_bytes, &raw), 0);
        if (block.type == BLOCK_EVENTS) {
            contents->block[contents->blocks] = block;
            contents->before[contents->blocks] = contents->records;
            contents->events[contents->blocks++] = raw;
        } else {
            size_t before = contents->records;
            read_records(contents, &raw);
            if (block.type == BLOCK_INDEX) {
                assert_true(trailer.has_index && at == trailer.index_offset);
                contents->index_entries = contents->records - before;
            }
            bytes_free(&raw);
        }
        assert_int_equal(block.header_bytes,
                         block.type == BLOCK_EVENTS ? LOG_BLOCK_HEADER_BYTES : LOG_SHORT_HEADER_BYTES);
        at += block.header_bytes + block.stored_len;
    }
    assert_int_equal(trailer.has_index, contents->blocks > 0); // of events
    free(data);
}

static void free_contents(struct contents *contents) {
    for (size_t i = 0; i < contents->blocks; i++) bytes_free(&contents->events[i]);
    free(contents->record);
}

static const struct record *find(const struct contents *contents, unsigned kind, size_t nth) {
    for (size_t i = 0; i < contents->records; i++) {
        if (contents->record[i].kind == kind && nth-- == 0) return &contents->record[i];
    }
    return NULL;
}

// The packer's code; if it is 0, the log must be readable.
static int pack_image(const struct image *image, struct contents *contents, struct pack_result *result) {
    char directory[] = "/tmp/ioseer-test-XXXXXX", path[64], log[64];
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/1" SPILL_SUFFIX, directory);
    snprintf(log, sizeof log, "%s/log", directory);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_int_equal(write(fd, image->data, image->len), image->len);
    close(fd);
    int code = pack_directory(NULL, directory, log, NULL, result);
    fd = open(log, O_RDONLY);
    assert_int_equal(fd >= 0, code == 0);
    if (code == 0) read_log(fd, contents);
    if (fd >= 0) close(fd);
    assert_int_equal(pack_remove_directory(directory), 0);
    return code;
}

static void pack(const struct image *image, struct contents *contents, struct pack_result *result) {
    assert_int_equal(pack_image(image, contents, result), 0);
}

static void a_good_image_becomes_a_log(void **state) {
    (void)state;
    struct image image = image_new();
    image_put_file(image_chunk(&image, CHUNK_RECORDS), 5, "/data/out");
    struct spill_chunk *events = image_chunk(&image, CHUNK_EVENTS);
    image_put_run(events, call_named("pwrite"), 5, 100, 4096);
    image_header(&image)->exit = EXIT_CLEAN;
    image_header(&image)->lost[LOSS_SIGNAL] = 3;

    struct contents log;
    struct pack_result result;
    pack(&image, &log, &result);
    assert_int_equal(result.events, 100);
    assert_int_equal(result.processes, 1);
    assert_int_equal(result.bytes[1], 100 * 4096);
    assert_int_equal(result.bytes[0], 0);
    assert_int_equal(result.lost_events, 3);
    assert_int_equal(result.damaged_bytes, 0);

    assert_string_equal(find(&log, RECORD_FILE, 0)->text[FILE_NAME], "/data/out");
    assert_int_equal(find(&log, RECORD_FILE, 0)->number[FILE_BLOCK_SIZE], 4096);
    assert_int_equal(find(&log, RECORD_PROCESS_FILE, 0)->number[LINK_LOCAL], 5);
    assert_int_equal(find(&log, RECORD_PROCESS_FILE, 0)->number[LINK_GLOBAL], 1);
    assert_int_equal(find(&log, RECORD_PROCESS, 0)->number[PROCESS_EXIT], EXIT_CLEAN);
    assert_int_equal(find(&log, RECORD_PROCESS, 0)->number[PROCESS_PID], 4000000);
    assert_int_equal(find(&log, RECORD_LOSS, 0)->number[LOSS_COUNT], 3);
    assert_int_equal(find(&log, RECORD_STREAM, 0)->number[STREAM_PROCESS], 1);

    assert_int_equal(log.blocks, 1);
    assert_int_equal(log.block[0].events, 100);
    assert_int_equal(log.block[0].flags, BLOCK_SORTED);
    assert_int_equal(log.block[0].stream, 1);
    assert_int_equal(log.block[0].tid, 77);
    assert_int_equal(log.block[0].start_ns, 10);
    assert_int_equal(log.block[0].end_ns, 1500);
    assert_int_equal(log.events[0].len, events->used);
    assert_memory_equal(log.events[0].data, image_payload(events), events->used);

    const struct record *entry = find(&log, RECORD_BLOCK, log.index_entries - 1);
    while (entry->number[INDEX_TYPE] != BLOCK_EVENTS) entry--;
    assert_int_equal(entry->number[INDEX_EVENTS], 100);
    assert_int_equal(entry->number[INDEX_CLASS_COUNT], 100 << 4 | CLASS_WRITE);
    assert_int_equal(entry->number[INDEX_CLASS_BYTES], 409600 << 4 | CLASS_WRITE);
    assert_int_equal(entry->number[INDEX_CLASS_NS], 500 << 4 | CLASS_WRITE);
    free_contents(&log);
    free(image.data);
}

static void a_damaged_chunk_keeps_its_good_part(void **state) {
    (void)state;
    struct image image = image_new();
    struct spill_chunk *events = image_chunk(&image, CHUNK_EVENTS);
    image_put_run(events, call_named("pwrite"), 1, 10, 4096);
    uint32_t good = events->used;
    memset(image_payload(events) + good, 0xff, 40);
    events->used = good + 40;

    struct contents log;
    struct pack_result result;
    pack(&image, &log, &result);
    assert_int_equal(result.events, 10);
    assert_int_equal(result.damaged_bytes, 40);
    assert_int_equal(log.events[0].len, good);
    assert_int_equal(find(&log, RECORD_LOSS, 0)->number[LOSS_REASON], LOSS_DAMAGED);
    assert_int_equal(find(&log, RECORD_LOSS, 0)->number[LOSS_BYTES], 40);
    assert_int_equal(find(&log, RECORD_LOSS, 0)->number[LOSS_PROCESS], 1);
    free_contents(&log);
    free(image.data);
}

static void children_make_a_block_unsorted(void **state) {
    (void)state;
    struct image image = image_new();
    struct spill_chunk *events = image_chunk(&image, CHUNK_EVENTS);
    struct stream_writer writer = {0};
    events->base = 1000000000;
    stream_put_start(&writer, image_payload(events), IMAGE_PAYLOAD, &events->used, events->base);
    stream_put_begin(&writer);
    stream_put_slot(&writer, 0, 1, call_named("pwrite"), 1, 1, 0, 0);
    stream_put_plain(&writer, 0, 0, 10, events->base + 10, events->base + 20);
    struct stream_put_extra outer = {.flags = EVENT_ENDS_BEGUN};
    stream_put_extended(&writer, 0, 0, 10, events->base + 5, events->base + 30, &outer);

    struct contents log;
    struct pack_result result;
    pack(&image, &log, &result);
    assert_int_equal(result.events, 2);
    assert_int_equal(log.block[0].flags & BLOCK_SORTED, 0);
    assert_int_equal(log.block[0].start_ns, 5);
    assert_int_equal(log.block[0].end_ns, 30);
    free_contents(&log);
    free(image.data);
}

// A log has the rows of the calls that occur, each before the first block that needs it.
static void calls_that_occur_have_rows(void **state) {
    (void)state;
    struct image image = image_new();
    image_put_run(image_chunk(&image, CHUNK_EVENTS), call_named("pwrite"), 1, 10, 4096);
    image_put_run(image_chunk(&image, CHUNK_EVENTS), call_named("pwrite"), 1, 10, 4096);
    image_put_run(image_chunk(&image, CHUNK_EVENTS), call_named("pread"), 1, 10, 4096);

    struct contents log;
    struct pack_result result;
    pack(&image, &log, &result);
    const struct record *first = find(&log, RECORD_CALL, 0), *second = find(&log, RECORD_CALL, 1);
    assert_string_equal(first->text[CALL_NAME], "pwrite");
    assert_int_equal(first->number[CALL_ID], call_named("pwrite"));
    assert_int_equal(first->number[CALL_LAYER], LAYER_POSIX);
    assert_int_equal(first->number[CALL_CLASS], CLASS_WRITE);
    assert_int_equal(first->number[CALL_TRAITS], call_table[call_named("pwrite")].traits);
    assert_string_equal(second->text[CALL_NAME], "pread");
    assert_null(find(&log, RECORD_CALL, 2));
    assert_int_equal(log.blocks, 3);
    assert_true(first < &log.record[log.before[0]]);
    assert_true(second < &log.record[log.before[2]]);
    free_contents(&log);
    free(image.data);
}

// The tallies of threads in their chunks add up to the process's; times become nanoseconds.
static void what_no_event_tells_of_is_summed_up(void **state) {
    (void)state;
    struct image image = image_new();
    image_header(&image)->unit_shift = 2; // a unit is four nanoseconds
    image_header(&image)->trace_ended = LOSS_TRACE_CAP;
    for (unsigned i = 0; i < 2; i++) {
        struct spill_chunk *chunk = image_chunk(&image, CHUNK_COUNTERS);
        chunk->tally.comm[COMM_MOVING] = (struct stream_comm){.count = 3, .bytes = 800, .units = 100};
        chunk->tally.io_units = 7;
    }
    struct contents log;
    struct pack_result result;
    pack(&image, &log, &result);
    const struct record *process = find(&log, RECORD_PROCESS, 0);
    assert_int_equal(process->number[PROCESS_COMM_CALLS], 6 << 4 | COMM_MOVING);
    assert_int_equal(process->number[PROCESS_COMM_BYTES], 1600 << 4 | COMM_MOVING);
    assert_int_equal(process->number[PROCESS_COMM_NS], 800 << 4 | COMM_MOVING);
    assert_int_equal(process->number[PROCESS_IO_NS], 56);
    free_contents(&log);
    free(image.data);
}

// A rank may do nothing but communicate.
static void communication_without_events_is_kept(void **state) {
    (void)state;
    struct image image = image_new();
    struct spill_chunk *chunk = image_chunk(&image, CHUNK_EVENTS);
    struct stream_writer writer = {0};
    chunk->base = 1000000050;
    stream_put_start(&writer, image_payload(chunk), IMAGE_PAYLOAD, &chunk->used, chunk->base);
    stream_put_control(&writer, KIND_COMM, (uint64_t[]){2, 1, 2, 0, 70}, 5);
    image_chunk(&image, CHUNK_EVENTS)->stream = 1; // a thread that did nothing

    struct contents log;
    struct pack_result result;
    pack(&image, &log, &result);
    assert_int_equal(result.events, 0);
    assert_int_equal(log.blocks, 1);
    assert_int_equal(log.block[0].events, 0);
    assert_int_equal(log.block[0].start_ns, 50);
    assert_int_equal(log.block[0].end_ns, 50);
    assert_int_equal(log.events[0].len, chunk->used);
    assert_memory_equal(log.events[0].data, image_payload(chunk), chunk->used);
    assert_int_equal(find(&log, RECORD_STREAM, 0)->number[STREAM_ID], log.block[0].stream);
    assert_null(find(&log, RECORD_STREAM, 1));
    free_contents(&log);
    free(image.data);
}

static void counters_are_handed_on(void **state) {
    (void)state;
    struct image image = image_new();
    struct spill_chunk *chunk = image_chunk(&image, CHUNK_COUNTERS);
    chunk->bytes += IMAGE_CHUNK_BYTES; // room for two
    image_header(&image)->next += IMAGE_CHUNK_BYTES;
    struct spill_counters entry = {.file = 9, .layer = LAYER_POSIX};
    entry.counters.value[COUNTER_BYTES_READ] = 123;
    entry.counters.sizes.used = UINT64_MAX; // a lie
    memcpy(image_payload(chunk), &entry, sizeof entry);
    entry.layer = LAYER_MPIIO; // moves its bytes through the layers below
    memcpy(image_payload(chunk) + sizeof entry, &entry, sizeof entry);
    chunk->used = 2 * sizeof entry;

    struct contents log;
    struct pack_result result;
    pack(&image, &log, &result);
    assert_int_equal(result.bytes[0], 123);
    assert_int_equal(find(&log, RECORD_COUNTERS, 0)->number[COUNTERS_FILE], 9);
    assert_int_equal(find(&log, RECORD_COUNTERS, 0)->number[COUNTERS_LAYER], LAYER_POSIX);
    assert_int_equal(find(&log, RECORD_COUNTERS, 1)->number[COUNTERS_LAYER], LAYER_MPIIO);
    free_contents(&log);
    free(image.data);
}

// With any bytes of a spill changed, packing makes a log or fails cleanly.
static void random_damage_is_survived(void **state) {
    (void)state;
    uint64_t random = 1;
    for (unsigned round = 0; round < 300; round++) {
        struct image image = image_new();
        image_put_file(image_chunk(&image, CHUNK_RECORDS), 1, "/a");
        image_put_run(image_chunk(&image, CHUNK_EVENTS), call_named("pread"), 1, 50, 100);
        image_chunk(&image, CHUNK_COUNTERS)->used = 2000;
        for (unsigned i = 0; i < 20; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            image.data[16 + (random >> 33) % (4 * 4096)] = (uint8_t)(random >> 25);
        }
        image_header(&image)->magic = SPILL_MAGIC;
        struct pack_result result;
        struct contents log;
        if (pack_image(&image, &log, &result) == 0) free_contents(&log);
        free(image.data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_image_becomes_a_log),
        cmocka_unit_test(a_damaged_chunk_keeps_its_good_part),
        cmocka_unit_test(children_make_a_block_unsorted),
        cmocka_unit_test(calls_that_occur_have_rows),
        cmocka_unit_test(communication_without_events_is_kept),
        cmocka_unit_test(what_no_event_tells_of_is_summed_up),
        cmocka_unit_test(counters_are_handed_on),
        cmocka_unit_test(random_damage_is_survived),
    };
    return cmocka_run_group_tests_name("pack_log", tests, NULL, NULL);
}
