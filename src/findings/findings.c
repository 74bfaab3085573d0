#include "findings/findings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "findings/find.h"

// The most specific first: each claims its time before the next one looks.
static const struct row {
    const char *id;
    find *find;
    const char *basis, *reason, *advice, *command; // defaults, which the function may replace
} table[] = {
    {"failed", find_failed, "time of these calls", "Data may be lost: the file does not hold what the program wrote.",
     "Check the results of writes, syncs and closes, and the free space, quota and limits of the storage.",
     "ioseer dump CLASS FILES LOG"},
    {"processors", find_processors,
     "time in calls of MPI-IO while no process moves data, times the share of their time that the processes waited for "
     "a processor",
     "A rank that has no processor cannot answer the others, and MPI-IO's calls wait for all. Times in this log are "
     "longer than on a machine with a processor per rank; findings in doubt say so.",
     "Start at most as many ranks as there are processors, or record on more nodes.", "ioseer info LOG"},
    {"overloaded-server", find_overloaded_server,
     "time of requests at this server, times the part that like requests at the other servers do not take",
     "Its storage is slower than that of the others, or others use it at the same time. Whoever needs this server "
     "waits "
     "for it.",
     "Compare the storage under the servers, and look for other programs that use this one (ioseer interference). "
     "Until then keep files off it: ioseer stack up --avoid.",
     "ioseer info LOG"},
    {"data-sieving", find_sieving, "time of the reads that MPI-IO makes in order to write",
     "To write separate pieces, MPI-IO reads the region around them, changes it and writes it back; on shared files "
     "under a lock.",
     "Write whole regions, or turn off data sieving for writes in the MPI library, and compare.",
     "ioseer dump --layer posix CLASS FILES LOG"},
    {"fill-values", find_fill_values, "time of the writes of fill values that other values replaced later",
     "HDF5 fills a dataset when it allocates it, and then the program writes all of it: the data goes to the storage "
     "twice.",
     "Turn the fill values off with H5Pset_fill_time(dcpl, H5D_FILL_TIME_NEVER), or allocate late with "
     "H5Pset_alloc_time.",
     "ioseer dump --layer posix --class write FILES LOG"},
    {"filters", find_filters, "time of the requests that read chunks in order to write them, and write them again",
     "A filtered (compressed) chunk is one piece: to change a part of it, HDF5 reads all of it, and later writes all "
     "of it.",
     "Write whole chunks.", "ioseer dump --layer posix FILES LOG"},
    {"chunks", find_chunks, "time of these requests, times the share of their bytes that nobody asked for",
     "HDF5 moves whole chunks. A selection that needs a little of many chunks moves all of them, and again if they do "
     "not fit into the chunk cache.",
     "Choose chunks with the shape of the selections.", "ioseer dump --layer posix FILES LOG"},
    {"shared-metadata", find_shared_metadata, "time of the reads of metadata that another read had brought in before",
     "Each rank reads the headers and indexes of the same file by itself, and all wait for the same storage.",
     "Let one rank read for all: H5Pset_all_coll_metadata_ops(fapl, true), and H5Pset_coll_metadata_write for writes.",
     "ioseer dump --layer posix --class read FILES LOG"},
    {"library-metadata", find_library_metadata,
     "time of these calls beyond the time of the same bytes in this log's large requests",
     "HDF5 keeps headers, indexes and names in small pieces all over the file, and moves each by itself when "
     "objects are created, opened and closed.",
     "Use the newer file format (H5Pset_libver_bounds), larger blocks for metadata (H5Pset_meta_block_size), or pages "
     "(H5Pset_file_space_strategy with H5Pset_page_buffer_size); create and open fewer objects, or keep them open.",
     "ioseer dump --layer posix FILES LOG"},
    {"read-modify-write", find_rewrites,
     "time of these calls, without pauses, beyond the time of the same bytes in this log's large requests",
     "Each record waits twice for the storage: for the read, and for the write.",
     "Keep the region in memory, change it there and write it once, or collect the changes and write them in order.",
     "ioseer dump --layer posix CLASS FILES LOG"},
    {"one-rank", find_one_rank, "time of this rank's requests, minus its fair share",
     "One process has one connection to the storage and the memory of one node. All data must go through it, and the "
     "other processes wait.",
     "Let each rank move its own part: with MPI-IO on one shared file, or with one file per rank.",
     "ioseer dump WHO LOG"},
    {"slow-rank", find_slow_rank, "time of its requests beyond that of the median rank, which moves as many bytes",
     "All processes wait for the slowest one. It moves as many bytes as the others, so the reason is its node, its "
     "connection, or the part of the storage that holds its data.",
     "Check whether another run shows the same node. Compare the files and offsets of this rank with those of the "
     "others.",
     "ioseer dump WHO LOG"},
    {"waiting", find_waiting,
     "the smaller of two times: how long the other ranks were in communication while there was I/O, and how much "
     "longer "
     "this rank's I/O takes than theirs",
     "A barrier ends when the last rank reaches it, so all ranks wait for the I/O of one.",
     "Distribute the I/O over the ranks, overlap it with computation (nonblocking calls), or remove barriers that only "
     "surround it.",
     "ioseer dump WHO LOG"},
    {"slow-file", find_slow_file, "time of this file's requests beyond that of similar requests of the median file",
     "Requests of the same size and order take longer here, in several parts of the run: the file may be on a slower "
     "or "
     "busier part of the storage.",
     "Check where the file is. Write it again elsewhere and compare.", "ioseer dump --layer posix CLASS FILES LOG"},
    {"contention", find_contention,
     "time during which several processes use the file, beyond the time of the same bytes when one process is alone",
     "Processes that share a file wait for its locks. If their parts meet in one block, the lock moves back and forth "
     "between them.",
     "Give each process parts that begin at block boundaries, let fewer processes write, or use one file per process.",
     "ioseer dump --layer posix CLASS FILES LOG"},
    {"syncs", find_syncs, "time of repeated syncs of a file by the same process, without pauses",
     "A sync waits until all data has passed the caches and is on the storage. Frequent syncs keep writes from "
     "being combined.",
     "Sync only when a result must survive a crash, such as at the end of a checkpoint, not after each record.",
     "ioseer dump CLASS FILES LOG"},
    {"opens", find_opens, "time of repeated opens of a file by the same process, and of their closes, without pauses",
     "Each open looks up the name and the permissions of the file again.", "Keep the file open between uses.",
     "ioseer dump CLASS FILES LOG"},
    {"stats", find_stats,
     "time of repeated calls (stat and the like) by which a process asks for the attributes of the same file, without "
     "pauses",
     "The process asks for what it already knows, or asks until the answer changes.",
     "Call it once and keep the result. To wait for a file, use a message or inotify, not repeated calls.",
     "ioseer dump CLASS FILES LOG"},
    {"read-again", find_read_again, "time of the reads whose bytes had been read before, without pauses",
     "The same bytes come from the storage, or from the page cache, several times.",
     "Keep data in memory if it is needed again.", "ioseer dump CLASS FILES LOG"},
    {"written-again", find_written_again,
     "time of the writes whose bytes had been written before and not read since, without pauses",
     "Data that is overwritten before anything reads it was written for nothing.",
     "Keep intermediate results in memory, and write the last one.", "ioseer dump CLASS FILES LOG"},
    {"unaligned", find_unaligned,
     "time of these calls, without pauses, beyond the time of aligned calls of the same size and order on the same "
     "storage",
     "To write a part of a block, the system must read the block first. Processes that share a block wait for each "
     "other.",
     "Start records at multiples of the block size: pad headers and records.",
     "ioseer dump --layer posix CLASS FILES LOG"},
    {"read-write-switching", find_switching,
     "time of these calls, without pauses, beyond the time of calls of the same size that follow a call of the same "
     "direction",
     "A change of direction ends read-ahead, and pending writes must complete before the read.",
     "Read all data of a step before writing any, or write to another file.",
     "ioseer dump --layer posix CLASS FILES LOG"},
    {"random", find_random,
     "time of these calls, without pauses, beyond the time of calls of the same size in order, in this log",
     "The system and the storage read ahead and combine writes only if requests follow each other. Otherwise each "
     "request takes the full latency.",
     "Sort requests by offset, store data that is used together in one place of the file, or read the whole region if "
     "it fits into memory.",
     "ioseer dump --layer posix CLASS FILES LOG"},
    {"independent", find_independent,
     "time of the requests below these calls, without pauses, beyond the time of the same bytes in this log's large "
     "requests",
     "Each process moves its own small pieces, although all pieces together are large contiguous parts of the file.",
     "Use collective calls (such as MPI_File_write_all) with one file view per process, and compare. Collective I/O "
     "exchanges data between processes; this must cost less than the requests that it saves.",
     "ioseer dump --layer posix CLASS FILES LOG"},
    {"small-requests", find_small_requests,
     "time of these calls, without pauses, beyond the time of the same bytes in this log's large requests",
     "Each call costs time besides that of its bytes: a switch to the kernel, work of the file system, or the latency "
     "of the storage. The smaller a call, the more of its time that is.",
     "Collect the data in memory and move it with few large calls (a megabyte or more), or use a library that buffers.",
     "ioseer dump --layer posix CLASS FILES LOG"},
    {"metadata", find_metadata,
     "time of the calls on names and attributes, and of the requests of small files, without pauses",
     "Each file costs several calls, whatever its size. Many files mean many such calls for few bytes.",
     "Put many small files into few large ones (HDF5, an archive), and list a folder instead of looking up each name.",
     "ioseer dump FILES LOG"},
    {"collective-wait", find_collective_wait,
     "time in collective calls in which no process moves data and some ranks are not yet there",
     "A collective call ends when all ranks have come. The time before is lost by the ranks that come first.",
     "Let the ranks come at the same time: distribute the work before the call evenly, or use independent calls.",
     "ioseer dump --layer mpiio FILES LOG"},
    {"collective", find_collective,
     "time in collective calls in which all ranks are there and no process moves data, beyond a copy of the data",
     "In collective calls ranks exchange data, and agree with each other, before a few of them move it. On storage "
     "that "
     "is fast with small requests, that takes longer than the requests would.",
     "Try independent calls, and compare.", "ioseer dump --layer mpiio FILES LOG"},
};

const char *finding_severity_name(enum finding_severity severity) {
    static const char *const names[] = {"low", "medium", "high"};
    return names[severity];
}

// --- shared by the functions

bool find_is_told(const struct findings *findings, const char *id) {
    for (size_t i = 0; i < findings->count; i++) {
        if (!strcmp(findings->finding[i].id, id)) return true;
    }
    return false;
}

static const char *make_text(struct findings *findings, const char *format, va_list arguments) {
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0) text = NULL;
    return text_list_take(&findings->texts, text) < 0 ? NULL : text;
}

const char *find_text(struct findings *findings, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = make_text(findings, format, arguments);
    va_end(arguments);
    return text;
}

void find_evidence(struct findings *findings, struct finding *finding, struct find_place place, const char *format,
                   ...) {
    size_t at = finding->evidences < FINDING_EVIDENCE ? finding->evidences++ : FINDING_EVIDENCE - 1;
    struct finding_evidence *evidence = &finding->evidence[at];
    *evidence = (struct finding_evidence){.phase = place.phase, .line = place.line};
    if (place.file) evidence->file = place.file->file;
    if (place.process && place.process->process->has_rank && !place.process->process->group)
        evidence->rank[evidence->ranks++] = place.process->process->rank;
    va_list arguments;
    va_start(arguments, format);
    evidence->text = make_text(findings, format, arguments);
    va_end(arguments);
}

uint32_t find_phase(const struct findings *findings, unsigned direction) {
    const struct finding_phase *best = NULL;
    for (size_t i = 0; i < findings->phases; i++) {
        const struct finding_phase *phase = &findings->phase[i];
        if (phase->moves[direction] && (!best || phase->ns > best->ns)) best = phase;
    }
    return best ? best->id : 0;
}

const char *find_line(const struct findings *findings, unsigned class) {
    const struct facts_line *best = NULL;
    for (size_t i = 0; i < FACTS_LINES; i++) {
        const struct facts_line *line = &findings->facts->line[i];
        if (line->line && line->class == class && (!best || line->sum.ns > best->sum.ns)) best = line;
    }
    return best ? best->line : NULL;
}

struct find_place find_transfers(const struct findings *findings, unsigned direction) {
    return (struct find_place){.phase = find_phase(findings, direction),
                               .line = find_line(findings, direction ? CLASS_WRITE : CLASS_READ)};
}

// --- phases

static int add_phase(struct findings *findings, const struct model *model, uint32_t place) {
    const struct model_phase *phase = &model->phase[place];
    struct finding_phase *own = &findings->phase[findings->phases++];
    *own = (struct finding_phase){.id = place + 1, .ns = phase->duration_ns};
    struct op_summary *row;
    size_t rows;
    FORWARD(model_summarise_ops(model, &model->family[phase->family], &row, &rows));
    for (size_t i = 0; i < rows; i++) {
        if (row[i].moves) own->moves[row[i].kind->class == CLASS_WRITE] = true;
    }
    free(row);
    return 0;
}

// Evidence is about phases that take long: the longest ones are enough.
static int choose_phases(struct findings *findings, const struct model *model) {
    enum { MOST = 32 };
    uint32_t longest[MOST];
    size_t count = 0;
    for (uint32_t i = 0; i < model->phases; i++) {
        size_t at = count < MOST ? count : MOST - 1;
        if (count == MOST && model->phase[longest[at]].duration_ns >= model->phase[i].duration_ns) continue;
        for (; at > 0 && model->phase[longest[at - 1]].duration_ns < model->phase[i].duration_ns; at--)
            longest[at] = longest[at - 1];
        longest[at] = i;
        if (count < MOST) count++;
    }
    findings->phase = calloc(count + 1, sizeof *findings->phase);
    RETURN_IF(!findings->phase, -ENOMEM);
    for (size_t i = 0; i < count; i++) FORWARD(add_phase(findings, model, longest[i]));
    return 0;
}

// --- all findings

static int compare(const void *a, const void *b) {
    const struct finding *left = a, *right = b;
    if (left->severity != right->severity) return left->severity > right->severity ? -1 : 1;
    if (left->loses_data != right->loses_data) return left->loses_data ? -1 : 1;
    return left->ns > right->ns ? -1 : left->ns < right->ns;
}

// What findings claim from ranks should not exceed the I/O time of the rank with the most, which is what a reader
// compares it with.
double find_scale_of_ranks(const struct facts *facts) {
    int64_t most_ns = 0;
    for (size_t i = 0; facts->ranks && i < facts->processes; i++) {
        const struct facts_process *process = &facts->process[i];
        if (process->process->has_rank && process->io_ns > most_ns) most_ns = process->io_ns;
    }
    double any_ns = facts->wall.any_rank_ns;
    return most_ns && (double)most_ns < any_ns ? (double)most_ns / any_ns : 1;
}

static double stake_ns(const struct findings *findings) {
    const struct facts *facts = findings->facts;
    double scale = find_scale_of_ranks(facts), ns = 0;
    for (size_t i = 0; i < facts->processes; i++)
        ns += findings->of_process[i] * (facts->process[i].process->has_rank ? scale : 1);
    return ns;
}

static enum finding_severity severity_of(const struct finding *finding) {
    if (finding->low || finding->share < LIMIT_MEDIUM_SHARE || (double)finding->ns < LIMIT_MEDIUM_NS)
        return FINDING_LOW;
    return finding->share >= LIMIT_HIGH_SHARE ? FINDING_HIGH : FINDING_MEDIUM;
}

// The sum behind the stake, so that a reader can do it again.
static void show_sum(struct findings *findings, struct finding *finding) {
    struct find_taken taken = find_taken(findings);
    double calls = (double)taken.sum.calls, wall_ns = 0;
    if (!findings->claims) return;
    for (size_t i = 0; i < findings->claims; i++) wall_ns += findings->facts->grain[findings->claim[i].grain].wall_ns;
    struct human each = human_seconds((int64_t)((double)finding->ns / calls + 0.5));
    struct human mean = human_seconds(taken.sum.ns / (int64_t)taken.sum.calls);
    bool is_shared = wall_ns * find_scale_of_ranks(findings->facts) < 0.995 * (double)taken.sum.ns;
    find_evidence(findings, finding, (struct find_place){0},
                  is_shared ? "%s %s %s%s; calls in progress together share the time, %s%s is at stake"
                            : "%s %s %s%s, %s%s is at stake",
                  human_count(taken.sum.calls, "call").text, taken.sum.calls == 1 ? "takes" : "take", mean.text,
                  taken.sum.calls == 1 ? "" : " each on average", each.text, taken.sum.calls == 1 ? "" : " of each");
}

// Returns 1 if the finding is worth telling.
static int judge(struct findings *findings, struct finding *finding, const char *log_path) {
    double run_ns = findings->facts->run_ns > 0 ? (double)findings->facts->run_ns : 1;
    double ns = stake_ns(findings);
    finding->ns = (int64_t)(ns < run_ns ? ns : run_ns);
    finding->share = (double)finding->ns / run_ns;
    bool is_small = finding->share < LIMIT_LEAST_SHARE || ns < LIMIT_LEAST_NS;
    if (is_small && !finding->loses_data && !finding->without_time) return 0;
    show_sum(findings, finding);
    if (!finding->loses_data && !finding->without_time) FORWARD(find_doubt(findings, finding));
    FORWARD(find_gains(findings, finding));
    if (finding->low)
        find_evidence(findings, finding, (struct find_place){.process = finding->whose}, "ranked low: %s",
                      finding->low);
    finding->severity = severity_of(finding);
    finding->command = find_command(findings, finding, log_path);
    RETURN_IF(!finding->title || !finding->basis || !finding->reason || !finding->advice || !finding->command, -ENOMEM);
    for (size_t i = 0; i < finding->evidences; i++) RETURN_IF(!finding->evidence[i].text, -ENOMEM);
    return 1;
}

static int try_row(struct findings *findings, const struct row *row, const char *log_path) {
    FORWARD(array_room(findings->finding, findings->count));
    struct finding *finding = &findings->finding[findings->count];
    *finding = (struct finding){
        .id = row->id, .basis = row->basis, .reason = row->reason, .advice = row->advice, .command = row->command};
    find_claims_clear(findings);
    int found = row->find(findings, finding);
    if (found > 0) found = judge(findings, finding, log_path);
    if (found == 0) find_claims_give_back(findings);
    if (found > 0) findings->count++;
    if (found <= 0) free(finding->gain);
    return found < 0 ? found : 0;
}

int findings_make(struct findings *findings, struct facts *facts, const struct model *model,
                  const struct finding_profiles *profiles, const char *log_path) {
    *findings = (struct findings){.facts = facts, .model = model, .profiles = profiles};
    if (model) FORWARD(choose_phases(findings, model));
    FORWARD(find_claims_init(findings));
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) FORWARD(try_row(findings, &table[i], log_path));
    if (findings->count > 1) qsort(findings->finding, findings->count, sizeof *findings->finding, compare);
    return 0;
}

void findings_free(struct findings *findings) {
    find_claims_free(findings);
    find_gains_free(findings);
    for (size_t i = 0; i < findings->count; i++) free(findings->finding[i].gain);
    free(findings->finding);
    free(findings->phase);
    text_list_free(&findings->texts);
}
