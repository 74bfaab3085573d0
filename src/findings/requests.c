// Requests that are slower than others of the same log that differ in one property: size, order, alignment, or the
// request before.
#include "findings/find.h"

enum { ENOUGH = 8 }; // calls needed for a comparison

// Nanoseconds per byte in large requests of this direction; 0 if there are too few.
static double byte_ns(const struct facts *facts, unsigned direction) {
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

// Time of the requests in a cell beyond what their bytes take in large requests, or in memory.
static double excess_ns(const struct facts_cell *cell, double each_byte_ns) {
    uint64_t mean = find_mean(&cell->sum);
    double least = (double)facts_memory_ns(mean), by_bytes = (double)mean * each_byte_ns;
    double more = (double)facts_typical_ns(cell) - (by_bytes > least ? by_bytes : least);
    return more > 0 ? more * (double)cell->sum.calls : 0;
}

// Time that requests lost because they took longer than similar ones.
static double against(const struct facts_cell *cell, const struct facts_cell *other) {
    if (cell->sum.calls < ENOUGH || other->sum.calls < ENOUGH) return 0;
    double more = (double)(facts_typical_ns(cell) - facts_typical_ns(other));
    return more > 0 ? more * (double)cell->sum.calls : 0;
}

// --- four patterns: how much time each costs the requests of a cell

typedef const struct facts_cell cells[FACTS_ORDERS][2][2]; // of one direction and size: [order][unaligned][switched]

struct place {
    unsigned size, order, unaligned, switched;
    double each_byte_ns; // in large requests
};

static double small_ns(cells of, const struct place *at) {
    if (at->size >= FACTS_SMALL_SIZE || at->order == FACTS_RANDOM) return 0;
    return excess_ns(&of[at->order][at->unaligned][at->switched], at->each_byte_ns);
}

// Compared with requests of the same size in order; if there are none, with large ones and memory.
static double random_ns(cells of, const struct place *at) {
    const struct facts_cell *cell = &of[FACTS_RANDOM][at->unaligned][at->switched];
    const struct facts_cell *in_order = &of[FACTS_NEXT][at->unaligned][at->switched];
    if (at->order != FACTS_RANDOM || cell->sum.calls < ENOUGH) return 0;
    if (in_order->sum.calls >= ENOUGH) return against(cell, in_order);
    return at->size < FACTS_SMALL_SIZE ? excess_ns(cell, at->each_byte_ns) : 0;
}

static double unaligned_ns(cells of, const struct place *at) {
    return at->unaligned ? against(&of[at->order][1][at->switched], &of[at->order][0][at->switched]) : 0;
}

static double switched_ns(cells of, const struct place *at) {
    return at->switched ? against(&of[at->order][at->unaligned][1], &of[at->order][at->unaligned][0]) : 0;
}

struct pattern {
    double (*lost_ns)(cells of, const struct place *at);
    size_t process, file; // offsets of the sums of these requests, by direction
};
#define PATTERN(name)                                                                                                  \
    (struct pattern) { name##_ns, offsetof(struct facts_process, name), offsetof(struct facts_file, name) }

static double lost_ns(const struct facts *facts, const struct pattern *pattern, unsigned direction) {
    struct place at = {.each_byte_ns = byte_ns(facts, direction)};
    double sum = 0;
    for (at.size = 0; at.size < FACTS_SIZES; at.size++) {
        for (at.order = 0; at.order < FACTS_ORDERS; at.order++) {
            for (unsigned rest = 0; rest < 4; rest++) {
                at.unaligned = rest >> 1;
                at.switched = rest & 1;
                sum += pattern->lost_ns(facts->cell[direction][at.size], &at);
            }
        }
    }
    return sum;
}

// The direction that loses more, and the place where it loses most.
struct loss {
    double ns[FACTS_DIRECTIONS];
    unsigned direction;
    struct find_most most;
    const struct facts_file *file;
};

static bool find_loss(const struct facts *facts, struct finding *finding, struct pattern pattern, struct loss *loss) {
    for (unsigned i = 0; i < FACTS_DIRECTIONS; i++) loss->ns[i] = lost_ns(facts, &pattern, i);
    loss->direction = loss->ns[FACTS_WRITE] >= loss->ns[FACTS_READ];
    size_t offset = loss->direction * sizeof(struct facts_sum);
    loss->most = find_most_at(facts, pattern.process + offset);
    loss->file = find_file_at(facts, pattern.file + offset);
    finding->ns = find_part_ns(&loss->most, loss->ns[loss->direction]);
    return loss->most.process && loss->ns[loss->direction] > 0;
}

// --- small requests in order

// The MPI-IO calls that made these requests.
static struct facts_sum mpi_calls(const struct facts *facts, unsigned direction, struct facts_sum *below) {
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
                      const struct find_most *most) {
    struct facts_sum below = {0}, calls = mpi_calls(findings->facts, direction, &below);
    if (!calls.calls || below.calls < 4 * calls.calls || below.calls * 2 < most->all.calls) {
        finding->title = find_text(findings, "%s of %s on average, one after the other",
                                   human_count(most->all.calls, direction ? "small write" : "small read").text,
                                   human_bytes(find_mean(&most->all)).text);
        return;
    }
    finding->title = find_text(findings, "%s of %s on average: MPI-IO makes %s of each call",
                               human_count(most->all.calls, direction ? "tiny write" : "tiny read").text,
                               human_bytes(find_mean(&most->all)).text,
                               human_count(below.calls / calls.calls, find_verb(direction)).text);
    finding->advice = "Let MPI-IO combine the pieces: describe each process's part by one file view and one call per "
                      "array, and use large buffers (and data sieving for reads).";
    find_evidence(findings, finding, (struct find_place){.line = find_transfers(findings, direction).line},
                  "%s of MPI-IO became %s of %s", human_count(calls.calls, "call").text,
                  human_count(below.calls, find_verb(direction)).text, human_bytes(find_mean(&below)).text);
}

static void show_small(struct findings *findings, struct finding *finding, unsigned direction) {
    struct find_place place = find_transfers(findings, direction);
    place.file = find_file_of(findings->facts, small[direction]);
    if (!place.file) return;
    const struct facts_sum *sum = &place.file->small[direction];
    find_evidence(findings, finding, place, "%s of %s, %s each", human_count(sum->calls, find_verb(direction)).text,
                  human_bytes(find_mean(sum)).text, find_each(sum).text);
}

int find_small_requests(struct findings *findings, struct finding *finding) {
    const struct facts *facts = findings->facts;
    struct loss loss;
    if (!find_loss(facts, finding, PATTERN(small), &loss)) return 0;
    struct find_most other = find_most_of(facts, small[!loss.direction]);
    finding->ns += find_part_ns(&other, loss.ns[!loss.direction]);
    if (byte_ns(facts, loss.direction) <= 0)
        finding->basis = "time of these calls beyond the time in memory; the log has no large requests to compare with";
    say_small(findings, finding, loss.direction, &loss.most);
    show_small(findings, finding, loss.direction);
    if (loss.ns[!loss.direction] > 0) show_small(findings, finding, !loss.direction);
    return 1;
}

// --- the others

int find_random(struct findings *findings, struct finding *finding) {
    struct loss loss;
    if (!find_loss(findings->facts, finding, PATTERN(random), &loss)) return 0;
    struct find_place place = find_transfers(findings, loss.direction);
    place.file = loss.file;
    finding->title = find_text(findings, "%s at random offsets, %s on average",
                               human_count(loss.most.all.calls, find_verb(loss.direction)).text,
                               human_bytes(find_mean(&loss.most.all)).text);
    find_evidence(findings, finding, place, "%s out of %s of this file do not follow the one before",
                  human_count(loss.file->random[loss.direction].calls, "").text,
                  human_count(loss.file->request[loss.direction].calls, find_verb(loss.direction)).text);
    return 1;
}

// The number of aligned calls that are faster than unaligned ones.
static uint64_t aligned_calls(const struct facts *facts, unsigned direction) {
    uint64_t calls = 0;
    for (unsigned size = 0; size < FACTS_SIZES; size++) {
        for (unsigned rest = 0; rest < 2 * FACTS_ORDERS; rest++) {
            const struct facts_cell(*cell)[2] = facts->cell[direction][size][rest / 2];
            if (against(&cell[1][rest % 2], &cell[0][rest % 2]) > 0) calls += cell[0][rest % 2].sum.calls;
        }
    }
    return calls;
}

int find_unaligned(struct findings *findings, struct finding *finding) {
    struct loss loss;
    if (!find_loss(findings->facts, finding, PATTERN(unaligned), &loss)) return 0;
    const struct facts_file *file = loss.file;
    unsigned direction = loss.direction;
    finding->title = find_text(findings, "%s begin or end inside a block of the file system",
                               human_count(loss.most.all.calls, find_verb(direction)).text);
    find_evidence(findings, finding, (struct find_place){.file = file, .phase = find_phase(findings, direction)},
                  "%s out of %s are not multiples of %s; compared with %s that are",
                  human_count(file->unaligned[direction].calls, "").text,
                  human_count(file->request[direction].calls, find_verb(direction)).text,
                  human_bytes(file->file->block_size ? file->file->block_size : 4096).text,
                  human_count(aligned_calls(findings->facts, direction), "call").text);
    return 1;
}

int find_switching(struct findings *findings, struct finding *finding) {
    struct loss loss;
    if (!find_loss(findings->facts, finding, PATTERN(switched), &loss)) return 0;
    finding->title =
        find_text(findings, "%s right after a %s of the same file",
                  human_count(loss.most.all.calls, find_verb(loss.direction)).text, find_verb(!loss.direction));
    find_evidence(
        findings, finding, (struct find_place){.file = loss.file, .phase = find_phase(findings, loss.direction)},
        "reads and writes of this file alternate %s",
        human_count(loss.file->switched[FACTS_READ].calls + loss.file->switched[FACTS_WRITE].calls, "time").text);
    return 1;
}
