// The sentences of the report about a job.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/err.h"
#include "base/human.h"
#include "base/scoped.h"
#include "log/import.h"
#include "report/page.h"
#include "summary/libraries.h"

enum { MIB = 1 << 20 };

// The last part of a path as one line of at most `longest` bytes. The caller frees it.
static char *short_name(const char *path, size_t longest) {
    char *text = NULL, *part = strndup(page_base_name(path), longest);
    size_t len;
    FILE *out = part ? open_memstream(&text, &len) : NULL;
    if (out) human_print_name(out, part);
    free(part);
    if (!out || !fclose(out)) return text;
    free(text);
    return NULL;
}

// The application, not its launcher.
static const char *program_path(const struct log *log) {
    const struct log_job *job = log_job(log);
    for (size_t i = 0; i < log_process_count(log); i++) {
        const struct log_process *process = log_process_at(log, i);
        if (process->has_rank && process->exe) return process->exe;
    }
    return job->command.count ? job->command.word[0] : "The program";
}

// What the busiest of several processes spent in I/O.
static int add_busiest(struct page *page) {
    enum { LONGEST_NAME = 60 };
    const struct summary_row *busiest = page->summary.totals.busiest;
    if (!busiest || page->summary.nprocs == 1) return 0;
    char who[32], *name = short_name(summary_program(busiest->process), LONGEST_NAME);
    RETURN_IF(!name, -ENOMEM);
    const struct group_spread *io = busiest->process->group ? &busiest->process->group->spread[GROUP_IO] : NULL;
    if (io) { // which part of its own run that is, nobody knows
        free(name);
        if (!io->is_known || !io->rank_most) return 0;
        return text_list_add(&page->sentences, "The busiest of them was rank %" PRIu64 ": %s in I/O.",
                             io->rank_most - 1, human_seconds(io->most).text);
    }
    snprintf(who, sizeof who, "%s %" PRId64, busiest->process->has_rank ? "rank" : "process",
             busiest->process->has_rank ? busiest->process->rank : (int64_t)busiest->process->pid);
    int code = text_list_add(&page->sentences, "The busiest of them was %s (%s): %s of its %s in I/O, %s.", name, who,
                             human_seconds(busiest->io_ns).text, human_seconds(busiest->run_ns).text,
                             human_percent(summary_row_share(busiest)).text);
    free(name);
    return code;
}

// With MPI a mean says most, because ranks do the same. Other processes do not, so theirs is the time of the job.
static int add_run(struct page *page) {
    enum { LONGEST_NAME = 60 };
    const struct summary_totals *totals = &page->summary.totals;
    uint64_t processes = page->summary.nprocs;
    bool has_ranks = page->summary.rank_count;
    struct human run = human_seconds(totals->run_ns), io = human_seconds(totals->io_ns);
    struct human share = human_percent(totals->io_share),
                 count = human_count(processes, has_ranks ? "rank" : "process");
    char some[160] = "", *name = short_name(program_path(page->source.log), LONGEST_NAME);
    int code;
    RETURN_IF(!name, -ENOMEM);
    if (totals->processes < processes)
        snprintf(some, sizeof some, " over the %s that did any", human_count(totals->processes, "").text);
    if (totals->io_share < 0) {
        code = text_list_add(&page->sentences, "%s ran for %s; no I/O on files was recorded.", name, run.text);
    } else if (has_ranks || processes == 1) {
        code = text_list_add(&page->sentences, "%s ran for %s as %s and spent %s of that in I/O: %s%s%s.", name,
                             run.text, count.text, share.text, io.text, processes == 1 ? "" : " on average",
                             processes == 1 ? "" : some);
    } else {
        code = text_list_add(&page->sentences,
                             "%s ran for %s as %s. For %s of that time at least one of them was in I/O: %s.", name,
                             run.text, count.text, share.text, io.text);
    }
    free(name);
    return code;
}

// A program that failed did perhaps not do all of its I/O.
static int add_end(struct page *page) {
    const struct log_job *job = log_job(page->source.log);
    int status = job->exit_status;
    if (log_is_joined(page->source.log))
        return text_list_add(&page->sentences,
                             "The recording began while the program ran: what it did before is not in the log.");
    if (log_import(page->source.log))
        return job->complete ? 0 : text_list_add(&page->sentences, "The program did not end in order.");
    if (!job->has_exit_status) return text_list_add(&page->sentences, "The end of the command was not seen.");
    if (WIFSIGNALED(status))
        return text_list_add(&page->sentences, "The command was killed by signal %d (%s).", WTERMSIG(status),
                             strsignal(WTERMSIG(status)));
    return WEXITSTATUS(status)
               ? text_list_add(&page->sentences, "The command failed with exit status %d.", WEXITSTATUS(status))
               : 0;
}

static int add_bytes(struct page *page) {
    const struct summary_totals *totals = &page->summary.totals;
    uint64_t bytes = totals->bytes[0] + totals->bytes[1];
    double rate = page->collect.transfers.ns > 0 ? (double)bytes * 1e9 / (double)page->collect.transfers.ns : 0;
    struct human calls = human_count(totals->calls, "call");
    if (!totals->calls) return 0;
    if (!bytes) return text_list_add(&page->sentences, "The job made %s, which moved no data.", calls.text);
    if (!page->collect.transfers.ns) // without a trace
        return text_list_add(&page->sentences, "The job made %s, read %s and wrote %s.", calls.text,
                             human_bytes(totals->bytes[0]).text, human_bytes(totals->bytes[1]).text);
    return text_list_add(
        &page->sentences, "The job made %s, read %s and wrote %s, at %s while any transfer was in progress (%s).",
        calls.text, human_bytes(totals->bytes[0]).text, human_bytes(totals->bytes[1]).text,
        human_bandwidth(rate < 1e18 ? rate : 1e18).text, human_seconds(page->collect.transfers.ns).text);
}

// --- how the program uses the file with the most bytes

static uint64_t bytes_of(const struct facts_file *file) {
    return file ? file->request[FACTS_READ].bytes + file->request[FACTS_WRITE].bytes + file->stdio_bytes +
                      file->async_bytes
                : 0;
}

static void print_part(FILE *out, uint64_t bytes, const struct facts_file *file, const char *how) {
    struct human share = human_percent((double)bytes / (double)bytes_of(file));
    if (bytes) fprintf(out, ", %s of that %s", bytes == bytes_of(file) ? "all" : share.text, how);
}

// How its bytes moved: how the requests are aligned, and what they move again.
static void print_pattern(FILE *out, const struct facts_file *file) {
    enum { FEWEST_REQUESTS = 16 }; // fewer than that have no pattern
    uint64_t calls = file->request[FACTS_READ].calls + file->request[FACTS_WRITE].calls;
    uint64_t unaligned = file->unaligned[FACTS_READ].calls + file->unaligned[FACTS_WRITE].calls;
    uint64_t switched = file->switched[FACTS_READ].calls + file->switched[FACTS_WRITE].calls;
    uint64_t written = file->again[FACTS_WRITE], read = file->again[FACTS_READ];
    print_part(out, file->stdio_bytes, file, "through stdio");
    print_part(out, file->async_bytes, file, "asynchronously");
    if (!calls) return;
    fprintf(out, "%s%s by %s", file->stdio_bytes || file->async_bytes ? "; besides, " : ": ",
            human_count(calls, "request").text, human_count(file->users, "process").text);
    struct human share =
        unaligned * 1000 < calls ? human_count(unaligned, "") : human_percent((double)unaligned / (double)calls);
    if (calls >= FEWEST_REQUESTS && unaligned && unaligned < calls)
        fprintf(out, ", %s of them unaligned", share.text);
    else if (calls >= FEWEST_REQUESTS)
        fprintf(out, ", %s of them aligned", unaligned ? "none" : "all");
    if (switched > 1) fprintf(out, "; reads and writes alternate %s", human_count(switched, "time").text);
    if (written) fprintf(out, "; %s were written over what had been written before", human_bytes(written).text);
    if (read) fprintf(out, "; %s were read again", human_bytes(read).text);
}

static int add_pattern(struct page *page) {
    enum { LONGEST_NAME = 80, LEAST_PART = 10 }; // one of very many files says nothing
    const struct facts *facts = page->collect.facts;
    const struct facts_file *file = NULL;
    uint64_t all = 0;
    for (size_t i = 0; i < facts->files; i++) {
        all += bytes_of(facts->file[i]);
        if (bytes_of(facts->file[i]) > bytes_of(file)) file = facts->file[i];
    }
    if (!file || bytes_of(file) < all / LEAST_PART) return 0;
    SCOPED_FREE char *name = short_name(file->file->name, LONGEST_NAME);
    SCOPED_FREE char *pattern = NULL;
    size_t len;
    FILE *out = name ? open_memstream(&pattern, &len) : NULL;
    RETURN_IF(!out, -ENOMEM);
    print_pattern(out, file);
    RETURN_IF(fclose(out), -ENOMEM);
    return text_list_add(&page->sentences, "The file with the most bytes is %s, %s%s.", name,
                         human_bytes(bytes_of(file)).text, pattern);
}

// No lost time, but who measures storage should know it.
static int add_remembered(struct page *page) {
    const struct facts *facts = page->collect.facts;
    uint64_t bytes = 0;
    for (size_t i = 0; i < facts->files; i++) bytes += facts->file[i] ? facts->file[i]->remembered : 0;
    if (bytes < MIB || bytes < page->summary.totals.bytes[0] / 10) return 0;
    return text_list_add(&page->sentences,
                         "%s were read at the speed of memory: the job had read or written them before. With less "
                         "memory, or after a restart elsewhere, these reads reach the storage.",
                         human_bytes(bytes).text);
}

// What layers above MPI-IO add to what the program asked them for.
static int add_libraries(struct page *page) {
    const struct call_tree *tree = &page->summary.tree;
    for (unsigned layer = LAYER_COUNT; (layer = library_next(tree, layer));) {
        const struct library_words words[] = {library_moved(tree, layer, DIRECTION_READ),
                                              library_moved(tree, layer, DIRECTION_WRITE),
                                              library_time(tree, layer, page->summary.rank_count > 0)};
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            if (*words[i].text) FORWARD(text_list_add(&page->sentences, "%s", words[i].text));
        }
    }
    return 0;
}

// --- what the log does not show

static int add_coverage(struct page *page, unsigned direction) {
    static const char *const verb[DIRECTION_COUNT] = {"read", "written"};
    const struct coverage *coverage = &page->summary.coverage;
    uint64_t unseen = coverage_remainder(coverage, direction);
    double fraction;
    if (!unseen || !coverage_fraction(coverage, direction, &fraction) || fraction > 0.9995) return 0;
    return text_list_add(&page->not_captured, "%s %s (%s of what the kernel counted) are not in the log: %s.",
                         human_bytes(unseen).text, verb[direction], human_percent(1 - fraction).text,
                         COVERAGE_REMAINDER);
}

// A sentence about `count` things, if there are any. %s in `format` is their number with the noun.
struct counted {
    uint64_t count;
    const char *noun;
    const char *format;
};

static int add_counted(struct text_list *texts, const struct counted *counted, size_t rows) {
    for (size_t i = 0; i < rows; i++) {
        const char *place = strstr(counted[i].format, "%s");
        if (counted[i].count)
            FORWARD(text_list_add(texts, "%.*s%s%s", (int)(place - counted[i].format), counted[i].format,
                                  human_count(counted[i].count, counted[i].noun).text, place + 2));
    }
    return 0;
}

static int add_import(struct page *page) {
    const struct log_import *import = log_import(page->source.log);
    if (!import) return 0;
    FORWARD(
        text_list_add(&page->not_captured,
                      log_has_trace(page->source.log)
                          ? "This is a log of %s. Its trace has reads and writes only: no opens and other calls, no "
                            "communication, and no order of calls between processes but their times."
                      : page->collect.timeline.source == TIMELINE_HEAT_MAP
                          ? "This is a log of %s without a trace (DXT): there are counters and heat maps, but no "
                            "phases, no findings and no single calls."
                          : "This is a log of %s without a trace (DXT): there are counters, but no timeline, no "
                            "phases, no findings and no single calls.",
                      import->program));
    for (size_t i = 0; i < import->module_count; i++) {
        const struct darshan_part *part = &import->modules[i];
        const char *what = part->state == DARSHAN_UNKNOWN   ? "cannot be read"
                           : part->state == DARSHAN_DAMAGED ? "are damaged and not complete"
                           : part->is_partial               ? "are not complete: some rank had no room for more"
                                                            : NULL;
        if (what)
            FORWARD(text_list_add(&page->not_captured, "Its records of %s %s.",
                                  darshan_module_name((unsigned)part->module).text, what));
    }
    return 0;
}

static int add_losses(struct page *page) {
    const struct log *log = page->source.log;
    uint64_t ended = 0, chosen = 0;
    for (size_t i = 0; i < log_process_count(log); i++) {
        if (log_process_at(log, i)->trace_ended) ended += log_process_members(log_process_at(log, i));
        chosen += log_process_at(log, i)->counts_all && log_process_at(log, i)->via != VIA_IMPORT;
    }
    bool has_none = !log_import(log) && !log_has_trace(log);
    if (has_none) ended = chosen = 0;
    const struct counted losses[] = {
        {page->summary.lost_events, "event", "%s were lost; the section about the job says why."},
        {ended, "process", "The trace of %s ended early: timeline, phases and findings stop there, counters do not."},
        {chosen, "process",
         "Triggers chose the calls in the trace of %s: timeline, phases and findings have only these, counters have "
         "all."},
        {page->summary.coverage.mapped_unknown ? page->summary.coverage.mappings : 0, "mapping",
         "Memory accesses to mapped files (mmap) are not seen, or not all: the program made %s."},
        {page->summary.coverage.raw_rings, "ring", "io_uring without liburing is not seen: the program made %s."},
    };
    FORWARD(add_import(page));
    if (has_none)
        FORWARD(text_list_add(&page->not_captured,
                              "The log has no trace, only counters: there is no timeline, and there are "
                              "no phases and findings."));
    FORWARD(add_counted(&page->not_captured, losses, sizeof losses / sizeof losses[0]));
    if (log_job(log)->only)
        FORWARD(text_list_add(&page->not_captured,
                              "Only these calls were to be recorded: %s. Nothing is known of others.",
                              log_job(log)->only));
    const uint64_t *mapped = page->summary.coverage.mapped;
    if (mapped[MAPPED_READ])
        FORWARD(text_list_add(&page->not_captured,
                              "Through mapped files (mmap) the program read about %s and changed %s%s: an estimate, "
                              "in no other number of this report.",
                              human_bytes(mapped[MAPPED_READ]).text, mapped[MAPPED_DIRTY] ? "about " : "",
                              mapped[MAPPED_DIRTY] ? human_bytes(mapped[MAPPED_DIRTY]).text : "nothing"));
    return page->summary.is_damaged ? text_list_add(&page->not_captured, "Parts of the log cannot be read.") : 0;
}

static int add_cuts(struct page *page) {
    const struct collect *collect = &page->collect;
    const struct counted cuts[] = {
        {collect->facts->left_out, "call", "findings: %s on more files than they can keep apart"},
        {collect->timeline.rows_left_out, "thread", "timeline: %s with little time in calls"},
    };
    return add_counted(&page->cut, cuts, sizeof cuts / sizeof cuts[0]);
}

int page_add_sentences(struct page *page) {
    FORWARD(add_run(page));
    FORWARD(add_busiest(page));
    FORWARD(add_end(page));
    FORWARD(add_bytes(page));
    FORWARD(add_pattern(page));
    FORWARD(add_remembered(page));
    FORWARD(add_libraries(page));
    for (unsigned direction = 0; direction < DIRECTION_COUNT; direction++) FORWARD(add_coverage(page, direction));
    FORWARD(add_losses(page));
    return add_cuts(page);
}
