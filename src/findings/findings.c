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
     "time of these calls beyond what their bytes take in the large requests of this log",
     "Every request has to reach the storage and come back before the next one starts; the smaller it is, the more of "
     "its time is the way and not the data.",
     "Collect the data in memory and move it with few large calls (a megabyte and more), or through a library that "
     "buffers.",
     "ioseer phases --layer posix LOG"},
    {"random", find_random, "time of these calls beyond that of calls in order, in this log or in memory",
     "Storage and the system read ahead and put writes together only where requests follow each other; elsewhere each "
     "one pays the way on its own.",
     "Sort the requests by offset before making them, keep what is used together next to each other in the file, or "
     "read the region whole if it fits into memory.",
     "ioseer dump --file FILE LOG"},
    {"unaligned", find_unaligned, "time of these calls beyond that of aligned ones of their size and order in this log",
     "A part of a block is written by reading it first; neighbours that share a block wait for each other.",
     "Start records at multiples of the block size: pad headers, or set the alignment of the library "
     "(H5Pset_alignment, nc_header_align_size, striping_unit).",
     "ioseer stats --json LOG"},
    {"read-write-switching", find_switching,
     "time of these calls beyond that of others of their size that follow one of the same direction",
     "A change of direction ends reading ahead and makes pending writes go out before the read.",
     "Read all that a step needs before writing any of it, or keep what is rewritten in another file.",
     "ioseer phases LOG"},
    {"independent", find_independent,
     "time of the requests below these calls beyond memory's, less what collective calls would take: their exchange "
     "at this job's speed of communication, and large requests as slow as the small ones are now",
     "Each process moves its own small pieces, although the pieces of all processes together are large and contiguous "
     "parts of the file.",
     "Make the calls collective (MPI_File_write_all and its kin) with one file view for each process, and compare: "
     "collective I/O exchanges data between processes, which must cost less than the requests it saves.",
     "ioseer diff LOG COLLECTIVE-LOG"},
    {"collective", find_collective,
     "time in collective calls of the process that waits least in them, less what its own pieces would take as "
     "requests of this log",
     "Collective I/O sends the data through a few processes and makes all wait for each other; on storage that is "
     "quick with small requests this takes longer than the requests would.",
     "Try the same calls with the hints romio_cb_write=disable and romio_cb_read=disable (or independent calls), and "
     "compare.",
     "ioseer diff LOG INDEPENDENT-LOG"},
    {"data-sieving", find_sieving, "time of the reads that MPI-IO made in order to write",
     "Pieces that lie apart are written by reading the region around them, changing it, and writing it back, under a "
     "lock on shared files.",
     "Set the hint romio_ds_write=disable, or give MPI-IO whole regions to write; then compare.",
     "ioseer dump --layer posix --class read LOG"},
    {"read-again", find_read_again,
     "time of the reads of this file, as far as their bytes had been read before; mean of its readers",
     "The same bytes come from the storage, or from the system's memory, again and again.",
     "Keep in memory what is needed again.", "ioseer dump --class read --file FILE LOG"},
    {"written-again", find_written_again,
     "time of the writes of this file, as far as their bytes had been written before; mean of its writers",
     "What is overwritten was moved for nothing, unless something read it in between.",
     "Hold intermediate results in memory, or write them where nothing has to be kept (a local disk).",
     "ioseer dump --class write --file FILE LOG"},
    {"cache", find_cache, "time of these reads now: from the storage they would take longer",
     "The system keeps what was moved last. With less memory, more data, or a restart on other nodes these reads "
     "reach the storage.",
     "Do not take their speed for that of the storage; to know it, read data that is larger than memory or written by "
     "another node.",
     "ioseer replay LOG --on DIR"},
    {"one-rank", find_one_rank, "time of this rank's transfers, less the share that would be its own",
     "One process uses one connection to the storage and the memory of one node, and all data has to get to it first; "
     "the others wait.",
     "Let all ranks move their own parts: MPI-IO on one shared file, or a file for each rank.", "ioseer phases LOG"},
    {"slow-rank", find_slow_rank,
     "time of its requests beyond that of the process in the middle, which moves as many bytes",
     "All wait for the slowest. With as many bytes, the difference is the node, its connection, or the part of the "
     "storage that holds this process's data.",
     "See whether it is the same node, or the same server, in another run; compare the files and offsets that this "
     "process uses with those of the others.",
     "ioseer stats --per-rank LOG"},
    {"waiting", find_waiting,
     "the lesser of two: the ranks' mean time in barriers, and the I/O time of the busiest beyond the mean",
     "A barrier ends when the last rank reaches it; time that one spends in I/O is then time of all.",
     "Spread the I/O over the ranks, let it run beside the computation (nonblocking calls), or drop barriers that "
     "only surround it.",
     "ioseer info LOG"},
    {"slow-file", find_slow_file,
     "time of this file's requests beyond what their bytes take in the other files; mean of its processes",
     "Requests of the same size take longer here: the file lies on a slower or busier part of the storage, or is "
     "spread over fewer servers.",
     "Look at where the file lies and how it is striped; write it again elsewhere and compare.", "ioseer stats LOG"},
    {"contention", find_contention,
     "time during which several processes were at it, beyond what their bytes take when one is alone",
     "Processes that share a file wait for its locks; where their parts meet in one block or stripe, they take it "
     "from each other.",
     "Give each process parts that begin at block or stripe boundaries, let fewer processes write (collective "
     "buffering), or use a file for each.",
     "ioseer phases LOG"},
    {"metadata", find_metadata,
     "time in such calls of the process with the most, beyond memory's; opens and stats of a file again are left out",
     "Names, sizes and rights are kept by few servers, and each call waits for its answer; many files mean many such "
     "calls for few bytes.",
     "Put many small files into few large ones (HDF5, an archive), make them in several folders, and list a folder "
     "instead of asking for each name.",
     "ioseer dump --class open LOG"},
    {"opens", find_opens, "time of the opens of a file that the same process had opened before, and of their closes",
     "Opening asks the servers for the name, the rights and the place of the file each time.",
     "Keep the file open between uses.", "ioseer dump --class open --file FILE LOG"},
    {"stats", find_stats, "time of the calls that ask for a file's state which the same process had asked for before",
     "On shared file systems the size and times of a file are asked from the servers each time, which take locks from "
     "those that write it.",
     "Ask once and remember; wait for a file by a message or by inotify, not by asking.",
     "ioseer dump --class meta --file FILE LOG"},
    {"syncs", find_syncs, "time of the syncs of a file that the same process had synced before",
     "A sync waits until all is on the storage, its caches included; nothing is put together meanwhile.",
     "Sync where a result must survive a crash, such as the end of a checkpoint, not after each record.",
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
