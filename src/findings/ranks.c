// Work that is not distributed over the processes.
#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "findings/find.h"

// --- what each rank did

struct rank_io {
    const struct facts_process *process;
    struct facts_sum requests;
    struct facts_spread spread; // of the requests' times
    double wall_ns;
    double waited_ns; // in communication while others did I/O
    uint64_t waits;
};

struct ranks {
    struct rank_io *rank;
    size_t count;
};

// In how much of the time that a process spent in communication, other processes were in I/O. Both lists have one entry
// per gap between two calls; gaps that are too short to matter have none.
static void add_waited(struct rank_io *rank) {
    const struct facts_waits *comm = &rank->process->comm_waits, *io = &rank->process->io_waits;
    for (size_t i = 0, k = 0; i < comm->count; i++) {
        while (k < io->count && io->wait[k].until_ns < comm->wait[i].until_ns) k++;
        if (k == io->count || io->wait[k].until_ns != comm->wait[i].until_ns) continue;
        rank->waited_ns += io->wait[k].ns < comm->wait[i].ns ? io->wait[k].ns : comm->wait[i].ns;
        rank->waits++;
    }
}

static int ranks_make(const struct findings *findings, struct ranks *ranks) {
    const struct facts *facts = findings->facts;
    struct rank_io **of = calloc(facts->processes + 1, sizeof *of);
    *ranks = (struct ranks){.rank = calloc(facts->processes + 1, sizeof *ranks->rank)};
    for (size_t i = 0; of && ranks->rank && i < facts->processes; i++) {
        if (!facts->process[i].process->has_rank) continue;
        of[i] = &ranks->rank[ranks->count++];
        of[i]->process = &facts->process[i];
        add_waited(of[i]);
    }
    for (size_t i = 0; of && ranks->rank && i < facts->grains; i++) {
        const struct facts_grain *grain = &facts->grain[i];
        struct rank_io *rank = of[find_use(findings, grain)->process];
        if (!rank || !find_is_request(grain)) continue;
        facts_sum_join(&rank->requests, &grain->sum);
        facts_spread_join(&rank->spread, &grain->spread);
        rank->wall_ns += grain->wall_ns;
    }
    int code = of && ranks->rank ? 0 : -ENOMEM;
    free(of);
    return code;
}

static int64_t io_ns(const struct rank_io *rank) { return rank->requests.ns; }

static int by_time(const void *a, const void *b) {
    int64_t left = io_ns(a), right = io_ns(b);
    return left < right ? -1 : left > right;
}

// Claims from the requests of one rank.
static int claim_of(struct findings *findings, const struct facts_process *process, double wanted_ns) {
    const struct facts *facts = findings->facts;
    bool *mark = calloc(facts->grains + 1, sizeof *mark);
    RETURN_IF(!mark, -ENOMEM);
    for (size_t i = 0; i < facts->grains; i++) {
        const struct facts_grain *grain = &facts->grain[i];
        mark[i] = find_is_request(grain) && &facts->process[find_use(findings, grain)->process] == process;
    }
    int code = find_claim_spread(findings, mark, wanted_ns);
    free(mark);
    return code;
}

// --- one rank moves all data

static uint64_t own_bytes(const struct facts_process *process) {
    return process->own[FACTS_READ].bytes + process->own[FACTS_WRITE].bytes;
}

int find_one_rank(struct findings *findings, struct finding *finding) {
    const struct facts *facts = findings->facts;
    const struct facts_process *most = NULL;
    uint64_t all = 0;
    for (size_t i = 0; facts->ranks > 1 && i < facts->processes; i++) {
        const struct facts_process *process = &facts->process[i];
        if (!process->process->has_rank) continue;
        all += own_bytes(process);
        if (!most || own_bytes(process) > own_bytes(most)) most = process;
    }
    if (!most || all < LIMIT_ONE_RANK_BYTES || (double)own_bytes(most) < LIMIT_ONE_RANK_PART * (double)all) return 0;
    double wall_ns = 0;
    for (size_t i = 0; i < facts->grains; i++) {
        const struct facts_grain *grain = &facts->grain[i];
        if (find_is_request(grain) && &facts->process[find_use(findings, grain)->process] == most)
            wall_ns += grain->wall_ns;
    }
    FORWARD(claim_of(findings, most, wall_ns * (1 - 1 / (double)facts->ranks)));
    struct find_place place = find_transfers(findings, most->own[FACTS_WRITE].ns >= most->own[FACTS_READ].ns);
    place.process = finding->whose = most;
    finding->title =
        find_text(findings, "Rank %lld does the I/O of all %s: %s of the bytes", (long long)most->process->rank,
                  human_count(facts->ranks, "rank").text, human_percent((double)own_bytes(most) / (double)all).text);
    find_evidence(findings, finding, place, "it moved %s of %s in %s", human_bytes(own_bytes(most)).text,
                  human_bytes(all).text, human_seconds(most->own[FACTS_READ].ns + most->own[FACTS_WRITE].ns).text);
    return findings->claims > 0;
}

// --- a rank that is slower than others with as many bytes

// The others must be close together, and the slow one far from them.
static bool stands_out(const struct ranks *ranks, const struct rank_io *slowest, const struct rank_io *middle) {
    const struct rank_io *next = slowest - 1;
    int64_t spread_ns = io_ns(next) - io_ns(&ranks->rank[0]);
    return (double)io_ns(slowest) > LIMIT_SLOWER * (double)io_ns(middle) &&
           io_ns(slowest) - io_ns(next) > 2 * spread_ns &&
           slowest->requests.bytes <= middle->requests.bytes + middle->requests.bytes / 4 &&
           slowest->requests.calls <= middle->requests.calls + middle->requests.calls / 4;
}

static int say_slow_rank(struct findings *findings, struct finding *finding, const struct rank_io *slowest,
                         const struct rank_io *middle) {
    double part = 1 - (double)io_ns(middle) / (double)io_ns(slowest);
    FORWARD(claim_of(findings, slowest->process, part * slowest->wall_ns));
    finding->whose = slowest->process;
    finding->title =
        find_text(findings, "Rank %lld is %.1f times slower than the others",
                  (long long)slowest->process->process->rank, (double)io_ns(slowest) / (double)io_ns(middle));
    find_evidence(findings, finding,
                  (struct find_place){.process = slowest->process, .file = find_taken(findings).file},
                  "%s for %s; the median rank needs %s for %s", human_seconds(io_ns(slowest)).text,
                  human_bytes(slowest->requests.bytes).text, human_seconds(io_ns(middle)).text,
                  human_bytes(middle->requests.bytes).text);
    return findings->claims > 0;
}

int find_slow_rank(struct findings *findings, struct finding *finding) {
    struct ranks ranks;
    int found = ranks_make(findings, &ranks);
    // Ranks without requests say nothing about the others.
    size_t count = 0;
    for (size_t i = 0; !found && i < ranks.count; i++)
        if (ranks.rank[i].requests.calls) ranks.rank[count++] = ranks.rank[i];
    if (!found && count >= 3) {
        ranks.count = count;
        qsort(ranks.rank, count, sizeof *ranks.rank, by_time);
        const struct rank_io *slowest = &ranks.rank[count - 1], *middle = &ranks.rank[(count - 1) / 2];
        if (stands_out(&ranks, slowest, middle) && facts_factor(&slowest->spread, &middle->spread) > LIMIT_SLOWER)
            found = say_slow_rank(findings, finding, slowest, middle);
    }
    free(ranks.rank);
    return found;
}

// --- ranks that wait for the I/O of another one

static int say_waiting(struct findings *findings, struct finding *finding, const struct ranks *ranks,
                       const struct rank_io *busiest) {
    double others = (double)(ranks->count - 1), waited_ns = 0, wall_ns = 0, requests_ns = 0;
    const struct rank_io *waits = NULL;
    uint64_t times = 0, bytes = 0, calls = 0;
    for (size_t i = 0; i < ranks->count; i++) {
        const struct rank_io *rank = &ranks->rank[i];
        if (rank == busiest) continue;
        waited_ns += rank->waited_ns / others;
        wall_ns += rank->wall_ns / others;
        requests_ns += (double)io_ns(rank) / others;
        times += rank->waits;
        bytes += rank->requests.bytes;
        calls += rank->requests.calls;
        if (!waits || rank->waited_ns > waits->waited_ns) waits = rank;
    }
    // The others must wait for it, again and again, and it must have more to do than they: otherwise it is slow, or the
    // ranks wait for something else.
    bool has_more = (double)busiest->requests.bytes > LIMIT_SLOWER * (double)bytes / others ||
                    (double)busiest->requests.calls > LIMIT_SLOWER * (double)calls / others;
    if (!has_more || (double)io_ns(busiest) < LIMIT_SLOWER * requests_ns || times < 4 ||
        busiest->waited_ns * 2 > waited_ns)
        return 0;
    double more_ns = busiest->wall_ns - wall_ns;
    FORWARD(claim_of(findings, busiest->process, more_ns < waited_ns ? more_ns : waited_ns));
    finding->whose = busiest->process;
    finding->title = find_text(findings, "Ranks wait %s on average while rank %lld does more I/O than they",
                               human_seconds((int64_t)waited_ns).text, (long long)busiest->process->process->rank);
    find_evidence(findings, finding, (struct find_place){.process = busiest->process},
                  "this rank's requests take %s, those of the others %s on average", human_seconds(io_ns(busiest)).text,
                  human_seconds((int64_t)requests_ns).text);
    find_evidence(findings, finding, (struct find_place){.process = waits->process},
                  "this rank waits most: %s in communication while others are in I/O",
                  human_seconds((int64_t)waits->waited_ns).text);
    finding->is_waiting = true;
    return findings->claims > 0;
}

int find_waiting(struct findings *findings, struct finding *finding) {
    struct ranks ranks;
    int found = ranks_make(findings, &ranks);
    const struct rank_io *busiest = NULL;
    for (size_t i = 0; i < ranks.count; i++)
        if (!busiest || io_ns(&ranks.rank[i]) > io_ns(busiest)) busiest = &ranks.rank[i];
    if (!found && ranks.count > 1 && busiest->requests.calls) found = say_waiting(findings, finding, &ranks, busiest);
    free(ranks.rank);
    return found;
}
