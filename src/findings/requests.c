// Requests that take longer than they have to, because of their size, their order, their alignment, or the request
// before.
#include "findings/find.h"

// --- how much of their time requests lose

// Nanoseconds per byte in large requests of this direction on this storage; 0 if there are too few.
static double byte_ns(const struct facts *facts, uint32_t storage, unsigned direction) {
    double best = 0;
    for (size_t i = 0; i < facts->cells; i++) {
        const struct facts_cell *cell = &facts->cell[i];
        if (cell->storage != storage || cell->traits.kind != direction || cell->traits.failed ||
            cell->traits.size < FACTS_SMALL_SIZE || cell->sum.calls < LIMIT_COMPARED_CALLS / 2)
            continue;
        double each = (double)facts_typical_ns(cell) / (double)find_mean(&cell->sum);
        if (!best || each < best) best = each;
    }
    return best;
}

// The part that the same bytes would not take in large requests. From memory only tiny requests cost more than their
// bytes.
double find_small_part(const struct facts *facts, const struct facts_cell *cell, bool *assumed) {
    uint64_t bytes = find_mean(&cell->sum);
    if (cell->traits.size >= FACTS_SMALL_SIZE || cell->sum.calls < LIMIT_COMPARED_CALLS) return 0;
    if (facts_at_memory_speed(cell) && bytes >= LIMIT_TINY_BYTES) return 0;
    double each = byte_ns(facts, cell->storage, cell->traits.kind);
    *assumed = !each;
    return facts_part_beyond(cell, (double)bytes * (each ? each : LIMIT_COPY_BYTE_NS));
}

// The part that calls of another cell, which differs in one trait, do not take. The cells must be apart: the faster
// three quarters of the one below the slower three quarters of the other. What is slower by little may be slower
// because the machine was, while these calls ran.
static double part_against(const struct facts_cell *cell, const struct facts_cell *other) {
    if (!other || cell->sum.calls < LIMIT_COMPARED_CALLS || other->sum.calls < LIMIT_COMPARED_CALLS) return 0;
    if (facts_at_memory_speed(cell)) return 0;
    if (facts_quantile_ns(cell, 0.25) <= facts_quantile_ns(other, 0.75)) return 0;
    if ((double)facts_typical_ns(cell) < LIMIT_SLOWER * (double)facts_typical_ns(other)) return 0;
    return facts_part_beyond(cell, (double)facts_typical_ns(other));
}

// --- small requests

static bool is_small(const struct facts_grain *grain) {
    return find_is_request(grain) && grain->traits.size < FACTS_SMALL_SIZE && grain->sum.calls >= LIMIT_PATTERN_CALLS;
}

static unsigned more_written(const struct findings *findings) {
    double ns[FACTS_DIRECTIONS] = {0};
    for (size_t i = 0; i < findings->claims; i++) {
        const struct facts_grain *grain = &findings->facts->grain[findings->claim[i].grain];
        ns[grain->traits.kind == KIND_WRITE] += findings->claim[i].ns;
    }
    return ns[FACTS_WRITE] >= ns[FACTS_READ];
}

static void set_class(struct findings *findings, struct finding *finding, unsigned direction) {
    finding->class = direction ? CLASS_WRITE : CLASS_READ;
    for (size_t i = 0; i < findings->claims; i++) {
        const struct facts_grain *grain = &findings->facts->grain[findings->claim[i].grain];
        if (grain->traits.kind != direction) finding->class = CLASS_NONE;
    }
}

// What the calls of the finding are: if both directions have claims, its words are about both.
static const char *noun_of(const struct finding *finding) {
    return finding->class == CLASS_READ ? "read" : finding->class == CLASS_WRITE ? "write" : "request";
}

// The sums of the directions with claims.
static struct facts_sum sum_of(const struct finding *finding, const struct facts_sum by_direction[FACTS_DIRECTIONS]) {
    struct facts_sum sum = {0};
    if (finding->class != CLASS_WRITE) facts_sum_join(&sum, &by_direction[FACTS_READ]);
    if (finding->class != CLASS_READ) facts_sum_join(&sum, &by_direction[FACTS_WRITE]);
    return sum;
}

// The claimed requests, by direction.
static void sum_claimed(const struct findings *findings, const struct facts_file *file,
                        struct facts_sum sum[FACTS_DIRECTIONS]) {
    sum[FACTS_READ] = sum[FACTS_WRITE] = (struct facts_sum){0};
    for (size_t i = 0; i < findings->claims; i++) {
        const struct facts_grain *grain = &findings->facts->grain[findings->claim[i].grain];
        if (!file || find_file(findings, grain) == file) facts_sum_join(&sum[grain->traits.kind], &grain->sum);
    }
}

// All small requests of the files with claims: also the few among them that differ in another trait.
static void sum_small(const struct findings *findings, struct facts_sum sum[FACTS_DIRECTIONS]) {
    sum[FACTS_READ] = sum[FACTS_WRITE] = (struct facts_sum){0};
    for (size_t i = 0; i < findings->facts->files; i++) {
        for (unsigned k = 0; findings->of_file[i] > 0 && k < FACTS_DIRECTIONS; k++)
            facts_sum_join(&sum[k], &findings->facts->file[i]->small[k]);
    }
}

static void show_file(struct findings *findings, struct finding *finding, unsigned direction) {
    struct find_taken taken = find_taken(findings);
    struct facts_sum claimed[FACTS_DIRECTIONS];
    sum_claimed(findings, taken.file, claimed);
    for (unsigned i = 0; i < FACTS_DIRECTIONS; i++, direction = !direction) {
        struct find_place place = find_transfers(findings, direction);
        place.file = taken.file;
        const struct facts_sum *sum = &claimed[direction];
        if (!sum->calls || (i && finding->class)) continue;
        find_evidence(findings, finding, place, "%s of %s, %s", human_count(sum->calls, find_verb(direction)).text,
                      human_bytes(find_mean(sum)).text, find_each(sum).text);
    }
    if (taken.files > 1)
        find_evidence(findings, finding, (struct find_place){0}, "and the same in %s",
                      human_count(taken.files - 1, "other file").text);
}

static int claim_small(struct findings *findings, struct finding *finding, bool (*wanted)(const struct facts_grain *)) {
    const struct facts *facts = findings->facts;
    bool any_assumed = false;
    for (size_t i = 0; i < facts->grains; i++) {
        const struct facts_grain *grain = &facts->grain[i];
        bool assumed = false;
        if (!is_small(grain) || (wanted && !wanted(grain))) continue;
        FORWARD(find_claim_part(findings, grain, find_small_part(facts, find_cell(findings, grain), &assumed)));
        any_assumed = any_assumed || assumed;
    }
    if (!findings->claims) return 0;
    set_class(findings, finding, more_written(findings));
    if (any_assumed)
        finding->basis = "time of these calls, without pauses, beyond an assumed copy in memory (1 ns per byte); the "
                         "log has no large "
                         "requests to compare with";
    return 1;
}

// --- the requests of MPI-IO

static bool is_independent(const struct facts_grain *grain) { return grain->traits.below == BELOW_INDEPENDENT; }

// Calls of MPI-IO that made the claimed requests, if they made most of them and several each.
static bool is_split(const struct findings *findings, unsigned direction, struct facts_sum *calls) {
    const struct facts *facts = findings->facts;
    uint64_t below = 0, all = 0;
    for (size_t i = 0; i < findings->claims; i++) {
        const struct facts_grain *grain = &facts->grain[findings->claim[i].grain];
        if (grain->traits.kind != direction) continue;
        all += grain->sum.calls;
        if (is_independent(grain)) below += grain->sum.calls;
    }
    *calls = (struct facts_sum){0};
    for (size_t i = 0; i < facts->processes; i++) facts_sum_join(calls, &facts->process[i].mpi[direction][0]);
    return calls->calls && below * 2 > all && below >= 4 * calls->calls;
}

static void say_split(struct findings *findings, struct finding *finding, unsigned direction,
                      const struct facts_sum *calls) {
    struct find_taken taken = find_taken(findings);
    struct facts_sum small[FACTS_DIRECTIONS];
    sum_small(findings, small);
    struct facts_sum sum = small[direction];
    finding->title =
        find_text(findings, "%s of %s on average: MPI-IO turns each call into %s",
                  human_count(sum.calls, direction ? "tiny write" : "tiny read").text,
                  human_bytes(find_mean(&sum)).text, human_count(sum.calls / calls->calls, find_verb(direction)).text);
    find_evidence(findings, finding, (struct find_place){.line = find_transfers(findings, direction).line},
                  "%s of MPI-IO became %s of %s; %s use the file", human_count(calls->calls, "call").text,
                  human_count(sum.calls, find_verb(direction)).text, human_bytes(find_mean(&sum)).text,
                  human_count(taken.file ? taken.file->users : 0, "process").text);
    show_file(findings, finding, direction);
}

static bool at_memory_speed(const struct findings *findings) {
    double typical_ns = 0;
    for (size_t i = 0; i < findings->claims; i++) {
        const struct facts_grain *grain = &findings->facts->grain[findings->claim[i].grain];
        typical_ns += (double)facts_typical_ns(find_cell(findings, grain)) * (double)grain->sum.calls;
    }
    struct facts_sum sum = find_taken(findings).sum;
    return typical_ns <= (double)facts_memory_ns(find_mean(&sum)) * (double)sum.calls;
}

// Requests of a shared dataset that HDF5 makes piece by piece, because the transfer is not collective.
static bool say_dataset(struct findings *findings, struct finding *finding, unsigned direction) {
    const struct object_sum *dataset = find_dataset(findings);
    if (!dataset || dataset->collective || dataset->processes < 2 || !dataset->calls[direction]) return false;
    struct object_requests moved = object_moved(dataset, direction);
    if (moved.calls < 4 * dataset->calls[direction]) return false;
    finding->title =
        find_text(findings, "%s of %s on average: HDF5 turns each transfer into %s, because it is not collective",
                  human_count(moved.calls, direction ? "small write" : "small read").text,
                  human_bytes(moved.bytes / moved.calls).text,
                  human_count(moved.calls / dataset->calls[direction], find_verb(direction)).text);
    finding->reason = "Each process moves its own small pieces of a dataset, although all pieces together are large "
                      "contiguous parts of the file.";
    finding->advice = "Use collective transfers: H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_COLLECTIVE), and compare. Collective "
                      "I/O exchanges data between processes; this must cost less than the requests that it saves.";
    struct find_place place = find_transfers(findings, direction);
    place.file = find_taken(findings).file;
    find_evidence(findings, finding, place, "%s of %s on dataset %s became %s; %s use it",
                  human_count(dataset->calls[direction], find_verb(direction)).text,
                  human_bytes(dataset->bytes[direction] / dataset->calls[direction]).text,
                  find_object_name(dataset).text, human_count(moved.calls, find_verb(direction)).text,
                  human_count(dataset->processes, "process").text);
    return true;
}

// Collective calls combine the pieces of all processes. They cost more than they save where requests are served from
// memory.
int find_independent(struct findings *findings, struct finding *finding) {
    int found = claim_small(findings, finding, is_independent);
    if (found <= 0) return found;
    struct find_taken taken = find_taken(findings);
    struct facts_sum calls;
    unsigned direction = more_written(findings);
    if (!taken.file || taken.file->users < 2 || at_memory_speed(findings)) return 0;
    if (!say_dataset(findings, finding, direction)) {
        if (!is_split(findings, direction, &calls)) return 0;
        say_split(findings, finding, direction, &calls);
    }
    find_way(finding, "collective", "Collective calls", NULL);
    return 1;
}

// A selection that HDF5 moves in many small pieces.
static void advise_dataset(struct findings *findings, struct finding *finding, unsigned direction) {
    const struct object_sum *dataset = find_dataset(findings);
    if (!dataset || !dataset->calls[direction]) return;
    struct object_requests moved = object_moved(dataset, direction);
    if (moved.calls < 4 * dataset->calls[direction]) return;
    find_evidence(findings, finding, (struct find_place){.file = find_taken(findings).file},
                  "HDF5 turns each %s of dataset %s into %s", find_verb(direction), find_object_name(dataset).text,
                  human_count(moved.calls / dataset->calls[direction], "request").text);
    finding->advice =
        "Select parts of the dataset that are contiguous in the file, or store it in chunks with the shape "
        "of the selections and let the chunk cache hold them (H5Pset_chunk_cache).";
}

// The same bytes in large requests, as far as they follow each other.
static void advise_large(struct finding *finding) {
    find_way(finding, "request=1048576", "Requests of a megabyte", NULL);
}

int find_small_requests(struct findings *findings, struct finding *finding) {
    int found = claim_small(findings, finding, NULL);
    if (found <= 0) return found;
    struct facts_sum calls;
    unsigned direction = more_written(findings);
    if (is_split(findings, direction, &calls)) {
        finding->advice = "Describe each process's part by one file view and one call per array, so that MPI-IO can "
                          "combine the pieces, or pack them in memory before the call.";
        say_split(findings, finding, direction, &calls);
        advise_large(finding);
        return 1;
    }
    struct facts_sum sum = find_taken(findings).sum;
    finding->title = find_text(findings, "%s of %s on average: the calls take longer than their bytes",
                               human_count(sum.calls, finding->class == CLASS_READ    ? "small read"
                                                      : finding->class == CLASS_WRITE ? "small write"
                                                                                      : "small request")
                                   .text,
                               human_bytes(find_mean(&sum)).text);
    show_file(findings, finding, direction);
    advise_dataset(findings, finding, direction);
    advise_large(finding);
    return 1;
}

// --- read, change, write back

static bool is_rewrite(const struct facts_grain *grain) { return grain->traits.rewrite; }

int find_rewrites(struct findings *findings, struct finding *finding) {
    int found = claim_small(findings, finding, is_rewrite);
    if (found <= 0) return found;
    struct find_taken taken = find_taken(findings);
    finding->title = find_text(findings, "%s of %s that read a part of a file and write it back to the same place",
                               human_count(taken.sum.calls, "call").text, human_bytes(find_mean(&taken.sum)).text);
    show_file(findings, finding, FACTS_WRITE);
    return 1;
}

// --- order, alignment, direction

// Compared with requests of the same size in order; if there are none, the size of small requests that wait for the
// storage is the reason as much as their order.
static double random_part(const struct facts *facts, const struct facts_cell *cell, bool *assumed) {
    struct facts_traits other = cell->traits;
    other.order = FACTS_NEXT;
    const struct facts_cell *in_order = facts_cell_find(facts, cell->storage, other);
    if (in_order && in_order->sum.calls >= LIMIT_COMPARED_CALLS) return part_against(cell, in_order);
    *assumed = true;
    bool unused;
    return facts_at_memory_speed(cell) ? 0 : find_small_part(facts, cell, &unused);
}

int find_random(struct findings *findings, struct finding *finding) {
    const struct facts *facts = findings->facts;
    bool any_assumed = false;
    for (size_t i = 0; i < facts->grains; i++) {
        const struct facts_grain *grain = &facts->grain[i];
        if (!find_is_request(grain) || grain->traits.order != FACTS_RANDOM || grain->sum.calls < LIMIT_PATTERN_CALLS)
            continue;
        bool assumed = false;
        FORWARD(find_claim_part(findings, grain, random_part(facts, find_cell(findings, grain), &assumed)));
        any_assumed = any_assumed || assumed;
    }
    struct find_taken taken = find_taken(findings);
    if (!taken.file) return 0;
    unsigned direction = more_written(findings);
    set_class(findings, finding, direction);
    if (any_assumed)
        finding->basis = "time of these calls, without pauses, beyond that of their bytes in large or memory requests; "
                         "the log has no "
                         "calls of this size in order, so it is assumed that order is the reason";
    struct find_place place = find_transfers(findings, direction);
    place.file = taken.file;
    struct facts_sum sum = find_taken_of(findings, taken.file), all = sum_of(finding, taken.file->request);
    finding->title =
        find_text(findings, "%s at random offsets, %s on average", human_count(taken.sum.calls, noun_of(finding)).text,
                  human_bytes(find_mean(&taken.sum)).text);
    find_evidence(findings, finding, place, "%s out of %s of this file do not follow the one before, %s",
                  human_count(sum.calls, "").text, human_count(all.calls, noun_of(finding)).text, find_each(&sum).text);
    return 1;
}

// Claims what requests lose against those that differ only in this trait.
static int claim_against(struct findings *findings, bool by_alignment, uint64_t *others) {
    const struct facts *facts = findings->facts;
    *others = 0;
    for (size_t i = 0; i < facts->grains; i++) {
        const struct facts_grain *grain = &facts->grain[i];
        struct facts_traits other = grain->traits;
        bool has_it = by_alignment ? other.unaligned : other.switched && !other.rewrite;
        if (!find_is_request(grain) || !has_it || grain->sum.calls < LIMIT_PATTERN_CALLS) continue;
        if (by_alignment) other.unaligned = 0;
        if (!by_alignment) other.switched = 0;
        const struct facts_cell *cell = find_cell(findings, grain);
        const struct facts_cell *without = facts_cell_find(facts, cell->storage, other);
        double part = part_against(cell, without);
        if (part > 0) *others = without->sum.calls;
        FORWARD(find_claim_part(findings, grain, part));
    }
    return findings->claims > 0;
}

static void align_dataset(struct findings *findings, struct finding *finding, const struct facts_file *file,
                          unsigned block) {
    const struct object_sum *dataset = find_dataset(findings);
    if (!dataset || dataset->dataset->alignment > 1) return;
    finding->advice = find_text(findings,
                                "Align datasets in the file: H5Pset_alignment(fapl, threshold, %u), and choose chunks "
                                "and selections whose bytes are multiples of that.",
                                block);
    find_evidence(findings, finding, (struct find_place){.file = file}, "dataset %s is not aligned in the file",
                  find_object_name(dataset).text);
}

int find_unaligned(struct findings *findings, struct finding *finding) {
    uint64_t aligned;
    int found = claim_against(findings, true, &aligned);
    if (found <= 0) return found;
    struct find_taken taken = find_taken(findings);
    unsigned direction = more_written(findings), block = taken.file->file->block_size;
    if (!block) block = 4096;
    set_class(findings, finding, direction);
    struct facts_sum sum = find_taken_of(findings, taken.file), all = sum_of(finding, taken.file->request);
    finding->title = find_text(findings, "%s begin or end inside a block of the file system",
                               human_count(taken.sum.calls, noun_of(finding)).text);
    find_evidence(findings, finding, (struct find_place){.file = taken.file, .phase = find_phase(findings, direction)},
                  "%s out of %s are not multiples of %s, %s; compared with %s that are",
                  human_count(sum.calls, "").text, human_count(all.calls, noun_of(finding)).text,
                  human_bytes(block).text, find_each(&sum).text, human_count(aligned, "call").text);
    align_dataset(findings, finding, taken.file, block);
    // A write reads at least one block first, if it is of a part of it.
    find_way_spares(finding, find_text(findings, "align=%u", block), "Aligned requests", NULL,
                    finding->class == CLASS_WRITE ? block : 0);
    return 1;
}

int find_switching(struct findings *findings, struct finding *finding) {
    uint64_t others;
    int found = claim_against(findings, false, &others);
    if (found <= 0) return found;
    struct find_taken taken = find_taken(findings);
    unsigned direction = more_written(findings);
    set_class(findings, finding, direction);
    finding->title =
        find_text(findings, "%s right after a %s of the same file", human_count(taken.sum.calls, noun_of(finding)).text,
                  finding->class ? find_verb(!direction) : "request of the other direction");
    find_evidence(
        findings, finding, (struct find_place){.file = taken.file, .phase = find_phase(findings, direction)},
        "reads and writes of this file alternate %s; compared with %s that follow their own kind",
        human_count(taken.file->switched[FACTS_READ].calls + taken.file->switched[FACTS_WRITE].calls, "time").text,
        human_count(others, "call").text);
    return 1;
}
