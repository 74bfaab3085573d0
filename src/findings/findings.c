#include "findings/findings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "findings/find.h"

static const struct row {
    const char *id;
    find *find;
    const char *basis, *reason, *advice, *command; // defaults, which the function may replace
} table[] = {
    {"small-requests", find_small_requests,
     "time of these calls beyond the time of the same bytes in this log's large requests",
     "Every request has to reach the storage and return before the next one starts. The smaller a request, the more of "
     "its time is latency.",
     "Collect the data in memory and move it with few large calls (a megabyte or more), or use a library that buffers.",
     "ioseer phases --layer posix LOG"},
    {"random", find_random, "time of these calls beyond the time of sequential calls, in this log or in memory",
     "The system and the storage read ahead and combine writes only if requests follow each other. Otherwise each "
     "request takes the full latency.",
     "Sort requests by offset, store data that is used together in one place of the file, or read the whole region if "
     "it fits into memory.",
     "ioseer dump --file FILE LOG"},
    {"unaligned", find_unaligned,
     "time of these calls beyond the time of aligned calls of the same size and order in this log",
     "To write a part of a block, the system must read the block first. Processes that share a block wait for each "
     "other.",
     "Start records at multiples of the block size: pad headers, or set the alignment of the library "
     "(H5Pset_alignment, nc_header_align_size, striping_unit).",
     "ioseer stats --json LOG"},
    {"read-write-switching", find_switching,
     "time of these calls beyond the time of calls of the same size that follow a call of the same direction",
     "A change of direction ends read-ahead, and pending writes must complete before the read.",
     "Read all data of a step before writing any, or write to another file.", "ioseer phases LOG"},
    {"independent", find_independent,
     "time of the requests below these calls beyond the time in memory, minus the estimated time of collective calls: "
     "the exchange at this job's speed of communication, and large requests that take as long as the small ones do now",
     "Each process moves its own small pieces, although all pieces together are large contiguous parts of the file.",
     "Use collective calls (such as MPI_File_write_all) with one file view per process, and compare. Collective I/O "
     "exchanges data between processes; this must cost less than the requests that it saves.",
     "ioseer diff LOG COLLECTIVE-LOG"},
    {"collective", find_collective,
     "time in collective calls of the process that waits least in them, minus the time that its own pieces would take "
     "as requests of this log",
     "Collective I/O sends the data through a few processes, and all processes wait for each other. On storage that is "
     "fast with small requests, this takes longer than the requests would.",
     "Try the same calls with the hints romio_cb_write=disable and romio_cb_read=disable (or independent calls), and "
     "compare.",
     "ioseer diff LOG INDEPENDENT-LOG"},
    {"data-sieving", find_sieving, "time of the reads that MPI-IO makes in order to write",
     "To write separate pieces, MPI-IO reads the region around them, changes it and writes it back; on shared files "
     "under a lock.",
     "Set the hint romio_ds_write=disable, or write whole regions, and compare.",
     "ioseer dump --layer posix --class read LOG"},
    {"read-again", find_read_again, "time of the reads of this file whose bytes were read before; mean of its readers",
     "The same bytes come from the storage, or from the page cache, several times.",
     "Keep data in memory if it is needed again.", "ioseer dump --class read --file FILE LOG"},
    {"written-again", find_written_again,
     "time of the writes of this file whose bytes were written before; mean of its writers",
     "Data that is overwritten was written for nothing, unless a process read it in between.",
     "Keep intermediate results in memory, or write them to temporary storage (a local disk).",
     "ioseer dump --class write --file FILE LOG"},
    {"cache", find_cache, "time of these reads now; from the storage they would take longer",
     "The page cache keeps recent data. With less memory, more data, or a restart on other nodes, these reads reach "
     "the storage.",
     "Do not mistake their speed for that of the storage. To measure the storage, read more data than fits into "
     "memory, or data that another node wrote.",
     "ioseer replay LOG --on DIR"},
    {"one-rank", find_one_rank, "time of this rank's transfers, minus its fair share",
     "One process has one connection to the storage and the memory of one node. All data must go through it, and the "
     "other processes wait.",
     "Let each rank move its own part: with MPI-IO on one shared file, or with one file per rank.",
     "ioseer phases LOG"},
    {"slow-rank", find_slow_rank, "time of its requests beyond that of the median process, which moves as many bytes",
     "All processes wait for the slowest one. It moves as many bytes as the others, so the reason is its node, its "
     "connection, or the part of the storage that holds its data.",
     "Check whether another run shows the same node or server. Compare the files and offsets of this process with "
     "those of the others.",
     "ioseer stats --per-rank LOG"},
    {"waiting", find_waiting,
     "the smaller of two times: the ranks' mean time in barriers, and the I/O time of the busiest rank beyond the mean",
     "A barrier ends when the last rank reaches it, so all ranks wait for the I/O of one.",
     "Distribute the I/O over the ranks, overlap it with computation (nonblocking calls), or remove barriers that only "
     "surround it.",
     "ioseer info LOG"},
    {"slow-file", find_slow_file,
     "time of this file's requests beyond the time of the same bytes in other files; mean of its processes",
     "Requests of the same size take longer here: the file is on a slower or busier part of the storage, or is striped "
     "over fewer servers.",
     "Check where the file is and how it is striped. Write it again elsewhere and compare.", "ioseer stats LOG"},
    {"contention", find_contention,
     "time during which several processes use the file, beyond the time of the same bytes when one process is alone",
     "Processes that share a file wait for its locks. If their parts meet in one block or stripe, the lock moves back "
     "and forth between them.",
     "Give each process parts that begin at block or stripe boundaries, let fewer processes write (collective "
     "buffering), or use one file per process.",
     "ioseer phases LOG"},
    {"metadata", find_metadata,
     "time in these calls of the process with the most, beyond the time in memory; repeated opens and stats of a file "
     "are separate findings",
     "Few servers keep names, sizes and permissions, and each call waits for their answer. Many files mean many such "
     "calls for few bytes.",
     "Put many small files into few large ones (HDF5, an archive), create files in several folders, and list a folder "
     "instead of looking up each name.",
     "ioseer dump --class open LOG"},
    {"opens", find_opens, "time of repeated opens of a file by the same process, and of their closes",
     "Each open asks the servers for the name, the permissions and the location of the file.",
     "Keep the file open between uses.", "ioseer dump --class open --file FILE LOG"},
    {"stats", find_stats,
     "time of repeated calls (stat and the like) by which a process asks for the attributes of the same file",
     "On shared file systems each such call asks the servers, which may have to take locks from processes that write "
     "the file.",
     "Call it once and keep the result. To wait for a file, use a message or inotify, not repeated calls.",
     "ioseer dump --class meta --file FILE LOG"},
    {"syncs", find_syncs, "time of repeated syncs of a file by the same process",
     "A sync waits until all data has passed the caches and is on the storage. Frequent syncs prevent that writes are "
     "combined.",
     "Sync only when a result must survive a crash, such as at the end of a checkpoint, not after each record.",
     "ioseer dump --class sync LOG"},
};

// A smaller part of the run time is not worth a finding.
#define LEAST_SHARE 0.005

const char *finding_severity_name(enum finding_severity severity) {
    static const char *const names[] = {"low", "medium", "high"};
    return names[severity];
}

// --- shared by the functions

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
    if (place.process && place.process->process->has_rank)
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

static const struct facts_sum *sum_at(const void *object, size_t offset) {
    return (const struct facts_sum *)((const char *)object + offset);
}

struct find_most find_most_at(const struct facts *facts, size_t offset) {
    struct find_most most = {.ns = -1};
    for (size_t i = 0; i < facts->processes; i++) {
        const struct facts_sum *sum = sum_at(&facts->process[i], offset);
        if (!sum->calls) continue;
        facts_sum_join(&most.all, sum);
        if (sum->ns <= most.ns) continue;
        most.ns = sum->ns;
        most.process = &facts->process[i];
    }
    return most;
}

const struct facts_file *find_file_at(const struct facts *facts, size_t offset) {
    const struct facts_file *best = NULL;
    int64_t most_ns = 0;
    for (size_t i = 0; i < facts->files; i++) {
        const struct facts_file *file = facts->file[i];
        if (!file || sum_at(file, offset)->ns <= most_ns) continue;
        most_ns = sum_at(file, offset)->ns;
        best = file;
    }
    return best;
}

// --- phases

static int add_phase(struct findings *findings, const struct model *model, uint32_t place) {
    const struct model_phase *phase = &model->phase[place];
    struct finding_phase *own = &findings->phase[findings->phases++];
    *own = (struct finding_phase){.id = place + 1, .ns = phase->duration_ns};
    struct op_summary *row;
    size_t rows;
    FORWARD(model_summarise_ops(model, &model->family[phase->family], &row, &rows));
    for (size_t i = 0; i < rows; i++) own->moves[row[i].class == CLASS_WRITE] = true;
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
    return left->ns > right->ns ? -1 : left->ns < right->ns;
}

static int try_row(struct findings *findings, const struct row *row, const char *log_path) {
    FORWARD(array_room(findings->finding, findings->count));
    struct finding *finding = &findings->finding[findings->count];
    *finding = (struct finding){
        .id = row->id, .basis = row->basis, .reason = row->reason, .advice = row->advice, .command = row->command};
    int found = row->find(findings, finding);
    if (found <= 0) return found;
    int64_t run_ns = findings->facts->run_ns > 0 ? findings->facts->run_ns : 1;
    if (finding->ns > run_ns) finding->ns = run_ns;
    finding->share = (double)finding->ns / (double)run_ns;
    if (finding->share < LEAST_SHARE) return 0;
    finding->severity = finding->share >= 0.1 ? FINDING_HIGH : finding->share >= 0.01 ? FINDING_MEDIUM : FINDING_LOW;
    finding->command = find_command(findings, finding, log_path);
    RETURN_IF(!finding->title || !finding->basis || !finding->reason || !finding->advice || !finding->command, -ENOMEM);
    for (size_t i = 0; i < finding->evidences; i++) RETURN_IF(!finding->evidence[i].text, -ENOMEM);
    findings->count++;
    return 0;
}

int findings_make(struct findings *findings, const struct facts *facts, const struct model *model,
                  const char *log_path) {
    *findings = (struct findings){.facts = facts};
    if (model) FORWARD(choose_phases(findings, model));
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) FORWARD(try_row(findings, &table[i], log_path));
    if (findings->count > 1) qsort(findings->finding, findings->count, sizeof *findings->finding, compare);
    return 0;
}

void findings_free(struct findings *findings) {
    free(findings->finding);
    free(findings->phase);
    text_list_free(&findings->texts);
}
