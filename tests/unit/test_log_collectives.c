// The parts of collective calls, from events with known times.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "log/collectives.h"
#include "test_log_maker.h"

enum { RANKS = 3, MOST = 64, MOST_ROUNDS = 4, US = 1000 };

struct scene {
    struct log *log;
    struct log_process process[RANKS];
    struct log_file file;
    struct log_collectives collectives;
    struct collective_call told[MOST];
    struct inside_round round[MOST][MOST_ROUNDS]; // of these
    size_t count;
    uint64_t events;
};

static const struct log_call open_call = {.layer = LAYER_MPIIO, .class = CLASS_OPEN, .traits = CALL_COLLECTIVE};
static const struct log_call close_call = {.layer = LAYER_MPIIO, .class = CLASS_CLOSE, .traits = CALL_COLLECTIVE};
static const struct log_call write_call = {.layer = LAYER_MPIIO, .class = CLASS_WRITE, .traits = CALL_COLLECTIVE};
static const struct log_call read_call = {.layer = LAYER_MPIIO, .class = CLASS_READ, .traits = CALL_COLLECTIVE};
static const struct log_call pwrite_call = {.layer = LAYER_POSIX, .class = CLASS_WRITE};
static const struct log_call pread_call = {.layer = LAYER_POSIX, .class = CLASS_READ};

static int hear(const struct collective_call *call, void *context) {
    struct scene *scene = context;
    assert_true(scene->count < MOST && call->rounds <= MOST_ROUNDS);
    assert_true(!call->by_round == !call->rounds);
    for (unsigned i = 0; i < INSIDE_REST && call->rounds; i++) {
        int64_t sum_ns = 0;
        for (uint32_t k = 0; k < call->rounds; k++) {
            assert_true(call->by_round[k].ns[i] >= 0);
            sum_ns += call->by_round[k].ns[i];
        }
        assert_int_equal(sum_ns, call->ns[i]);
    }
    if (call->rounds) memcpy(scene->round[scene->count], call->by_round, call->rounds * sizeof *call->by_round);
    scene->told[scene->count++] = *call;
    return 0;
}

// Rank 2 makes no call after the given time.
static struct scene *begin_until(uint64_t last_ns) {
    struct scene *scene = calloc(1, sizeof *scene);
    struct log_maker *maker = maker_new();
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
    assert_int_equal(log_collectives_init(&scene->collectives, scene->log, hear, scene), 0);
    return scene;
}

static struct scene *begin(void) { return begin_until(1 << 30); }

static void end(struct scene *scene) {
    log_collectives_free(&scene->collectives);
    log_close(scene->log);
    free(scene);
}

struct details {
    uint64_t parent; // 0: none
    uint64_t comm_size, offset, bytes;
    uint32_t handle;
};

// Times are in microseconds. Returns the id of the event.
static uint64_t add(struct scene *scene, unsigned rank, const struct log_call *call, int64_t start, int64_t stop,
                    struct details d) {
    uint64_t attribute[ATTRIBUTE_LIMIT] = {[ATTRIBUTE_COMM_SIZE] = d.comm_size};
    struct log_event event = {.id = ++scene->events,
                              .start_ns = start * US,
                              .duration_ns = (stop - start) * US,
                              .process = &scene->process[rank],
                              .call = call,
                              .file = &scene->file,
                              .raw = {.offset = d.offset,
                                      .has_offset = true,
                                      .size = d.bytes,
                                      .result = (int64_t)d.bytes,
                                      .has_result = true,
                                      .attribute = attribute,
                                      .attribute_mask = d.comm_size ? 1u << ATTRIBUTE_COMM_SIZE : 0,
                                      .handle = d.handle ? d.handle : 1},
                              .has_parent = d.parent,
                              .parent = d.parent};
    assert_int_equal(log_collectives_add(&scene->collectives, &event), 0);
    return event.id;
}

static void open_all(struct scene *scene) {
    for (unsigned i = 0; i < RANKS; i++) add(scene, i, &open_call, 0, 1, (struct details){.comm_size = RANKS});
}

static const struct collective_call *of(const struct scene *scene, uint64_t id) {
    for (size_t i = 0; i < scene->count; i++) {
        if (scene->told[i].id == id) return &scene->told[i];
    }
    return NULL;
}

static void check(const struct scene *scene, uint64_t id, int64_t wait, int64_t exchange, int64_t io, int64_t rest) {
    const struct collective_call *call = of(scene, id);
    assert_non_null(call);
    assert_true(call->is_matched);
    assert_int_equal(call->ns[INSIDE_WAIT], wait * US);
    assert_int_equal(call->ns[INSIDE_EXCHANGE], exchange * US);
    assert_int_equal(call->ns[INSIDE_IO], io * US);
    assert_int_equal(call->ns[INSIDE_REST], rest * US);
}

// Rank 0 is the aggregator: two rounds, at 150 to 170 and 180 to 195. Rank 2 comes last.
static void parts_of_a_write(void **state) {
    (void)state;
    struct scene *scene = begin();
    open_all(scene);
    struct details piece = {.bytes = 10};
    uint64_t a = add(scene, 0, &write_call, 100, 210, piece);
    uint64_t b = add(scene, 1, &write_call, 110, 205, (struct details){.bytes = 10, .offset = 10});
    uint64_t c = add(scene, 2, &write_call, 130, 175, (struct details){.bytes = 10, .offset = 20});
    add(scene, 0, &pwrite_call, 150, 170, (struct details){.parent = a, .bytes = 15});
    add(scene, 0, &pwrite_call, 180, 190, (struct details){.parent = a, .bytes = 10, .offset = 15});
    add(scene, 0, &pwrite_call, 190, 195, (struct details){.parent = a, .bytes = 5, .offset = 25}); // the same round
    assert_int_equal(log_collectives_finish(&scene->collectives), 0);
    check(scene, a, 30, 20 + 10, 20 + 15, 15);
    check(scene, b, 20 + 20 + 15, 20 + 10, 0, 10);
    check(scene, c, 20, 20 + 5, 0, 0); // its last 5 lie before the second file access
    assert_true(of(scene, a)->is_aggregator && !of(scene, b)->is_aggregator);
    assert_int_equal(of(scene, b)->rounds, 2);
    assert_true(of(scene, c)->is_last && of(scene, c)->late_ns == 20 * US && !of(scene, b)->is_last);
    assert_int_equal(scene->collectives.calls, 6);
    assert_int_equal(scene->collectives.process[2].last, 2); // the opens began at the same time, it was told last
    end(scene);
}

static void check_round(const struct scene *scene, uint64_t id, unsigned number, int64_t wait, int64_t exchange,
                        int64_t io) {
    const struct inside_round *round = &scene->round[of(scene, id) - scene->told][number - 1];
    assert_int_equal(round->ns[INSIDE_WAIT], wait * US);
    assert_int_equal(round->ns[INSIDE_EXCHANGE], exchange * US);
    assert_int_equal(round->ns[INSIDE_IO], io * US);
}

// Rank 0 and 2 are aggregators. The rounds end at 170, 205 and 250: each time rank 2 takes longer, or is alone. Rank 1
// leaves in the third.
static void rounds_of_a_write(void **state) {
    (void)state;
    struct scene *scene = begin();
    open_all(scene);
    uint64_t a = add(scene, 0, &write_call, 100, 260, (struct details){.bytes = 20});
    uint64_t b = add(scene, 1, &write_call, 110, 225, (struct details){.bytes = 20, .offset = 20});
    uint64_t c = add(scene, 2, &write_call, 130, 270, (struct details){.bytes = 20, .offset = 40});
    add(scene, 0, &pwrite_call, 150, 160, (struct details){.parent = a, .bytes = 15});
    add(scene, 2, &pwrite_call, 155, 163, (struct details){.parent = c, .bytes = 9, .offset = 30});
    add(scene, 2, &pwrite_call, 165, 170, (struct details){.parent = c, .bytes = 1, .offset = 39}); // the same round
    add(scene, 0, &pwrite_call, 180, 190, (struct details){.parent = a, .bytes = 15, .offset = 15});
    add(scene, 2, &pwrite_call, 185, 205, (struct details){.parent = c, .bytes = 10, .offset = 40});
    add(scene, 2, &pwrite_call, 220, 250, (struct details){.parent = c, .bytes = 10, .offset = 50});
    assert_int_equal(log_collectives_finish(&scene->collectives), 0);
    check(scene, a, 30 + 8 + 15 + 30, 22 + 10 + 15, 10 + 10, 10);
    check_round(scene, a, 1, 30 + 3 + 5, 20 + 2, 10);
    check_round(scene, a, 2, 15, 10, 10);
    check_round(scene, a, 3, 30, 15, 0);
    check_round(scene, b, 1, 20 + 13 + 5, 20 + 2, 0);
    check_round(scene, b, 2, 25, 10, 0);
    check_round(scene, b, 3, 5, 15, 0);
    check_round(scene, c, 1, 5, 20 + 2, 8 + 5);
    check_round(scene, c, 2, 5, 10, 20);
    check_round(scene, c, 3, 0, 15, 30);
    assert_int_equal(of(scene, c)->ns[INSIDE_REST], 20 * US);
    end(scene);
}

// Rank 0 ends three rounds before rank 2 ends its first one, at 200, and all of its four before rank 2 ends the second.
static void rounds_out_of_step(void **state) {
    (void)state;
    struct scene *scene = begin();
    open_all(scene);
    uint64_t a = add(scene, 0, &write_call, 100, 300, (struct details){.bytes = 20});
    add(scene, 1, &write_call, 100, 300, (struct details){.bytes = 20, .offset = 20});
    uint64_t c = add(scene, 2, &write_call, 100, 300, (struct details){.bytes = 20, .offset = 40});
    add(scene, 2, &pwrite_call, 110, 200, (struct details){.parent = c, .bytes = 15, .offset = 45});
    for (int i = 0; i < 4; i++)
        add(scene, 0, &pwrite_call, 110 + 30 * i, 120 + 30 * i, (struct details){.parent = a, .bytes = 10});
    add(scene, 2, &pwrite_call, 250, 260, (struct details){.parent = c, .bytes = 5, .offset = 40});
    assert_int_equal(log_collectives_finish(&scene->collectives), 0);
    check_round(scene, a, 1, 60, 10, 30); // until 200
    check_round(scene, a, 2, 10, 40, 10);
    check_round(scene, a, 3, 0, 0, 0);
    check_round(scene, c, 1, 0, 10, 90);
    check_round(scene, c, 2, 10, 40, 10);
    check_round(scene, c, 4, 0, 0, 0);
    end(scene);
}

// The exchange of a round of a read follows its file access. Before the first one and after the last one, too.
static void rounds_of_a_read(void **state) {
    (void)state;
    struct scene *scene = begin();
    open_all(scene);
    uint64_t a = add(scene, 0, &read_call, 100, 200, (struct details){.bytes = 10});
    uint64_t b = add(scene, 1, &read_call, 100, 155, (struct details){.bytes = 10, .offset = 10});
    uint64_t c = add(scene, 2, &read_call, 105, 200, (struct details){.bytes = 10, .offset = 20});
    add(scene, 0, &pread_call, 110, 120, (struct details){.parent = a, .bytes = 10});
    add(scene, 2, &pread_call, 115, 125, (struct details){.parent = c, .bytes = 10, .offset = 15});
    add(scene, 0, &pread_call, 140, 150, (struct details){.parent = a, .bytes = 5, .offset = 10});
    add(scene, 2, &pread_call, 145, 150, (struct details){.parent = c, .bytes = 5, .offset = 25});
    add(scene, 0, &pread_call, 180, 190, (struct details){.parent = a, .bytes = 1, .offset = 15});
    assert_int_equal(log_collectives_finish(&scene->collectives), 0);
    check_round(scene, a, 1, 5 + 5, 5 + 15, 10);
    check_round(scene, a, 2, 0, 30, 10);
    check_round(scene, a, 3, 0, 10, 10);
    check_round(scene, b, 1, 5 + 15, 5 + 15, 0);
    check_round(scene, b, 2, 10, 5, 0);
    check_round(scene, b, 3, 0, 0, 0);
    check_round(scene, c, 1, 5, 5 + 15, 10);
    check_round(scene, c, 2, 5, 30, 5);
    check_round(scene, c, 3, 10, 10, 0);
    end(scene);
}

static int count_rounds(const struct collective_call *call, void *context) {
    uint64_t *count = context;
    if (call->rounds) count[!call->by_round]++;
    return 0;
}

// A call of two rounds, and one with more than the memory is for: that is not divided by round.
static void too_many_rounds(void **state) {
    (void)state;
    enum { ROUNDS = 1 << 21 };
    struct scene *scene = begin();
    uint64_t count[2] = {0};
    scene->collectives.callback = count_rounds;
    scene->collectives.context = count;
    open_all(scene);
    for (int64_t at = 100, rounds = 2; rounds <= ROUNDS + 2; at += 10 * rounds + 100, rounds += ROUNDS) {
        uint64_t a = add(scene, 0, &write_call, at, at + 10 * rounds + 10, (struct details){.bytes = 10});
        for (unsigned i = 1; i < RANKS; i++)
            add(scene, i, &write_call, at, at + 10 * rounds + 10, (struct details){.bytes = 10, .offset = 10});
        for (int64_t i = 1; i <= rounds; i++)
            add(scene, 0, &pwrite_call, at + 10 * i, at + 10 * i + 1, (struct details){.parent = a, .bytes = 1});
    }
    assert_int_equal(log_collectives_finish(&scene->collectives), 0);
    assert_int_equal(count[true], RANKS);
    assert_int_equal(count[false], RANKS);
    assert_int_equal(scene->collectives.rounds_held, 0);
    end(scene);
}

// What follows the file access of a read is the exchange.
static void parts_of_a_read(void **state) {
    (void)state;
    struct scene *scene = begin();
    open_all(scene);
    uint64_t a = add(scene, 0, &read_call, 100, 140, (struct details){.bytes = 10});
    uint64_t b = add(scene, 1, &read_call, 100, 150, (struct details){.bytes = 10, .offset = 10});
    add(scene, 2, &read_call, 100, 150, (struct details){.bytes = 10, .offset = 20});
    add(scene, 0, &pread_call, 110, 130, (struct details){.parent = a, .bytes = 30});
    assert_int_equal(log_collectives_finish(&scene->collectives), 0);
    check(scene, a, 0, 20, 20, 0);
    check(scene, b, 20, 30, 0, 0);
    end(scene);
}

// Each rank writes its own part: nothing is exchanged. Rank 0 is done before rank 2 comes, and did not wait for it.
static void own_data(void **state) {
    (void)state;
    struct scene *scene = begin();
    open_all(scene);
    uint64_t a = add(scene, 0, &write_call, 100, 120, (struct details){.bytes = 10});
    add(scene, 0, &pwrite_call, 105, 115, (struct details){.parent = a, .bytes = 10});
    uint64_t b = add(scene, 1, &write_call, 110, 160, (struct details){.bytes = 10, .offset = 10});
    add(scene, 1, &pwrite_call, 112, 118, (struct details){.parent = b, .bytes = 4, .offset = 10});
    add(scene, 1, &pwrite_call, 116, 124, (struct details){.parent = b, .bytes = 6, .offset = 14}); // by two threads
    uint64_t c = add(scene, 2, &write_call, 150, 170, (struct details){.bytes = 10, .offset = 20});
    add(scene, 2, &pwrite_call, 150, 170, (struct details){.parent = c, .bytes = 10, .offset = 20});
    assert_int_equal(log_collectives_finish(&scene->collectives), 0);
    check(scene, a, 5 + 5, 0, 10, 0); // until rank 1 came, then while it wrote
    check(scene, b, 2 + 26 + 10, 0, 12, 0);
    check(scene, c, 0, 0, 20, 0);
    assert_int_equal(of(scene, c)->late_ns, (2 + 5 + 26) * US); // while rank 0 or 1 did not write
    assert_int_equal(of(scene, b)->rounds, 0);
    assert_false(of(scene, b)->is_aggregator);
    end(scene);
}

// Calls that do not wait for each other: nobody is there when rank 0 comes, or all that are there write.
static void late_for_nobody(void **state) {
    (void)state;
    struct scene *scene = begin();
    open_all(scene);
    struct details piece = {.bytes = 10};
    add(scene, 1, &write_call, 100, 110, piece);
    add(scene, 2, &write_call, 100, 120, piece);
    uint64_t alone = add(scene, 0, &write_call, 1000, 1010, piece);
    uint64_t a = add(scene, 1, &write_call, 2000, 3000, piece);
    add(scene, 1, &pwrite_call, 2000, 3000, (struct details){.parent = a, .bytes = 10});
    uint64_t b = add(scene, 2, &write_call, 2000, 3000, piece);
    add(scene, 2, &pwrite_call, 2000, 3000, (struct details){.parent = b, .bytes = 10});
    uint64_t beside = add(scene, 0, &write_call, 2500, 2600, piece);
    assert_int_equal(log_collectives_finish(&scene->collectives), 0);
    assert_true(of(scene, alone)->is_last && of(scene, beside)->is_last);
    assert_int_equal(of(scene, alone)->late_ns, 20 * US); // rank 2 until it left
    assert_int_equal(of(scene, beside)->late_ns, 0);
    end(scene);
}

// Rank 1 lost a call before 200: all its later ones would be matched with others than their own.
static void damage(void **state) {
    (void)state;
    struct scene *scene = begin();
    open_all(scene);
    scene->process[1].whole_until_ns = 200 * US;
    uint64_t last = 0;
    for (int i = 0; i < 5; i++) {
        for (unsigned rank = 0; rank < RANKS; rank++) {
            if (rank == 1 && i == 2) continue;
            last = add(scene, rank, &write_call, 100 + i * 50, 110 + i * 50, (struct details){.bytes = 1});
        }
    }
    for (unsigned rank = 0; rank < RANKS; rank++) add(scene, rank, &close_call, 400, 410, (struct details){0});
    assert_int_equal(log_collectives_finish(&scene->collectives), 0);
    assert_int_equal(scene->collectives.calls, 3 * 3); // the opens and two calls
    assert_false(of(scene, last)->is_matched);
    end(scene);
}

// A rank that is lost: the other calls are not divided. Ranks far apart are matched.
static void unmatched(void **state) {
    (void)state;
    struct scene *scene = begin();
    open_all(scene);
    uint64_t first = add(scene, 0, &write_call, 100, 110, (struct details){.bytes = 1});
    for (int i = 0; i < 3; i++) add(scene, 0, &write_call, 120 + i * 10, 125 + i * 10, (struct details){.bytes = 1});
    for (int i = 0; i < 4; i++) add(scene, 1, &write_call, 200 + i * 10, 205 + i * 10, (struct details){.bytes = 1});
    add(scene, 2, &write_call, 300, 310, (struct details){.bytes = 1});
    assert_int_equal(log_collectives_finish(&scene->collectives), 0);
    check(scene, first, 0, 0, 0, 10);
    assert_int_equal(scene->collectives.calls, 6); // and three opens
    assert_int_equal(scene->collectives.unmatched, 6);
    end(scene);
}

// If ranks make different calls, something was lost before.
static void different_calls(void **state) {
    (void)state;
    struct scene *scene = begin();
    open_all(scene);
    add(scene, 0, &write_call, 100, 110, (struct details){0});
    add(scene, 1, &close_call, 100, 110, (struct details){0});
    add(scene, 2, &write_call, 100, 110, (struct details){0});
    for (unsigned i = 0; i < RANKS; i++) add(scene, i, &write_call, 200, 210, (struct details){0});
    assert_int_equal(log_collectives_finish(&scene->collectives), 0);
    assert_int_equal(scene->collectives.unmatched, 6); // those behind are different ones, too
    end(scene);
}

// A rank that makes no more calls: nothing waits for it. A turn that it came to is still divided.
static void ended_rank(void **state) {
    (void)state;
    struct scene *scene = begin_until(150 * US);
    open_all(scene);
    add(scene, 2, &write_call, 100, 150, (struct details){.bytes = 1});
    for (int i = 0; i < 20; i++) {
        for (unsigned rank = 0; rank < 2; rank++)
            add(scene, rank, &write_call, 200 + i * 10, 205 + i * 10, (struct details){.bytes = 1});
        assert_true(scene->collectives.held <= 3);
    }
    assert_int_equal(log_collectives_finish(&scene->collectives), 0);
    assert_int_equal(scene->collectives.calls, 3 + 3);
    assert_int_equal(scene->collectives.unmatched, 19 * 2);
    end(scene);
}

// Files one after the other take no more memory than one; a file whose close was lost keeps its own meeting.
static void files_in_a_row(void **state) {
    (void)state;
    struct scene *scene = begin();
    for (uint32_t i = 0; i < 7; i++) {
        const struct details file = {.comm_size = RANKS, .handle = i + 1};
        int64_t at = 100 * i;
        for (unsigned rank = 0; rank < RANKS; rank++) add(scene, rank, &open_call, at, at + 10, file);
        for (unsigned rank = 0; rank < RANKS; rank++) {
            if (rank == 1 && i == 3) continue;
            add(scene, rank, &close_call, at + 20, at + 30, file);
        }
    }
    assert_int_equal(log_collectives_finish(&scene->collectives), 0);
    assert_int_equal(scene->collectives.calls, 7 * 3 + 6 * 3);
    assert_int_equal(scene->collectives.meetings.count, 1 + 2);
    end(scene);
}

// Turns that wait for a rank, many of them, and turns that are over while older ones are not.
static void long_queue(void **state) {
    (void)state;
    struct scene *scene = begin();
    open_all(scene);
    scene->collectives.callback = NULL;
    enum { TURNS = 1 << 16 };
    for (int i = 0; i < TURNS; i++) {
        for (unsigned rank = 0; rank < 2; rank++)
            add(scene, rank, &write_call, 200 + i, 201 + i, (struct details){.bytes = 1});
    }
    for (int i = 0; i < TURNS; i++)
        add(scene, 2, &write_call, 200 + TURNS + i, 201 + TURNS + i, (struct details){.bytes = 1});
    assert_int_equal(log_collectives_finish(&scene->collectives), 0);
    assert_int_equal(scene->collectives.calls, 3 + 3 * TURNS);
    assert_int_equal(scene->collectives.held, 0);
    end(scene);
}

// A file of each rank's own, files that are open at the same time, and one whose open is not in the log.
static void several_files(void **state) {
    (void)state;
    struct scene *scene = begin();
    open_all(scene);
    for (unsigned i = 0; i < RANKS; i++)
        add(scene, i, &open_call, 10, 11, (struct details){.comm_size = RANKS, .handle = 2});
    add(scene, 0, &open_call, 20, 30, (struct details){.comm_size = 1, .handle = 3});
    uint64_t own = add(scene, 0, &write_call, 40, 50, (struct details){.bytes = 1, .handle = 3});
    uint64_t second = add(scene, 0, &write_call, 100, 150, (struct details){.bytes = 1, .handle = 2});
    uint64_t last = add(scene, 1, &write_call, 110, 150, (struct details){.bytes = 1, .handle = 1});
    add(scene, 2, &write_call, 110, 150, (struct details){.bytes = 1, .handle = 1});
    add(scene, 0, &write_call, 160, 170, (struct details){.bytes = 1, .handle = 1});
    add(scene, 1, &write_call, 160, 170, (struct details){.bytes = 1, .handle = 2});
    add(scene, 2, &write_call, 160, 170, (struct details){.bytes = 1, .handle = 2});
    uint64_t unknown = add(scene, 0, &write_call, 200, 210, (struct details){.bytes = 1, .handle = 9});
    assert_int_equal(log_collectives_finish(&scene->collectives), 0);
    check(scene, own, 0, 0, 0, 10);
    check(scene, second, 0, 0, 0, 50); // the others came after its end
    check(scene, last, 0, 0, 0, 40);
    assert_false(of(scene, unknown)->is_matched);
    assert_int_equal(of(scene, second)->ranks, RANKS);
    assert_int_equal(of(scene, own)->ranks, 1);
    end(scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_a_write),   cmocka_unit_test(parts_of_a_read),  cmocka_unit_test(own_data),
        cmocka_unit_test(unmatched),          cmocka_unit_test(different_calls),  cmocka_unit_test(several_files),
        cmocka_unit_test(late_for_nobody),    cmocka_unit_test(damage),           cmocka_unit_test(ended_rank),
        cmocka_unit_test(files_in_a_row),     cmocka_unit_test(long_queue),       cmocka_unit_test(rounds_of_a_write),
        cmocka_unit_test(rounds_out_of_step), cmocka_unit_test(rounds_of_a_read), cmocka_unit_test(too_many_rounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
