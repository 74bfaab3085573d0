#include "whatif/counts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/scoped.h"
#include "replay/contract.h"

enum { ROWS_MOST = 256 };

// --- rows

static bool is_like(const struct request_row *a, const struct request_row *b) {
    return a->write == b->write && a->size == b->size && a->mode == b->mode && a->np == b->np &&
           a->shared == b->shared && a->warm == b->warm;
}

static struct request_row *row_like(struct io_counts *counts, const struct request_row *row) {
    for (size_t i = 0; i < counts->rows; i++) {
        if (is_like(&counts->row[i], row)) return &counts->row[i];
    }
    return NULL;
}

// If there are too many sizes, one stands for those up to twice as large, with as many bytes in all.
int counts_add(struct io_counts *counts, struct request_row row) {
    if (row.count <= 0 || !row.size) return 0;
    struct request_row *like = row_like(counts, &row);
    if (!like && counts->rows >= ROWS_MOST) {
        uint64_t size = UINT64_C(1) << (63 - __builtin_clzll(row.size));
        row.count *= (double)row.size / (double)size;
        row.size = size;
        like = row_like(counts, &row);
    }
    if (!like) return array_push(counts->row, counts->rows, row);
    like->think = (like->think * like->count + row.think * row.count) / (like->count + row.count);
    like->count += row.count;
    return 0;
}

void counts_free(struct io_counts *counts) {
    free(counts->row);
    *counts = (struct io_counts){0};
}

bool counts_is_warm(const struct access *access, const struct library *library) {
    bool is_cached = access->cache == ACCESS_OLD_CACHED;
    if (!library->caches || access->cache == ACCESS_BYPASSES) return false;
    if (access->cache == ACCESS_NEW) return true;
    return library->found == CACHE_AS_RECORDED ? is_cached : library->found == CACHE_WARM;
}

// --- how calls are made

static bool hint_is(const struct access *access, const char *name, const char *value) {
    const char *text = access_hint(access, name);
    return text && !strcmp(text, value);
}

static uint32_t aggregators_of(const struct access *access, const struct variant *variant,
                               const struct library *library) {
    uint64_t hinted = access_hint_number(access, "cb_nodes", library->nodes), number;
    number = variant->cb_nodes ? variant->cb_nodes : hinted;
    return number > library->np ? library->np : (uint32_t)number;
}

// ROMIO's defaults. A buffer of OMPIO is the bytes of an aggregator in one round.
struct how counts_how(const struct access *access, const struct variant *variant, const struct library *library) {
    const char *cb = access->write ? "romio_cb_write" : "romio_cb_read";
    const char *ds = access->write ? "romio_ds_write" : "romio_ds_read";
    uint64_t buffer = library->romio ? 16 << 20 : 32 << 20;
    struct how how = {.two_phase = library->romio ? TWO_PHASE_IF_INTERLEAVED : TWO_PHASE_ALWAYS,
                      .aggregators = aggregators_of(access, variant, library),
                      .sieving = library->romio && !hint_is(access, ds, "disable")};
    if (hint_is(access, cb, "disable")) how.two_phase = TWO_PHASE_NEVER;
    if (hint_is(access, cb, "enable") || variant->interface == VARIANT_COLLECTIVE) how.two_phase = TWO_PHASE_ALWAYS;
    how.buffer = variant->cb_buffer ? variant->cb_buffer : access_hint_number(access, "cb_buffer_size", buffer);
    how.sieve_buffer = access->write ? access_hint_number(access, "ind_wr_buffer_size", 512 << 10)
                                     : access_hint_number(access, "ind_rd_buffer_size", 4 << 20);
    if (variant->sieving != SIEVING_SAME) how.sieving = library->romio && variant->sieving == SIEVING_ON;
    return how;
}

// --- groups

static int compare_numbers(uint64_t a, uint64_t b) { return a < b ? -1 : a > b; }

// Direction, file, number of the call, rank.
static int by_group(const void *a, const void *b) {
    const struct access *x = *(const struct access *const *)a, *y = *(const struct access *const *)b;
    int order = compare_numbers(x->write, y->write);
    if (!order) order = compare_numbers(x->set, y->set);
    if (!order) order = compare_numbers(x->member, y->member);
    if (!order) order = compare_numbers(x->number, y->number);
    return order ? order : compare_numbers(x->rank, y->rank);
}

static bool is_same_file(const struct access *a, const struct access *b) {
    return a->write == b->write && a->set == b->set && a->member == b->member;
}

static bool is_same_group(const struct access *a, const struct access *b) {
    return is_same_file(a, b) && a->number == b->number;
}

// The ranks come to a call when they are ready: each waits for the last one. Pauses of ranks that do the same work
// differ by a share of their length that is not known; what was recorded has the mean pauses of ranks only.
static void add_waiting(const struct access_group *group, struct mpiio_counts *mpiio) {
    double most = 0, sum = 0;
    for (size_t i = 0; i < group->count; i++) {
        most = fmax(most, group->item[i]->think);
        sum += group->item[i]->think;
    }
    mpiio->waiting += most - sum / (double)group->count;
}

static int count_group(const struct access_group *group, const struct variant *variant, const struct library *library,
                       struct file_state *file, struct io_counts *counts, bool *exchanged) {
    const struct access *first = group->item[0];
    struct how how = counts_how(first, variant, library);
    struct mpiio_counts *mpiio = &counts->mpiio[first->write];
    *exchanged = false;
    mpiio->calls++;
    add_waiting(group, mpiio);
    if (group->count < 2 || how.two_phase == TWO_PHASE_NEVER) return 0;
    mpiio->aggregators = how.aggregators;
    return two_phase_count(group, &how, library, file, counts, exchanged);
}

// --- all

static void count_bytes(const struct accesses *accesses, struct io_counts *counts) {
    uint64_t own[2] = {0};
    for (size_t i = 0; i < accesses->count; i++) {
        const struct access *access = &accesses->item[i];
        bool is_new = !i || access->rank != accesses->item[i - 1].rank;
        if (is_new) own[0] = own[1] = 0;
        counts->np += is_new;
        counts->all_bytes[access->write] += access->bytes;
        own[access->write] += access->bytes;
        if (own[access->write] > counts->most_bytes[access->write])
            counts->most_bytes[access->write] = own[access->write];
    }
}

// Takes the collective calls out of the list; those without an exchange go back to it.
static int count_collectives(const struct access **item, size_t *left, size_t count, const struct variant *variant,
                             const struct library *library, struct io_counts *counts) {
    struct file_state file = {.head = -1};
    qsort(item, count, sizeof *item, by_group);
    *left = 0;
    for (size_t i = 0, end; i < count; i = end) {
        bool exchanged = false;
        if (i && !is_same_file(item[i], item[i - 1])) file = (struct file_state){.head = -1};
        for (end = i + 1; end < count && is_same_group(item[i], item[end]); end++) continue;
        struct access_group group = {item + i, end - i};
        if (item[i]->collective) FORWARD(count_group(&group, variant, library, &file, counts, &exchanged));
        for (size_t k = i; k < end && !exchanged; k++) item[(*left)++] = item[k];
    }
    return 0;
}

static int by_rank(const void *a, const void *b) {
    const struct access *x = *(const struct access *const *)a, *y = *(const struct access *const *)b;
    int order = compare_numbers(x->write, y->write);
    if (!order) order = compare_numbers(x->rank, y->rank);
    return order ? order : (x > y) - (x < y);
}

static int count_all(const struct accesses *accesses, const struct variant *variant, const struct library *library,
                     struct io_counts *counts) {
    SCOPED_FREE const struct access **item = malloc((accesses->count + 1) * sizeof *item);
    size_t count = 0, reads = 0;
    RETURN_IF(!item, -ENOMEM);
    for (size_t i = 0; i < accesses->count; i++) item[i] = &accesses->item[i];
    FORWARD(count_collectives(item, &count, accesses->count, variant, library, counts));
    qsort(item, count, sizeof *item, by_rank);
    while (reads < count && !item[reads]->write) reads++;
    FORWARD(independent_count(item, reads, variant, library, counts));
    return independent_count(item + reads, count - reads, variant, library, counts);
}

int counts_of(const struct accesses *accesses, const struct variant *variant, const struct library *library,
              struct io_counts *counts) {
    struct accesses varied;
    *counts = (struct io_counts){.overlapped = variant->nonblocking};
    int code = accesses_vary(accesses, variant, &varied);
    if (!code) count_bytes(&varied, counts);
    if (!code) code = count_all(&varied, variant, library, counts);
    free(varied.item);
    return code;
}
