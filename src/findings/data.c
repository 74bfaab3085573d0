// Data that was moved more than once, and reads that were served from memory.
#include "findings/find.h"

// The file with the most time spent on bytes that had been moved before.
static const struct facts_file *most_again(const struct facts *facts, unsigned direction, double *ns) {
    const struct facts_file *best = NULL;
    *ns = 0;
    for (size_t i = 0; i < facts->files; i++) {
        const struct facts_file *file = facts->file[i];
        if (!file || !file->again[direction] || file->extents[direction].given_up) continue;
        const struct facts_sum *sum = &file->request[direction];
        if (!sum->bytes) continue;
        double again = (double)sum->ns * (double)file->again[direction] / (double)sum->bytes;
        // Processes work at the same time.
        again /= file->processes[direction] ? file->processes[direction] : 1;
        if (again <= *ns) continue;
        *ns = again;
        best = file;
    }
    return best;
}

// A process can read for others only what they read, too.
static const char *advice_on_reads(const struct facts *facts, const struct facts_file *file, uint64_t once,
                                   const char *usual) {
    uint64_t again = file->again[FACTS_READ], own = file->read_by_itself < again ? file->read_by_itself : again;
    if (file->processes[FACTS_READ] > 1 && file->read_by_unknown)
        return "Keep data in memory if it is needed again. If several processes need the same data, let one read it "
               "and send it to the others.";
    if (file->processes[FACTS_READ] <= 1 || (again - own) * 2 <= once) return usual;
    return facts->ranks ? "Let one process read the data that all need and send it to the others (MPI_Bcast), or use a "
                          "collective read."
                        : "Let one process read the data that all need and share it with the others.";
}

// Fills in what reads and writes share. Returns the file, and how many bytes would have been enough; NULL if there is
// none.
static const struct facts_file *moved_again(struct findings *findings, struct finding *finding, unsigned direction,
                                            uint64_t *once) {
    double ns;
    const struct facts_file *file = most_again(findings->facts, direction, &ns);
    if (!file) return NULL;
    const struct facts_sum *sum = &file->request[direction];
    struct find_place place = find_transfers(findings, direction);
    place.file = file;
    *once = sum->bytes > file->again[direction] ? sum->bytes - file->again[direction] : 1;
    finding->ns = (int64_t)ns;
    finding->title = find_text(findings, "%s of a file were %s %.1f times", human_bytes(*once).text,
                               direction ? "written" : "read", (double)sum->bytes / (double)*once);
    find_evidence(findings, finding, place,
                  direction ? "%s written by %s; %s of them overwrite bytes that were written before"
                            : "%s by %s; %s of them had been read before",
                  human_bytes(sum->bytes).text, human_count(file->processes[direction], "process").text,
                  human_bytes(file->again[direction]).text);
    return file;
}

int find_read_again(struct findings *findings, struct finding *finding) {
    uint64_t once;
    const struct facts_file *file = moved_again(findings, finding, FACTS_READ, &once);
    if (file) finding->advice = advice_on_reads(findings->facts, file, once, finding->advice);
    return file != NULL;
}

int find_written_again(struct findings *findings, struct finding *finding) {
    uint64_t once;
    return moved_again(findings, finding, FACTS_WRITE, &once) != NULL;
}

int find_cache(struct findings *findings, struct finding *finding) {
    const struct facts *facts = findings->facts;
    struct facts_sum remembered = {0}, fetched = {0};
    const struct facts_file *most = NULL;
    for (size_t i = 0; i < facts->files; i++) {
        const struct facts_file *file = facts->file[i];
        if (!file) continue;
        facts_sum_join(&remembered, &file->remembered);
        facts_sum_join(&fetched, &file->fetched);
        if (!most || file->remembered.bytes > most->remembered.bytes) most = file;
    }
    uint64_t readers = most ? most->processes[FACTS_READ] : 0;
    if (!remembered.bytes || !readers) return 0;
    // Only reads that reached the storage show its speed.
    double each = fetched.bytes >= 1 << 20 ? (double)fetched.ns / (double)fetched.bytes : 0;
    double more = (each * (double)remembered.bytes - (double)remembered.ns) / (double)readers;
    if (more <= 0) more = (double)remembered.ns / (double)readers;
    finding->ns = (int64_t)more;
    if (each * (double)remembered.bytes > (double)remembered.ns)
        finding->basis =
            "how much longer these reads would take at the speed of this log's other reads; mean of the readers";
    finding->title =
        find_text(findings, "%s were read from memory, not from storage: the job had just written or read them",
                  human_bytes(remembered.bytes).text);
    find_evidence(findings, finding, (struct find_place){.file = most, .phase = find_phase(findings, FACTS_READ)},
                  "%s in %s, served from memory", human_count(most->remembered.calls, "read").text,
                  human_seconds(most->remembered.ns).text);
    return 1;
}
