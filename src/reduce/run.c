#include "reduce/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/err.h"
#include "fmt/block.h"
#include "fmt/records.h"
#include "reduce/part.h"

// Moments before rank 0's first one would be negative.
#define EARLIER_NS UINT64_C(10000000000)

enum { WRITER_BYTES = 1 << 20 }; // of entries: a rank with fewer gives them to another one

struct beginning {
    uint64_t part;   // 0: it cannot be made
    uint64_t number; // of its files
    uint64_t epoch_ns;
};

enum { SUMS = 2 };

struct sums {
    uint64_t before[SUMS]; // over the ranks before this one
    uint64_t all[SUMS];
};

// All that is sent lies here: a message that nobody takes keeps its bytes for ever.
struct run {
    const struct reduce_job *job;
    const struct reduce_link *link;
    struct reduce_costs *costs;
    struct reduce_set set;
    struct bytes received;
    struct beginning beginning;
    struct sums of_files;  // number, bytes of entries
    struct sums of_blocks; // bytes, number
    uint64_t failed;
    int rank;
    int ranks;       // the largest power of two up to the size: others give what they have to these
    unsigned rounds; // its logarithm
    int failure;     // of this rank: the others go on, so that nobody waits, and nothing is committed
};

// --- messages

static int send_to(struct run *run, int to, const void *data, size_t len) {
    run->costs->sent_bytes += len;
    run->costs->rounds++;
    return run->link->send(run->link->context, to, data, len);
}

static int receive_from(struct run *run, int from) {
    FORWARD(run->link->receive(run->link->context, from, &run->received));
    run->costs->received_bytes += run->received.len;
    run->costs->rounds++;
    return 0;
}

static int swap(struct run *run, int with, const void *data, size_t len) {
    FORWARD(run->link->swap(run->link->context, with, data, len, &run->received));
    run->costs->sent_bytes += len;
    run->costs->received_bytes += run->received.len;
    run->costs->rounds++;
    return 0;
}

static int take_received(struct run *run, void *out, size_t len) {
    RETURN_IF(run->received.len != len, ERR_FORMAT);
    memcpy(out, run->received.data, len);
    return 0;
}

static void note_failure(struct run *run, int code) {
    if (code < 0 && !run->failure) run->failure = code;
}

// --- 1: rank 0 begins

static struct beginning begin(const struct run *run) {
    struct beginning beginning = {.epoch_ns = run->job->epoch_ns - EARLIER_NS};
    struct part_place place = {.folder = run->job->folder};
    if (reduce_part_create(&place) < 0) return beginning;
    beginning.number = place.number;
    if (getrandom(&beginning.part, sizeof beginning.part, GRND_NONBLOCK) != sizeof beginning.part)
        beginning.part = clock_ns(CLOCK_REALTIME);
    beginning.part |= 1;
    return beginning;
}

// A binomial tree: who has heard it tells one that has not, in each round.
static int hear(struct run *run) {
    struct beginning *beginning = &run->beginning;
    int step = 1;
    if (run->rank) {
        while (!(run->rank & step)) step <<= 1;
        FORWARD(receive_from(run, run->rank - step));
        FORWARD(take_received(run, beginning, sizeof *beginning));
    } else {
        *beginning = begin(run);
        while (step < run->link->size) step <<= 1;
    }
    for (step >>= 1; step; step >>= 1) {
        if (run->rank + step < run->link->size) FORWARD(send_to(run, run->rank + step, beginning, sizeof *beginning));
    }
    return 0;
}

static struct part_place place_of(const struct run *run) {
    return (struct part_place){run->job->folder, run->beginning.number};
}

// --- 2: the process's own counters

struct taking {
    const struct reduce_job *job;
    struct reduce_builder builder;
    struct clock_map clock;
    int64_t rank;
};

// The process's number of the old name means nothing to others.
static void name_rename(const struct reduce_job *job, uint64_t *renamed_from) {
    size_t len;
    const char *name = *renamed_from ? job->name_of(job->context, (uint32_t)*renamed_from, &len) : NULL;
    *renamed_from = name ? part_record_id(name, len) : 0;
}

static int take(void *context, const struct reduce_file *file, struct spill_counters *layer, size_t layers) {
    struct taking *taking = context;
    for (size_t i = 0; i < layers; i++) {
        counters_to_ns(&layer[i].counters, &taking->clock);
        name_rename(taking->job, &layer[i].counters.value[COUNTER_RENAMED_FROM]);
        layer[i].file = 0;
    }
    return reduce_builder_add(&taking->builder, file, layer, layers, taking->rank);
}

static void collect(struct run *run) {
    const struct beginning *beginning = &run->beginning;
    struct taking taking = {.job = run->job, .clock = run->job->clock, .rank = run->rank};
    taking.clock.origin_ns = (int64_t)(run->job->epoch_ns - beginning->epoch_ns);
    int code = run->job->hand_over(run->job->context, beginning->part, take, &taking);
    int ended = reduce_builder_end(&taking.builder, &run->set);
    note_failure(run, code < 0 ? code : ended);
}

// --- the butterfly

static int merge_received(struct run *run) {
    int code = reduce_set_merge(&run->set, run->received.data, run->received.len);
    note_failure(run, code);
    if (run->set.data.len > run->costs->most_bytes) run->costs->most_bytes = run->set.data.len;
    return 0;
}

// Ranks beyond the power of two. Returns 1 if this is one of them: its work is done.
static int fold(struct run *run) {
    if (run->rank >= run->ranks) {
        FORWARD(send_to(run, run->rank - run->ranks, run->set.data.data, run->set.data.len));
        return 1;
    }
    if (run->rank + run->ranks >= run->link->size) return 0;
    FORWARD(receive_from(run, run->rank + run->ranks));
    return merge_received(run);
}

// A file belongs to the rank whose number is in the highest bits of its hash. In each round the ranks that share the
// bits so far are cut in two halves.
static int exchange(struct run *run) {
    for (unsigned round = 0; round < run->rounds; round++) {
        int bit = run->ranks >> (round + 1);
        uint64_t upper_half = (uint64_t)((run->rank & -bit) | bit) << (64 - run->rounds);
        bool is_upper = run->rank & bit;
        size_t middle = reduce_set_find(&run->set, upper_half), all = run->set.data.len;
        const uint8_t *data = run->set.data.data;
        FORWARD(
            swap(run, run->rank ^ bit, data ? data + (is_upper ? 0 : middle) : NULL, is_upper ? middle : all - middle));
        note_failure(run, reduce_set_cut(&run->set, is_upper ? middle : 0, is_upper ? all : middle));
        FORWARD(merge_received(run));
    }
    return 0;
}

// --- sums

static int add_up(struct run *run, struct sums *sums) {
    memset(sums->before, 0, sizeof sums->before);
    for (int bit = 1; bit < run->ranks; bit <<= 1) {
        uint64_t theirs[SUMS];
        FORWARD(swap(run, run->rank ^ bit, sums->all, sizeof sums->all));
        FORWARD(take_received(run, theirs, sizeof theirs));
        for (unsigned i = 0; i < SUMS; i++) {
            if (run->rank & bit) sums->before[i] += theirs[i];
            sums->all[i] += theirs[i];
        }
    }
    return 0;
}

// --- 3: fewer writers

static int gather(struct run *run, uint64_t all_bytes) {
    int group = run->ranks;
    for (uint64_t left = all_bytes / WRITER_BYTES; left > 1 && group > 1; left >>= 1) group >>= 1;
    for (int bit = 1; bit < group; bit <<= 1) {
        if (run->rank & bit) {
            FORWARD(send_to(run, run->rank - bit, run->set.data.data, run->set.data.len));
            reduce_set_free(&run->set);
            return 0;
        }
        FORWARD(receive_from(run, run->rank + bit));
        FORWARD(merge_received(run));
    }
    return 0;
}

// --- 5: writing

// Mounts of this rank's host stand for those of all.
static int make_blocks(struct run *run, struct reduce_blocks *blocks, uint64_t first) {
    struct mounts mounts = {0};
    if (!run->set.count) return 0;
    if (mounts_read(&mounts, "/proc/self/mountinfo") < 0) mounts = (struct mounts){0};
    int code = reduce_blocks_make(blocks, &run->set, first, &mounts);
    mounts_free(&mounts);
    return code;
}

// Rank 0 hears whether all ranks have succeeded.
static int agree(struct run *run) {
    run->failed = run->failure != 0;
    for (int bit = 1; bit < run->ranks; bit <<= 1) {
        uint64_t other = 1;
        if (run->rank & bit) return send_to(run, run->rank - bit, &run->failed, sizeof run->failed);
        FORWARD(receive_from(run, run->rank + bit));
        FORWARD(take_received(run, &other, sizeof other));
        run->failed |= other;
    }
    return 0;
}

static int commit(const struct run *run) {
    const struct part_head head = {.id = run->beginning.part,
                                   .end = LOG_HEADER_BYTES + run->of_blocks.all[0],
                                   .blocks = run->of_blocks.all[1],
                                   .files = run->of_files.all[0],
                                   .ranks = (uint64_t)run->link->size,
                                   .epoch_ns = run->beginning.epoch_ns};
    const struct part_place place = place_of(run);
    return run->rank || run->failed ? 0 : reduce_part_commit(&place, &head);
}

static int write_part(struct run *run, struct reduce_blocks *blocks) {
    struct sums *of_files = &run->of_files, *of_blocks = &run->of_blocks;
    of_files->all[0] = run->set.count;
    of_files->all[1] = run->set.data.len;
    FORWARD(add_up(run, of_files));
    FORWARD(gather(run, of_files->all[1]));
    note_failure(run, make_blocks(run, blocks, of_files->before[0] + 1));
    of_blocks->all[0] = blocks->stored.len;
    of_blocks->all[1] = blocks->count;
    FORWARD(add_up(run, of_blocks));
    uint64_t offset = LOG_HEADER_BYTES + of_blocks->before[0];
    const struct part_place place = place_of(run);
    if (!run->failure) note_failure(run, reduce_part_write(&place, blocks, offset, of_blocks->before[1]));
    run->costs->written_bytes = blocks->stored.len;
    run->costs->files = of_files->all[0];
    FORWARD(agree(run));
    return commit(run);
}

static int run_all(struct run *run, struct reduce_blocks *blocks) {
    FORWARD(hear(run));
    if (!run->beginning.part) return 0;
    collect(run);
    run->costs->most_bytes = run->set.data.len;
    int is_done = fold(run);
    if (is_done) return is_done < 0 ? is_done : 0;
    FORWARD(exchange(run));
    return write_part(run, blocks);
}

int reduce_run(const struct reduce_job *job, const struct reduce_link *link, struct reduce_costs *costs) {
    struct run *run = malloc(sizeof *run);
    struct reduce_blocks blocks = {0};
    RETURN_IF(!run, -ENOMEM);
    *run = (struct run){.job = job, .link = link, .costs = costs, .rank = link->rank, .ranks = 1};
    *costs = (struct reduce_costs){0};
    for (; run->ranks * 2 <= link->size; run->ranks *= 2) run->rounds++;
    int code = run_all(run, &blocks);
    reduce_blocks_free(&blocks);
    if (code < 0) return code;
    reduce_set_free(&run->set);
    bytes_free(&run->received);
    free(run);
    return 0;
}
