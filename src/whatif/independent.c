// Independent calls: each rank makes its own requests, one after the other, while the others make theirs.
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "whatif/counts.h"
#include "whatif/sieving.h"

enum { WINDOWS_MOST = 1 << 17 };

struct requests {
    const struct variant *variant;
    const struct library *library;
    struct io_counts *counts;
    uint32_t np;
    bool shared, write;
    enum system_mode mode;
    const struct access *access; // whose pieces are walked
    struct how how;
    double think;
    struct sieving sieving;
    int64_t window_end, call_end;
    size_t call_window; // the first one of the call
    size_t pieces;
    double asked;
};

// --- what kind of requests they are

static bool is_other_rank(const struct access *const *item, size_t i) {
    return !i || item[i]->rank != item[i - 1]->rank;
}

static int64_t offset_of(const struct access *access) {
    return (int64_t)access->position + (access->view.type ? access->view.displacement : 0);
}

// Pieces in views are strided; they are no benchmark's order.
static enum system_mode mode_of(const struct access *const *item, size_t count) {
    size_t steps = 0, consecutive = 0, backward = 0;
    for (size_t i = 1; i < count; i++) {
        if (is_other_rank(item, i) || item[i]->member != item[i - 1]->member) continue;
        int64_t end = offset_of(item[i - 1]) + (int64_t)item[i - 1]->bytes;
        steps++;
        consecutive += offset_of(item[i]) == end && access_is_contiguous(item[i]);
        backward += offset_of(item[i]) < end;
    }
    if (backward * 5 >= steps && steps >= 4) return MODE_RANDOM;
    return consecutive * 2 >= steps && access_is_contiguous(item[0]) ? MODE_SEQUENTIAL : MODE_STRIDED;
}

static bool is_shared(const struct access *const *item, size_t count) {
    for (size_t i = 1; i < count; i++) {
        if (is_other_rank(item, i) && item[i]->set == item[0]->set && item[i]->member == item[0]->member) return true;
    }
    return false;
}

// --- requests

static int add_request(struct requests *r, uint64_t bytes, double think) {
    return counts_add(r->counts, (struct request_row){.write = r->write,
                                                      .size = bytes,
                                                      .mode = r->mode,
                                                      .np = r->np,
                                                      .shared = r->shared,
                                                      .warm = counts_is_warm(r->access, r->library),
                                                      .count = 1.0 / r->np,
                                                      .think = think});
}

static int see_piece(int64_t offset, uint64_t bytes, void *context) {
    struct requests *r = context;
    (void)offset;
    double think = r->pieces++ ? 0 : r->access->think;
    return add_request(r, bytes, think);
}

static int see_end(int64_t offset, uint64_t bytes, void *context) {
    struct requests *r = context;
    r->call_end = offset + (int64_t)bytes;
    r->pieces++;
    return 0;
}

static int begin_window(struct requests *r, int64_t offset) {
    int64_t left = r->call_end - offset;
    uint64_t bytes = left < (int64_t)r->how.sieve_buffer ? (uint64_t)left : r->how.sieve_buffer;
    uint64_t file = (uint64_t)r->access->set << 32 | r->access->member;
    RETURN_IF(r->sieving.count >= WINDOWS_MOST, ERR_LIMIT);
    r->window_end = offset + (int64_t)bytes;
    return array_push(r->sieving.window, r->sieving.count, (struct window){offset, bytes, file, r->access->rank});
}

// A window begins with the first piece that is in no other.
static int see_sieved(int64_t offset, uint64_t bytes, void *context) {
    struct requests *r = context;
    while (bytes) {
        if (offset >= r->window_end) FORWARD(begin_window(r, offset));
        uint64_t room = (uint64_t)(r->window_end - offset), part = bytes < room ? bytes : room;
        offset += (int64_t)part;
        bytes -= part;
    }
    return 0;
}

static int add_access(struct requests *r, const struct access *access) {
    struct mpiio_counts *mpiio = &r->counts->mpiio[r->write];
    r->access = access;
    r->how = counts_how(access, r->variant, r->library);
    r->pieces = 0;
    FORWARD(access_pieces(access, see_end, r));
    size_t pieces = r->pieces;
    r->pieces = 0;
    if (access->mpiio) mpiio->own_calls += 1.0 / r->np;
    if (access->mpiio && access->view.type) mpiio->own_pieces += (double)pieces / r->np;
    if (!access->mpiio || pieces < 2 || !r->how.sieving) return access_pieces(access, see_piece, r);
    r->window_end = INT64_MIN;
    r->asked += (double)access->bytes;
    return access_pieces(access, see_sieved, r);
}

// --- windows

static int add_sieved_reads(struct requests *r) {
    double moved = 0;
    for (size_t i = 0; i < r->sieving.count; i++) {
        FORWARD(add_request(r, r->sieving.window[i].bytes, 0));
        moved += (double)r->sieving.window[i].bytes;
    }
    r->counts->mpiio[0].sieved = moved / r->asked;
    return 0;
}

// Ranks that wait for locks leave the storage to few at a time: one reads, another one may write.
static int add_sieved_writes(struct requests *r) {
    struct sieved_writes all;
    FORWARD(sieving_take_turns(&r->sieving, &all));
    uint64_t size = (uint64_t)(all.written / (double)r->sieving.count);
    struct request_row row = {.write = true,
                              .size = size,
                              .mode = MODE_STRIDED,
                              .np = 1,
                              .count = (double)r->sieving.count / all.at_once,
                              .warm = counts_is_warm(r->access, r->library)};
    FORWARD(counts_add(r->counts, row));
    row.write = false;
    row.count *= all.read / all.written;
    r->counts->mpiio[1].sieved = (all.written + all.read) / r->asked;
    return counts_add(r->counts, row);
}

static int count_requests(struct requests *r, const struct access *const *item, size_t count) {
    for (size_t i = 0; i < count; i++) FORWARD(add_access(r, item[i]));
    if (!r->sieving.count) return 0;
    return r->write ? add_sieved_writes(r) : add_sieved_reads(r);
}

int independent_count(const struct access *const *item, size_t count, const struct variant *variant,
                      const struct library *library, struct io_counts *counts) {
    if (!count) return 0;
    struct requests r = {.variant = variant,
                         .library = library,
                         .counts = counts,
                         .write = item[0]->write,
                         .shared = is_shared(item, count),
                         .mode = mode_of(item, count)};
    for (size_t i = 0; i < count; i++) r.np += is_other_rank(item, i);
    int code = count_requests(&r, item, count);
    free(r.sieving.window);
    return code;
}
