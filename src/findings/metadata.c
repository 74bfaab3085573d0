// Calls that move no data.
#include "findings/find.h"

enum { MANY = 16 }; // fewer calls are not a pattern

static int64_t first_time_ns(const struct facts_process *process) {
    struct facts_sum sum = {0};
    for (unsigned kind = 0; kind < FACTS_METAS; kind++) facts_sum_join(&sum, &process->meta[kind]);
    sum.calls -= process->opened_again.calls + process->stat_again.calls;
    sum.ns -= process->opened_again.ns + process->stat_again.ns;
    return find_beyond_ns(&sum);
}

int find_metadata(struct findings *findings, struct finding *finding) {
    const struct facts *facts = findings->facts;
    const struct facts_process *most = NULL;
    struct facts_sum all = {0}, failed = {0};
    uint64_t bytes = 0, files = 0;
    for (size_t i = 0; i < facts->processes; i++) {
        const struct facts_process *process = &facts->process[i];
        for (unsigned kind = 0; kind < FACTS_METAS; kind++) facts_sum_join(&all, &process->meta[kind]);
        facts_sum_join(&failed, &process->failed);
        bytes += process->own[FACTS_READ].bytes + process->own[FACTS_WRITE].bytes;
        if (!most || first_time_ns(process) > first_time_ns(most)) most = process;
    }
    for (size_t i = 0; i < facts->files; i++) files += facts->file[i] && facts->file[i]->meta.calls;
    if (!most || all.calls < 2 * MANY) return 0;
    finding->ns = first_time_ns(most);
    finding->title = find_text(findings, "%s on %s, %s moved for each", human_count(all.calls, "metadata call").text,
                               human_count(files, "file").text, human_bytes(bytes / all.calls).text);
    static const struct {
        const char *name;
        unsigned class;
    } kinds[FACTS_METAS] = {{"open", CLASS_OPEN}, {"close", CLASS_CLOSE}, {"stat", CLASS_META}, {"other", CLASS_META}};
    for (unsigned kind = 0; kind < FACTS_METAS; kind++) {
        struct find_most of = find_most_of(facts, meta[kind]);
        if (!of.all.calls || of.all.ns * 4 < all.ns) continue;
        find_evidence(findings, finding,
                      (struct find_place){.process = of.process, .line = find_line(findings, kinds[kind].class)},
                      "%s, %s each", human_count(of.all.calls, kinds[kind].name).text, find_each(&of.all).text);
    }
    if (failed.calls * 10 > all.calls)
        find_evidence(findings, finding, (struct find_place){0}, "%s failed, as for files that do not exist",
                      human_count(failed.calls, "of these call").text);
    const struct facts_file *file = find_file_of(facts, meta);
    if (file && file->meta.ns * 2 > all.ns)
        find_evidence(findings, finding, (struct find_place){.file = file}, "%s of them on one file",
                      human_count(file->meta.calls, "").text);
    return 1;
}

// --- repeated calls

// Adds evidence: the process and file with the largest value of this counter (a member of struct facts_use).
static void show_use(struct findings *findings, struct finding *finding, size_t counter, unsigned class,
                     const char *what) {
    const struct facts *facts = findings->facts;
    const struct facts_use *use = NULL;
    uint32_t most = 0;
    for (size_t i = 0; i < facts->uses; i++) {
        uint32_t count = *(const uint32_t *)((const char *)&facts->use[i] + counter);
        if (use && count <= most) continue;
        use = &facts->use[i];
        most = count;
    }
    find_evidence(findings, finding,
                  (struct find_place){.file = facts->file[use->file],
                                      .process = &facts->process[use->process],
                                      .line = find_line(findings, class)},
                  "one process %s %s", what, human_count(most, "time").text);
}

int find_opens(struct findings *findings, struct finding *finding) {
    struct find_most most = find_most_of(findings->facts, opened_again);
    if (!most.process || most.all.calls < MANY) return 0;
    // Each open needs a close, which takes time, too.
    const struct facts_sum *opens = &most.process->meta[FACTS_OPEN], *closes = &most.process->meta[FACTS_CLOSE];
    double share = opens->calls ? (double)most.process->opened_again.calls / (double)opens->calls : 0;
    finding->ns = find_beyond_ns(&most.process->opened_again) + (int64_t)(share * (double)find_beyond_ns(closes));
    finding->title = find_text(findings, "Processes opened files %s that they had opened before",
                               human_count(most.all.calls, "time").text);
    show_use(findings, finding, offsetof(struct facts_use, opens), CLASS_OPEN, "opened this file");
    return 1;
}

int find_stats(struct findings *findings, struct finding *finding) {
    struct find_most most = find_most_of(findings->facts, stat_again);
    if (!most.process || most.all.calls < MANY) return 0;
    finding->ns = find_beyond_ns(&most.process->stat_again);
    finding->title =
        find_text(findings, "Processes asked %s for the attributes of files that they had asked for before",
                  human_count(most.all.calls, "time").text);
    show_use(findings, finding, offsetof(struct facts_use, stats), CLASS_META, "asked for this file's");
    return 1;
}

int find_syncs(struct findings *findings, struct finding *finding) {
    struct find_most most = find_most_of(findings->facts, sync_again);
    const struct facts_file *file = find_file_of(findings->facts, sync);
    if (!most.process || !file || most.all.calls < MANY) return 0;
    finding->ns = find_beyond_ns(&most.process->sync_again);
    finding->title = find_text(findings, "%s of files that had been synced before, %s each",
                               human_count(most.all.calls, "sync").text, find_each(&most.all).text);
    find_evidence(findings, finding,
                  (struct find_place){file, NULL, find_phase(findings, FACTS_WRITE), find_line(findings, CLASS_SYNC)},
                  "%s of this file, one for %s written", human_count(file->sync.calls, "sync").text,
                  human_bytes(file->request[FACTS_WRITE].bytes / file->sync.calls).text);
    return 1;
}
