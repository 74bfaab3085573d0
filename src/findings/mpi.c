// How MPI-IO turns the program's calls into requests.
#include "findings/find.h"

// What collective I/O costs, of which nothing may be in the log: a few calls of communication for each call, a copy of
// the data through the network, and some work for each piece.
enum { EXCHANGES = 2, PIECE_NS = 300, COPY_NS_PER_KIB = 1500, LEAST_EXCHANGE_NS = 20000, BUFFER_BYTES = 4 << 20 };

// What a call of communication takes in this job: of the rank that waits least in them.
static double exchange_ns(const struct facts *facts)
{
    double least = 0;
    for (size_t i = 0; i < facts->processes; i++) {
        struct facts_sum sum = facts->process[i].comm[COMM_SYNCHRONISING];
        facts_sum_join(&sum, &facts->process[i].comm[COMM_MOVING]);
        double mean = sum.calls ? (double)sum.ns / (double)sum.calls : 0;
        if (mean > 0 && (!least || mean < least)) least = mean;
    }
    return least > LEAST_EXCHANGE_NS ? least : LEAST_EXCHANGE_NS;
}

// --- independent calls of many pieces

static const struct facts_sum *independent_of(const struct facts_process *process, unsigned direction)
{
    return &process->below[direction][direction][0];
}

static const struct facts_sum *file_independent_of(const struct facts_file *file, unsigned direction)
{
    (void)direction;
    return &file->below[0];
}

// What requests of the size that a sum has on average take, whatever else they are.
static int64_t typical_ns(const struct facts *facts, unsigned direction, const struct facts_sum *sum)
{
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

// What the process would take collectively: exchange, and its share of large requests that take as long as one does
// now.
static double collective_ns(const struct facts *facts, const struct facts_process *process, unsigned direction,
                            int64_t request_ns)
{
    const struct facts_sum *own = &process->mpi[direction][0], *below = &process->below[direction][direction][0];
    double large = (double)(own->bytes / BUFFER_BYTES) + (double)own->calls;
    return (double)own->calls * EXCHANGES * exchange_ns(facts) + (double)own->bytes / 1024 * COPY_NS_PER_KIB +
           (double)below->calls * PIECE_NS + large * (double)request_ns;
}

int find_independent(struct findings *findings, struct finding *finding)
{
    const struct facts *facts = findings->facts;
    unsigned direction = FACTS_WRITE;
    struct find_most most = find_most_of(facts, independent_of, direction);
    struct find_most reads = find_most_of(facts, independent_of, FACTS_READ);
    if (reads.ns > most.ns) {
        most = reads;
        direction = FACTS_READ;
    }
    const struct facts_file *file = find_file_of(facts, file_independent_of, direction);
    if (!most.process || !file || file->users < 2) return 0;
    const struct facts_sum *own = &most.process->mpi[direction][0];
    if (most.all.calls < 4 * own->calls) return 0;
    // Time that requests spend in memory is not saved by making fewer of them.
    int64_t each_ns = typical_ns(facts, direction, &most.all);
    double beyond = (double)(each_ns - facts_memory_ns(find_mean(&most.all)));
    const struct facts_sum *below = &most.process->below[direction][direction][0];
    double stake = beyond * (double)below->calls - collective_ns(facts, most.process, direction, each_ns);
    if (stake <= 0.25 * (double)below->ns) return 0;
    finding->ns = (int64_t)stake;
    finding->basis =
        "time of the requests below these calls beyond memory's, less what collective calls would take: their "
        "exchange at this job's speed of communication, and large requests as slow as the small ones are now";
    finding->title = find_text(findings, "%s of independent MPI-IO for %s of %s: collective calls may pay",
                               human_count(own->calls, "call").text, human_count(below->calls, "request").text,
                               human_bytes(find_mean(below)).text);
    struct finding_evidence *evidence =
        find_evidence(finding, find_text(findings, "%s of this process take %s each and go to a file that %s use",
                                         human_count(below->calls, "request").text, human_seconds(each_ns).text,
                                         human_count(file->users, "process").text));
    evidence->file = file->file;
    evidence->phase = find_phase(findings, direction);
    evidence->line = find_line(findings, direction ? CLASS_WRITE : CLASS_READ);
    if (most.process->process->has_rank) evidence->rank[evidence->ranks++] = most.process->process->rank;
    finding->reason =
        "Each process moves its own small pieces, although the pieces of all processes together are large and "
        "contiguous parts of the file.";
    finding->advice =
        "Make the calls collective (MPI_File_write_all and its kin) with one file view for each process, and "
        "compare: collective I/O exchanges data between processes, which must cost less than the requests it "
        "saves.";
    finding->command = "ioseer diff LOG COLLECTIVE-LOG";
    return 1;
}

// --- collective calls that cost more than they save

static int64_t least_collective_ns(const struct facts *facts, unsigned direction, const struct facts_process **least)
{
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

static struct facts_sum below_collective(const struct facts *facts, unsigned direction)
{
    struct facts_sum sum = {0};
    for (size_t i = 0; i < facts->processes; i++)
        facts_sum_join(&sum, &facts->process[i].below[direction][direction][1]);
    return sum;
}

// What the process would take alone. Requests at about memory's speed would be as quick when small; for slower ones it
// is not known how much of their time is the way, so all of it is taken for that.
static double alone_ns(const struct facts *facts, const struct facts_process *process, unsigned direction,
                       const struct facts_sum *below)
{
    const struct facts_sum *own = &process->mpi[direction][1];
    double pieces = (double)process->pieces[direction][1];
    int64_t each_ns = typical_ns(facts, direction, below);
    uint64_t mean = find_mean(below);
    double way = each_ns < 5 * facts_memory_ns(mean) ? (double)facts_memory_ns(0) : (double)each_ns;
    double by_bytes = mean ? (double)each_ns / (double)mean : 0;
    return pieces * way + (double)own->bytes * by_bytes;
}

int find_collective(struct findings *findings, struct finding *finding)
{
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
    uint64_t calls = process->mpi[direction][1].calls;
    finding->ns = (int64_t)stake;
    finding->basis =
        "time in collective calls of the process that waits least in them, less what its own pieces would take "
        "as requests of this log";
    finding->title =
        find_text(findings, "Collective %ss cost more time than the requests they save: %s in %s", find_verb(direction),
                  human_seconds(ns[direction]).text, human_count(calls, "call").text);
    struct finding_evidence *evidence = find_evidence(
        finding,
        find_text(findings, "this process's part is %s of %s; requests below collective calls take %s for %s",
                  human_count(process->pieces[direction][1], "piece").text,
                  human_bytes(process->mpi[direction][1].bytes /
                              (process->pieces[direction][1] ? process->pieces[direction][1] : 1))
                      .text,
                  human_seconds(typical_ns(facts, direction, &below)).text, human_bytes(find_mean(&below)).text));
    evidence->phase = find_phase(findings, direction);
    evidence->line = find_line(findings, direction ? CLASS_WRITE : CLASS_READ);
    if (process->process->has_rank) evidence->rank[evidence->ranks++] = process->process->rank;
    finding->reason =
        "Collective I/O sends the data through a few processes and makes all wait for each other; on storage "
        "that is quick with small requests this takes longer than the requests would.";
    finding->advice =
        "Try the same calls with the hints romio_cb_write=disable and romio_cb_read=disable (or independent "
        "calls), and compare.";
    finding->command = "ioseer diff LOG INDEPENDENT-LOG";
    return 1;
}

// --- data sieving

static const struct facts_sum *sieving_of(const struct facts_process *process, unsigned direction)
{
    (void)direction;
    // Reads below writes, of whichever kind of call there are more.
    const struct facts_sum *independent = &process->below[FACTS_READ][FACTS_WRITE][0];
    const struct facts_sum *collective = &process->below[FACTS_READ][FACTS_WRITE][1];
    return collective->ns > independent->ns ? collective : independent;
}

int find_sieving(struct findings *findings, struct finding *finding)
{
    const struct facts *facts = findings->facts;
    struct find_most most = find_most_of(facts, sieving_of, FACTS_READ);
    struct facts_sum asked = {0}, written = {0};
    if (!most.process) return 0;
    for (size_t i = 0; i < facts->processes; i++) {
        for (unsigned collective = 0; collective < 2; collective++) {
            facts_sum_join(&asked, &facts->process[i].mpi[FACTS_WRITE][collective]);
            facts_sum_join(&written, &facts->process[i].below[FACTS_WRITE][FACTS_WRITE][collective]);
        }
    }
    finding->ns = most.ns;
    finding->basis = "time of the reads that MPI-IO made in order to write";
    finding->title =
        find_text(findings, "To write %s MPI-IO read %s and wrote %s (data sieving)", human_bytes(asked.bytes).text,
                  human_bytes(most.all.bytes).text, human_bytes(written.bytes).text);
    struct finding_evidence *evidence =
        find_evidence(finding, find_text(findings, "%s below %s", human_count(most.all.calls, "read").text,
                                         human_count(asked.calls, "MPI-IO write").text));
    evidence->phase = find_phase(findings, FACTS_WRITE);
    evidence->line = find_line(findings, CLASS_WRITE);
    if (most.process->process->has_rank) evidence->rank[evidence->ranks++] = most.process->process->rank;
    finding->reason =
        "Pieces that lie apart are written by reading the region around them, changing it, and writing it "
        "back, under a lock on shared files.";
    finding->advice = "Set the hint romio_ds_write=disable, or give MPI-IO whole regions to write; then compare.";
    finding->command = "ioseer dump --layer posix --class read LOG";
    return 1;
}
