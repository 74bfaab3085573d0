// Collective calls in two phases, as ROMIO makes them. The part of the file between the first and the last byte of a
// call is divided evenly between the aggregators. Each goes through its part in rounds of one buffer: the ranks send it
// their pieces and it writes them in one request, or the other way round. A round with holes is read before it is
// written. OMPIO differs in details; its rounds and aggregators are counted the same way, without reading.
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/scoped.h"
#include "whatif/counts.h"

enum { PIECES_MOST = 1 << 20, ROUNDS_MOST = 1 << 18 };

struct piece {
    int64_t offset;
    uint64_t bytes;
    uint32_t rank;
};

// What one aggregator does in one round.
struct round {
    uint64_t bytes;
};

// The part of one aggregator.
struct domain {
    int64_t low, high; // of what is touched; low > high: nothing
    size_t first;      // round
    size_t rounds;
};

struct call {
    const struct access_group *group;
    const struct how *how;
    const struct library *library;
    struct piece *piece;
    size_t pieces;
    uint32_t rank; // whose pieces are collected
    int64_t low, high;
    struct domain *domain;
    size_t domains;
    int64_t domain_bytes;
    struct round *round;
};

// --- pieces

static int collect(int64_t offset, uint64_t bytes, void *context) {
    struct call *call = context;
    if (call->pieces >= PIECES_MOST) return ERR_LIMIT;
    return array_push(call->piece, call->pieces, (struct piece){offset, bytes, call->rank});
}

// As ROMIO looks at it: a rank begins before the rank in front of it has ended.
static int collect_all(struct call *call, bool *interleaved) {
    int64_t last_end = INT64_MIN, last_start = INT64_MIN;
    call->low = INT64_MAX;
    for (size_t i = 0; i < call->group->count; i++) {
        size_t first = call->pieces;
        call->rank = call->group->item[i]->rank;
        FORWARD(access_pieces(call->group->item[i], collect, call));
        if (call->pieces == first) continue;
        int64_t start = call->piece[first].offset;
        int64_t end = call->piece[call->pieces - 1].offset + (int64_t)call->piece[call->pieces - 1].bytes;
        if (i && start < last_end && end > last_start) *interleaved = true;
        if (start < call->low) call->low = start;
        if (end > call->high) call->high = end;
        last_start = start;
        last_end = end;
    }
    return 0;
}

// --- domains

static size_t domain_of(const struct call *call, int64_t offset) {
    size_t domain = (size_t)((offset - call->low) / call->domain_bytes);
    return domain < call->domains ? domain : call->domains - 1;
}

static int64_t end_of_domain(const struct call *call, size_t domain) {
    return domain + 1 < call->domains ? call->low + (int64_t)(domain + 1) * call->domain_bytes : INT64_MAX;
}

typedef void part_seen(struct call *call, const struct piece *part, size_t domain, void *context);

// Each piece, divided where domains end.
static void divide(struct call *call, part_seen *seen, void *context) {
    for (size_t i = 0; i < call->pieces; i++) {
        struct piece left = call->piece[i];
        while (left.bytes) {
            size_t domain = domain_of(call, left.offset);
            int64_t room = end_of_domain(call, domain) - left.offset;
            struct piece part = left;
            if ((int64_t)part.bytes > room) part.bytes = (uint64_t)room;
            seen(call, &part, domain, context);
            left.offset += (int64_t)part.bytes;
            left.bytes -= part.bytes;
        }
    }
}

static void see_range(struct call *call, const struct piece *part, size_t domain, void *context) {
    struct domain *d = &call->domain[domain];
    (void)context;
    if (part->offset < d->low) d->low = part->offset;
    if (part->offset + (int64_t)part->bytes > d->high) d->high = part->offset + (int64_t)part->bytes;
}

static int make_domains(struct call *call) {
    size_t rounds = 0;
    call->domains = call->how->aggregators ? call->how->aggregators : 1;
    call->domain_bytes = (call->high - call->low + (int64_t)call->domains - 1) / (int64_t)call->domains;
    call->domain = calloc(call->domains, sizeof *call->domain);
    RETURN_IF(!call->domain, -ENOMEM);
    for (size_t i = 0; i < call->domains; i++) call->domain[i] = (struct domain){.low = INT64_MAX};
    divide(call, see_range, NULL);
    for (size_t i = 0; i < call->domains; i++) {
        struct domain *d = &call->domain[i];
        d->first = rounds;
        if (d->high > d->low) d->rounds = ((uint64_t)(d->high - d->low) + call->how->buffer - 1) / call->how->buffer;
        rounds += d->rounds;
    }
    RETURN_IF(rounds > ROUNDS_MOST, ERR_LIMIT);
    call->round = calloc(rounds + 1, sizeof *call->round);
    return call->round ? 0 : -ENOMEM;
}

// --- rounds

static uint32_t node_of(const struct library *library, uint32_t rank) {
    uint32_t each = (library->np + library->nodes - 1) / library->nodes;
    return each ? rank / each : 0;
}

// The first ranks of each node aggregate.
static uint32_t aggregator_rank(const struct call *call, size_t domain) {
    const struct library *library = call->library;
    uint32_t ranks = (library->np + library->nodes - 1) / library->nodes;
    size_t each = (call->domains + library->nodes - 1) / library->nodes;
    return (uint32_t)(domain / each * ranks + domain % each);
}

static void see_part(struct call *call, const struct piece *part, size_t domain, void *context) {
    struct mpiio_counts *mpiio = context;
    const struct domain *d = &call->domain[domain];
    uint64_t buffer = call->how->buffer, at = (uint64_t)(part->offset - d->low), left = part->bytes;
    uint32_t to = aggregator_rank(call, domain);
    mpiio->bytes += part->bytes;
    if (to != part->rank) mpiio->crossing += part->bytes;
    if (node_of(call->library, to) != node_of(call->library, part->rank)) mpiio->node_crossing += part->bytes;
    while (left) {
        uint64_t room = buffer - at % buffer, bytes = left < room ? left : room;
        call->round[d->first + at / buffer].bytes += bytes;
        mpiio->pieces++;
        at += bytes;
        left -= bytes;
    }
}

static uint64_t bytes_of_round(const struct call *call, const struct domain *d, size_t round) {
    uint64_t left = (uint64_t)(d->high - d->low) - round * call->how->buffer;
    return left < call->how->buffer ? left : call->how->buffer;
}

// What the busiest aggregator moves in a round.
struct busiest {
    uint64_t size;
    uint64_t read; // before it writes; nothing behind the end of the file
    uint32_t busy; // aggregators
};

static void look_at_domain(const struct call *call, const struct domain *d, size_t round, int64_t *end,
                           struct busiest *most) {
    uint64_t touched = call->round[d->first + round].bytes, size = bytes_of_round(call, d, round), read = 0;
    int64_t from = d->low + (int64_t)(round * call->how->buffer), to = from + (int64_t)size;
    if (!call->library->romio)
        size = touched; // OMPIO leaves holes alone
    else if (touched<size && * end> from)
        read = (uint64_t)((*end < to ? *end : to) - from);
    if (to > *end) *end = to;
    if (size > most->size) most->size = size;
    if (read > most->read) most->read = read;
    most->busy++;
}

// All aggregators make the requests of a round at the same time.
static int count_round(const struct call *call, size_t round, struct file_state *file, struct io_counts *counts) {
    bool write = call->group->item[0]->write, follows = round || file->head == call->low;
    struct busiest most = {0};
    for (size_t i = 0; i < call->domains; i++) {
        const struct domain *d = &call->domain[i];
        if (round < d->rounds && call->round[d->first + round].bytes) look_at_domain(call, d, round, &file->end, &most);
    }
    bool modifies = write && most.read;
    struct request_row row = {.write = write,
                              .size = most.size,
                              .mode = follows && !modifies ? MODE_SEQUENTIAL : MODE_STRIDED,
                              .np = most.busy,
                              .shared = most.busy > 1,
                              .warm = counts_is_warm(call->group->item[0], call->library),
                              .count = 1};
    FORWARD(counts_add(counts, row));
    if (!modifies) return 0;
    counts->mpiio[true].holes++;
    row.write = false;
    row.size = most.read;
    return counts_add(counts, row);
}

static int count_call(struct call *call, struct file_state *file, struct io_counts *counts) {
    struct mpiio_counts *mpiio = &counts->mpiio[call->group->item[0]->write];
    size_t most = 0;
    FORWARD(make_domains(call));
    divide(call, see_part, mpiio);
    for (size_t i = 0; i < call->domains; i++) most = call->domain[i].rounds > most ? call->domain[i].rounds : most;
    for (size_t round = 0; round < most; round++) FORWARD(count_round(call, round, file, counts));
    file->head = call->high;
    mpiio->rounds += most;
    mpiio->exchanges++;
    return 0;
}

int two_phase_count(const struct access_group *group, const struct how *how, const struct library *library,
                    struct file_state *file, struct io_counts *counts, bool *exchanged) {
    struct call call = {.group = group, .how = how, .library = library};
    bool interleaved = false;
    int code = collect_all(&call, &interleaved);
    *exchanged = !code && call.high > call.low && (how->two_phase == TWO_PHASE_ALWAYS || interleaved);
    if (*exchanged) code = count_call(&call, file, counts);
    free(call.piece);
    free(call.domain);
    free(call.round);
    return code;
}
