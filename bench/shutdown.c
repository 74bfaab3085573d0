// shutdown RANKS SHARED OWN: what the end of an MPI job costs rank 0 (reduce/run.h), with RANKS ranks that share so
// many files and have so many of their own. The other ranks do not exist: their messages are generated. Prints one
// line: seconds of own work, of transfer by a model, messages, bytes sent and received, most bytes in memory, bytes of
// the log without its processes, bytes that a record of each rank adds to it, files of rank 0.
//
// The log has what the packer writes for such a job: header, trailer, the blocks of all writers, each as large as that
// of rank 0, and the records of the job and of the reduction, together with the only block if there is one. What is not
// in it: processes that are no ranks, such as launchers, and what the packer looks up on its host: devices and mounts.
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
#include "base/varint.h"
#include "fmt/block.h"
#include "fmt/part.h"
#include "fmt/records.h"
#include "reduce/run.h"

// The network that the model assumes: such as the one of the machine in Darshan's paper, and slower than today's.
#define LATENCY_S 3e-6
#define BYTES_PER_S 1e9

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

// As in srun -n RANKS ./simulation input.nml, in a batch job.
static void put_job(struct simulation *s, struct fields_out *out) {
    const uint64_t start_ns = UINT64_C(1795000000123456789);
    fields_begin(out, RECORD_JOB);
    fields_string(out, JOB_COMMAND, "srun");
    fields_string(out, JOB_COMMAND, "./simulation");
    fields_string(out, JOB_COMMAND, "input.nml");
    fields_number(out, JOB_START_NS, start_ns);
    fields_string(out, JOB_HOST, "node0001");
    fields_string(out, JOB_CWD, "/scratch/project/run-20261117");
    fields_string(out, JOB_VERSION, IOSEER_VERSION);
    fields_number(out, JOB_UID, 20123);
    fields_string(out, JOB_ID, "4711003");
    fields_number(out, JOB_END_NS, start_ns + UINT64_C(3600000000000) + next_random(s) % 1000000000);
    fields_number(out, JOB_COMPLETE, 1);
    fields_number(out, JOB_EXIT_STATUS, 0);
    fields_number(out, JOB_NPROCS, s->ranks);
    fields_end(out);
    fields_begin(out, RECORD_REDUCTION);
    fields_number(out, REDUCTION_RANKS, s->ranks);
    fields_signed(out, REDUCTION_START_NS, -(int64_t)(next_random(s) % 1000000000));
    fields_number(out, REDUCTION_PROCESS, 1);
    fields_end(out);
}

// Returns 1 if the file has one block, and 0 if it has more.
static int read_block(const char *folder, struct bytes *records) {
    struct bytes part = {0};
    struct log_block block = {0};
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, PART_BLOCKS);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    RETURN_IF(fd < 0, -errno);
    int code = io_read_all(fd, &part, LOG_BLOCK_MAX_RAW);
    close(fd);
    const uint8_t *at = part.data + LOG_HEADER_BYTES;
    size_t len = part.len - LOG_HEADER_BYTES;
    if (code >= 0) code = part.len > LOG_HEADER_BYTES ? 0 : ERR_TRUNCATED;
    if (code >= 0) code = log_block_get(at, len, &block);
    bool is_only = code >= 0 && len == (size_t)block.header_bytes + block.stored_len;
    if (is_only) code = log_block_load(&block, at + block.header_bytes, records);
    bytes_free(&part);
    return code < 0 ? code : is_only;
}

static int64_t log_bytes(struct simulation *s, const char *folder, const struct reduce_costs *costs) {
    struct log_block block = {.type = BLOCK_RECORDS};
    struct bytes records = {0}, out = {0};
    uint8_t job[1024];
    struct fields_out fields = {.at = job, .end = job + sizeof job};
    uint64_t writers = s->ranks / s->group, bytes = LOG_HEADER_BYTES + LOG_TRAILER_BYTES;
    put_job(s, &fields);
    int is_one = writers == 1 ? read_block(folder, &records) : 0;
    int code = is_one < 0 ? is_one : bytes_append(&records, job, (size_t)(fields.at - job));
    if (code == 0) code = log_block_append(&block, records.data, records.len, &out);
    bytes += out.len + (is_one ? 0 : writers * costs->written_bytes);
    bytes_free(&records);
    bytes_free(&out);
    return code < 0 ? code : (int64_t)bytes;
}

// --- the processes: 64 ranks on a host, which began within a second and ended within another

enum { HOST_RANKS = 64, PROCESS_ROOM = 1024, RECORDS_BYTES = 256 << 10 };

static void put_clock(struct fields_out *out, uint64_t host) {
    fields_number(out, PROCESS_CLOCK_UNITS, 1234567890123 + host * 987654321);
    fields_signed(out, PROCESS_CLOCK_NS, (int64_t)(host * 12345));
    fields_number(out, PROCESS_CLOCK_SPAN_UNITS, 2250000000000);
    fields_number(out, PROCESS_CLOCK_SPAN_NS, 3600123456789);
}

static void put_what(struct fields_out *out, const struct simulation *s, uint64_t rank) {
    char host[32];
    snprintf(host, sizeof host, "node%04lu", rank / HOST_RANKS + 1);
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
}

static void put_process(struct simulation *s, struct fields_out *out, uint64_t rank) {
    const uint64_t run_ns = UINT64_C(3600000000000), second = 1000000000, host = rank / HOST_RANKS;
    const uint64_t left_out[LEFT_OUT_COUNT] = {0, 40000 + next_random(s) % 100};
    uint64_t written[LAYER_COUNT] = {0};
    written[LAYER_POSIX] = (s->shared + s->own) * (10 << 20);
    fields_begin(out, RECORD_PROCESS);
    fields_number(out, PROCESS_ID, rank + 1);
    fields_number(out, PROCESS_PID, 20000 + host * 17 % 1000 + rank % HOST_RANKS);
    fields_number(out, PROCESS_PPID, 19000 + host * 17 % 1000);
    fields_number(out, PROCESS_UID, 20123);
    put_what(out, s, rank);
    fields_number(out, PROCESS_START_NS, rank * second / s->ranks + next_random(s) % (second / s->ranks));
    fields_number(out, PROCESS_END_NS, run_ns + next_random(s) % second);
    put_clock(out, host);
    fields_number(out, PROCESS_EXIT, EXIT_CLEAN);
    fields_number(out, PROCESS_EXIT_VALUE, 0);
    fields_number(out, PROCESS_READ_CHARS, 52000 + next_random(s) % 100);
    fields_number(out, PROCESS_WRITE_CHARS, written[LAYER_POSIX]);
    fields_number(out, PROCESS_LOAD_READ_CHARS, 3000);
    fields_number(out, PROCESS_LOAD_WRITE_CHARS, 0);
    fields_indexed(out, PROCESS_LEFT_OUT_READ, left_out, LEFT_OUT_COUNT);
    fields_number(out, PROCESS_LEFT_OUT_CALLS, 12);
    fields_number(out, PROCESS_STDIO_KERNEL_READ, 0);
    fields_number(out, PROCESS_STDIO_KERNEL_WRITE, 0);
    fields_number(out, PROCESS_COMM_CALLS, 100 << 4);
    fields_number(out, PROCESS_COMM_NS, (10 * second + next_random(s) % second) << 4);
    fields_number(out, PROCESS_TRACE_ENDED, LOSS_TRACE_CAP);
    fields_number(out, PROCESS_IO_NS, (s->shared + s->own) * 5000000 + next_random(s) % 1000000);
    fields_indexed(out, PROCESS_REDUCED_WRITTEN, written, LAYER_COUNT);
    fields_number(out, PROCESS_CPU_WAIT_NS, second + next_random(s) % 1000000);
    fields_end(out);
}

static int64_t process_bytes(struct simulation *s) {
    struct bytes records = {0}, out = {0};
    struct log_block block = {.type = BLOCK_RECORDS};
    int64_t bytes = 0;
    for (uint64_t rank = 0; rank < s->ranks && bytes >= 0; rank++) {
        uint8_t *at = bytes_reserve(&records, PROCESS_ROOM);
        if (!at) return -ENOMEM;
        struct fields_out fields = {.at = at, .end = at + PROCESS_ROOM};
        put_process(s, &fields, rank);
        records.len += (size_t)(fields.at - at);
        if (records.len < RECORDS_BYTES && rank + 1 < s->ranks) continue;
        int code = log_block_append(&block, records.data, records.len, &out);
        bytes = code < 0 ? code : bytes + (int64_t)out.len;
        records.len = out.len = 0;
    }
    bytes_free(&records);
    bytes_free(&out);
    return bytes;
}

static void remove_folder(const char *folder) {
    static const char *const names[] = {PART_BLOCKS, PART_INDEX, PART_INDEX_NEW};
    char path[128];
    for (unsigned i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

int main(int argc, char **argv) {
    struct simulation s = {.random = 88172645463325252u, .group = 1};
    char folder[] = "/tmp/ioseer-shutdown-XXXXXX";
    struct reduce_costs costs;
    if (argc != 4 || !mkdtemp(folder)) return 2;
    s.ranks = strtoull(argv[1], NULL, 10);
    s.shared = strtoull(argv[2], NULL, 10);
    s.own = strtoull(argv[3], NULL, 10);
    while (UINT64_C(1) << (s.rounds + 1) <= s.ranks) s.rounds++;
    const struct reduce_link link = {&s, 0, 1 << s.rounds, send_to, receive_from, swap};
    const struct reduce_job job = {.folder = folder,
                                   .epoch_ns = UINT64_C(1000000000000),
                                   .clock = {.span_units = 1, .span_ns = 1},
                                   .hand_over = hand_over,
                                   .name_of = name_of,
                                   .context = &s};
    s.resumed_s = seconds();
    int code = reduce_run(&job, &link, &costs);
    s.work_s += seconds() - s.resumed_s;
    int64_t log = code < 0 ? code : log_bytes(&s, folder, &costs), processes = log < 0 ? log : process_bytes(&s);
    remove_folder(folder);
    if (processes < 0) {
        fprintf(stderr, "shutdown: %s\n", err_text((int)processes));
        return 1;
    }
    printf("%lu %lu %lu %.6f %.6f %lu %lu %lu %lu %ld %ld %lu\n", s.ranks, s.shared, s.own, s.work_s, s.transfer_s,
           costs.rounds, costs.sent_bytes, costs.received_bytes, costs.most_bytes, log, processes, costs.files);
    return 0;
}
