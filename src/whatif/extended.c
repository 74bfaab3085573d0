#include "whatif/extended.h"

#include <math.h>

#include "base/err.h"
#include "predict/analytic.h"

// What is left of the error where all parts are known: see doc/accuracy.md.
#define SYSTEMATIC 0.08

// --- storage

static int estimate_row(const struct system *system, const struct request_row *row, uint32_t np,
                        struct estimate *estimate) {
    return analytic_estimate(system,
                             &(struct io_class){.write = row->write,
                                                .size = row->size,
                                                .mode = row->mode,
                                                .np = np,
                                                .concurrency = np,
                                                .shared = row->shared && np > 1,
                                                .mpiio = true,
                                                .warm = row->warm,
                                                .bytes = row->size * np},
                             estimate);
}

// While a process computes, the others have the storage for themselves: a request of a busy process gets shorter by the
// pauses, down to what it takes alone.
static double with_pauses(double busy, double alone, double think) { return fmin(busy, fmax(alone, busy - think)); }

static int add_row(const struct system *system, const struct request_row *row, bool overlapped,
                   struct extended *result) {
    struct estimate busy, alone;
    FORWARD(estimate_row(system, row, row->np, &busy));
    FORWARD(estimate_row(system, row, 1, &alone));
    struct interval one = busy.seconds;
    if (row->np > 1 && row->think > 0) {
        one.middle = with_pauses(one.middle, alone.seconds.middle, row->think);
        one.low = fmin(one.low, one.middle);
        one.high = fmax(one.high, one.middle);
    }
    // Copying from and to the page cache takes the processor, which the program's own computation needs.
    double hidden = overlapped && !row->warm ? fmin(one.middle, row->think) : 0;
    result->storage += row->count * (one.middle - hidden);
    result->seconds.low += row->count * (one.low - fmin(hidden, one.low));
    result->seconds.high += row->count * (one.high - fmin(hidden, one.low));
    result->extrapolated |= busy.extrapolated;
    return 0;
}

// --- MPI-IO

// Into how many equal parts aggregators divide the exchange, compared with one for each node, which was measured: as
// many as work at the same time.
static double parts_of(const struct mpiio_counts *counts, const struct prices *prices) {
    double of_node = (double)counts->aggregators / fmax(prices->mpiio->nodes, 1);
    return fmax(1, fmin(of_node, prices->system->storage.processors));
}

static void add_mpiio(const struct mpiio_counts *counts, const struct prices *prices, bool write,
                      struct extended *result) {
    const struct system_mpiio *mpiio = prices->mpiio;
    const struct system_collective *c = &mpiio->collective[write];
    result->agreeing += c->per_call * (double)counts->calls + c->per_round * (double)counts->rounds;
    double shuffling = c->per_byte * (double)counts->bytes + c->per_piece * (double)counts->pieces;
    result->shuffling += shuffling / parts_of(counts, prices);
    result->calling += mpiio->per_call[write] * counts->own_calls + mpiio->per_piece[write] * counts->own_pieces;
}

int extended_estimate(const struct io_counts *counts, const struct prices *prices, struct extended *result) {
    double error = 0;
    *result = (struct extended){0};
    for (size_t i = 0; i < counts->rows; i++)
        FORWARD(add_row(prices->system, &counts->row[i], counts->overlapped, result));
    for (unsigned write = 0; write < 2; write++) {
        result->waiting += counts->mpiio[write].waiting;
        if (!prices->mpiio) continue;
        double before = result->agreeing + result->shuffling;
        add_mpiio(&counts->mpiio[write], prices, write, result);
        error += prices->mpiio->collective[write].error * (result->agreeing + result->shuffling - before);
    }
    double others = result->agreeing + result->shuffling + result->calling + result->waiting;
    result->seconds.middle = result->storage + others;
    double half = hypot(SYSTEMATIC * result->seconds.middle, error);
    result->seconds.low = (result->seconds.low + others) / (1 + half / fmax(result->seconds.middle, 1e-12));
    result->seconds.high += others + half;
    return 0;
}
