#include "findings/here.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/scoped.h"
#include "findings/limits.h"
#include "whatif/typical.h"

enum { SMALLEST = 1, LARGE = 1 << 20, LARGEST = 16 << 20, SIZES = FACTS_SIZES };

// All requests of one size class and order.
struct heap {
    double calls, bytes, ns;
};

struct table {
    struct heap heap[SIZES][FACTS_ORDERS];
    double typical_ns, memory_ns; // of all; what they would take in memory
    uint64_t largest;
    double byte_ns; // in the largest requests
    uint32_t busy;  // processes
};

static const enum system_mode mode_of[FACTS_ORDERS] = {
    [FACTS_NEXT] = MODE_SEQUENTIAL, [FACTS_STRIDED] = MODE_STRIDED, [FACTS_RANDOM] = MODE_RANDOM};

static bool is_wanted(const struct facts_cell *cell, unsigned direction) {
    return cell->traits.kind == direction && !cell->traits.failed && cell->sum.calls && cell->sum.bytes;
}

static void add_cell(struct table *table, const struct facts_cell *cell) {
    struct heap *heap = &table->heap[cell->traits.size][cell->traits.order];
    double calls = (double)cell->sum.calls, ns = (double)facts_typical_ns(cell) * calls;
    uint64_t mean = cell->sum.bytes / cell->sum.calls;
    heap->calls += calls;
    heap->bytes += (double)cell->sum.bytes;
    heap->ns += ns;
    table->typical_ns += ns;
    table->memory_ns += (double)facts_memory_ns(mean) * calls;
    if (cell->sum.calls < LIMIT_GAIN_CALLS || mean <= table->largest) return;
    table->largest = mean;
    table->byte_ns = ns / (double)cell->sum.bytes;
}

// The requests on this storage; if there are none, those on any.
static void add_cells(struct table *table, const struct facts *facts, uint32_t storage, unsigned direction) {
    for (unsigned any = 0; any < 2 && !table->largest; any++) {
        for (size_t i = 0; i < facts->cells; i++) {
            const struct facts_cell *cell = &facts->cell[i];
            if (is_wanted(cell, direction) && (cell->storage == storage) != any) add_cell(table, cell);
        }
    }
}

// Processes that make such requests.
static int count_busy(const struct facts *facts, unsigned direction, uint32_t *busy) {
    SCOPED_FREE bool *is_busy = calloc(facts->processes + 1, sizeof *is_busy);
    RETURN_IF(!is_busy, -ENOMEM);
    *busy = 0;
    for (size_t i = 0; i < facts->uses; i++) {
        const struct facts_use *use = &facts->use[i];
        *busy += use->moved[direction] && !is_busy[use->process];
        is_busy[use->process] |= use->moved[direction];
    }
    if (!*busy) *busy = 1;
    return 0;
}

// --- points

static int add_point(struct here *here, struct system_point point, double ns) {
    point.latency_p50 = ns / 1e9;
    point.bandwidth = (double)point.size * point.np / point.latency_p50;
    point.stable = true;
    if (point.np > 1) {
        point.shared = true;
        FORWARD(array_push(here->system.point, here->system.points, point));
        point.shared = false;
    }
    return array_push(here->system.point, here->system.points, point);
}

// `ns` of one request while as many processes as in the log make theirs. If more do, their bytes share the bandwidth.
static int add_time(struct here *here, const struct table *table, struct system_point point, double ns, uint32_t np) {
    double of_bytes =
        fmin(ns, (double)point.size * (table->largest >= LARGE / 16 ? table->byte_ns : LIMIT_COPY_BYTE_NS));
    point.np = 1;
    FORWARD(add_point(here, point, ns));
    point.np = table->busy < np ? table->busy : np;
    if (point.np > 1) FORWARD(add_point(here, point, ns));
    if (point.np >= np) return 0;
    ns += of_bytes * ((double)np / point.np - 1);
    point.np = np;
    return add_point(here, point, ns);
}

// Requests served from memory take the time of a call and a copy, whatever their size.
static int add_memory(struct here *here, const struct table *table, struct system_point point, uint32_t np) {
    uint64_t size[] = {SMALLEST, LARGE, LARGEST};
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        if (i && size[i] < 4 * table->largest) continue;
        point.size = size[i];
        FORWARD(add_time(here, table, point, LIMIT_SYSTEM_CALL_NS + LIMIT_COPY_BYTE_NS * (double)size[i], np));
    }
    return 0;
}

static int add_heaps(struct here *here, const struct table *table, bool write, uint32_t np) {
    for (unsigned order = 0; order < FACTS_ORDERS; order++) {
        for (unsigned size = 0; size < SIZES; size++) {
            const struct heap *heap = &table->heap[size][order];
            struct system_point point = {.write = write, .mode = mode_of[order]};
            if (heap->calls < LIMIT_GAIN_CALLS) continue;
            point.size = (uint64_t)(heap->bytes / heap->calls + 0.5);
            here->any_order[write] |= order != FACTS_NEXT;
            FORWARD(add_time(here, table, point, heap->ns / heap->calls, np));
        }
    }
    return 0;
}

int here_points(const struct facts *facts, uint32_t storage, uint32_t np, struct here *here) {
    struct table table[FACTS_DIRECTIONS] = {0};
    bool in_memory[FACTS_DIRECTIONS];
    *here = (struct here){0};
    for (unsigned i = 0; i < FACTS_DIRECTIONS; i++) {
        add_cells(&table[i], facts, storage, i);
        FORWARD(count_busy(facts, i, &table[i].busy));
        in_memory[i] = table[i].largest && table[i].typical_ns <= table[i].memory_ns;
        here->largest[i] = table[i].largest;
        FORWARD(add_heaps(here, &table[i], i, np));
    }
    for (unsigned i = 0; i < FACTS_DIRECTIONS; i++) {
        // Storage that writes to memory reads from it, too.
        bool as_other = !here->largest[i] && in_memory[!i];
        if (!in_memory[i] && !as_other) continue;
        if (as_other) FORWARD(add_heaps(here, &table[!i], i, np));
        here->largest[i] = UINT64_MAX;
        here->any_order[i] = true;
        for (unsigned order = 0; order < FACTS_ORDERS; order++)
            FORWARD(add_memory(here, &table[as_other ? !i : i],
                               (struct system_point){.write = i, .mode = mode_of[order]}, np));
    }
    return 0;
}

// --- MPI-IO

// Wall-clock time in its transfers in which no process moves data, without waiting for ranks that come late.
static double agreeing_ns(const struct facts *facts, unsigned direction, bool collective) {
    double ns = 0;
    for (size_t i = 0; i < facts->grains; i++) {
        const struct facts_grain *grain = &facts->grain[i];
        bool is_transfer = grain->traits.kind == (direction ? KIND_MPI_WRITE : KIND_MPI_READ);
        if (is_transfer && grain->traits.collective == collective) ns += grain->wall_ns - grain->late_ns;
    }
    return ns;
}

struct counted {
    double calls, bytes, own_calls;
};

static struct counted count(const struct work *work, unsigned direction) {
    struct counted sum = {0};
    for (size_t i = 0; i < work->families; i++) {
        const struct mpiio_counts *mpiio = &work->family[i].mpiio[direction];
        sum.calls += work->times[i] * (double)mpiio->calls;
        sum.bytes += work->times[i] * (double)mpiio->bytes;
        sum.own_calls += work->times[i] * mpiio->own_calls;
    }
    return sum;
}

void here_mpiio(const struct facts *facts, const struct work *recorded, const struct library *library,
                struct here *here) {
    here->mpiio = typical_mpiio(library->np, library->nodes);
    for (unsigned i = 0; i < FACTS_DIRECTIONS; i++) {
        struct counted counted = count(recorded, i);
        struct system_collective *collective = &here->mpiio.collective[i];
        double ns = agreeing_ns(facts, i, true), copy_ns = fmin(counted.bytes * LIMIT_COPY_BYTE_NS, ns / 2);
        if (counted.calls >= LIMIT_GAIN_CALLS && ns > 0) {
            here->knows[i] = true;
            *collective = (struct system_collective){.per_call = (ns - copy_ns) / 1e9 / counted.calls,
                                                     .per_byte = counted.bytes > 0 ? copy_ns / 1e9 / counted.bytes : 0,
                                                     .error = LIMIT_GAIN_ERROR};
        }
        ns = agreeing_ns(facts, i, false);
        if (counted.own_calls * library->np < LIMIT_GAIN_CALLS || ns <= 0 || counted.calls > 0) continue;
        here->mpiio.per_call[i] = ns / 1e9 / counted.own_calls;
        here->mpiio.per_piece[i] = 0;
    }
}

// --- what it does not show

static double bytes_of(const struct request_row *row) { return (double)row->size * row->count * row->np; }

bool here_has_gap(const struct here *here, const struct work *work, struct here_gap *gap) {
    double all[FACTS_DIRECTIONS] = {0};
    for (size_t i = 0; i < work->families; i++) {
        for (size_t k = 0; k < work->family[i].rows; k++)
            all[work->family[i].row[k].write] += bytes_of(&work->family[i].row[k]);
    }
    for (size_t i = 0; i < work->families; i++) {
        for (size_t k = 0; k < work->family[i].rows; k++) {
            const struct request_row *row = &work->family[i].row[k];
            uint64_t largest = here->largest[row->write];
            if (bytes_of(row) < LIMIT_GAIN_PART * (all[0] + all[1])) continue;
            *gap = (struct here_gap){.write = row->write, .size = largest ? row->size : 0};
            if (row->size / LIMIT_GAIN_TIMES > largest) return true;
            gap->by_order = row->mode != MODE_SEQUENTIAL && !here->any_order[row->write];
            if (gap->by_order) return true;
        }
    }
    return false;
}
