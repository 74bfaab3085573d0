// Data that was moved more than once.
#include <errno.h>
#include <stdlib.h>

#include "base/scoped.h"
#include "findings/find.h"

static bool is_again(const struct facts_file *file, unsigned direction) {
    uint64_t again = direction ? file->for_nothing : file->again[FACTS_READ];
    bool given_up = direction ? file->unread.given_up : file->extents[FACTS_READ].given_up;
    return !given_up && (double)again >= LIMIT_AGAIN_PART * (double)file->request[direction].bytes;
}

// Fills in what reads and writes share. *once is how many bytes of the file with the most time would have been enough.
static int moved_again(struct findings *findings, struct finding *finding, unsigned direction, uint64_t *once,
                       const struct facts_file **file) {
    const struct facts *facts = findings->facts;
    double slow_ns = 0;
    SCOPED_FREE bool *is_filled = calloc(facts->files + 1, sizeof *is_filled);
    RETURN_IF(!is_filled, -ENOMEM);
    if (direction == FACTS_WRITE && find_is_told(findings, "fill-values"))
        FORWARD(find_filled_files(findings, is_filled));
    for (size_t i = 0; i < facts->grains; i++) {
        const struct facts_grain *grain = &facts->grain[i];
        const struct facts_file *own = find_file(findings, grain);
        if (!find_is_request(grain) || grain->traits.kind != direction || !grain->traits.again || !own) continue;
        if (!is_again(own, direction)) continue;
        // Once is too often: which of the two writes is the needless one has been said.
        if (is_filled[find_use(findings, grain)->file] && grain->traits.library) continue;
        if (!facts_at_memory_speed(find_cell(findings, grain))) slow_ns += grain->left_ns;
        FORWARD(find_claim_typical(findings, grain));
    }
    struct find_taken taken = find_taken(findings);
    if (!taken.file) return 0;
    if (slow_ns * 2 < taken.ns) finding->low = "these calls are served from memory";
    *file = taken.file;
    const struct facts_sum *sum = &taken.file->request[direction];
    uint64_t again = direction ? taken.file->for_nothing : taken.file->again[FACTS_READ];
    struct find_place place = find_transfers(findings, direction);
    place.file = taken.file;
    *once = sum->bytes > again ? sum->bytes - again : 1;
    finding->class = direction ? CLASS_WRITE : CLASS_READ;
    finding->title = find_text(findings, "%s of a file were %s %.1f times", human_bytes(*once).text,
                               direction ? "written" : "read", (double)sum->bytes / (double)*once);
    find_evidence(findings, finding, place,
                  direction ? "%s written by %s; %s of them were overwritten before anything read them"
                            : "%s by %s; %s of them had been read before",
                  human_bytes(sum->bytes).text, human_count(taken.file->processes[direction], "process").text,
                  human_bytes(again).text);
    if (taken.files > 1)
        find_evidence(findings, finding, (struct find_place){0}, "and the same in %s",
                      human_count(taken.files - 1, "other file").text);
    return 1;
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

int find_read_again(struct findings *findings, struct finding *finding) {
    uint64_t once;
    const struct facts_file *file;
    int found = moved_again(findings, finding, FACTS_READ, &once, &file);
    if (found > 0) finding->advice = advice_on_reads(findings->facts, file, once, finding->advice);
    return found;
}

int find_written_again(struct findings *findings, struct finding *finding) {
    uint64_t once;
    const struct facts_file *file;
    return moved_again(findings, finding, FACTS_WRITE, &once, &file);
}
