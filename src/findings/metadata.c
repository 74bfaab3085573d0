// Calls that move no data.
#include "findings/find.h"

enum { MANY = 16 }; // fewer calls are no pattern

static const struct facts_sum *meta_of(const struct facts_process *process, unsigned kind)
{
    return &process->meta[kind];
}

static const struct facts_sum *file_meta_of(const struct facts_file *file, unsigned direction)
{
    (void)direction;
    return &file->meta;
}

static int64_t first_time_ns(const struct facts_process *process)
{
    struct facts_sum sum = {0};
    for (unsigned kind = 0; kind < FACTS_METAS; kind++) facts_sum_join(&sum, &process->meta[kind]);
    sum.calls -= process->opened_again.calls + process->stat_again.calls;
    sum.ns -= process->opened_again.ns + process->stat_again.ns;
    return find_beyond_ns(&sum);
}

int find_metadata(struct findings *findings, struct finding *finding)
{
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
    finding->basis = "time in such calls of the process with the most, beyond memory's; opens and stats of a file "
                     "again are left out";
    finding->title = find_text(findings, "%s on %s, %s moved for each", human_count(all.calls, "metadata call").text,
                               human_count(files, "file").text, human_bytes(bytes / all.calls).text);
    static const char *const names[FACTS_METAS] = {"open", "close", "stat", "other"};
    for (unsigned kind = 0; kind < FACTS_METAS; kind++) {
        struct find_most of = find_most_of(facts, meta_of, kind);
        if (!of.all.calls || of.all.ns * 4 < all.ns) continue;
        struct finding_evidence *evidence =
            find_evidence(finding, find_text(findings, "%s, %s each", human_count(of.all.calls, names[kind]).text,
                                             human_seconds(of.all.ns / (int64_t)of.all.calls).text));
        evidence->line = find_line(findings, kind == FACTS_OPEN    ? CLASS_OPEN
                                             : kind == FACTS_CLOSE ? CLASS_CLOSE
                                                                   : CLASS_META);
        if (of.process->process->has_rank) evidence->rank[evidence->ranks++] = of.process->process->rank;
    }
    if (failed.calls * 10 > all.calls)
        find_evidence(finding, find_text(findings, "%s failed, as for files that are not there",
                                         human_count(failed.calls, "of these call").text));
    const struct facts_file *file = find_file_of(facts, file_meta_of, 0);
    if (file && file->meta.ns * 2 > all.ns) {
        struct finding_evidence *evidence = find_evidence(
            finding, find_text(findings, "%s of them on one file", human_count(file->meta.calls, "").text));
        evidence->file = file->file;
    }
    finding->reason =
        "Names, sizes and rights are kept by few servers, and each call waits for its answer; many files mean "
        "many such calls for few bytes.";
    finding->advice =
        "Put many small files into few large ones (HDF5, an archive), make them in several folders, and list a "
        "folder instead of asking for each name.";
    finding->command = "ioseer dump --class open LOG";
    return 1;
}

// --- the same again

static const struct facts_sum *opened_again_of(const struct facts_process *process, unsigned direction)
{
    (void)direction;
    return &process->opened_again;
}

int find_opens(struct findings *findings, struct finding *finding)
{
    const struct facts *facts = findings->facts;
    struct find_most most = find_most_of(facts, opened_again_of, 0);
    if (!most.process || most.all.calls < MANY) return 0;
    const struct facts_use *use = NULL;
    for (size_t i = 0; i < facts->uses; i++) {
        if (!use || facts->use[i].opens > use->opens) use = &facts->use[i];
    }
    // Each open is closed again, and closing takes its time, too.
    const struct facts_sum *opens = &most.process->meta[FACTS_OPEN], *closes = &most.process->meta[FACTS_CLOSE];
    double share = opens->calls ? (double)most.process->opened_again.calls / (double)opens->calls : 0;
    finding->ns = find_beyond_ns(&most.process->opened_again) + (int64_t)(share * (double)find_beyond_ns(closes));
    finding->basis = "time of the opens of a file that the same process had opened before, and of their closes";
    finding->title = find_text(findings, "Files were opened again %s by processes that had opened them before",
                               human_count(most.all.calls, "time").text);
    struct finding_evidence *evidence = find_evidence(
        finding, find_text(findings, "one process opened this file %s", human_count(use->opens, "time").text));
    evidence->file = facts->file[use->file]->file;
    evidence->line = find_line(findings, CLASS_OPEN);
    if (facts->process[use->process].process->has_rank)
        evidence->rank[evidence->ranks++] = facts->process[use->process].process->rank;
    finding->reason = "Opening asks the servers for the name, the rights and the place of the file each time.";
    finding->advice = "Keep the file open between uses.";
    finding->command = "ioseer dump --class open --file FILE LOG";
    return 1;
}

static const struct facts_sum *stat_again_of(const struct facts_process *process, unsigned direction)
{
    (void)direction;
    return &process->stat_again;
}

int find_stats(struct findings *findings, struct finding *finding)
{
    const struct facts *facts = findings->facts;
    struct find_most most = find_most_of(facts, stat_again_of, 0);
    if (!most.process || most.all.calls < MANY) return 0;
    const struct facts_use *use = NULL;
    for (size_t i = 0; i < facts->uses; i++) {
        if (!use || facts->use[i].stats > use->stats) use = &facts->use[i];
    }
    finding->ns = find_beyond_ns(&most.process->stat_again);
    finding->basis = "time of the calls that ask for a file's state which the same process had asked for before";
    finding->title =
        find_text(findings, "The state of files was asked for again %s", human_count(most.all.calls, "time").text);
    struct finding_evidence *evidence = find_evidence(
        finding, find_text(findings, "one process asked for this file's %s", human_count(use->stats, "time").text));
    evidence->file = facts->file[use->file]->file;
    evidence->line = find_line(findings, CLASS_META);
    if (facts->process[use->process].process->has_rank)
        evidence->rank[evidence->ranks++] = facts->process[use->process].process->rank;
    finding->reason =
        "On shared file systems the size and times of a file are asked from the servers each time, which take "
        "locks from those that write it.";
    finding->advice = "Ask once and remember; wait for a file by a message or by inotify, not by asking.";
    finding->command = "ioseer dump --class meta --file FILE LOG";
    return 1;
}

static const struct facts_sum *sync_again_of(const struct facts_process *process, unsigned direction)
{
    (void)direction;
    return &process->sync_again;
}

static const struct facts_sum *file_sync_of(const struct facts_file *file, unsigned direction)
{
    (void)direction;
    return &file->sync;
}

int find_syncs(struct findings *findings, struct finding *finding)
{
    const struct facts *facts = findings->facts;
    struct find_most most = find_most_of(facts, sync_again_of, 0);
    const struct facts_file *file = find_file_of(facts, file_sync_of, 0);
    if (!most.process || !file || most.all.calls < MANY) return 0;
    uint64_t written = file->request[FACTS_WRITE].bytes;
    finding->ns = find_beyond_ns(&most.process->sync_again);
    finding->basis = "time of the syncs of a file that the same process had synced before";
    finding->title =
        find_text(findings, "%s of files that had been synced before, %s each",
                  human_count(most.all.calls, "sync").text, human_seconds(most.all.ns / (int64_t)most.all.calls).text);
    struct finding_evidence *evidence = find_evidence(
        finding, find_text(findings, "%s of this file, one for %s written", human_count(file->sync.calls, "sync").text,
                           human_bytes(written / file->sync.calls).text));
    evidence->file = file->file;
    evidence->phase = find_phase(findings, FACTS_WRITE);
    evidence->line = find_line(findings, CLASS_SYNC);
    finding->reason =
        "A sync waits until all is on the storage, its caches included; nothing is put together meanwhile.";
    finding->advice =
        "Sync where a result must survive a crash, such as the end of a checkpoint, not after each record.";
    finding->command = "ioseer dump --class sync LOG";
    return 1;
}
