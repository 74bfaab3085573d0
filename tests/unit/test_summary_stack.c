// Latencies, servers and energy of a stack, from events with known times.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "summary/stack.h"
#include "test_log_maker.h"

enum { RANKS = 3, US = 1000, NO_SERVER = -1 };

static const struct log_call h5_call = {.id = 1, .layer = LAYER_HDF5, .class = CLASS_WRITE, .name = "H5Dwrite"};
static const struct log_call open_call = {
    .id = 2, .layer = LAYER_MPIIO, .class = CLASS_OPEN, .traits = CALL_COLLECTIVE, .name = "MPI_File_open"};
static const struct log_call all_call = {
    .id = 3, .layer = LAYER_MPIIO, .class = CLASS_WRITE, .traits = CALL_COLLECTIVE, .name = "MPI_File_write_all"};
static const struct log_call mpi_call = {.id = 4, .layer = LAYER_MPIIO, .class = CLASS_WRITE, .name = "MPI_File_write"};
static const struct log_call copy_call = {.id = 5, .layer = LAYER_POSIX, .class = CLASS_META, .name = "copy"};
static const struct log_call posix_call = {.id = 6, .layer = LAYER_POSIX, .class = CLASS_WRITE, .name = "pwrite"};
static const struct log_call client_call = {.id = 7, .layer = LAYER_CLIENT, .class = CLASS_WRITE, .name = "client"};
static const struct log_call net_call = {.id = 8, .layer = LAYER_NET, .class = CLASS_WRITE, .name = "net"};
static const struct log_call server_call = {.id = 9, .layer = LAYER_SERVER, .class = CLASS_WRITE, .name = "server"};
static const struct log_call disk_call = {.id = 10, .layer = LAYER_DISK, .class = CLASS_WRITE, .name = "disk"};

struct scene {
    struct log *log;
    struct log_process process[RANKS];
    struct log_file file, elsewhere;
    struct summary_stack stack;
    uint64_t events;
};

// Rank 2 makes no call after the given time.
static struct scene *begin_until(uint64_t last_ns) {
    struct scene *scene = calloc(1, sizeof *scene);
    struct log_maker *maker = maker_new();
    struct log_consumer consumer;
    for (uint64_t i = 0; i < RANKS; i++) maker_process(maker, i + 1, 100 + i, i + 1);
    for (uint64_t i = 0; i < RANKS; i++) maker_stream(maker, i + 1, i + 1, 1);
    maker_flush_records(maker);
    for (uint32_t i = 0; i < RANKS; i++) {
        maker_begin(maker, i + 1, 0, 1000);
        maker_end(maker, 0, true, 1000, 1000 + (i == 2 ? last_ns : 1 << 30) / 2);
    }
    scene->log = maker_close(maker);
    for (unsigned i = 0; i < RANKS; i++)
        scene->process[i] = (struct log_process){
            .index = i, .has_rank = true, .rank = i, .mpi_size = RANKS, .whole_until_ns = INT64_MAX};
    scene->file.name = "/stack/data";
    scene->elsewhere.name = "/stacked/data";
    scene->elsewhere.index = 1;
    assert_int_equal(stack_begin(&scene->stack, scene->log, &consumer), 0);
    assert_null(consumer.ordered); // this log has no calls below the system call
    assert_int_equal(stack_init(&scene->stack, scene->log, LAYER_DISK), 0);
    scene->stack.mount = "/stack";
    scene->stack.run_ns = 100000 * US;
    return scene;
}

static struct scene *begin(void) { return begin_until(1 << 30); }

static void end(struct scene *scene) {
    stack_free(&scene->stack);
    log_close(scene->log);
    free(scene);
}

struct details {
    uint64_t parent; // 0: none
    int server;
    uint64_t bytes, comm_size;
    unsigned rank;
    bool is_elsewhere, in_above, is_forged;
};

// Times are in microseconds. Returns the id of the event.
static uint64_t add(struct scene *scene, const struct log_call *call, int64_t start, int64_t stop, struct details d) {
    bool is_at_server = call->layer > LAYER_CLIENT && call->layer <= LAYER_DISK;
    bool has_server = d.is_forged || (is_at_server && d.server != NO_SERVER);
    uint64_t attribute[ATTRIBUTE_LIMIT] = {
        [ATTRIBUTE_COMM_SIZE] = d.comm_size, [ATTRIBUTE_SERVER] = (uint64_t)d.server};
    struct log_event event = {.id = ++scene->events,
                              .start_ns = start * US,
                              .duration_ns = (stop - start) * US,
                              .process = &scene->process[d.rank],
                              .call = call,
                              .file = d.is_elsewhere ? &scene->elsewhere : &scene->file,
                              .raw = {.size = d.bytes,
                                      .result = (int64_t)d.bytes,
                                      .has_result = true,
                                      .attribute = attribute,
                                      .attribute_mask = (d.comm_size ? 1u << ATTRIBUTE_COMM_SIZE : 0) |
                                                        (has_server ? 1u << ATTRIBUTE_SERVER : 0),
                                      .handle = 1},
                              .has_parent = d.parent && !d.in_above,
                              .in_above = d.in_above,
                              .parent = d.parent};
    assert_int_equal(stack_add(&scene->stack, &event), 0);
    return event.id;
}

static void check(const struct stack_latency *time, unsigned layer, int64_t inclusive, int64_t exclusive) {
    assert_int_equal(time[layer].inclusive_ns, inclusive * US);
    assert_int_equal(time[layer].exclusive_ns, exclusive * US);
}

static void check_layer(const struct scene *scene, unsigned layer, uint64_t calls, int64_t inclusive,
                        int64_t exclusive) {
    const struct stack_layer *of = &scene->stack.layer[layer];
    assert_int_equal(of->calls, calls);
    check(&of->time, 0, inclusive, exclusive);
}

// The example of Figure 9 of the paper on IOPro: the MPI call 0 becomes the client's calls 00 and 01, each of which
// goes to the servers 0 and 1. Server 1 accesses its disk twice for the first one.
static void figure_9(void **state) {
    (void)state;
    struct scene *scene = begin();
    uint64_t mpi = add(scene, &mpi_call, 0, 1000, (struct details){.bytes = 30});
    uint64_t posix = add(scene, &posix_call, 100, 400, (struct details){.parent = mpi, .bytes = 10});
    uint64_t client = add(scene, &client_call, 110, 390, (struct details){.parent = posix, .bytes = 10});
    uint64_t net_0 = add(scene, &net_call, 120, 300, (struct details){.parent = client, .bytes = 5});
    uint64_t net_1 = add(scene, &net_call, 120, 380, (struct details){.parent = client, .server = 1, .bytes = 5});
    uint64_t server_0 = add(scene, &server_call, 130, 290, (struct details){.parent = net_0, .bytes = 5});
    uint64_t server_1 = add(scene, &server_call, 130, 370, (struct details){.parent = net_1, .server = 1, .bytes = 5});
    add(scene, &disk_call, 140, 240, (struct details){.parent = server_0, .bytes = 5});
    add(scene, &disk_call, 140, 190, (struct details){.parent = server_1, .server = 1, .bytes = 5});
    add(scene, &disk_call, 300, 360, (struct details){.parent = server_1, .server = 1});
    posix = add(scene, &posix_call, 500, 900, (struct details){.parent = mpi, .bytes = 20});
    client = add(scene, &client_call, 510, 890, (struct details){.parent = posix, .bytes = 20});
    net_0 = add(scene, &net_call, 520, 880, (struct details){.parent = client, .bytes = 15});
    net_1 = add(scene, &net_call, 520, 600, (struct details){.parent = client, .server = 1, .bytes = 5});
    server_0 = add(scene, &server_call, 530, 870, (struct details){.parent = net_0, .bytes = 15});
    server_1 = add(scene, &server_call, 530, 590, (struct details){.parent = net_1, .server = 1, .bytes = 5});
    add(scene, &disk_call, 540, 840, (struct details){.parent = server_0, .bytes = 15});
    add(scene, &disk_call, 550, 570, (struct details){.parent = server_1, .server = 1, .bytes = 5});
    assert_int_equal(stack_finish(&scene->stack), 0);
    const struct summary_stack *stack = &scene->stack;
    check_layer(scene, LAYER_MPIIO, 1, 1000, 300);
    check_layer(scene, LAYER_POSIX, 2, 700, 40);
    check_layer(scene, LAYER_CLIENT, 2, 660, 40);        // L00 + L01
    check_layer(scene, LAYER_NET, 4, 260 + 360, 40);     // max(L000, L001) + max(L010, L011)
    check_layer(scene, LAYER_SERVER, 4, 240 + 340, 170); // the same
    check_layer(scene, LAYER_DISK, 5, 110 + 300, 410);   // 50 + 60 on server 1 are more than 100 on server 0
    for (unsigned layer = LAYER_NONE; (layer = stack_next_layer(stack, layer));) { // throughput adds up
        assert_int_equal(stack->layer[layer].bytes[DIRECTION_WRITE], 30);
        assert_int_equal(stack->layer[layer].bytes[DIRECTION_READ], 0);
        assert_memory_equal(&stack->process[0].layer[layer], &stack->layer[layer], sizeof *stack->layer);
    }
    assert_int_equal(stack->longest_count, 1);
    assert_int_equal(stack->longest[0].id, mpi);
    assert_int_equal(stack->longest[0].servers, 2);
    assert_int_equal(stack->longest[0].disk_accesses, 5);
    check(stack->longest[0].time, LAYER_SERVER, 580, 170);
    assert_int_equal(stack->top_calls, 1);
    assert_int_equal(stack->accesses.most, 5);
    assert_int_equal(stack->server[0].busy_ns, 400 * US);
    assert_int_equal(stack->server[1].busy_ns, 130 * US);
    assert_int_equal(stack->server[1].longest_ns, 60 * US);
    assert_int_equal(stack->layer[LAYER_NET].shortest_ns, 80 * US);
    assert_int_equal(stack->layer[LAYER_NET].longest_ns, 360 * US);
    end(scene);
}

// One client call with one request, from `start` for `ns`: 2 us in each layer above the disk.
static void request(struct scene *scene, unsigned rank, uint64_t parent, int server, int64_t start, int64_t us) {
    struct details d = {.rank = rank, .parent = parent, .server = server, .bytes = 4096};
    d.parent = add(scene, &posix_call, start, start + us, d);
    d.parent = add(scene, &client_call, start + 1, start + us - 1, d);
    d.parent = add(scene, &net_call, start + 2, start + us - 2, d);
    d.parent = add(scene, &server_call, start + 3, start + us - 3, d);
    add(scene, &disk_call, start + 4, start + us - 4, d);
}

// Of layers that were not probed, the time is in the layer above.
static void layers_without_probes(void **state) {
    (void)state;
    struct scene *scene = begin();
    uint64_t posix = add(scene, &posix_call, 0, 100, (struct details){.bytes = 1});
    uint64_t client = add(scene, &client_call, 10, 90, (struct details){.parent = posix, .bytes = 1});
    add(scene, &disk_call, 20, 50, (struct details){.parent = client, .bytes = 1});
    add(scene, &posix_call, 200, 300, (struct details){.bytes = 1}); // the client answers by itself
    add(scene, &client_call, 210, 290, (struct details){.parent = posix + 3, .bytes = 1});
    posix = add(scene, &posix_call, 400, 500, (struct details){.bytes = 1}); // no probe at the client
    uint64_t net = add(scene, &net_call, 420, 480, (struct details){.parent = posix, .server = 3, .bytes = 1});
    add(scene, &disk_call, 430, 450, (struct details){.parent = net, .server = 3, .bytes = 1});
    assert_int_equal(stack_finish(&scene->stack), 0);
    check_layer(scene, LAYER_POSIX, 3, 300, 80);
    check_layer(scene, LAYER_CLIENT, 2, 160, 130);
    check_layer(scene, LAYER_NET, 1, 60, 40);
    check_layer(scene, LAYER_SERVER, 0, 0, 0);
    check_layer(scene, LAYER_DISK, 2, 50, 50);
    assert_int_equal(scene->stack.servers, 4);
    assert_int_equal(scene->stack.longest_count, 2);
    assert_int_equal(scene->stack.accesses.sum, 2);
    end(scene);
}

// Calls on files elsewhere are no part of the stack, and their time is that of the call around them. A call that
// consists of transfers counts once, with their bytes.
static void what_counts(void **state) {
    (void)state;
    struct scene *scene = begin();
    struct details in_library = {.parent = 1, .in_above = true};
    add(scene, &h5_call, 0, 1000, (struct details){.bytes = 7});
    in_library.is_elsewhere = true;
    add(scene, &posix_call, 10, 110, in_library);
    in_library.is_elsewhere = false;
    uint64_t copy = add(scene, &copy_call, 200, 400, in_library);
    request(scene, 0, copy, 0, 210, 50);
    request(scene, 0, copy, 1, 300, 60);
    add(scene, &posix_call, 2000, 2010, (struct details){.is_elsewhere = true});
    add(scene, &posix_call, 2020, 2030, (struct details){.rank = 1}); // without a call of the client
    assert_int_equal(stack_finish(&scene->stack), 0);
    check_layer(scene, LAYER_HDF5, 1, 1000, 800);
    check_layer(scene, LAYER_POSIX, 2, 210, 200 - 48 - 58 + 10);
    check_layer(scene, LAYER_CLIENT, 2, 48 + 58, 4);
    assert_int_equal(scene->stack.layer[LAYER_HDF5].bytes[DIRECTION_WRITE], 7);
    assert_int_equal(scene->stack.layer[LAYER_POSIX].bytes[DIRECTION_WRITE], 2 * 4096);
    assert_int_equal(scene->stack.top_calls, 2);
    assert_int_equal(scene->stack.process[1].calls, 1);
    assert_int_equal(scene->stack.accesses.calls, 2);
    end(scene);
}

// Clocks of servers may be wrong by a little: a call may end after the one around it. One whose parent is gone, or
// was never there, counts in its layer only.
static void odd_times(void **state) {
    (void)state;
    struct scene *scene = begin();
    uint64_t posix = add(scene, &posix_call, 0, 100, (struct details){.bytes = 1});
    uint64_t client = add(scene, &client_call, 10, 90, (struct details){.parent = posix, .bytes = 1});
    uint64_t net = add(scene, &net_call, 20, 140, (struct details){.parent = client, .bytes = 1});
    add(scene, &posix_call, 120, 130, (struct details){.bytes = 1});
    uint64_t server = add(scene, &server_call, 130, 135, (struct details){.parent = net, .bytes = 1});
    add(scene, &disk_call, 500, 510, (struct details){.parent = server, .bytes = 1});
    assert_int_equal(stack_finish(&scene->stack), 0);
    check_layer(scene, LAYER_POSIX, 2, 110, 30);
    check_layer(scene, LAYER_CLIENT, 1, 80, -40);
    check_layer(scene, LAYER_NET, 1, 120, 115);
    check_layer(scene, LAYER_SERVER, 1, 5, 5);
    check_layer(scene, LAYER_DISK, 1, 0, 0);
    assert_int_equal(scene->stack.server[0].busy_ns, 10 * US);
    end(scene);
}

// Many calls one after the other take no more memory than those in progress.
static void memory_is_bounded(void **state) {
    (void)state;
    struct scene *scene = begin();
    for (int64_t i = 0; i < 20000; i++) request(scene, 0, 0, (int)(i % 4), i * 100, 50);
    assert_true(scene->stack.nodes <= 16);
    assert_true(scene->stack.node_of.count < 3000);
    assert_int_equal(stack_finish(&scene->stack), 0);
    check_layer(scene, LAYER_DISK, 20000, 20000 * 42, 20000 * 42);
    assert_int_equal(scene->stack.longest_count, STACK_LONGEST);
    assert_int_equal(scene->stack.longest[0].start_ns, 0); // of equal ones the earlier
    end(scene);
}

// --- collective calls

static void open_all(struct scene *scene) {
    for (unsigned i = 0; i < RANKS; i++) add(scene, &open_call, 0, 1, (struct details){.rank = i, .comm_size = RANKS});
}

// Rank 0 uses servers 0 and 5, rank 1 none, rank 2 servers 5 and 200: three together.
static void servers_of_a_collective_call(void **state) {
    (void)state;
    struct scene *scene = begin();
    open_all(scene);
    uint64_t a = add(scene, &all_call, 10, 500, (struct details){.rank = 0});
    add(scene, &all_call, 11, 500, (struct details){.rank = 1});
    uint64_t c = add(scene, &all_call, 12, 400, (struct details){.rank = 2});
    request(scene, 0, a, 0, 20, 20);
    request(scene, 2, c, 5, 50, 20);
    request(scene, 0, a, 5, 80, 20);
    request(scene, 2, c, 200, 110, 20);
    // The next call begins on a rank before the others have ended theirs.
    c = add(scene, &all_call, 410, 900, (struct details){.rank = 2});
    request(scene, 2, c, 1, 420, 20);
    add(scene, &all_call, 510, 900, (struct details){.rank = 0});
    add(scene, &all_call, 511, 900, (struct details){.rank = 1});
    assert_int_equal(stack_finish(&scene->stack), 0);
    assert_int_equal(scene->stack.collectives.calls, 2);
    assert_int_equal(scene->stack.collectives.sum, 3 + 1);
    assert_int_equal(scene->stack.collectives.most, 3);
    assert_int_equal(scene->stack.unmatched, 0);
    end(scene);
}

// Rank 2 is gone after 100 us.
static void a_lost_rank(void **state) {
    (void)state;
    struct scene *scene = begin_until(100 * US);
    open_all(scene);
    for (unsigned i = 0; i < RANKS; i++) add(scene, &all_call, 10, 90, (struct details){.rank = i});
    for (unsigned i = 0; i < 2; i++) add(scene, &all_call, 200, 290, (struct details){.rank = i});
    assert_int_equal(stack_finish(&scene->stack), 0);
    assert_int_equal(scene->stack.collectives.calls, 1);
    assert_int_equal(scene->stack.unmatched, 2);
    end(scene);
}

// --- servers

static void busy_time_and_energy(void **state) {
    (void)state;
    struct scene *scene = begin();
    for (unsigned rank = 0; rank < 2; rank++) request(scene, rank, 0, 1, 1000 + 20 * rank, 108); // 1004–1104, 1024–1124
    request(scene, 0, 0, 1, 99996, 28);                                                          // 100000–100020
    assert_int_equal(stack_finish(&scene->stack), 0);
    const struct stack_server *server = &scene->stack.server[1];
    assert_int_equal(server->calls, 3);
    assert_int_equal(server->busy_ns, 140 * US);
    assert_int_equal(server->longest_ns, 100 * US);
    int64_t in_bins_ns = 0; // what is after the job's end is in none
    uint64_t bytes = 0;
    for (unsigned i = 0; i < STACK_BINS; i++) in_bins_ns += server->bin[i].busy_ns, bytes += server->bin[i].bytes;
    assert_int_equal(in_bins_ns, 120 * US);
    assert_int_equal(server->bin[2].busy_ns, 120 * US); // bins of 416.6 us
    assert_int_equal(bytes, 2 * 4096);
    scene->stack.watts = (struct stack_watts){.active = 20, .inactive = 10};
    assert_true(stack_energy(&scene->stack, server) > 10 * 0.1 + 10 * 0.00014 - 1e-9);
    assert_true(stack_energy(&scene->stack, server) < 10 * 0.1 + 10 * 0.00014 + 1e-9);
    assert_true(stack_energy(&scene->stack, &scene->stack.server[0]) == 10 * 0.1);
    end(scene);
}

static void check_overload(struct scene *scene, int server, enum stack_overload overload) {
    assert_int_equal(stack_finish(&scene->stack), 0);
    for (int i = 0; i < (int)scene->stack.servers; i++)
        assert_int_equal(scene->stack.server[i].overload, i == server ? overload : OVERLOAD_NONE);
}

// Server 2 needs five times as long for the same requests.
static void a_slow_server(void **state) {
    (void)state;
    struct scene *scene = begin();
    for (int i = 0; i < 40; i++) request(scene, 0, 0, i % 4, i * 1000, i % 4 == 2 ? 504 : 104);
    check_overload(scene, 2, OVERLOAD_SLOW);
    const struct stack_server *slow = &scene->stack.server[2];
    assert_true(slow->slower > 4.99 && slow->slower < 5.01);
    assert_true(slow->lost_ns > 10 * 399 * US && slow->lost_ns < 10 * 401 * US);
    end(scene);
}

// Larger requests take longer, and a pause is no property of a server.
static void servers_that_are_not_slow(void **state) {
    (void)state;
    struct scene *scene = begin();
    for (int i = 0; i < 40; i++) request(scene, 0, 0, i % 4, i * 1000, i == 22 ? 900 : 104);
    for (int64_t i = 0; i < 10; i++) {
        struct details d = {.server = 1, .bytes = 1 << 20};
        int64_t start = 50000 + 1000 * i;
        d.parent = add(scene, &posix_call, start, start + 900, d);
        d.parent = add(scene, &client_call, start + 1, start + 899, d);
        add(scene, &net_call, start + 2, start + 898, d);
    }
    check_overload(scene, NO_SERVER, OVERLOAD_NONE);
    end(scene);
}

// Small requests are slow at server 2, but nearly all its time is in large ones, which no other server has.
static void too_little_to_compare(void **state) {
    (void)state;
    struct scene *scene = begin();
    for (int i = 0; i < 40; i++) request(scene, 0, 0, i % 4, i * 1000, i % 4 == 2 ? 504 : 104);
    for (int64_t i = 0; i < 40; i++) {
        int64_t start = 50000 + 1000 * i;
        struct details d = {.server = 2, .bytes = 1 << 20};
        d.parent = add(scene, &posix_call, start, start + 900, d);
        d.parent = add(scene, &client_call, start + 1, start + 899, d);
        add(scene, &net_call, start + 2, start + 898, d);
    }
    check_overload(scene, NO_SERVER, OVERLOAD_NONE);
    assert_true(scene->stack.server[2].slower > 4.99);
    end(scene);
}

// All ranks wait for server 0, and the three others have nothing to do.
static void a_crowded_server(void **state) {
    (void)state;
    struct scene *scene = begin();
    assert_int_equal(stack_servers_room(&scene->stack, 4), 0);
    for (int i = 0; i < 20; i++) {
        struct details d[RANKS];
        for (unsigned rank = 0; rank < RANKS; rank++) d[rank] = (struct details){.rank = rank, .bytes = 4096};
        const struct log_call *calls[] = {&posix_call, &client_call, &net_call};
        for (unsigned k = 0; k < 3; k++) {
            for (unsigned rank = 0; rank < RANKS; rank++)
                d[rank].parent = add(scene, calls[k], i * 1000 + k, i * 1000 + 304 - k, d[rank]);
        }
    }
    check_overload(scene, 0, OVERLOAD_CROWDED);
    const struct stack_server *server = &scene->stack.server[0];
    assert_int_equal(server->any_ns, 20 * 300 * US);
    assert_int_equal(server->crowded_ns, server->any_ns);
    assert_int_equal(server->lost_ns, 20 * 200 * US); // three servers would need a third of the time
    end(scene);
}

// One request at a time: no other server could have helped.
static void one_after_the_other(void **state) {
    (void)state;
    struct scene *scene = begin();
    assert_int_equal(stack_servers_room(&scene->stack, 4), 0);
    for (int i = 0; i < 40; i++) request(scene, (unsigned)i % RANKS, 0, 3, i * 1000, 900);
    check_overload(scene, NO_SERVER, OVERLOAD_NONE);
    end(scene);
}

// Two requests wait for each server while both have some.
static void both_are_busy(void **state) {
    (void)state;
    struct scene *scene = begin();
    for (int i = 0; i < 20; i++) {
        for (int k = 0; k < 4; k++)
            add(scene, &net_call, i * 1000 + k, i * 1000 + 900 + k, (struct details){.server = k % 2, .bytes = 4096});
    }
    check_overload(scene, NO_SERVER, OVERLOAD_NONE);
    end(scene);
}

// A log may say that a system call is on a server, and that a call begins in the run's last nanosecond.
static void forged(void **state) {
    (void)state;
    struct scene *scene = begin();
    add(scene, &posix_call, 0, 100, (struct details){.server = 200, .is_forged = true});
    scene->stack.run_ns = (INT64_C(1) << 56) / US * US + 1;
    add(scene, &disk_call, (INT64_C(1) << 56) / US, (INT64_C(1) << 56) / US, (struct details){.server = 1, .bytes = 5});
    assert_int_equal(stack_finish(&scene->stack), 0);
    assert_int_equal(scene->stack.servers, 2);
    assert_int_equal(scene->stack.server[1].bin[STACK_BINS - 1].bytes, 5);
    end(scene);
}

// A file is of the stack by its device or mount, whatever its name is.
static void files_by_device(void **state) {
    (void)state;
    struct scene *scene = begin();
    static const uint64_t device[] = {7, 5};
    const struct log_file bound = {.name = "/elsewhere/data", .device = 5, .mount = "/elsewhere"},
                          link = {.name = "/home/link/data", .device = 9, .mount = "/stack/placed"},
                          other = {.name = "/stack", .device = 6, .mount = "/"};
    assert_false(stack_has_file(&scene->stack, &bound));
    scene->stack.device = device;
    scene->stack.devices = 2;
    assert_true(stack_has_file(&scene->stack, &bound));
    assert_true(stack_has_file(&scene->stack, &link));
    assert_true(stack_has_file(&scene->stack, &scene->file));
    assert_false(stack_has_file(&scene->stack, &other));
    assert_false(stack_has_file(&scene->stack, &scene->elsewhere));
    end(scene);
}

// What moved at one layer and not at the next is found, file by file; files that are not of the stack do not count.
static void bytes_differ(void **state) {
    (void)state;
    struct scene *scene = begin();
    struct stack_difference found[STACK_DIFFERENCES];
    uint64_t posix = add(scene, &posix_call, 0, 100, (struct details){.bytes = 30});
    uint64_t inner = add(scene, &posix_call, 5, 95, (struct details){.parent = posix, .bytes = 30});
    uint64_t client = add(scene, &client_call, 10, 90, (struct details){.parent = inner, .bytes = 20});
    uint64_t net = add(scene, &net_call, 20, 80, (struct details){.parent = client, .bytes = 25});
    uint64_t server = add(scene, &server_call, 30, 70, (struct details){.parent = net, .bytes = 25});
    add(scene, &disk_call, 40, 60, (struct details){.parent = server, .bytes = 5});
    add(scene, &posix_call, 200, 300, (struct details){.bytes = 100, .is_elsewhere = true});
    assert_int_equal(stack_finish(&scene->stack), 0);
    assert_int_equal(stack_differences(&scene->stack, found), 3);
    static const struct stack_difference expected[] = {
        {LAYER_NONE, LAYER_CLIENT, false, {0, 10}, 1, STACK_CACHED},
        {LAYER_CLIENT, LAYER_NET, true, {0, 5}, 1, STACK_INTERNAL},
        {LAYER_SERVER, LAYER_DISK, false, {0, 20}, 1, STACK_UNANSWERED},
    };
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(found[i].above, expected[i].above);
        assert_int_equal(found[i].layer, expected[i].layer);
        assert_int_equal(found[i].is_more, expected[i].is_more);
        assert_memory_equal(found[i].bytes, expected[i].bytes, sizeof expected->bytes);
        assert_int_equal(found[i].files, expected[i].files);
        assert_int_equal(found[i].cause, expected[i].cause);
    }
    end(scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_differ),
        cmocka_unit_test(files_by_device),
        cmocka_unit_test(figure_9),
        cmocka_unit_test(layers_without_probes),
        cmocka_unit_test(what_counts),
        cmocka_unit_test(odd_times),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(servers_of_a_collective_call),
        cmocka_unit_test(a_lost_rank),
        cmocka_unit_test(busy_time_and_energy),
        cmocka_unit_test(a_slow_server),
        cmocka_unit_test(servers_that_are_not_slow),
        cmocka_unit_test(too_little_to_compare),
        cmocka_unit_test(a_crowded_server),
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(both_are_busy),
        cmocka_unit_test(forged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
