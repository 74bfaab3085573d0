// Data that was moved more than once, and reads that no disk had a part in.
#include "findings/find.h"

// The file with the most time spent on bytes that had been moved before.
static const struct facts_file *most_again(const struct facts *facts, unsigned direction, double *ns)
{
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

// One process can only send to others what these read, too.
static const char *advice_on_reads(const struct facts *facts, const struct facts_file *file, uint64_t once)
{
    uint64_t again = file->again[FACTS_READ], own = file->read_by_itself < again ? file->read_by_itself : again;
    if (file->processes[FACTS_READ] > 1 && file->read_by_unknown)
        return "Keep in memory what is needed again. What several processes need, let one read and send to the others.";
    if (file->processes[FACTS_READ] <= 1 || (again - own) * 2 <= once) return "Keep in memory what is needed again.";
    return facts->ranks
               ? "Let one process read what all need and send it to the others (MPI_Bcast), or use a collective "
                 "read."
               : "Let one process read what all need and share it with the others.";
}

int find_read_again(struct findings *findings, struct finding *finding)
{
    double ns;
    const struct facts_file *file = most_again(findings->facts, FACTS_READ, &ns);
    if (!file) return 0;
    const struct facts_sum *sum = &file->request[FACTS_READ];
    uint64_t once = sum->bytes > file->again[FACTS_READ] ? sum->bytes - file->again[FACTS_READ] : 1;
    finding->ns = (int64_t)ns;
    finding->basis = "time of the reads of this file, as far as their bytes had been read before; mean of its readers";
    finding->title = find_text(findings, "%s of a file were read %.1f times", human_bytes(once).text,
                               (double)sum->bytes / (double)once);
    struct finding_evidence *evidence = find_evidence(
        finding,
        find_text(findings, "%s by %s; %s of them had been read before", human_bytes(sum->bytes).text,
                  human_count(file->processes[FACTS_READ], "process").text, human_bytes(file->again[FACTS_READ]).text));
    evidence->file = file->file;
    evidence->phase = find_phase(findings, FACTS_READ);
    evidence->line = find_line(findings, CLASS_READ);
    finding->reason = "The same bytes come from the storage, or from the system's memory, again and again.";
    finding->advice = advice_on_reads(findings->facts, file, once);
    finding->command = "ioseer dump --class read --file FILE LOG";
    return 1;
}

int find_written_again(struct findings *findings, struct finding *finding)
{
    double ns;
    const struct facts_file *file = most_again(findings->facts, FACTS_WRITE, &ns);
    if (!file) return 0;
    const struct facts_sum *sum = &file->request[FACTS_WRITE];
    uint64_t once = sum->bytes > file->again[FACTS_WRITE] ? sum->bytes - file->again[FACTS_WRITE] : 1;
    finding->ns = (int64_t)ns;
    finding->basis =
        "time of the writes of this file, as far as their bytes had been written before; mean of its writers";
    finding->title = find_text(findings, "%s of a file were written %.1f times", human_bytes(once).text,
                               (double)sum->bytes / (double)once);
    struct finding_evidence *evidence = find_evidence(
        finding, find_text(findings, "%s written by %s; %s of them over what had been written before",
                           human_bytes(sum->bytes).text, human_count(file->processes[FACTS_WRITE], "process").text,
                           human_bytes(file->again[FACTS_WRITE]).text));
    evidence->file = file->file;
    evidence->phase = find_phase(findings, FACTS_WRITE);
    evidence->line = find_line(findings, CLASS_WRITE);
    finding->reason = "What is overwritten was moved for nothing, unless something read it in between.";
    finding->advice = "Hold intermediate results in memory, or write them where nothing has to be kept (a local disk).";
    finding->command = "ioseer dump --class write --file FILE LOG";
    return 1;
}

int find_cache(struct findings *findings, struct finding *finding)
{
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
    // What storage delivers is told by the reads that reached it.
    double each = fetched.bytes >= 1 << 20 ? (double)fetched.ns / (double)fetched.bytes : 0;
    double more = (each * (double)remembered.bytes - (double)remembered.ns) / (double)readers;
    if (more <= 0) more = (double)remembered.ns / (double)readers;
    finding->ns = (int64_t)more;
    finding->basis =
        each * (double)remembered.bytes > (double)remembered.ns
            ? "what these reads would take longer at the speed of this log's other reads; mean of the readers"
            : "time of these reads now: from the storage they would take longer";
    finding->title =
        find_text(findings, "%s were read from memory, not from storage: the job had just written or read them",
                  human_bytes(remembered.bytes).text);
    struct finding_evidence *evidence = find_evidence(
        finding, find_text(findings, "%s in %s, which no storage did", human_count(most->remembered.calls, "read").text,
                           human_seconds(most->remembered.ns).text));
    evidence->file = most->file;
    evidence->phase = find_phase(findings, FACTS_READ);
    finding->reason =
        "The system keeps what was moved last. With less memory, more data, or a restart on other nodes these "
        "reads reach the storage.";
    finding->advice =
        "Do not take their speed for that of the storage; to know it, read data that is larger than memory or "
        "written by another node.";
    finding->command = "ioseer replay LOG --on DIR";
    return 1;
}
