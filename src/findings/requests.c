// Requests that are slower than others of the same log which differ in one thing only: size, order, alignment, what
// came before.
#include "findings/find.h"

enum { ENOUGH = 8 }; // calls that make a comparison

// What a byte costs in large requests of this direction, in nanoseconds; 0 where there are none to tell.
static double byte_ns(const struct facts *facts, unsigned direction)
{
    double best = 0;
    for (unsigned size = FACTS_SMALL_SIZE; size < FACTS_SIZES; size++) {
        for (unsigned order = 0; order < FACTS_ORDERS; order++) {
            for (unsigned rest = 0; rest < 4; rest++) {
                const struct facts_cell *cell = &facts->cell[direction][size][order][rest >> 1][rest & 1];
                if (cell->sum.calls < ENOUGH) continue;
                double each = (double)facts_typical_ns(cell) / (double)find_mean(&cell->sum);
                if (!best || each < best) best = each;
            }
        }
    }
    return best;
}

// What the requests of a cell take more than their bytes would in large requests, or in memory.
static double excess_ns(const struct facts_cell *cell, double each_byte_ns)
{
    uint64_t mean = find_mean(&cell->sum);
    double least = (double)facts_memory_ns(mean), by_bytes = (double)mean * each_byte_ns;
    double more = (double)facts_typical_ns(cell) - (by_bytes > least ? by_bytes : least);
    return more > 0 ? more * (double)cell->sum.calls : 0;
}

// --- small ones that follow each other

static const struct facts_sum *small_of(const struct facts_process *process, unsigned direction)
{
    return &process->small[direction];
}

static const struct facts_sum *file_small_of(const struct facts_file *file, unsigned direction)
{
    return &file->small[direction];
}

static double small_excess_ns(const struct facts *facts, unsigned direction)
{
    double each = byte_ns(facts, direction), sum = 0;
    for (unsigned size = 0; size < FACTS_SMALL_SIZE; size++) {
        for (unsigned order = 0; order < FACTS_RANDOM; order++) {
            for (unsigned rest = 0; rest < 4; rest++)
                sum += excess_ns(&facts->cell[direction][size][order][rest >> 1][rest & 1], each);
        }
    }
    return sum;
}

// How many calls of MPI-IO these requests were made by, and which of them.
static struct facts_sum mpi_calls(const struct facts *facts, unsigned direction, struct facts_sum *below)
{
    struct facts_sum calls = {0};
    for (size_t i = 0; i < facts->processes; i++) {
        for (unsigned collective = 0; collective < 2; collective++) {
            facts_sum_join(&calls, &facts->process[i].mpi[direction][collective]);
            facts_sum_join(below, &facts->process[i].below[direction][direction][collective]);
        }
    }
    return calls;
}

static void say_small(struct findings *findings, struct finding *finding, unsigned direction,
                      const struct find_most *most)
{
    const struct facts *facts = findings->facts;
    struct facts_sum below = {0}, calls = mpi_calls(facts, direction, &below);
    bool by_mpi = calls.calls && below.calls >= 4 * calls.calls && below.calls * 2 >= most->all.calls;
    finding->title = by_mpi ? find_text(findings, "%s of %s on average: MPI-IO makes %s of each call",
                                        human_count(most->all.calls, direction ? "tiny write" : "tiny read").text,
                                        human_bytes(find_mean(&most->all)).text,
                                        human_count(below.calls / calls.calls, find_verb(direction)).text)
                            : find_text(findings, "%s of %s on average, one after the other",
                                        human_count(most->all.calls, direction ? "small write" : "small read").text,
                                        human_bytes(find_mean(&most->all)).text);
    finding->advice =
        by_mpi
            ? "Let MPI-IO put the pieces together: describe each process's part by one file view and one call per "
              "array, "
              "and use what joins pieces on the way to the file (large buffers; data sieving for reads)."
            : "Collect the data in memory and move it with few large calls (a megabyte and more), or through a library "
              "that buffers.";
    if (by_mpi) {
        struct finding_evidence *evidence = find_evidence(
            finding,
            find_text(findings, "%s of MPI-IO became %s of %s", human_count(calls.calls, "call").text,
                      human_count(below.calls, find_verb(direction)).text, human_bytes(find_mean(&below)).text));
        evidence->line = find_line(findings, direction ? CLASS_WRITE : CLASS_READ);
    }
}

static void show_small(struct findings *findings, struct finding *finding, unsigned direction)
{
    const struct facts_file *file = find_file_of(findings->facts, file_small_of, direction);
    if (!file) return;
    const struct facts_sum *sum = &file->small[direction];
    struct finding_evidence *evidence = find_evidence(
        finding, find_text(findings, "%s of %s, %s each", human_count(sum->calls, find_verb(direction)).text,
                           human_bytes(find_mean(sum)).text, human_seconds(sum->ns / (int64_t)sum->calls).text));
    evidence->file = file->file;
    evidence->phase = find_phase(findings, direction);
    evidence->line = find_line(findings, direction ? CLASS_WRITE : CLASS_READ);
}

int find_small_requests(struct findings *findings, struct finding *finding)
{
    const struct facts *facts = findings->facts;
    double excess[FACTS_DIRECTIONS] = {small_excess_ns(facts, FACTS_READ), small_excess_ns(facts, FACTS_WRITE)};
    unsigned direction = excess[FACTS_WRITE] >= excess[FACTS_READ];
    struct find_most most = find_most_of(facts, small_of, direction), other = find_most_of(facts, small_of, !direction);
    if (!most.process || excess[direction] <= 0) return 0;
    finding->ns = find_part_ns(&most, excess[direction]) + find_part_ns(&other, excess[!direction]);
    finding->basis =
        byte_ns(facts, direction) > 0
            ? "time of these calls beyond what their bytes take in the large requests of this log"
            : "time of these calls beyond what they would take in memory; the log has no large requests to "
              "compare them with";
    say_small(findings, finding, direction, &most);
    show_small(findings, finding, direction);
    if (excess[!direction] > 0) show_small(findings, finding, !direction);
    finding->reason =
        "Every request has to reach the storage and come back before the next one starts; the smaller it is, "
        "the more of its time is the way and not the data.";
    finding->command = "ioseer phases --layer posix LOG";
    return 1;
}

// --- random ones

static const struct facts_sum *random_of(const struct facts_process *process, unsigned direction)
{
    return &process->random[direction];
}

static const struct facts_sum *file_random_of(const struct facts_file *file, unsigned direction)
{
    return &file->random[direction];
}

// Against requests of the same size in order; where there are none, against large ones and memory.
static double random_excess_ns(const struct facts *facts, unsigned direction)
{
    double each = byte_ns(facts, direction), sum = 0;
    for (unsigned size = 0; size < FACTS_SIZES; size++) {
        for (unsigned rest = 0; rest < 4; rest++) {
            const struct facts_cell *cell = &facts->cell[direction][size][FACTS_RANDOM][rest >> 1][rest & 1];
            const struct facts_cell *in_order = &facts->cell[direction][size][FACTS_NEXT][rest >> 1][rest & 1];
            if (cell->sum.calls < ENOUGH) continue;
            if (in_order->sum.calls < ENOUGH) {
                sum += size < FACTS_SMALL_SIZE ? excess_ns(cell, each) : 0;
                continue;
            }
            double more = (double)(facts_typical_ns(cell) - facts_typical_ns(in_order));
            if (more > 0) sum += more * (double)cell->sum.calls;
        }
    }
    return sum;
}

int find_random(struct findings *findings, struct finding *finding)
{
    const struct facts *facts = findings->facts;
    double excess[FACTS_DIRECTIONS] = {random_excess_ns(facts, FACTS_READ), random_excess_ns(facts, FACTS_WRITE)};
    unsigned direction = excess[FACTS_WRITE] > excess[FACTS_READ];
    struct find_most most = find_most_of(facts, random_of, direction);
    if (!most.process || excess[direction] <= 0) return 0;
    const struct facts_file *file = find_file_of(facts, file_random_of, direction);
    finding->ns = find_part_ns(&most, excess[direction]);
    finding->basis = "time of these calls beyond that of calls in order, in this log or in memory";
    finding->title =
        find_text(findings, "%s in no order, %s on average", human_count(most.all.calls, find_verb(direction)).text,
                  human_bytes(find_mean(&most.all)).text);
    struct finding_evidence *evidence =
        find_evidence(finding, find_text(findings, "%s out of %s of this file go elsewhere than the one before",
                                         human_count(file->random[direction].calls, "").text,
                                         human_count(file->request[direction].calls, find_verb(direction)).text));
    evidence->file = file->file;
    evidence->phase = find_phase(findings, direction);
    evidence->line = find_line(findings, direction ? CLASS_WRITE : CLASS_READ);
    finding->reason =
        "Storage and the system read ahead and put writes together only where requests follow each other; "
        "elsewhere each one pays the way on its own.";
    finding->advice =
        "Sort the requests by offset before making them, keep what is used together next to each other in the "
        "file, or read the region whole if it fits into memory.";
    finding->command = "ioseer dump --file FILE LOG";
    return 1;
}

// --- unaligned ones, and those after a change of direction: against cells that differ in just that

static double against(const struct facts_cell *cell, const struct facts_cell *other)
{
    if (cell->sum.calls < ENOUGH || other->sum.calls < ENOUGH) return 0;
    double more = (double)(facts_typical_ns(cell) - facts_typical_ns(other));
    return more > 0 ? more * (double)cell->sum.calls : 0;
}

static double unaligned_excess_ns(const struct facts *facts, unsigned direction, uint64_t *compared)
{
    double sum = 0;
    for (unsigned size = 0; size < FACTS_SIZES; size++) {
        for (unsigned order = 0; order < FACTS_ORDERS; order++) {
            for (unsigned switched = 0; switched < 2; switched++) {
                const struct facts_cell *cell = facts->cell[direction][size][order][1] + switched;
                const struct facts_cell *aligned = facts->cell[direction][size][order][0] + switched;
                double more = against(cell, aligned);
                if (more > 0) *compared += aligned->sum.calls;
                sum += more;
            }
        }
    }
    return sum;
}

static const struct facts_sum *unaligned_of(const struct facts_process *process, unsigned direction)
{
    return &process->unaligned[direction];
}

static const struct facts_sum *file_unaligned_of(const struct facts_file *file, unsigned direction)
{
    return &file->unaligned[direction];
}

int find_unaligned(struct findings *findings, struct finding *finding)
{
    const struct facts *facts = findings->facts;
    uint64_t compared[FACTS_DIRECTIONS] = {0, 0};
    double excess[FACTS_DIRECTIONS] = {unaligned_excess_ns(facts, FACTS_READ, &compared[FACTS_READ]),
                                       unaligned_excess_ns(facts, FACTS_WRITE, &compared[FACTS_WRITE])};
    unsigned direction = excess[FACTS_WRITE] >= excess[FACTS_READ];
    struct find_most most = find_most_of(facts, unaligned_of, direction);
    if (!most.process || excess[direction] <= 0) return 0;
    const struct facts_file *file = find_file_of(facts, file_unaligned_of, direction);
    finding->ns = find_part_ns(&most, excess[direction]);
    finding->basis = "time of these calls beyond that of aligned ones of their size and order in this log";
    finding->title = find_text(findings, "%s begin or end inside a block of the file system",
                               human_count(most.all.calls, find_verb(direction)).text);
    struct finding_evidence *evidence =
        find_evidence(finding, find_text(findings, "%s out of %s are not multiples of %s; compared with %s that are",
                                         human_count(file->unaligned[direction].calls, "").text,
                                         human_count(file->request[direction].calls, find_verb(direction)).text,
                                         human_bytes(file->file->block_size ? file->file->block_size : 4096).text,
                                         human_count(compared[direction], "call").text));
    evidence->file = file->file;
    evidence->phase = find_phase(findings, direction);
    finding->reason =
        "A part of a block is written by reading it first; neighbours that share a block wait for each other.";
    finding->advice = "Start records at multiples of the block size: pad headers, or set the alignment of the library "
                      "(H5Pset_alignment, nc_header_align_size, striping_unit).";
    finding->command = "ioseer stats --json LOG";
    return 1;
}

static const struct facts_sum *switched_of(const struct facts_process *process, unsigned direction)
{
    return &process->switched[direction];
}

static const struct facts_sum *file_switched_of(const struct facts_file *file, unsigned direction)
{
    return &file->switched[direction];
}

static double switched_excess_ns(const struct facts *facts, unsigned direction)
{
    double sum = 0;
    for (unsigned size = 0; size < FACTS_SIZES; size++) {
        for (unsigned order = 0; order < FACTS_ORDERS; order++) {
            for (unsigned unaligned = 0; unaligned < 2; unaligned++) {
                const struct facts_cell *cell = facts->cell[direction][size][order][unaligned];
                sum += against(&cell[1], &cell[0]);
            }
        }
    }
    return sum;
}

int find_switching(struct findings *findings, struct finding *finding)
{
    const struct facts *facts = findings->facts;
    double excess[FACTS_DIRECTIONS] = {switched_excess_ns(facts, FACTS_READ), switched_excess_ns(facts, FACTS_WRITE)};
    unsigned direction = excess[FACTS_WRITE] >= excess[FACTS_READ];
    struct find_most most = find_most_of(facts, switched_of, direction);
    if (!most.process || excess[direction] <= 0) return 0;
    const struct facts_file *file = find_file_of(facts, file_switched_of, direction);
    finding->ns = find_part_ns(&most, excess[direction]);
    finding->basis = "time of these calls beyond that of others of their size that follow one of the same direction";
    finding->title = find_text(findings, "%s right after a %s of the same file",
                               human_count(most.all.calls, find_verb(direction)).text, find_verb(!direction));
    struct finding_evidence *evidence =
        find_evidence(finding, find_text(findings, "reads and writes of this file alternate %s",
                                         human_count(file->switched[0].calls + file->switched[1].calls, "time").text));
    evidence->file = file->file;
    evidence->phase = find_phase(findings, direction);
    finding->reason = "A change of direction ends reading ahead and makes pending writes go out before the read.";
    finding->advice = "Read all that a step needs before writing any of it, or keep what is rewritten in another file.";
    finding->command = "ioseer phases LOG";
    return 1;
}
