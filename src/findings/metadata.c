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
    show_use(findings, finding, most, KIND_STAT, "asked for this file's attributes");
    return 1;
}

// Bytes that the program wrote to the file; 0 if stdio was used, whose calls do not show when bytes reach the file.
static uint64_t written_bytes(const struct findings *findings, const struct facts_file *file) {
    const struct facts *facts = findings->facts;
    for (size_t i = 0; i < facts->grains; i++) {
        const struct facts_grain *grain = &facts->grain[i];
        if (grain->traits.kind == KIND_REST && grain->sum.bytes && find_file(findings, grain) == file) return 0;
    }
    return file->request[FACTS_WRITE].bytes;
}

int find_syncs(struct findings *findings, struct finding *finding) {
    const struct facts_use *most = NULL;
    FORWARD(claim_repeated(findings, KIND_SYNC, KIND_SYNC, &most));
    struct find_taken taken = find_taken(findings);
    if (!most || !taken.file) return 0;
    struct facts_sum sum = find_taken_of(findings, taken.file);
    finding->class = CLASS_SYNC;
    finding->title = find_text(findings, "%s of files that had been synced before, %s",
                               human_count(taken.sum.calls, "sync").text, find_each(&taken.sum).text);
    uint64_t bytes = written_bytes(findings, taken.file);
    const char *each = bytes ? find_text(findings, ", one for %s written", human_bytes(bytes / sum.calls).text) : "";
    RETURN_IF(!each, -ENOMEM);
    find_evidence(
        findings, finding,
        (struct find_place){taken.file, NULL, find_phase(findings, FACTS_WRITE), find_line(findings, CLASS_SYNC)},
        "%s of this file%s", human_count(sum.calls, "sync").text, each);
    return 1;
}

// --- all other calls on names, and the requests of files that are too small for more than one

static bool is_small_file(const struct facts_file *file) {
    return file && file->request[FACTS_READ].bytes + file->request[FACTS_WRITE].bytes <= LIMIT_SMALL_FILE_BYTES &&
           file->request[FACTS_READ].calls + file->request[FACTS_WRITE].calls <= 4;
}

struct names {
    struct facts_sum kind[KIND_COUNT];
    bool has_small_files; // many in the job
    double slow_ns;       // in calls that wait for storage or a server
};

// The small files with bytes, of the job or of the claims.
static struct facts_sum sum_small_files(const struct findings *findings, bool claimed) {
    struct facts_sum sum = {0};
    for (size_t i = 0; i < findings->facts->files; i++) {
        const struct facts_file *file = findings->facts->file[i];
        if (!is_small_file(file) || (claimed && findings->of_file[i] <= 0)) continue;
        uint64_t bytes = file->request[FACTS_READ].bytes + file->request[FACTS_WRITE].bytes;
        if (bytes) facts_sum_add(&sum, bytes, 0);
    }
    return sum;
}

// Whether most of the time of these calls is in opens and closes.
static bool is_mostly_opens(const struct names *names, const struct facts_sum *all) {
    return (names->kind[KIND_OPEN].ns + names->kind[KIND_CLOSE].ns) * 2 > all->ns;
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
        bool is_small = names->has_small_files && find_is_request(grain) && is_small_file(find_file(findings, grain));
        if (!is_meta(grain) && !is_small) continue;
        const struct facts_cell *cell = find_cell(findings, grain);
        bool slow = is_small ? !facts_at_memory_speed(cell) : is_slow(cell, find_file(findings, grain));
        size_t before = findings->claims;
        if (slow) names->slow_ns += grain->left_ns;
        FORWARD(slow ? find_claim_typical(findings, grain) : claim_fast(findings, grain, cell));
        if (findings->claims > before) facts_sum_join(&names->kind[grain->traits.kind], &grain->sum);
    }
    return 0;
}

static void show_names(struct findings *findings, struct finding *finding, const struct names *names) {
    static const struct {
        const char *noun;
        unsigned class;
    } kinds[KIND_COUNT] = {[KIND_READ] = {"read", CLASS_READ}, [KIND_WRITE] = {"write", CLASS_WRITE},
                           [KIND_OPEN] = {"open", CLASS_OPEN}, [KIND_CLOSE] = {"close", CLASS_CLOSE},
                           [KIND_STAT] = {"stat", CLASS_META}, [KIND_META] = {"other metadata call", CLASS_META}};
    int64_t all_ns = 0;
    for (unsigned kind = 0; kind < KIND_COUNT; kind++) all_ns += names->kind[kind].ns;
    for (unsigned kind = 0; kind < KIND_COUNT; kind++) {
        const struct facts_sum *sum = &names->kind[kind];
        if (!sum->calls || sum->ns * 4 < all_ns) continue;
        find_evidence(findings, finding,
                      (struct find_place){.process = find_taken(findings).process,
                                          .line = find_line(findings, kinds[kind].class)},
                      "%s, %s", human_count(sum->calls, kinds[kind].noun).text, find_each(sum).text);
    }
}

int find_metadata(struct findings *findings, struct finding *finding) {
    struct names names = {.has_small_files = sum_small_files(findings, false).calls >= LIMIT_SMALL_FILES};
    FORWARD(claim_names(findings, &names));
    struct find_taken taken = find_taken(findings);
    if (taken.sum.calls < 2 * LIMIT_PATTERN_CALLS || taken.files < LIMIT_PATTERN_CALLS) return 0;
    struct facts_sum small = sum_small_files(findings, true);
    if (small.calls >= LIMIT_SMALL_FILES) {
        finding->title =
            find_text(findings, "%s of %s on average%s", human_count(small.calls, "small file").text,
                      human_bytes(find_mean(&small)).text,
                      is_mostly_opens(&names, &taken.sum) ? ": most time goes into opening and closing them" : "");
    } else {
        finding->title = find_text(findings, "%s on %s", human_count(taken.sum.calls, "metadata call").text,
                                   human_count(taken.files, "file").text);
    }
    show_names(findings, finding, &names);
    if (names.slow_ns * 2 < taken.ns) {
        finding->low = "this storage answers such calls from memory";
        finding->basis = "time of the calls on names and attributes, and of the requests of small files; what takes "
                         "longer than twice the median is a pause and left out";
        finding->advice = "Nothing, on this storage: it answers from memory. On shared storage each of these calls "
                          "would wait for a server; there, few large files (HDF5, an archive) are faster.";
    } else if (find_is_remote(taken.file)) {
        finding->reason = "Servers keep names, sizes and permissions, and each call waits for their answer. Many files "
                          "mean many such calls for few bytes.";
    }
    return 1;
}
