#include "cli/pack_report.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/human.h"

static struct {
    double start; // 0: not begun
    double shown; // 0: never
} progress;

static void show_progress(void *context, uint64_t done_bytes, uint64_t all_bytes) {
    const double patience_seconds = 2, interval_seconds = 0.2;
    double now = clock_seconds();
    (void)context;
    if (progress.start == 0) progress.start = now;
    if (now - progress.start < patience_seconds || now - progress.shown < interval_seconds) return;
    progress.shown = now;
    double percent = all_bytes ? 100 * (double)done_bytes / (double)all_bytes : 100;
    fprintf(stderr, "\rioseer: packing, %.0f %%", percent < 100 ? percent : 100);
}

void pack_report_progress(struct pack_options *options, bool quiet) {
    if (!quiet && isatty(STDERR_FILENO)) options->progress = show_progress;
}

void pack_report_clear(void) {
    if (progress.shown > 0) fprintf(stderr, "\r\033[K");
}

void pack_report_result(const char *log_path, const char *program, const struct pack_result *result) {
    if (!result->processes && !result->unrecorded && !result->damaged_bytes) {
        fprintf(stderr, "ioseer: %s: nothing recorded: the recorder was not loaded; see 'ioseer doctor %s'\n", log_path,
                program);
        return;
    }
    fprintf(stderr, "ioseer: %s: %s, %s, %s read, %s written", log_path, human_count(result->events, "event").text,
            human_count(result->processes, "process").text, human_bytes(result->bytes[0]).text,
            human_bytes(result->bytes[1]).text);
    if (result->lost_events) fprintf(stderr, ", %s lost", human_count(result->lost_events, "event").text);
    if (result->unrecorded)
        fprintf(stderr, ", %s could not be recorded", human_count(result->unrecorded, "process").text);
    if (result->damaged_bytes) fprintf(stderr, ", %s unreadable", human_bytes(result->damaged_bytes).text);
    if (result->running) fprintf(stderr, ", %s still running", human_count(result->running, "process").text);
    fputc('\n', stderr);
}
