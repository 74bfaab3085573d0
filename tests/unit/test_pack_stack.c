// Jobs that were recorded with a stack: probes' records and the program's events become one tree.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/array.h"
#include "calls.h"
#include "fmt/probe.h"
#include "log/iter.h"
#include "log/visit.h"
#include "pack/pack.h"
#include "test_pack_image.h"

enum { CLIENT = 1, NET, SERVER, DISK, TID = 77, INODE = 1234, MOST = 64 };
#define START UINT64_C(1000000000) // of the process, on all clocks
#define US UINT64_C(1000)

struct scene {
    char folder[64], log_path[80];
    struct image image;
    struct stream_writer writer;
    struct spill_chunk *chunk;
    struct log *log;
    struct log_event event[MOST];
    uint64_t server[MOST];
    size_t events;
};

// --- memory that runs out

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static long until_failure = -1; // allocations before the one that fails; negative: none does

static size_t largest; // array that grew

static bool fails(void) { return until_failure >= 0 && until_failure-- == 0; }

void *__wrap_malloc(size_t size) { return fails() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return fails() ? NULL : __real_calloc(count, size); }
void *__wrap_realloc(void *old, size_t size) {
    if (size > largest) largest = size;
    return fails() ? NULL : __real_realloc(old, size);
}

// --- making

// A process with a file, whose thread makes calls; times are in microseconds since its start.
static struct scene *begin(void) {
    struct scene *scene = calloc(1, sizeof *scene);
    strcpy(scene->folder, "/tmp/ioseer-test-XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    snprintf(scene->log_path, sizeof scene->log_path, "%s.log", scene->folder);
    scene->image = image_new();
    image_header(&scene->image)->exit = EXIT_CLEAN;
    struct spill_chunk *records = image_chunk(&scene->image, CHUNK_RECORDS);
    struct fields_out out = image_fields(records);
    fields_begin(&out, RECORD_FILE);
    fields_number(&out, FILE_ID, 1);
    fields_string(&out, FILE_NAME, "/stack/data");
    fields_number(&out, FILE_INODE, INODE);
    fields_end(&out);
    records->used = (uint32_t)(out.at - image_payload(records));
    scene->chunk = image_chunk(&scene->image, CHUNK_EVENTS);
    scene->chunk->base = START;
    scene->chunk->stream = 5;
    scene->chunk->tid = TID;
    stream_put_start(&scene->writer, image_payload(scene->chunk), IMAGE_PAYLOAD, &scene->chunk->used, START);
    return scene;
}

static void call(struct scene *scene, uint32_t id, uint64_t offset, uint64_t size, uint64_t from_us, uint64_t to_us) {
    unsigned slot = id % STREAM_SLOTS;
    const struct stream_put_extra extra = {0};
    if (!scene->writer.slot[slot].key) stream_put_slot(&scene->writer, slot, id, id, 1, 1, 0, 0);
    stream_put_extended(&scene->writer, slot, offset, size, START + from_us * US, START + to_us * US, &extra);
    struct spill_header *header = image_header(&scene->image);
    if (START + to_us * US > header->latest.units)
        header->latest.units = header->latest.mono_ns = header->latest.epoch_ns = START + to_us * US;
}

static void save(const struct scene *scene, const char *name, const void *data, size_t len) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", scene->folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, len), len);
    close(fd);
}

struct probe {
    unsigned layer;
    int server;
    uint64_t first;
    int64_t clock_ns; // how far its clock is ahead of the job's
    uint64_t missing; // bytes at its end
    uint64_t lost;
};

static void save_probe(const struct scene *scene, unsigned number, struct probe probe,
                       const struct probe_record *record, size_t count) {
    uint8_t *file = calloc(1, PROBE_HEADER_BYTES + count * sizeof *record);
    struct probe_header *header = (struct probe_header *)file;
    *header = (struct probe_header){
        .magic = PROBE_MAGIC,
        .version = PROBE_VERSION,
        .number = (uint16_t)number,
        .server = probe.server < 0 ? PROBE_NO_SERVER : (uint16_t)probe.server,
        .layer = probe.layer,
        .start = {.mono_ns = START + (uint64_t)probe.clock_ns, .epoch_ns = START},
        .first = probe.first,
        .next = probe.first + count,
        .lost = probe.lost,
    };
    for (size_t i = 0; i < count; i++) {
        struct probe_record moved = record[i];
        moved.start_ns += (uint64_t)probe.clock_ns;
        if (moved.end_ns) moved.end_ns += (uint64_t)probe.clock_ns;
        memcpy(file + PROBE_HEADER_BYTES + i * sizeof moved, &moved, sizeof moved);
    }
    char name[32];
    snprintf(name, sizeof name, "%u" PROBE_SUFFIX, number);
    save(scene, name, file, PROBE_HEADER_BYTES + count * sizeof *record - probe.missing);
    free(file);
}

static struct probe_record record(uint64_t parent, uint64_t from_us, uint64_t to_us, uint64_t offset, uint64_t size) {
    return (struct probe_record){
        .parent = parent,
        .start_ns = START + from_us * US,
        .end_ns = to_us ? START + to_us * US : 0,
        .offset = offset,
        .size = size,
        .inode = INODE,
        .result = (int32_t)size,
        .tid = TID,
        .operation = PROBE_writev,
    };
}

static struct probe_record by_thread(struct probe_record record, uint32_t tid) {
    record.tid = tid;
    return record;
}

// --- reading

static size_t read_events(struct scene *scene) {
    struct log_iter *iter;
    const struct log_event *event;
    scene->events = 0;
    assert_int_equal(log_iter_open(&iter, scene->log, &(struct log_filter){.below = true}), 0);
    while (log_iter_next(iter, &event) > 0) {
        assert_true(scene->events < MOST);
        scene->server[scene->events] = log_event_attribute(event, ATTRIBUTE_SERVER);
        scene->event[scene->events++] = *event;
    }
    log_iter_close(iter);
    return scene->events;
}

static void open_log(struct scene *scene) {
    struct pack_result result;
    save(scene, "1" SPILL_SUFFIX, scene->image.data, scene->image.len);
    assert_int_equal(pack_directory(NULL, scene->folder, scene->log_path, NULL, &result), 0);
    assert_int_equal(log_open(&scene->log, scene->log_path), 0);
    read_events(scene);
}

static void end(struct scene *scene) {
    log_close(scene->log);
    unlink(scene->log_path);
    pack_remove_directory(scene->folder);
    free(scene->image.data);
    free(scene);
}

static const struct log_event *find(const struct scene *scene, const char *name, unsigned nth) {
    for (size_t i = 0; i < scene->events; i++) {
        if (!strcmp(scene->event[i].call->name, name) && nth-- == 0) return &scene->event[i];
    }
    return NULL;
}

static void is_in(const struct log_event *event, const struct log_event *parent) {
    assert_non_null(event);
    assert_non_null(parent);
    assert_true(event->has_parent);
    assert_int_equal(event->parent, parent->id);
    assert_true(event->start_ns >= parent->start_ns);
    assert_true(event->start_ns + event->duration_ns <= parent->start_ns + parent->duration_ns);
    assert_ptr_equal(event->file, parent->file);
    assert_int_equal(event->raw.tid, parent->raw.tid);
}

static uint64_t untied(const struct scene *scene, unsigned layer, enum untied_reason reason) {
    for (size_t i = 0; i < log_below_count(scene->log); i++) {
        const struct log_below *below = log_below_at(scene->log, i);
        if (below->layer == layer && below->reason == reason) return below->calls;
    }
    return 0;
}

static uint64_t all_untied(const struct scene *scene) {
    uint64_t calls = 0;
    for (size_t i = 0; i < log_below_count(scene->log); i++) {
        const struct log_below *below = log_below_at(scene->log, i);
        if (below->reason != UNTIED_NONE) calls += below->calls;
    }
    return calls;
}

// --- tests

// Four layers of two writes, each split in two by the file system.
static void save_writes(struct scene *scene, int64_t clock_ns) {
    struct probe_record client[4], net[4], server[4], disk[4];
    for (unsigned i = 0; i < 2; i++) call(scene, CALL_pwrite, i * 200, 200, 1000 * (i + 1), 1000 * (i + 1) + 900);
    for (unsigned i = 0; i < 4; i++) {
        uint64_t at = 1000 * (i / 2 + 1) + (i % 2) * 400;
        client[i] = record(0, at + 50, at + 350, i * 100, 100);
        net[i] = record(probe_id(CLIENT, 7 + i), at + 60, at + 340, i * 100, 100);
        server[i] = record(probe_id(NET, i), at + 100, at + 300, i * 100, 100);
        disk[i] = record(probe_id(SERVER, i), at + 110, at + 290, i * 100, 100);
    }
    save_probe(scene, CLIENT, (struct probe){.layer = LAYER_CLIENT, .server = -1, .first = 7}, client, 4);
    save_probe(scene, NET, (struct probe){.layer = LAYER_NET, .server = 1}, net, 4);
    save_probe(scene, SERVER, (struct probe){.layer = LAYER_SERVER, .server = 1, .clock_ns = clock_ns}, server, 4);
    save_probe(scene, DISK, (struct probe){.layer = LAYER_DISK, .server = 1, .clock_ns = clock_ns}, disk, 4);
}

static void check_writes(const struct scene *scene) {
    assert_int_equal(scene->events, 2 + 4 * 4);
    assert_int_equal(all_untied(scene), 0);
    for (unsigned i = 0; i < 4; i++) {
        const struct log_event *client = find(scene, "client_writev", i), *net = find(scene, "net_writev", i),
                               *server = find(scene, "server_writev", i), *disk = find(scene, "disk_writev", i);
        is_in(client, find(scene, "pwrite", i / 2));
        is_in(net, client);
        is_in(server, net);
        is_in(disk, server);
        assert_int_equal(disk->raw.offset, i * 100);
        assert_int_equal(disk->raw.result, 100);
        assert_int_equal(scene->server[disk - scene->event], 1);
    }
    for (unsigned layer = LAYER_CLIENT; layer <= LAYER_DISK; layer++) assert_int_equal(untied(scene, layer, 0), 4);
}

static void test_tree(void **state) {
    (void)state;
    struct scene *scene = begin();
    save_writes(scene, 0);
    open_log(scene);
    check_writes(scene);
    assert_int_equal(find(scene, "disk_writev", 0)->start_ns, 1110 * US);
    assert_int_equal(log_events(scene->log), 2);
    assert_int_equal(log_events_below(scene->log), 16);
    assert_int_equal(log_server_count(scene->log), 1);
    assert_false(log_server_at(scene->log, 0)->is_aligned);
    end(scene);
}

// The server's clock is an hour ahead.
static void test_other_clock(void **state) {
    (void)state;
    struct scene *scene = begin();
    const int64_t ahead_ns = INT64_C(3600) * 1000000000;
    save_writes(scene, ahead_ns);
    open_log(scene);
    check_writes(scene);
    const struct log_server *server = log_server_at(scene->log, 0);
    assert_true(server->is_aligned);
    assert_true(server->clock_error_ns <= 40 * (int64_t)US);
    int64_t off_ns = find(scene, "disk_writev", 0)->start_ns - (int64_t)(1110 * US);
    assert_true(off_ns >= -server->clock_error_ns && off_ns <= server->clock_error_ns);
    end(scene);
}

struct seen {
    uint64_t events, below, moved;
};

static int count(void *context, const struct log_event *const *event, size_t count) {
    struct seen *seen = context;
    for (size_t i = 0; i < count; i++) {
        seen->events++;
        seen->below += call_layer_is_below(event[i]->call->layer);
        seen->moved += event[i]->moves ? log_event_bytes(event[i]) : 0;
    }
    return 0;
}

// Consumers get calls below the system call only if they want them, and otherwise their blocks are not read.
static void test_visit(void **state) {
    (void)state;
    struct scene *scene = begin();
    struct seen seen[3] = {0};
    save_writes(scene, 0);
    open_log(scene);
    const struct log_consumer consumer[3] = {
        {.context = &seen[0], .ordered = count},
        {.context = &seen[1], .wants_below = true, .ordered = count},
        {.context = &seen[2], .wants_above = true, .wants_below = true, .ordered = count},
    };
    uint64_t blocks = log_blocks_read(scene->log);
    assert_int_equal(log_visit(&(struct log_visit){.log = scene->log, .consumer = consumer, .consumers = 1}), 0);
    assert_int_equal(log_blocks_read(scene->log) - blocks, 1);
    assert_int_equal(seen[0].events, 2);
    seen[0] = (struct seen){0};
    assert_int_equal(log_visit(&(struct log_visit){.log = scene->log, .consumer = consumer, .consumers = 3}), 0);
    assert_int_equal(seen[0].events, 2);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(seen[i].below, i ? 16 : 0);
        assert_int_equal(seen[i].moved, 400); // bytes of the job, once
    }
    end(scene);
}

// Calls of other threads: helpers of an asynchronous write, the kernel, other programs; and what has no call around it.
static void test_reasons(void **state) {
    (void)state;
    struct scene *scene = begin();
    call(scene, CALL_aio_write, 1000, 300, 100, 5000);
    call(scene, CALL_pwrite, 0, 100, 6000, 6500);
    struct probe_record foreign = by_thread(record(0, 2000, 2100, 0, 100), 99);
    foreign.inode = 4321;
    struct probe_record asked = record(0, 5650, 5700, 0, 0);
    asked.operation = PROBE_fstat;
    const struct probe_record client[] = {
        by_thread(record(0, 1000, 1400, 1000, 100), 90), // the helper's
        by_thread(record(0, 1500, 1900, 1200, 100), 90),
        by_thread(record(0, 1500, 1900, 1250, 100), 90), // not in its bytes
        by_thread(record(0, 5500, 5900, 1000, 100), 90), // after its end
        by_thread(record(0, 2000, 2100, 0, 100), 0),
        foreign,
        record(0, 5500, 5600, 0, 100), // of the thread, between its calls
        record(0, 6100, 0, 0, 100),    // did not return
        record(0, 7000, 7100, 0, 100), // the recorder had ended
        asked,                         // as any other
    };
    const struct probe_record net[] = {
        record(probe_id(CLIENT, 0), 1100, 1300, 1000, 100), record(0, 1100, 1300, 0, 0),
        record(probe_id(CLIENT, 7), 6200, 6300, 0, 100),    record(probe_id(CLIENT, 0), 1100, 1500, 1000, 100),
        record(probe_id(CLIENT, 99), 1100, 1300, 0, 100),   record(probe_id(9, 0), 1100, 1300, 0, 100),
        record(probe_id(CLIENT, 5), 2010, 2090, 0, 100),
    };
    save_probe(scene, CLIENT, (struct probe){.layer = LAYER_CLIENT, .server = -1, .lost = 3}, client, 10);
    save_probe(scene, NET, (struct probe){.layer = LAYER_NET, .server = 0}, net, 7);
    open_log(scene);
    const struct log_event *aio = find(scene, "aio_write", 0);
    for (unsigned i = 0; i < 2; i++) is_in(find(scene, "client_writev", i), aio);
    is_in(find(scene, "net_writev", 0), find(scene, "client_writev", 0));
    assert_int_equal(scene->events, 5);
    assert_int_equal(untied(scene, LAYER_CLIENT, UNTIED_OTHER), 2);
    assert_int_equal(untied(scene, LAYER_CLIENT, UNTIED_NO_THREAD), 1);
    assert_int_equal(untied(scene, LAYER_CLIENT, UNTIED_NO_CALL), 2);
    assert_int_equal(untied(scene, LAYER_CLIENT, UNTIED_UNFINISHED), 1);
    assert_int_equal(untied(scene, LAYER_CLIENT, UNTIED_AFTER_END), 1);
    assert_int_equal(untied(scene, LAYER_NET, UNTIED_INTERNAL), 1);
    assert_int_equal(untied(scene, LAYER_NET, UNTIED_UNFINISHED), 1);
    assert_int_equal(untied(scene, LAYER_NET, UNTIED_LATE), 1);
    assert_int_equal(untied(scene, LAYER_NET, UNTIED_LOST), 1);
    assert_int_equal(all_untied(scene), 11);
    assert_int_equal(log_loss_count(scene->log), 1);
    assert_int_equal(log_loss_at(scene->log, 0)->reason, LOSS_PROBE);
    assert_int_equal(log_loss_at(scene->log, 0)->count, 3);
    end(scene);
}

// A file that is cut off costs its own records and what is below them, a forged one only itself.
static void test_damage(void **state) {
    (void)state;
    struct scene *scene = begin();
    const uint8_t noise[5000] = "IOSPROB1 and more";
    save_writes(scene, 0);
    const struct probe_record net[2] = {record(probe_id(CLIENT, 7), 1060, 1340, 0, 100),
                                        record(probe_id(CLIENT, 8), 1460, 1740, 100, 100)};
    save_probe(scene, NET, (struct probe){.layer = LAYER_NET, .server = 1, .missing = sizeof(struct probe_record) + 1},
               net, 2);
    save(scene, "9" PROBE_SUFFIX, noise, sizeof noise);
    open_log(scene);
    assert_int_equal(untied(scene, LAYER_CLIENT, UNTIED_NONE), 4);
    assert_int_equal(untied(scene, LAYER_NET, UNTIED_NONE), 0);
    assert_int_equal(untied(scene, LAYER_SERVER, UNTIED_LOST), 2);
    assert_int_equal(untied(scene, LAYER_DISK, UNTIED_LOST), 2);
    assert_int_equal(log_loss_at(scene->log, 0)->reason, LOSS_PROBE);
    assert_int_equal(log_loss_at(scene->log, 0)->bytes, 2 * sizeof(struct probe_record) + sizeof noise);
    assert_false(log_health(scene->log)->truncated);
    end(scene);
}

// The innermost event around a call caused it; clocks may differ by a little.
static void test_nearest(void **state) {
    (void)state;
    struct scene *scene = begin();
    call(scene, CALL_pwrite, 0, 100, 1000, 1200);
    call(scene, CALL_MPI_File_write_at, 0, 100, 990, 1300);
    call(scene, CALL_pwrite, 100, 100, 1400, 1500);
    const struct probe_record client[] = {record(0, 995, 1100, 0, 100), record(0, 1390, 1510, 100, 100),
                                          record(0, 1210, 1220, 0, 100)};
    save_probe(scene, CLIENT, (struct probe){.layer = LAYER_CLIENT, .server = -1}, client, 3);
    open_log(scene);
    is_in(find(scene, "client_writev", 0), find(scene, "pwrite", 0));
    is_in(find(scene, "client_writev", 1), find(scene, "MPI_File_write_at", 0));
    is_in(find(scene, "client_writev", 2), find(scene, "pwrite", 1));
    assert_int_equal(find(scene, "client_writev", 0)->start_ns, 1000 * US);
    end(scene);
}

// A block of calls below the system call that cannot be read is no loss of the program's events.
static void test_damaged_below(void **state) {
    (void)state;
    struct scene *scene = begin();
    uint8_t byte;
    save_writes(scene, 0);
    open_log(scene);
    size_t i = 0;
    while (!log_place_at(scene->log, i)->below) i++;
    off_t at = (off_t)(log_place_at(scene->log, i)->offset + log_place_at(scene->log, i)->stored_len);
    log_close(scene->log);
    int fd = open(scene->log_path, O_RDWR);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
    assert_int_equal(log_open(&scene->log, scene->log_path), 0);
    assert_int_equal(read_events(scene), 2);
    assert_int_equal(log_health(scene->log)->blocks_damaged, 1);
    assert_int_equal(log_health(scene->log)->events_damaged, 0);
    assert_int_equal(log_health(scene->log)->below_damaged, 16);
    assert_int_equal(log_events(scene->log), 2);
    end(scene);
}

struct trials {
    unsigned logs, errors, unjoined;
};

// Packs again and again, and each time another allocation fails.
static struct trials try_all(struct scene *scene) {
    struct trials trials = {0};
    struct pack_result result;
    for (long n = 0; until_failure < 0; n++) {
        until_failure = n;
        int code = pack_directory(NULL, scene->folder, scene->log_path, NULL, &result);
        if (until_failure >= 0) break;
        trials.errors += code < 0;
        if (code < 0) continue;
        struct log *log;
        assert_int_equal(log_open(&log, scene->log_path), 0);
        assert_int_equal(log_events(log), 2);
        bool is_said = log_stack(log) && log_stack(log)->unjoined;
        assert_true(is_said || log_events_below(log) % 16 == 0);
        trials.unjoined += is_said;
        trials.logs++;
        log_close(log);
        unlink(scene->log_path);
    }
    until_failure = -1;
    unlink(scene->log_path);
    return trials;
}

// Without memory for the stack's calls there is a log without them, and it says so.
static void test_no_memory(void **state) {
    (void)state;
    struct scene *plain = begin(), *scene = begin();
    for (unsigned i = 0; i < 2; i++) call(plain, CALL_pwrite, i * 200, 200, 1000 * (i + 1), 1000 * (i + 1) + 900);
    save(plain, "1" SPILL_SUFFIX, plain->image.data, plain->image.len);
    save_writes(scene, 0);
    save(scene, "1" SPILL_SUFFIX, scene->image.data, scene->image.len);
    struct trials without = try_all(plain), with = try_all(scene);
    assert_int_equal(without.unjoined, 0);
    assert_true(with.errors <= without.errors + 16); // the stack itself has no room, or the log, which has more records
    assert_int_equal(with.unjoined, with.logs);
    assert_true(with.logs > 16);
    end(plain);
    end(scene);
}

// Calls of other programs on their own files take no memory, wherever they come between the job's.
static void test_nobodys(void **state) {
    (void)state;
    enum { FOREIGN = 1 << 18 };
    struct scene *scene = begin();
    struct probe_record *client = calloc(FOREIGN, sizeof *client), *net = calloc(FOREIGN, sizeof *net);
    for (unsigned i = 0; i < FOREIGN; i++) {
        client[i] = by_thread(record(0, 1000 + i, 1010 + i, 0, 100), 99);
        client[i].inode = 4321;
        net[i] = record(probe_id(CLIENT, i), 1002 + i, 1008 + i, 0, 100);
    }
    call(scene, CALL_pwrite, 0, 100, 2000, 2100);
    call(scene, CALL_pwrite, 100, 100, 5000, 5100);
    client[1000] = record(0, 2010, 2090, 0, 100);
    net[1000] = record(probe_id(CLIENT, 1000), 2020, 2080, 0, 100);
    client[4000] = record(0, 5010, 5090, 100, 100);
    net[4000] = record(probe_id(CLIENT, 4000), 5020, 5080, 100, 100);
    save_probe(scene, CLIENT, (struct probe){.layer = LAYER_CLIENT, .server = -1}, client, FOREIGN);
    save_probe(scene, NET, (struct probe){.layer = LAYER_NET, .server = 0}, net, FOREIGN);
    largest = 0;
    open_log(scene);
    assert_true(largest < FOREIGN * sizeof(uint64_t));
    assert_int_equal(scene->events, 6);
    assert_int_equal(all_untied(scene), 0);
    for (unsigned i = 0; i < 2; i++) {
        is_in(find(scene, "client_writev", i), find(scene, "pwrite", i));
        is_in(find(scene, "net_writev", i), find(scene, "client_writev", i));
    }
    free(client);
    free(net);
    end(scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree),      cmocka_unit_test(test_other_clock),   cmocka_unit_test(test_visit),
        cmocka_unit_test(test_reasons),   cmocka_unit_test(test_damage),        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_no_memory), cmocka_unit_test(test_damaged_below), cmocka_unit_test(test_nobodys),
    };
    return cmocka_run_group_tests_name("joining a stack's records", tests, NULL, NULL);
}
