// Calls that move no data.
#include "findings/find.h"

static bool is_meta(const struct facts_grain *grain) {
    return grain->traits.kind >= KIND_OPEN && grain->traits.kind <= KIND_META;
}

// --- repeated calls

// Claims the calls of this kind that a process made again on the same file, and how often the most frequent one was.
static int claim_repeated(struct findings *findings, unsigned kind, unsigned counted, const struct facts_use **most) {
    const struct facts *facts = findings->facts;
    for (size_t i = 0; i < facts->grains; i++) {
        const struct facts_grain *grain = &facts->grain[i];
        const struct facts_use *use = find_use(findings, grain);
        if (grain->traits.kind != kind || !grain->traits.repeated || use->count[counted] <= LIMIT_PATTERN_CALLS)
            continue;
        if (!*most || use->count[counted] > (*most)->count[counted]) *most = use;
        FORWARD(find_claim_typical(findings, grain));
    }
    return 0;
}

static void show_use(struct findings *findings, struct finding *finding, const struct facts_use *use, unsigned kind,
                     const char *what) {
    const struct facts *facts = findings->facts;
    find_evidence(findings, finding,
                  (struct find_place){.file = facts->file[use->file],
                                      .process = &facts->process[use->process],
                                      .line = find_line(findings, finding->class)},
                  "one process %s %s", what, human_count(use->count[kind], "time").text);
    struct find_taken taken = find_taken(findings);
    if (taken.files > 1)
        find_evidence(findings, finding, (struct find_place){0}, "the same with %s",
                      human_count(taken.files - 1, "other file").text);
}

int find_opens(struct findings *findings, struct finding *finding) {
    const struct facts_use *most = NULL;
    FORWARD(claim_repeated(findings, KIND_OPEN, KIND_OPEN, &most));
    uint64_t opens = find_taken(findings).sum.calls;
    if (!most) return 0;
    FORWARD(claim_repeated(findings, KIND_CLOSE, KIND_OPEN, &most));
    finding->class = CLASS_OPEN;
    finding->title = find_text(findings, "Files were opened %s by processes that had opened them before",
                               human_count(opens, "time").text);
    show_use(findings, finding, most, KIND_OPEN, "opened this file");
    return 1;
}

int find_stats(struct findings *findings, struct finding *finding) {
    const struct facts_use *most = NULL;
    FORWARD(claim_repeated(findings, KIND_STAT, KIND_STAT, &most));
    if (!most) return 0;
    finding->class = CLASS_META;
    finding->title =
        find_text(findings, "Processes asked %s for the attributes of files that they had asked for before",
                  human_count(find_taken(findings).sum.calls, "time").text);
    show_use(findings, finding, most, KIND_STAT, "asked for this file's");
    return 1;
}

int find_syncs(struct findings *findings, struct finding *finding) {
    const struct facts_use *most = NULL;
    FORWARD(claim_repeated(findings, KIND_SYNC, KIND_SYNC, &most));
    struct find_taken taken = find_taken(findings);
    if (!most || !taken.file) return 0;
    struct facts_sum sum = find_taken_of(findings, taken.file);
    finding->class = CLASS_SYNC;
    finding->title = find_text(findings, "%s of files that had been synced before, %s each",
                               human_count(taken.sum.calls, "sync").text, find_each(&taken.sum).text);
    find_evidence(
        findings, finding,
        (struct find_place){taken.file, NULL, find_phase(findings, FACTS_WRITE), find_line(findings, CLASS_SYNC)},
        "%s of this file, one for %s written", human_count(sum.calls, "sync").text,
        human_bytes(taken.file->request[FACTS_WRITE].bytes / sum.calls).text);
    return 1;
}

// --- all other calls on names, and the requests of files that are too small for more than one

static bool is_small_file(const struct facts_file *file) {
    return file && file->request[FACTS_READ].bytes + file->request[FACTS_WRITE].bytes <= LIMIT_SMALL_FILE_BYTES &&
           file->request[FACTS_READ].calls + file->request[FACTS_WRITE].calls <= 4;
}

struct names {
    struct facts_sum kind[KIND_COUNT];
    uint64_t small_files; // with bytes
    uint64_t bytes;       // in these
    double slow_ns;       // in calls that wait for storage or a server
};

static void count_files(const struct facts *facts, struct names *names) {
    for (size_t i = 0; i < facts->files; i++) {
        const struct facts_file *file = facts->file[i];
        if (!is_small_file(file)) continue;
        uint64_t bytes = file->request[FACTS_READ].bytes + file->request[FACTS_WRITE].bytes;
        names->small_files += bytes > 0;
        names->bytes += bytes;
    }
}

// Whether most of these calls waited for storage or a server.
static bool is_slow(const struct facts_cell *cell, const struct facts_file *file) {
    double limit_ns = find_is_local(file) ? LIMIT_META_LOCAL_NS : LIMIT_META_MEMORY_NS;
    return cell->sum.calls >= LIMIT_COMPARED_CALLS && (double)facts_quantile_ns(cell, 0.25) > limit_ns;
}

// Calls that are served from memory take about as long as half of them do; the rest is pauses, often of few calls.
static int claim_fast(struct findings *findings, const struct facts_grain *grain, const struct facts_cell *cell) {
    double ns = 2 * (double)facts_quantile_ns(cell, 0.5) * (double)cell->sum.calls;
    double part = cell->sum.ns > 0 ? ns / (double)cell->sum.ns : 0, typical = facts_part_beyond(cell, 0);
    return find_claim_part(findings, grain, part < typical ? part : typical);
}

static int claim_names(struct findings *findings, struct names *names) {
    const struct facts *facts = findings->facts;
    for (size_t i = 0; i < facts->grains; i++) {
        const struct facts_grain *grain = &facts->grain[i];
        bool is_small = names->small_files >= LIMIT_SMALL_FILES && find_is_request(grain) &&
                        is_small_file(find_file(findings, grain));
        if (!is_meta(grain) && !is_small) continue;
        const struct facts_cell *cell = find_cell(findings, grain);
        facts_sum_join(&names->kind[grain->traits.kind], &grain->sum);
        bool slow = is_slow(cell, find_file(findings, grain));
        if (slow) names->slow_ns += grain->left_ns;
        FORWARD(slow ? find_claim_typical(findings, grain) : claim_fast(findings, grain, cell));
    }
    return 0;
}

static void show_names(struct findings *findings, struct finding *finding, const struct names *names) {
    static const struct {
        const char *noun;
        unsigned class;
    } kinds[KIND_COUNT] = {[KIND_READ] = {"read", CLASS_READ}, [KIND_WRITE] = {"write", CLASS_WRITE},
                           [KIND_OPEN] = {"open", CLASS_OPEN}, [KIND_CLOSE] = {"close", CLASS_CLOSE},
                           [KIND_STAT] = {"stat", CLASS_META}, [KIND_META] = {"other call", CLASS_META}};
    int64_t all_ns = 0;
    for (unsigned kind = 0; kind < KIND_COUNT; kind++) all_ns += names->kind[kind].ns;
    for (unsigned kind = 0; kind < KIND_COUNT; kind++) {
        const struct facts_sum *sum = &names->kind[kind];
        if (!sum->calls || sum->ns * 4 < all_ns) continue;
        find_evidence(findings, finding,
                      (struct find_place){.process = find_taken(findings).process,
                                          .line = find_line(findings, kinds[kind].class)},
                      "%s, %s each", human_count(sum->calls, kinds[kind].noun).text, find_each(sum).text);
    }
}

int find_metadata(struct findings *findings, struct finding *finding) {
    struct names names = {0};
    count_files(findings->facts, &names);
    FORWARD(claim_names(findings, &names));
    struct find_taken taken = find_taken(findings);
    if (taken.sum.calls < 2 * LIMIT_PATTERN_CALLS || taken.files < LIMIT_PATTERN_CALLS) return 0;
    if (names.small_files >= LIMIT_SMALL_FILES) {
        finding->title = find_text(findings, "%s of %s on average: most time goes into opening and closing them",
                                   human_count(names.small_files, "small file").text,
                                   human_bytes(names.bytes / names.small_files).text);
    } else {
        finding->title = find_text(findings, "%s on %s", human_count(taken.sum.calls, "metadata call").text,
                                   human_count(taken.files, "file").text);
    }
    show_names(findings, finding, &names);
    if (names.slow_ns * 2 < taken.ns) {
        finding->is_low = true;
        finding->advice = "Nothing, on this storage: it answers from memory. On shared storage each of these calls "
                          "would wait for a server; there, few large files (HDF5, an archive) are faster.";
    } else if (find_is_remote(taken.file)) {
        finding->reason = "Servers keep names, sizes and permissions, and each call waits for their answer. Many files "
                          "mean many such calls for few bytes.";
    }
    return 1;
}
