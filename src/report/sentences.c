// What the page says of a job in words.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "log/describe.h"
#include "report/page.h"

static struct human human_rate(uint64_t bytes, int64_t ns)
{
    double rate = ns > 0 ? (double)bytes * 1e9 / (double)ns : 0;
    struct human words = human_bytes(rate < 1e18 ? (uint64_t)rate : UINT64_C(1000000000000000000));
    strcat(words.text, "/s");
    return words;
}

// The program's name, without control characters and not too long; to be freed.
static char *program_name(const struct log *log)
{
    enum { LONGEST = 60 };
    const struct log_job *job = log_job(log);
    const char *path = job->command.count ? job->command.word[0] : "The program";
    for (size_t i = 0; i < log_process_count(log); i++) { // the application, not its launcher
        const struct log_process *process = log_process_at(log, i);
        if (process->has_rank && process->exe) {
            path = process->exe;
            break;
        }
    }
    const char *slash = strrchr(path, '/');
    char *text = NULL;
    size_t len;
    char *part = strndup(slash && slash[1] ? slash + 1 : path, LONGEST);
    FILE *out = part ? open_memstream(&text, &len) : NULL;
    if (out) human_print_name(out, part);
    if (out && fclose(out)) {
        free(text);
        text = NULL;
    }
    free(part);
    return text;
}

// The time in I/O, of one process or of several.
static int say_io(struct page *page, const char *name, const struct human *who)
{
    const struct summary *summary = &page->collect.summary;
    struct human run = human_seconds(summary->run_ns), share = human_percent(summary->io_share);
    struct human mean = human_seconds(summary->io_mean_ns), most = human_seconds(summary->io_most_ns);
    if (page->info.nprocs == 1)
        return text_list_add(&page->sentences, "%s ran for %s as %s and spent %s of that in I/O: %s.", name, run.text,
                             who->text, share.text, mean.text);
    char some[160] = "";
    if (summary->processes < page->info.nprocs)
        snprintf(some, sizeof some, " of the %s that did any", human_count(summary->processes, "").text);
    return text_list_add(
        &page->sentences,
        "%s ran for %s as %s and spent %s of that in I/O: %s on average%s, %s in the one with the most.", name,
        run.text, who->text, share.text, mean.text, some, most.text);
}

static int say_run(struct page *page)
{
    const struct summary *summary = &page->collect.summary;
    char *name = program_name(page->source.log);
    RETURN_IF(!name, -ENOMEM);
    struct human who = human_count(page->info.nprocs, page->info.rank_count ? "rank" : "process");
    int code = summary->io_share >= 0 ? say_io(page, name, &who)
                                      : text_list_add(&page->sentences, "%s ran for %s; no I/O on files was recorded.",
                                                      name, human_seconds(summary->run_ns).text);
    free(name);
    return code;
}

static int say_bytes(struct page *page)
{
    const struct summary *summary = &page->collect.summary;
    uint64_t bytes = summary->bytes[0] + summary->bytes[1];
    if (!bytes) return 0;
    return text_list_add(&page->sentences,
                         "It read %s and wrote %s with %s, at %s while a transfer was under way (%s).",
                         human_bytes(summary->bytes[0]).text, human_bytes(summary->bytes[1]).text,
                         human_count(summary->calls, "call").text, human_rate(bytes, summary->transfer_ns).text,
                         human_seconds(summary->transfer_ns).text);
}

// --- how the file with the most time is used

static const struct facts_file *main_file(const struct facts *facts)
{
    const struct facts_file *best = NULL;
    for (size_t i = 0; i < facts->files; i++) {
        const struct facts_file *file = facts->file[i];
        uint64_t bytes = file ? file->request[FACTS_READ].bytes + file->request[FACTS_WRITE].bytes : 0;
        if (bytes && (!best || bytes > best->request[FACTS_READ].bytes + best->request[FACTS_WRITE].bytes)) best = file;
    }
    return best;
}

static int say_pattern(struct page *page)
{
    const struct facts_file *file = main_file(page->collect.facts);
    if (!file) return 0;
    uint64_t calls = file->request[FACTS_READ].calls + file->request[FACTS_WRITE].calls;
    uint64_t unaligned = file->unaligned[FACTS_READ].calls + file->unaligned[FACTS_WRITE].calls;
    uint64_t switched = file->switched[FACTS_READ].calls + file->switched[FACTS_WRITE].calls;
    const char *slash = strrchr(file->file->name, '/');
    char *text = NULL, *part = strndup(slash && slash[1] ? slash + 1 : file->file->name, 80);
    size_t len;
    FILE *out = part ? open_memstream(&text, &len) : NULL;
    if (out) {
        fputs("Most bytes are of ", out);
        human_print_name(out, part);
        fprintf(out, ": %s by %s, ", human_count(calls, "request").text, human_count(file->users, "process").text);
        if (unaligned) {
            fprintf(out, "%s of them unaligned", human_percent((double)unaligned / (double)calls).text);
        } else {
            fputs("all of them aligned", out);
        }
        if (switched) fprintf(out, "; reads and writes alternate %s", human_count(switched, "time").text);
        if (file->again[FACTS_WRITE])
            fprintf(out, "; %s were written over what had been written before",
                    human_bytes(file->again[FACTS_WRITE]).text);
        if (file->again[FACTS_READ]) fprintf(out, "; %s were read again", human_bytes(file->again[FACTS_READ]).text);
        fputc('.', out);
    }
    free(part);
    if (out && fclose(out)) {
        free(text);
        text = NULL;
    }
    return text_list_take(&page->sentences, text);
}

// --- what is not there

static int say_coverage(struct page *page, unsigned direction)
{
    static const char *const verb[DIRECTION_COUNT] = {"read", "written"};
    const struct coverage *coverage = &page->info.coverage;
    uint64_t unseen = coverage_remainder(coverage, direction);
    double fraction;
    if (!unseen || !coverage_fraction(coverage, direction, &fraction) || fraction > 0.9995) return 0;
    return text_list_add(&page->not_captured, "%s %s (%s of what the kernel counted) went by unseen: %s.",
                         human_bytes(unseen).text, verb[direction], human_percent(1 - fraction).text,
                         COVERAGE_REMAINDER);
}

static int say_losses(struct page *page)
{
    const struct log *log = page->source.log;
    uint64_t ended = 0;
    for (size_t i = 0; i < log_process_count(log); i++) ended += log_process_at(log, i)->trace_ended != LOSS_NONE;
    if (page->info.lost_events)
        FORWARD(text_list_add(&page->not_captured, "%s were lost; the section on the job says why.",
                              human_count(page->info.lost_events, "event").text));
    if (ended)
        FORWARD(text_list_add(&page->not_captured,
                              "The trace of %s ended early: timeline, phases and findings stop there, counters do not.",
                              human_count(ended, "process").text));
    if (page->info.coverage.mappings)
        FORWARD(text_list_add(&page->not_captured, "Memory accesses to mapped files (mmap) are not seen: %s were made.",
                              human_count(page->info.coverage.mappings, "mapping").text));
    if (page->info.coverage.raw_rings)
        FORWARD(text_list_add(&page->not_captured, "io_uring without liburing is not seen: %s were made.",
                              human_count(page->info.coverage.raw_rings, "ring").text));
    if (page->info.is_damaged) FORWARD(text_list_add(&page->not_captured, "Parts of the log cannot be read."));
    return 0;
}

static int say_cuts(struct page *page)
{
    const struct collect *collect = &page->collect;
    if (collect->facts->uses_left_out)
        FORWARD(text_list_add(&page->cut, "findings: files used by very many processes, from the %s pair of the two on",
                              human_count(FACTS_MOST_USES, "").text));
    if (collect->files.left_out)
        FORWARD(text_list_add(&page->cut, "files: %s with less time than those shown",
                              human_count(collect->files.left_out, "file").text));
    if (collect->timeline.lanes_left_out)
        FORWARD(text_list_add(&page->cut, "timeline: %s with little time in calls",
                              human_count(collect->timeline.lanes_left_out, "thread").text));
    return 0;
}

int page_say(struct page *page)
{
    FORWARD(say_run(page));
    FORWARD(say_bytes(page));
    FORWARD(say_pattern(page));
    for (unsigned direction = 0; direction < DIRECTION_COUNT; direction++) FORWARD(say_coverage(page, direction));
    FORWARD(say_losses(page));
    return say_cuts(page);
}
