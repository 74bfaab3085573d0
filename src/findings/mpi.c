// How MPI-IO turns the program's calls into requests.
#include "findings/find.h"

// Costs of collective I/O that the log may not show: some communication per call, a copy of the data through the
// network, and some work per piece.
enum { EXCHANGES = 2, PIECE_NS = 300, COPY_NS_PER_KIB = 1500, LEAST_EXCHANGE_NS = 20000, BUFFER_BYTES = 4 << 20 };

// Time of one communication call in this job, taken from the rank that waits least in them.
static double exchange_ns(const struct facts *facts) {
    double least = 0;
    for (size_t i = 0; i < facts->processes; i++) {
        struct facts_sum sum = facts->process[i].comm[COMM_SYNCHRONISING];
        facts_sum_join(&sum, &facts->process[i].comm[COMM_MOVING]);
        double mean = sum.calls ? (double)sum.ns / (double)sum.calls : 0;
        if (mean > 0 && (!least || mean < least)) least = mean;
    }
    return least > LEAST_EXCHANGE_NS ? least : LEAST_EXCHANGE_NS;
}

// --- independent calls with many pieces

// Typical time of requests that have the mean size of this sum, whatever their other properties.
static int64_t typical_ns(const struct facts *facts, unsigned direction, const struct facts_sum *sum) {
    static const struct facts_cell empty;
    const struct facts_cell *most = &empty;
    unsigned size = facts_size(find_mean(sum));
    for (unsigned order = 0; order < FACTS_ORDERS; order++) {
        for (unsigned rest = 0; rest < 4; rest++) {
            const struct facts_cell *cell = &facts->cell[direction][size][order][rest >> 1][rest & 1];
            if (cell->sum.calls > most->sum.calls) most = cell;
        }
    }
    return facts_typical_ns(most);
}

// Time that the process would need with collective calls: the exchange, and its share of large requests that take as
// long as one does now.
static double collective_ns(const struct facts *facts, const struct facts_process *process, unsigned direction,
                            int64_t request_ns) {
    const struct facts_sum *own = &process->mpi[direction][0], *below = &process->below[direction][direction][0];
    double large = (double)(own->bytes / BUFFER_BYTES) + (double)own->calls;
    return (double)own->calls * EXCHANGES * exchange_ns(facts) + (double)own->bytes / 1024 * COPY_NS_PER_KIB +
           (double)below->calls * PIECE_NS + large * (double)request_ns;
}

int find_independent(struct findings *findings, struct finding *finding) {
    const struct facts *facts = findings->facts;
    unsigned direction = FACTS_WRITE;
    struct find_most most = find_most_of(facts, below[FACTS_WRITE][FACTS_WRITE][0]);
    struct find_most reads = find_most_of(facts, below[FACTS_READ][FACTS_READ][0]);
    if (reads.ns > most.ns) {
        most = reads;
        direction = FACTS_READ;
    }
    const struct facts_file *file = find_file_of(facts, below[0]);
    if (!most.process || !file || file->users < 2) return 0;
    const struct facts_sum *own = &most.process->mpi[direction][0];
    if (most.all.calls < 4 * own->calls) return 0;
    // Fewer requests save only the time beyond that of memory.
    int64_t each_ns = typical_ns(facts, direction, &most.all);
    double beyond = (double)(each_ns - facts_memory_ns(find_mean(&most.all)));
    const struct facts_sum *below = &most.process->below[direction][direction][0];
    double stake = beyond * (double)below->calls - collective_ns(facts, most.process, direction, each_ns);
    if (stake <= 0.25 * (double)below->ns) return 0;
    finding->ns = (int64_t)stake;
    finding->title = find_text(findings, "%s of independent MPI-IO for %s of %s: collective calls may be faster",
                               human_count(own->calls, "call").text, human_count(below->calls, "request").text,
                               human_bytes(find_mean(below)).text);
    struct find_place place = find_transfers(findings, direction);
    place.file = file;
    place.process = most.process;
    find_evidence(findings, finding, place, "%s of this process take %s each and go to a file that %s use",
                  human_count(below->calls, "request").text, human_seconds(each_ns).text,
                  human_count(file->users, "process").text);
    return 1;
}

// --- collective calls that cost more than they save

static int64_t least_collective_ns(const struct facts *facts, unsigned direction, const struct facts_process **least) {
    uint64_t most_calls = 0;
    *least = NULL;
    for (size_t i = 0; i < facts->processes; i++) {
        uint64_t calls = facts->process[i].mpi[direction][1].calls;
        if (calls > most_calls) most_calls = calls;
    }
    for (size_t i = 0; i < facts->processes; i++) {
        const struct facts_process *process = &facts->process[i];
        if (!most_calls || process->mpi[direction][1].calls * 2 < most_calls) continue;
        if (!*least || process->mpi[direction][1].ns < (*least)->mpi[direction][1].ns) *least = process;
    }
    return *least ? (*least)->mpi[direction][1].ns : 0;
}

static struct facts_sum below_collective(const struct facts *facts, unsigned direction) {
    struct facts_sum sum = {0};
    for (size_t i = 0; i < facts->processes; i++)
        facts_sum_join(&sum, &facts->process[i].below[direction][direction][1]);
    return sum;
}

// Time that the process would need alone. Requests at about memory speed would be as fast if they were small. For
// slower ones it is unknown how much of their time is latency, so all of it counts as latency.
static double alone_ns(const struct facts *facts, const struct facts_process *process, unsigned direction,
                       const struct facts_sum *below) {
    const struct facts_sum *own = &process->mpi[direction][1];
    double pieces = (double)process->pieces[direction][1];
    int64_t each_ns = typical_ns(facts, direction, below);
    uint64_t mean = find_mean(below);
    double way = each_ns < 5 * facts_memory_ns(mean) ? (double)facts_memory_ns(0) : (double)each_ns;
    double by_bytes = mean ? (double)each_ns / (double)mean : 0;
    return pieces * way + (double)own->bytes * by_bytes;
}

int find_collective(struct findings *findings, struct finding *finding) {
    const struct facts *facts = findings->facts;
    const struct facts_process *least[FACTS_DIRECTIONS];
    int64_t ns[FACTS_DIRECTIONS] = {least_collective_ns(facts, FACTS_READ, &least[FACTS_READ]),
                                    least_collective_ns(facts, FACTS_WRITE, &least[FACTS_WRITE])};
    unsigned direction = ns[FACTS_WRITE] >= ns[FACTS_READ];
    struct facts_sum below = below_collective(facts, direction);
    if (!least[direction] || !below.calls) return 0;
    const struct facts_process *process = least[direction];
    double stake = (double)ns[direction] - alone_ns(facts, process, direction, &below);
    if (stake < 0.3 * (double)ns[direction]) return 0;
    const struct facts_sum *own = &process->mpi[direction][1];
    uint64_t pieces = process->pieces[direction][1];
    finding->ns = (int64_t)stake;
    finding->title =
        find_text(findings, "Collective %ss cost more time than the requests they save: %s in %s", find_verb(direction),
                  human_seconds(ns[direction]).text, human_count(own->calls, "call").text);
    struct find_place place = find_transfers(findings, direction);
    place.process = process;
    find_evidence(findings, finding, place,
                  "this process's part is %s of %s; requests below collective calls take %s for %s",
                  human_count(pieces, "piece").text, human_bytes(own->bytes / (pieces ? pieces : 1)).text,
                  human_seconds(typical_ns(facts, direction, &below)).text, human_bytes(find_mean(&below)).text);
    return 1;
}

// --- data sieving

int find_sieving(struct findings *findings, struct finding *finding) {
    const struct facts *facts = findings->facts;
    const struct facts_process *most = NULL;
    int64_t most_ns = -1;
    struct facts_sum reads = {0}, asked = {0}, written = {0};
    for (size_t i = 0; i < facts->processes; i++) {
        const struct facts_process *process = &facts->process[i];
        for (unsigned collective = 0; collective < 2; collective++) {
            facts_sum_join(&asked, &process->mpi[FACTS_WRITE][collective]);
            facts_sum_join(&written, &process->below[FACTS_WRITE][FACTS_WRITE][collective]);
        }
        // Reads below writes, for the kind of call with more of them.
        const struct facts_sum *below = process->below[FACTS_READ][FACTS_WRITE];
        if (below[1].ns > below[0].ns) below++;
        facts_sum_join(&reads, below);
        if (!below->calls || below->ns <= most_ns) continue;
        most = process;
        most_ns = below->ns;
    }
    if (!most) return 0;
    finding->ns = most_ns;
    finding->title =
        find_text(findings, "To write %s MPI-IO read %s and wrote %s (data sieving)", human_bytes(asked.bytes).text,
                  human_bytes(reads.bytes).text, human_bytes(written.bytes).text);
    struct find_place place = find_transfers(findings, FACTS_WRITE);
    place.process = most;
    find_evidence(findings, finding, place, "%s below %s", human_count(reads.calls, "read").text,
                  human_count(asked.calls, "MPI-IO write").text);
    return 1;
}
