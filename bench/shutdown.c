// shutdown RANKS SHARED OWN: what the end of an MPI job costs rank 0 (reduce/run.h), with RANKS ranks that share so
// many files and have so many of their own. The other ranks do not exist: their messages are generated. Prints one
// line: seconds of own work, of transfer by a model, messages, bytes sent and received, most bytes in memory, bytes of
// the log, and with a record of each rank, files of rank 0.
//
// The log is made by the packer, of spill files of all ranks: with one record for all of them, and with a record of
// each. With own files, blocks as large as those of rank 0 are added for each writer. What is not in it: processes that
// are no ranks, such as launchers, and how the hosts' clocks were aligned.
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "fmt/block.h"
#include "fmt/part.h"
#include "fmt/records.h"
#include "fmt/spill.h"
#include "pack/pack.h"
#include "reduce/run.h"

// The network that the model assumes: such as the one of the machine in Darshan's paper, and slower than today's.
#define LATENCY_S 3e-6
#define BYTES_PER_S 1e9

#define START_NS UINT64_C(1795000000123456789)
enum { MOST_RANKS = 1024 }; // as the setting rank_cap says

struct simulation {
    uint64_t ranks, shared, own;
    unsigned rounds;
    unsigned swaps;
    uint64_t group; // ranks that give their files to one writer
    unsigned gathers;
    uint64_t entry_bytes; // of a file, about
    uint64_t random;
    double work_s, transfer_s, resumed_s;
};

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint64_t next_random(struct simulation *s) {
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return s->random;
}

// --- counters of a file that a rank opened, wrote in ten calls, and closed

static void fill(struct simulation *s, struct counters *c) {
    uint64_t at = UINT64_C(20000000000) + next_random(s) % 1000000000, size = 1 << 20;
    *c = (struct counters){0};
    uint64_t *v = c->value;
    v[COUNTER_OPENS] = 1;
    v[COUNTER_MODE] = 0644;
    v[COUNTER_WRITES] = v[COUNTER_SIZE_WRITE + 4] = 10;
    v[COUNTER_CONSEC_WRITES] = v[COUNTER_SEQ_WRITES] = 9;
    v[COUNTER_BYTES_WRITTEN] = 10 * size;
    v[COUNTER_MAX_BYTE_WRITTEN] = 10 * size - 1;
    v[COUNTER_FILE_ALIGNMENT] = 4096;
    v[COUNTER_MAX_WRITE_TIME_SIZE] = size;
    v[COUNTER_OPEN_START] = at;
    v[COUNTER_OPEN_END] = at += 30000 + next_random(s) % 10000;
    v[COUNTER_WRITE_START] = at += 1000 + next_random(s) % 1000;
    v[COUNTER_WRITE_TIME] = 5000000 + next_random(s) % 1000000;
    v[COUNTER_MAX_WRITE_TIME] = 900000 + next_random(s) % 100000;
    v[COUNTER_WRITE_END] = at += v[COUNTER_WRITE_TIME];
    v[COUNTER_CLOSE_START] = at += 1000 + next_random(s) % 1000;
    v[COUNTER_CLOSE_END] = at += 5000 + next_random(s) % 1000;
    v[COUNTER_META_TIME] = 40000 + next_random(s) % 10000;
    counters_common_add(&c->sizes, size, 10);
    counters_common_add(&c->strides, 0, 10);
}

static void name_shared(char name[128], uint64_t number) {
    snprintf(name, 128, "/scratch/project/run-20261117/output/checkpoint-%06lu.dat", (unsigned long)number);
}

static struct reduce_file file_of(const char *name, uint64_t inode) {
    return (struct reduce_file){
        .name = name, .name_len = strlen(name), .device = 47, .inode = inode, .block_bytes = 4096, .type = S_IFREG};
}

static int hand_over(void *context, uint64_t part, reduce_take *take, void *take_context) {
    struct simulation *s = context;
    struct spill_counters entry = {.layer = LAYER_POSIX};
    char name[128];
    (void)part;
    for (uint64_t i = 0; i < s->shared + s->own; i++) {
        name_shared(name, i);
        if (i >= s->shared)
            snprintf(name, sizeof name, "/scratch/project/run-20261117/output/rank-000000/part-%06lu.dat",
                     (unsigned long)i);
        const struct reduce_file file = file_of(name, 144115205322833920u + i);
        fill(s, &entry.counters);
        FORWARD(take(take_context, &file, &entry, 1));
    }
    return 0;
}

static const char *name_of(void *context, uint32_t number, size_t *len) {
    (void)context, (void)number, (void)len;
    return NULL;
}

// --- what other ranks send

static int put_shared(struct simulation *s, struct reduce_set *set, uint64_t number, uint64_t ranks, uint64_t low,
                      uint64_t high) {
    struct reduce_builder builder = {0};
    struct spill_counters entry = {.layer = LAYER_POSIX};
    struct reduce_set one;
    char name[128];
    name_shared(name, number);
    uint64_t hash = hash_bytes(0, name, strlen(name));
    if (hash < low || hash > high) return 0;
    const struct reduce_file file = file_of(name, 144115205322833920u + number);
    for (uint64_t i = 0; i < (ranks > 1 ? 2 : 1); i++) { // of two ranks, to have fields of several
        fill(s, &entry.counters);
        FORWARD(reduce_builder_add(&builder, &file, &entry, 1, (int64_t)(i + 7)));
        FORWARD(reduce_builder_end(&builder, &one));
        FORWARD(reduce_set_merge(set, one.data.data, one.data.len));
        builder = (struct reduce_builder){0};
        reduce_set_free(&one);
    }
    return 0;
}

// An entry as the library makes it, but with a hash in the range.
static int put_own(struct simulation *s, struct reduce_set *set, uint64_t count, uint64_t low, uint64_t high) {
    uint64_t hash = low, step = count ? (high - low) / count : 0;
    for (uint64_t i = 0; i < count; i++, hash += step) {
        struct reduce_builder builder = {0};
        struct spill_counters entry = {.layer = LAYER_POSIX};
        struct reduce_set one;
        char name[128];
        snprintf(name, sizeof name, "/scratch/project/run-20261117/output/rank-%06lu/part-%06lu.dat",
                 (unsigned long)(next_random(s) % s->ranks), (unsigned long)(next_random(s) % s->own));
        const struct reduce_file file = file_of(name, 144115205322833920u + next_random(s) % 1000000);
        fill(s, &entry.counters);
        FORWARD(reduce_builder_add(&builder, &file, &entry, 1, (int64_t)(next_random(s) % s->ranks)));
        FORWARD(reduce_builder_end(&builder, &one));
        memcpy(one.data.data, &hash, sizeof hash);
        int code = bytes_append(&set->data, one.data.data, one.data.len);
        reduce_set_free(&one);
        FORWARD(code);
    }
    return 0;
}

// The files in a range of hashes that so many ranks have.
static int make_set(struct simulation *s, uint64_t ranks, uint64_t low, uint64_t high, struct bytes *out) {
    struct reduce_set own = {0}, set = {0};
    double share = ((double)(high - low) + 1) / 18446744073709551616.0;
    FORWARD(put_own(s, &own, (uint64_t)llround((double)(s->own * ranks) * share), low, high));
    for (uint64_t i = 0; i < s->shared; i++) FORWARD(put_shared(s, &set, i, ranks, low, high));
    FORWARD(reduce_set_merge(&set, own.data.data, own.data.len));
    out->len = 0;
    FORWARD(bytes_append(out, set.data.data, set.data.len));
    if (set.count) s->entry_bytes = set.data.len / set.count;
    reduce_set_free(&own);
    reduce_set_free(&set);
    return 0;
}

static void pause_work(struct simulation *s, size_t bytes) {
    s->work_s += seconds() - s->resumed_s;
    s->transfer_s += LATENCY_S + (double)bytes / BYTES_PER_S;
}

static int send_to(void *context, int to, const void *data, size_t len) {
    struct simulation *s = context;
    (void)to, (void)data;
    pause_work(s, len);
    s->resumed_s = seconds();
    return 0;
}

static int receive_from(void *context, int from, struct bytes *data) {
    struct simulation *s = context;
    uint64_t unit = UINT64_C(1) << (64 - s->rounds), succeeded = 0, bit = (uint64_t)from;
    pause_work(s, 0);
    data->len = 0;
    int code;
    if (s->swaps == 2 * s->rounds) { // the entries of the ranks from `from` on
        s->gathers++;
        s->group = bit * 2;
        code = make_set(s, s->ranks, bit * unit, bit * 2 * unit - 1, data);
    } else {
        code = bytes_append(data, &succeeded, sizeof succeeded);
    }
    s->transfer_s += (double)data->len / BYTES_PER_S;
    s->resumed_s = seconds();
    return code;
}

static int swap(void *context, int with, const void *data, size_t len, struct bytes *received) {
    struct simulation *s = context;
    uint64_t half = s->ranks >> (s->swaps + 1), theirs[2], files = s->shared + s->own * s->ranks;
    pause_work(s, len);
    received->len = 0;
    int code;
    if (s->swaps < s->rounds) { // the lower half of what the partner has
        uint64_t high = (half << (64 - s->rounds)) - 1;
        code = make_set(s, UINT64_C(1) << s->swaps, 0, high, received);
    } else {
        bool is_second = s->swaps >= 2 * s->rounds;
        memcpy(theirs, data, sizeof theirs);
        if (is_second && (uint64_t)with < s->group) theirs[0] = theirs[1] = 0; // they write nothing
        if (!is_second) {
            theirs[0] = (uint64_t)with * files / s->ranks;
            theirs[1] = theirs[0] * s->entry_bytes;
        }
        code = bytes_append(received, theirs, sizeof theirs);
    }
    s->swaps++;
    s->transfer_s += received->len > len ? (double)(received->len - len) / BYTES_PER_S : 0;
    s->resumed_s = seconds();
    return code;
}

// --- the log

enum { HOST_RANKS = 64, RUN_S = 3600, CHUNK_BYTES = 4096, SPILL_BYTES = SPILL_HEADER_BYTES + CHUNK_BYTES };

static uint64_t random_ns(struct simulation *s, uint64_t below) { return next_random(s) % below; }

// 64 ranks on a host, which began within a second and ended within another. Clocks of hosts are the system's.
static void fill_header(struct simulation *s, struct spill_header *header, uint64_t rank, uint64_t part) {
    const uint64_t second = 1000000000, start = START_NS + rank * second / s->ranks + random_ns(s, second / s->ranks);
    const uint64_t run = RUN_S * second + random_ns(s, second), host = rank / HOST_RANKS;
    *header = (struct spill_header){.magic = SPILL_MAGIC,
                                    .version = SPILL_VERSION,
                                    .header_bytes = SPILL_HEADER_BYTES,
                                    .pid = (uint32_t)(20000 + host * 17 % 1000 + rank % HOST_RANKS),
                                    .ppid = (uint32_t)(19000 + host * 17 % 1000),
                                    .uid = 20123,
                                    .clock_is_ns = 1,
                                    .start = {start, start - host * 12345678, start},
                                    .latest = {start + run, start + run - host * 12345678, start + run},
                                    .capacity = SPILL_BYTES,
                                    .next = SPILL_BYTES,
                                    .exit = EXIT_CLEAN,
                                    .trace_ended = LOSS_TRACE_CAP,
                                    .chars_start = {3000, 0},
                                    .chars_end = {55000 + random_ns(s, 100), (s->shared + s->own) * (10 << 20)},
                                    .chars_known = 3,
                                    .cpu_wait_known = 1,
                                    .cpu_wait_ns = second + random_ns(s, 1000000),
                                    .handed_until = SPILL_BYTES,
                                    .part = part};
    header->handed_bytes[1][LAYER_POSIX] = (s->shared + s->own) * (10 << 20);
}

static void put_job(struct fields_out *out) {
    fields_begin(out, RECORD_JOB);
    fields_string(out, JOB_COMMAND, "srun");
    fields_string(out, JOB_COMMAND, "./simulation");
    fields_string(out, JOB_COMMAND, "input.nml");
    fields_number(out, JOB_START_NS, START_NS);
    fields_string(out, JOB_HOST, "node0001");
    fields_string(out, JOB_CWD, "/scratch/project/run-20261117");
    fields_string(out, JOB_VERSION, IOSEER_VERSION);
    fields_number(out, JOB_UID, 20123);
    fields_string(out, JOB_ID, "4711003");
    fields_end(out);
}

static void put_process(struct fields_out *out, const struct simulation *s, const char *host, uint64_t rank) {
    fields_begin(out, RECORD_PROCESS);
    fields_string(out, PROCESS_HOST, host);
    fields_string(out, PROCESS_EXE, "/home/user/simulation/bin/simulation");
    fields_string(out, PROCESS_CWD, "/scratch/project/run-20261117");
    fields_string(out, PROCESS_ARG, "./simulation");
    fields_string(out, PROCESS_ARG, "input.nml");
    fields_number(out, PROCESS_CPUS, 1);
    fields_number(out, PROCESS_RANK, rank + 1);
    fields_number(out, PROCESS_MPI_SIZE, s->ranks);
    fields_number(out, PROCESS_LOCAL_RANK, rank % HOST_RANKS + 1);
    fields_string(out, PROCESS_MPI, "MPICH 4.0.2");
    fields_end(out);
}

static int write_file(const char *folder, const char *name, const void *data, size_t len) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    RETURN_IF(fd < 0, -errno);
    int code = io_write_all(fd, data, len);
    close(fd);
    return code;
}

static int write_spill(struct simulation *s, const char *folder, uint64_t rank, uint64_t part) {
    _Alignas(8) uint8_t data[SPILL_BYTES] = {0};
    struct spill_chunk *chunk = (struct spill_chunk *)(data + SPILL_HEADER_BYTES);
    uint8_t *payload = (uint8_t *)chunk + SPILL_CHUNK_HEADER_BYTES;
    struct fields_out out = {.at = payload, .end = data + sizeof data};
    char host[32], name[64];
    fill_header(s, (struct spill_header *)data, rank, part);
    *chunk = (struct spill_chunk){.magic = SPILL_CHUNK_MAGIC, .kind = CHUNK_RECORDS, .bytes = CHUNK_BYTES};
    chunk->tally.left_out[0][LEFT_OUT_EXCLUDED] = 40000 + random_ns(s, 100);
    chunk->tally.left_out_calls = 12;
    chunk->tally.comm[0].count = 100;
    chunk->tally.comm[0].units = UINT64_C(10000000000) + random_ns(s, 1000000000);
    chunk->tally.io_units = (s->shared + s->own) * 5000000 + random_ns(s, 1000000);
    snprintf(host, sizeof host, "node%04lu", rank / HOST_RANKS + 1);
    put_process(&out, s, host, rank);
    chunk->used = (uint32_t)(out.at - payload);
    snprintf(name, sizeof name, "%s.%lu" SPILL_SUFFIX, host, rank);
    return write_file(folder, name, data, sizeof data);
}

static bool has_whole_part(const struct simulation *s) { return s->group == s->ranks && !s->own; }

// If rank 0 is the only writer of shared files, its part is the whole one, but for the number of files, which others
// would have told it; else an empty one stands for all.
static int put_part(const struct simulation *s, const char *folder, uint64_t *id) {
    uint8_t blocks[LOG_HEADER_BYTES] = {0};
    struct part_head head = {.id = 1, .end = sizeof blocks, .ranks = s->ranks, .epoch_ns = START_NS};
    struct bytes index = {0};
    char path[256];
    snprintf(path, sizeof path, "%s/" PART_INDEX, folder);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    RETURN_IF(fd < 0, -errno);
    int code = io_read_all(fd, &index, 1 << 20);
    close(fd);
    if (code >= 0 && has_whole_part(s)) {
        code = part_head_get(index.data, &head);
        head.files = s->shared;
    } else if (code >= 0) {
        index.len = PART_HEAD_BYTES;
        code = write_file(folder, PART_BLOCKS, blocks, sizeof blocks);
    }
    if (code >= 0) {
        part_head_put(index.data, &head);
        code = write_file(folder, PART_INDEX, index.data, index.len);
    }
    bytes_free(&index);
    *id = head.id;
    return code < 0 ? code : 0;
}

// What the ranks leave in the job's folder.
static int write_job(struct simulation *s, const char *folder) {
    uint8_t job[1024];
    struct fields_out out = {.at = job, .end = job + sizeof job};
    uint64_t part = 0;
    FORWARD(put_part(s, folder, &part));
    put_job(&out);
    FORWARD(write_file(folder, PACK_JOB_FILE, job, (size_t)(out.at - job)));
    for (uint64_t rank = 0; rank < s->ranks; rank++) FORWARD(write_spill(s, folder, rank, part));
    return 0;
}

// Bytes of the packer's log, with the blocks of all writers.
static int64_t log_bytes(struct simulation *s, const char *folder, const struct reduce_costs *costs,
                         uint64_t most_ranks) {
    const struct pack_options options = {.replace = true, .most_ranks = most_ranks};
    struct pack_result result;
    char path[256];
    snprintf(path, sizeof path, "%s.log", folder);
    int code = pack_directory(NULL, folder, path, &options, &result);
    unlink(path);
    RETURN_IF(code < 0, code);
    uint64_t added = has_whole_part(s) ? 0 : s->ranks / s->group * costs->written_bytes;
    return (int64_t)(result.log_bytes + added);
}

int main(int argc, char **argv) {
    struct simulation s = {.random = 88172645463325252u, .group = 1};
    char folder[] = "/dev/shm/ioseer-shutdown-XXXXXX"; // files of 8 KiB for each rank
    struct reduce_costs costs;
    if (argc != 4 || !mkdtemp(folder)) return 2;
    s.ranks = strtoull(argv[1], NULL, 10);
    s.shared = strtoull(argv[2], NULL, 10);
    s.own = strtoull(argv[3], NULL, 10);
    while (UINT64_C(1) << (s.rounds + 1) <= s.ranks) s.rounds++;
    const struct reduce_link link = {&s, 0, 1 << s.rounds, send_to, receive_from, swap};
    const struct reduce_job job = {.folder = folder,
                                   .epoch_ns = START_NS,
                                   .clock = {.span_units = 1, .span_ns = 1},
                                   .hand_over = hand_over,
                                   .name_of = name_of,
                                   .context = &s};
    s.resumed_s = seconds();
    int code = reduce_run(&job, &link, &costs);
    s.work_s += seconds() - s.resumed_s;
    if (code == 0) code = write_job(&s, folder);
    int64_t each = code < 0 ? code : log_bytes(&s, folder, &costs, 0);
    int64_t together = each < 0 ? each : log_bytes(&s, folder, &costs, MOST_RANKS);
    pack_remove_directory(folder);
    if (together < 0) {
        fprintf(stderr, "shutdown: %s\n", err_text((int)together));
        return 1;
    }
    printf("%lu %lu %lu %.6f %.6f %lu %lu %lu %lu %ld %ld %lu\n", s.ranks, s.shared, s.own, s.work_s, s.transfer_s,
           costs.rounds, costs.sent_bytes, costs.received_bytes, costs.most_bytes, together, each, costs.files);
    return 0;
}
