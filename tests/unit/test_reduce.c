// Reduces the counters of ranks that are threads here, and reads what they wrote.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/io.h"
#include "fmt/block.h"
#include "fmt/part.h"
#include "fmt/records.h"
#include "reduce/run.h"

enum { MOST_RANKS = 40 };

// --- a network: for each pair one message at a time

struct mailbox {
    struct bytes data;
    bool is_full;
};

static struct network {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct mailbox box[MOST_RANKS][MOST_RANKS]; // from, to
    int gone;                                   // this rank stops at its n-th message
    int gone_after;
    int patience_ms;
} network;

struct rank {
    int number, size;
    int messages;
    char folder[64];
    int result;
    struct reduce_costs costs;
    pthread_t thread;
};

static bool wait_until(struct mailbox *box, bool is_full) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)network.patience_ms * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (box->is_full != is_full) {
        if (pthread_cond_timedwait(&network.changed, &network.lock, &until) == ETIMEDOUT) return false;
    }
    return true;
}

static bool is_gone(struct rank *rank) { return rank->number == network.gone && ++rank->messages > network.gone_after; }

static int send_to(void *context, int to, const void *data, size_t len) {
    struct rank *rank = context;
    struct mailbox *box = &network.box[rank->number][to];
    if (is_gone(rank)) return -EPIPE;
    pthread_mutex_lock(&network.lock);
    int code = wait_until(box, false) ? 0 : -ETIMEDOUT;
    if (code == 0) {
        box->data.len = 0;
        bytes_append(&box->data, data, len);
        box->is_full = true;
    }
    pthread_cond_broadcast(&network.changed);
    pthread_mutex_unlock(&network.lock);
    return code;
}

static int receive_from(void *context, int from, struct bytes *data) {
    struct rank *rank = context;
    struct mailbox *box = &network.box[from][rank->number];
    if (is_gone(rank)) return -EPIPE;
    pthread_mutex_lock(&network.lock);
    int code = wait_until(box, true) ? 0 : -ETIMEDOUT;
    if (code == 0) {
        data->len = 0;
        bytes_append(data, box->data.data, box->data.len);
        box->is_full = false;
    }
    pthread_cond_broadcast(&network.changed);
    pthread_mutex_unlock(&network.lock);
    return code;
}

static int swap(void *context, int with, const void *data, size_t len, struct bytes *received) {
    FORWARD(send_to(context, with, data, len));
    return receive_from(context, with, received);
}

// --- what each rank has counted: "all" by all, "odd" by some, and one of its own

static void add(void *context, reduce_take *take, const char *name, unsigned layer, uint64_t writes, uint64_t units) {
    struct spill_counters entry = {.file = 7, .layer = layer};
    const struct reduce_file file = {.name = name, .name_len = strlen(name), .device = 1, .inode = 2, .type = S_IFREG};
    entry.counters.value[COUNTER_WRITES] = writes;
    entry.counters.value[COUNTER_BYTES_WRITTEN] = writes * 100;
    entry.counters.value[COUNTER_WRITE_TIME] = units;
    entry.counters.value[COUNTER_WRITE_START] = 1000 + units;
    entry.counters.value[COUNTER_WRITE_END] = 2000 + units;
    counters_common_add(&entry.counters.sizes, 100, writes);
    assert_int_equal(take(context, &file, &entry, 1), 0);
}

static int hand_over(void *context, uint64_t part, reduce_take *take, void *take_context) {
    const struct rank *rank = context;
    char own[32];
    snprintf(own, sizeof own, "/own.%d", rank->number);
    assert_true(part);
    add(take_context, take, "/all", LAYER_POSIX, (uint64_t)rank->number + 1, (uint64_t)(10 + rank->number));
    if (rank->number % 2) add(take_context, take, "/odd", LAYER_STDIO, 2, 5);
    add(take_context, take, own, LAYER_POSIX, 3, 50);
    return 0;
}

static const char *name_of(void *context, uint32_t number, size_t *len) {
    (void)context, (void)number, (void)len;
    return NULL;
}

static void *run_rank(void *context) {
    struct rank *rank = context;
    const struct reduce_link link = {rank, rank->number, rank->size, send_to, receive_from, swap};
    const struct reduce_job job = {.folder = rank->folder,
                                   .epoch_ns = UINT64_C(1000000000000),
                                   .clock = {.span_units = 1, .span_ns = 1},
                                   .hand_over = hand_over,
                                   .name_of = name_of,
                                   .context = rank};
    rank->result = reduce_run(&job, &link, &rank->costs);
    return NULL;
}

static struct rank rank[MOST_RANKS];

static void run(int size, char folder[64]) {
    memset(&network.box, 0, sizeof network.box);
    pthread_mutex_init(&network.lock, NULL);
    pthread_cond_init(&network.changed, NULL);
    strcpy(folder, "/tmp/ioseer-reduce-XXXXXX");
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < size; i++) {
        rank[i] = (struct rank){.number = i, .size = size};
        strcpy(rank[i].folder, folder);
        assert_int_equal(pthread_create(&rank[i].thread, NULL, run_rank, &rank[i]), 0);
    }
    for (int i = 0; i < size; i++) pthread_join(rank[i].thread, NULL);
    for (int i = 0; i < MOST_RANKS * MOST_RANKS; i++) bytes_free(&network.box[i / MOST_RANKS][i % MOST_RANKS].data);
}

// --- what they wrote

struct found {
    uint64_t files, writes, ranks, of_odd;
    struct counters_ranks all;
    uint64_t first_start, last_end;
    char name[4096]; // of the last file
};

static void take_record(struct found *found, unsigned kind, struct fields_in body) {
    struct spill_counters entry;
    struct counters_ranks ranks;
    struct field f[FILE_NAME + 1];
    uint32_t process;
    if (kind == RECORD_FILE) {
        assert_int_equal(fields_by_key(body, f, FILE_NAME + 1), 0);
        found->files++;
        if (f[FILE_ID].key) assert_int_equal(f[FILE_ID].number, found->files);
        snprintf(found->name, sizeof found->name, "%.*s", (int)f[FILE_NAME].len, f[FILE_NAME].data);
        return;
    }
    assert_int_equal(kind, RECORD_COUNTERS);
    assert_int_equal(counters_get(body, &process, &entry), 0);
    assert_int_equal(counters_get_ranks(body, &entry.counters, &ranks), 0);
    assert_int_equal(process, 0);
    assert_int_equal(entry.file, 0); // that of the record before
    found->writes += entry.counters.value[COUNTER_WRITES];
    found->ranks += ranks.count;
    assert_int_equal(entry.counters.sizes.count[0], entry.counters.value[COUNTER_WRITES]);
    if (!strcmp(found->name, "/odd")) found->of_odd = ranks.count;
    if (strcmp(found->name, "/all") != 0) return;
    found->all = ranks;
    found->first_start = entry.counters.value[COUNTER_WRITE_START];
    found->last_end = entry.counters.value[COUNTER_WRITE_END];
}

static void read_whole(const char *folder, const char *name, struct bytes *out) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(io_read_all(fd, out, 1 << 24), 0);
    close(fd);
}

static struct found read_part(const char *folder, struct part_head *head) {
    struct bytes blocks = {0}, index = {0}, raw = {0};
    struct found found = {0};
    struct fields_in in, body;
    struct log_block block;
    unsigned kind;
    read_whole(folder, PART_BLOCKS, &blocks);
    read_whole(folder, PART_INDEX, &index);
    assert_int_equal(part_head_get(index.data, head), 0);
    assert_int_equal(head->end, blocks.len);
    assert_int_equal(index.len, PART_HEAD_BYTES + head->blocks * PART_ENTRY_BYTES);
    for (uint64_t i = 0; i < head->blocks; i++) {
        struct part_entry entry = part_entry_get(index.data + PART_HEAD_BYTES + i * PART_ENTRY_BYTES);
        assert_int_equal(log_block_get(blocks.data + entry.offset, blocks.len - entry.offset, &block), 0);
        assert_int_equal(log_block_load(&block, blocks.data + entry.offset + block.header_bytes, &raw), 0);
        for (in = fields_of(&raw); fields_next_record(&in, &kind, &body) > 0;) take_record(&found, kind, body);
    }
    bytes_free(&blocks);
    bytes_free(&index);
    bytes_free(&raw);
    return found;
}

static bool is_committed(const char *folder) {
    char path[128];
    snprintf(path, sizeof path, "%s/" PART_INDEX, folder);
    return access(path, F_OK) == 0;
}

static void remove_folder(const char *folder) {
    static const char *const names[] = {PART_BLOCKS, PART_INDEX, PART_INDEX_NEW};
    char name[PART_NAME_ROOM], path[128];
    for (unsigned i = 0; i < 6; i++) {
        part_file_name(name, names[i % 3], i / 3);
        snprintf(path, sizeof path, "%s/%s", folder, name);
        unlink(path);
    }
    assert_int_equal(rmdir(folder), 0);
}

static void test_all_sizes(void **state) {
    char folder[64];
    (void)state;
    network.gone = -1;
    network.patience_ms = 60000;
    for (int size = 2; size <= MOST_RANKS; size += size < 18 ? 1 : 11) {
        struct part_head head;
        run(size, folder);
        for (int i = 0; i < size; i++) assert_int_equal(rank[i].result, 0);
        struct found found = read_part(folder, &head);
        uint64_t n = (uint64_t)size, odd = n / 2;
        assert_int_equal(found.files, n + 2);
        assert_int_equal(head.files, n + 2);
        assert_int_equal(head.ranks, n);
        assert_int_equal(found.writes, n * (n + 1) / 2 + odd * 2 + n * 3);
        assert_int_equal(found.ranks, n + odd + n);
        assert_int_equal(found.of_odd, odd);
        assert_int_equal(found.all.fastest.rank, 0);
        assert_int_equal(found.all.slowest.rank, size - 1);
        assert_int_equal(found.all.slowest.bytes, n * 100);
        // The variance of 100, 200 … n * 100.
        double expected = 10000.0 * ((double)n * (double)n - 1) / 12, relative = found.all.variance_bytes / expected;
        assert_true(relative > 0.999999 && relative < 1.000001);
        assert_int_equal(found.last_end - found.first_start, 1000 + n - 1);
        // The rounds grow with the logarithm: seven steps of it, and the odd ranks.
        unsigned rounds = 0;
        while (1 << rounds < size) rounds++;
        for (int i = 0; i < size; i++) assert_in_range(rank[i].costs.rounds, 1, 7 * rounds + 2);
        remove_folder(folder);
    }
}

// Whoever vanishes, and whenever: nothing is committed, or all is, and nobody waits for ever.
static void test_a_rank_vanishes(void **state) {
    char folder[64];
    (void)state;
    network.patience_ms = 300;
    for (int gone = 0; gone < 6; gone++) {
        for (int after = 0; after < 14; after += 3) {
            struct part_head head;
            network.gone = gone;
            network.gone_after = after;
            run(6, folder);
            if (is_committed(folder)) assert_int_equal(read_part(folder, &head).ranks, 6 + 3 + 6);
            remove_folder(folder);
        }
    }
}

static void test_second_part(void **state) {
    char folder[64];
    (void)state;
    network.gone = -1;
    network.patience_ms = 60000;
    run(3, folder);
    assert_true(is_committed(folder));
    for (int i = 0; i < 3; i++) pthread_create(&rank[i].thread, NULL, run_rank, &rank[i]);
    for (int i = 0; i < 3; i++) pthread_join(rank[i].thread, NULL);
    assert_int_equal(rank[0].costs.files, 5);
    char path[128];
    snprintf(path, sizeof path, "%s/" PART_INDEX ".1", folder);
    assert_int_equal(access(path, F_OK), 0);
    remove_folder(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_sizes),
        cmocka_unit_test(test_a_rank_vanishes),
        cmocka_unit_test(test_second_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
