// How MPI-IO turns the program's calls into requests.
#include "findings/find.h"

// --- data sieving

// Without sieving each piece is a request, which may take longer. What OMPIO sieves is not calculated.
static void advise_sieving(const struct findings *findings, struct finding *finding, const struct find_taken *taken) {
    const char *regions = "Write whole regions of the file.";
    if (find_mpi_io(findings) == MPI_IO_ROMIO) {
        finding->advice = "Set the hint romio_ds_write=disable, or write whole regions, and compare.";
        find_way(finding, "sieving=off", "Writes without data sieving", NULL);
        find_way(finding, "collective", "Collective calls",
                 "Write the pieces of all ranks together, by collective calls (such as MPI_File_write_all), and "
                 "compare.");
    }
    if (find_mpi_io(findings) == MPI_IO_OMPIO)
        regions = finding->advice =
            "Start with --mca fbtl_posix_write_datasieving 0, or write whole regions, and compare.";
    find_way_spares(finding, "whole-regions", "Writes of whole regions", regions, find_mean(&taken->sum));
}

int find_sieving(struct findings *findings, struct finding *finding) {
    const struct facts *facts = findings->facts;
    struct facts_sum asked = {0}, written = {0};
    for (size_t i = 0; i < facts->grains; i++) {
        const struct facts_grain *grain = &facts->grain[i];
        if (grain->traits.sieving) FORWARD(find_claim_part(findings, grain, 1));
        if (grain->traits.kind == KIND_MPI_WRITE) facts_sum_join(&asked, &grain->sum);
        if (grain->traits.kind == KIND_WRITE && grain->traits.below) facts_sum_join(&written, &grain->sum);
    }
    struct find_taken taken = find_taken(findings);
    if (!taken.process || taken.sum.calls < LIMIT_PATTERN_CALLS) return 0;
    finding->class = CLASS_READ;
    finding->title =
        find_text(findings, "To write %s MPI-IO read %s and wrote %s (data sieving)", human_bytes(asked.bytes).text,
                  human_bytes(taken.sum.bytes).text, human_bytes(written.bytes).text);
    advise_sieving(findings, finding, &taken);
    struct find_place place = find_transfers(findings, FACTS_WRITE);
    place.file = taken.file;
    find_evidence(findings, finding, place, "%s below %s", human_count(taken.sum.calls, "read").text,
                  human_count(asked.calls, "MPI-IO write").text);
    return 1;
}

// --- time in collective calls in which no process moves data

static bool is_collective(const struct facts_grain *grain) {
    return grain->traits.kind >= KIND_MPI_READ && grain->traits.kind <= KIND_MPI_OTHER && grain->traits.collective;
}

static void show_calls(struct findings *findings, struct finding *finding) {
    const struct facts *facts = findings->facts;
    struct facts_sum kind[KIND_COUNT] = {0};
    for (size_t i = 0; i < findings->claims; i++) {
        const struct facts_grain *grain = &facts->grain[findings->claim[i].grain];
        facts_sum_join(&kind[grain->traits.kind], &grain->sum);
    }
    for (unsigned i = KIND_MPI_READ; i <= KIND_MPI_OTHER; i++) {
        if (!kind[i].calls) continue;
        bool moves = i != KIND_MPI_OTHER, is_write = i == KIND_MPI_WRITE;
        struct find_place place = moves ? find_transfers(findings, is_write) : (struct find_place){0};
        const char *noun = !moves ? "other collective call" : is_write ? "collective write" : "collective read";
        place.file = find_taken(findings).file;
        find_evidence(findings, finding, place, "%s%s%s, %s", human_count(kind[i].calls, noun).text,
                      moves ? " of " : "", moves ? human_bytes(find_mean(&kind[i])).text : "",
                      find_each(&kind[i]).text);
    }
}

// The rank that keeps the others waiting most, if it is the reason of most of the waiting; otherwise NULL.
static const struct facts_process *find_late_rank(const struct findings *findings) {
    const struct facts *facts = findings->facts;
    const struct collective_process *of = facts->collectives ? facts->collectives->process : NULL;
    size_t most = 0;
    int64_t all_ns = 0;
    for (size_t i = 0; of && i < facts->processes; i++) {
        all_ns += of[i].late_ns;
        if (of[i].late_ns > of[most].late_ns) most = i;
    }
    return all_ns && of[most].late_ns * 2 > all_ns ? &facts->process[most] : NULL;
}

// Where several ranks have the same number.
static const char *late_pid(struct findings *findings, const struct facts_process *process) {
    if (log_world_count(findings->facts->log) < 2) return "";
    return find_text(findings, " (PID %u)", (unsigned)process->process->pid);
}

static void show_late_rank(struct findings *findings, struct finding *finding, const struct facts_process *process) {
    const struct collective_process *of = &findings->facts->collectives->process[process->process->index];
    find_evidence(findings, finding, (struct find_place){.process = process},
                  "it is the last to arrive at %llu of its %s with others; they wait %s for it",
                  (unsigned long long)of->last, human_count(of->calls, "collective call").text,
                  human_seconds(of->late_ns).text);
}

// Where the time of all ranks in collective calls goes.
static void show_parts(struct findings *findings, struct finding *finding) {
    const struct log_collectives *in = findings->facts->collectives;
    double all = 0;
    for (unsigned i = 0; in && i < INSIDE_PARTS; i++) all += (double)in->ns[i];
    if (all <= 0) return;
    find_evidence(findings, finding, (struct find_place){0},
                  "of the time of all ranks in collective calls %s is waiting for others, %s exchange of data, %s file "
                  "access and %s the rest",
                  human_percent((double)in->ns[INSIDE_WAIT] / all).text,
                  human_percent((double)in->ns[INSIDE_EXCHANGE] / all).text,
                  human_percent((double)in->ns[INSIDE_IO] / all).text,
                  human_percent((double)in->ns[INSIDE_REST] / all).text);
}

// Small pieces are the reason to exchange them.
static void show_pieces(struct findings *findings, struct finding *finding) {
    const struct facts *facts = findings->facts;
    uint64_t pieces = 0;
    struct facts_sum sum = {0};
    for (size_t i = 0; i < facts->processes; i++) {
        for (unsigned direction = 0; direction < FACTS_DIRECTIONS; direction++) {
            pieces += facts->process[i].pieces[direction][1];
            facts_sum_join(&sum, &facts->process[i].mpi[direction][1]);
        }
    }
    if (pieces > sum.calls)
        find_evidence(findings, finding, (struct find_place){0},
                      "in the file these transfers are pieces of %s on average", human_bytes(sum.bytes / pieces).text);
}

int find_collective_wait(struct findings *findings, struct finding *finding) {
    const struct facts *facts = findings->facts;
    for (size_t i = 0; i < facts->grains; i++) {
        if (is_collective(&facts->grain[i])) FORWARD(find_claim(findings, &facts->grain[i], facts->grain[i].late_ns));
    }
    struct find_taken taken = find_taken(findings);
    if (!findings->claims) return 0;
    // Once is the start of the program, or chance.
    if (taken.sum.calls < facts->ranks * LIMIT_PATTERN_CALLS / 2)
        finding->low = "few calls, which may be late by chance or at the start of the program";
    const struct facts_process *late = find_late_rank(findings);
    struct human calls = human_count(taken.sum.calls, "call");
    finding->title =
        late ? find_text(findings, "Ranks wait in collective calls, mostly for rank %lld%s: %s",
                         (long long)late->process->rank, late_pid(findings, late), calls.text)
             : find_text(findings, "Ranks wait in collective calls for ranks that come later: %s", calls.text);
    show_calls(findings, finding);
    if (late) show_late_rank(findings, finding, late);
    finding->is_waiting = true;
    return 1;
}

// Time that a rank would need for its own pieces without collective calls, as requests that take as long as those
// below collective calls do now. How much of that is latency is unknown: all of it is assumed to be, unless they are
// served from memory.
static double alone_ns(const struct findings *findings) {
    const struct facts *facts = findings->facts;
    struct facts_sum below = {0};
    double pieces = 0, bytes = 0, below_ns = 0;
    for (size_t i = 0; i < facts->grains; i++) {
        const struct facts_grain *grain = &facts->grain[i];
        if (!find_is_request(grain) || grain->traits.below != BELOW_COLLECTIVE) continue;
        facts_sum_join(&below, &grain->sum);
        below_ns += (double)facts_typical_ns(find_cell(findings, grain)) * (double)grain->sum.calls;
    }
    for (size_t i = 0; i < facts->processes; i++) {
        for (unsigned direction = 0; direction < FACTS_DIRECTIONS; direction++) {
            pieces += (double)facts->process[i].pieces[direction][1];
            bytes += (double)facts->process[i].mpi[direction][1].bytes;
        }
    }
    double each_ns = below.calls ? below_ns / (double)below.calls : 0, mean = (double)find_mean(&below);
    bool is_memory = each_ns <= (double)facts_memory_ns(find_mean(&below));
    double way_ns = is_memory ? LIMIT_SYSTEM_CALL_NS : each_ns;
    return (pieces * way_ns + (mean > 0 ? bytes * each_ns / mean : 0)) / (double)facts->ranks;
}

// Whether most of the claimed time is in calls that move nothing: opens, closes, views.
static bool is_mostly_other(const struct findings *findings) {
    double ns = 0;
    for (size_t i = 0; i < findings->claims; i++) {
        const struct finding_claim *claim = &findings->claim[i];
        if (findings->facts->grain[claim->grain].traits.kind == KIND_MPI_OTHER) ns += claim->ns;
    }
    return ns * 2 > find_taken(findings).ns;
}

static void advise(const struct findings *findings, struct finding *finding, double inside_ns) {
    enum mpi_io io = find_mpi_io(findings);
    if (is_mostly_other(findings)) {
        finding->reason =
            "All ranks of a communicator open a shared file, set its view and close it together, and agree "
            "before they go on.";
        finding->advice = "Open a file once and keep it open, and only with the ranks that use it.";
        return;
    }
    if (io == MPI_IO_ROMIO)
        finding->advice = "Try the same calls with the hints romio_cb_write=disable and romio_cb_read=disable, or "
                          "independent calls, and compare.";
    if (io == MPI_IO_OMPIO) finding->advice = "Try --mca fcoll individual, or independent calls, and compare.";
    const char *alone = finding->advice, *fewer = "Make fewer collective calls with more data each.";
    bool is_slower = alone_ns(findings) > 0.7 * inside_ns;
    if (is_slower) {
        finding->advice = "Make fewer collective calls with more data each. Independent calls would need more time for "
                          "the requests than they save, as far as this log shows.";
        find_way(finding, "request*=4", "Calls with four times the data", NULL);
    }
    find_way(finding, "independent", "Independent calls", alone);
    if (!is_slower) find_way(finding, "request*=4", "Calls with four times the data", fewer);
}

int find_collective(struct findings *findings, struct finding *finding) {
    const struct facts *facts = findings->facts;
    double inside_ns = 0;
    for (size_t i = 0; i < facts->grains; i++) {
        const struct facts_grain *grain = &facts->grain[i];
        if (!is_collective(grain)) continue;
        // A copy of the data is the price of combining it.
        double copy_ns = (double)grain->sum.bytes * LIMIT_COPY_BYTE_NS / (double)facts->ranks;
        double own_ns = grain->wall_ns - grain->late_ns - copy_ns;
        inside_ns += (double)grain->sum.ns / (double)facts->ranks;
        if (own_ns > 0) FORWARD(find_claim(findings, grain, own_ns));
    }
    if (!findings->claims) return 0;
    struct find_taken taken = find_taken(findings);
    finding->title = find_text(findings, "Ranks are in collective calls while no process moves data: %s",
                               human_count(taken.sum.calls, "call").text);
    show_calls(findings, finding);
    show_parts(findings, finding);
    show_pieces(findings, finding);
    advise(findings, finding, inside_ns);
    finding->is_waiting = true;
    return 1;
}
