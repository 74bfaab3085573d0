#include "cli/pack_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "log/describe.h"

enum { PATIENCE_MS = 2000, INTERVAL_MS = 200 };

struct progress {
    int64_t start_ms;
    int64_t shown_ms; // 0: never
};

static int64_t now_ms(void)
{
    return (int64_t)(clock_ns(CLOCK_MONOTONIC) / 1000000);
}

static void show_progress(void *context, uint64_t done_bytes, uint64_t all_bytes)
{
    struct progress *progress = context;
    int64_t now = now_ms();
    if (now - progress->start_ms < PATIENCE_MS || now - progress->shown_ms < INTERVAL_MS) return;
    progress->shown_ms = now;
    double percent = all_bytes ? 100 * (double)done_bytes / (double)all_bytes : 100;
    fprintf(stderr, "\rioseer: packing, %.0f %%", percent < 100 ? percent : 100);
}

int pack_with_progress(const struct pack_job *job, const char *spill_dir, const char *log_path, bool replace,
                       bool quiet, struct pack_result *result)
{
    struct progress progress = {.start_ms = now_ms()};
    struct pack_options options = {.replace = replace};
    if (!quiet && isatty(STDERR_FILENO)) {
        options.progress = show_progress;
        options.progress_context = &progress;
    }
    // Source lines come from this machine; asking servers for them could take for ever.
    unsetenv("DEBUGINFOD_URLS");
    int code = pack_directory(job, spill_dir, log_path, &options, result);
    if (progress.shown_ms) fprintf(stderr, "\r\033[K");
    return code;
}

static const char *processes(uint64_t count)
{
    return count == 1 ? "process" : "processes";
}

void pack_print_result(const char *log_path, const char *program, const struct pack_result *result)
{
    if (!result->processes && !result->unrecorded && !result->damaged_bytes) {
        fprintf(stderr, "ioseer: %s: nothing recorded: the recorder was not loaded; see 'ioseer doctor %s'\n", log_path,
                program);
        return;
    }
    fprintf(stderr, "ioseer: %s: %s, %s %s, %s read, %s written", log_path, human_count(result->events, "event").text,
            human_count(result->processes, "").text, processes(result->processes), human_bytes(result->bytes[0]).text,
            human_bytes(result->bytes[1]).text);
    if (result->lost_events) fprintf(stderr, ", %s lost", human_count(result->lost_events, "event").text);
    if (result->unrecorded) {
        fprintf(stderr, ", %s %s could not be recorded", human_count(result->unrecorded, "").text,
                processes(result->unrecorded));
    }
    if (result->damaged_bytes) fprintf(stderr, ", %s unreadable", human_bytes(result->damaged_bytes).text);
    if (result->running) {
        fprintf(stderr, ", %s %s still running", human_count(result->running, "").text, processes(result->running));
    }
    fputc('\n', stderr);
}
