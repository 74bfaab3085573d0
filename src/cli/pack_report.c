#include "cli/pack_report.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/human.h"
#include "cli/verb.h"
#include "summary/coverage.h"

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

// --- what is not in the log

static void print_caps(const struct log *log) {
    uint64_t ended[2] = {0};                           // by the cap, by a full disk
    bool has_directories = false, lost_to_cap = false; // with --no-trace nothing is
    for (size_t i = 0; i < log_process_count(log); i++) {
        unsigned reason = log_process_at(log, i)->trace_ended;
        if (reason) ended[reason == LOSS_DISK_FULL]++;
    }
    for (size_t i = 0; i < log_loss_count(log); i++) {
        has_directories |= log_loss_at(log, i)->reason == LOSS_FILE_CAP;
        lost_to_cap |= log_loss_at(log, i)->reason == LOSS_TRACE_CAP;
    }
    if (ended[0] && lost_to_cap)
        fprintf(stderr, ", the trace of %s ended at its cap (--trace-cap)", human_count(ended[0], "process").text);
    if (ended[1]) fprintf(stderr, ", the disk had no room for the trace of %s", human_count(ended[1], "process").text);
    if (has_directories) fputs(", files past the cap are counted by pattern of name or directory (--file-cap)", stderr);
}

static void print_why(const struct log *log, const struct pack_result *result) {
    bool is_followed = log_process_count(log) && log_process_at(log, 0)->via == VIA_PTRACE;
    if (result->unfollowed) {
        fprintf(stderr, " (%s not followed: %s)", human_count(result->unfollowed, "program").text,
                result->unfollowed_why);
    } else if (!is_followed) {
        fputs(" (system calls of a program's own? --ptrace follows them)", stderr);
    }
}

// The C library itself reads a little that nobody misses. The bytes of rings that nobody saw are in no count.
static void print_unseen(const struct coverage *coverage, const struct log *log, const struct pack_result *result) {
    const uint64_t least_bytes = result->unfollowed ? 1 : 1 << 20;
    bool is_unseen = false;
    static const char *const verb[DIRECTION_COUNT] = {"read", "written"};
    const double least_share = 0.01;
    for (unsigned direction = 0; direction < DIRECTION_COUNT; direction++) {
        uint64_t unseen = coverage_remainder(coverage, direction);
        double seen;
        if (unseen < least_bytes || !coverage_fraction(coverage, direction, &seen) || 1 - seen < least_share) continue;
        fprintf(stderr, ", %s %s unseen", human_bytes(unseen).text, verb[direction]);
        is_unseen = true;
    }
    if (coverage->raw_rings) fprintf(stderr, ", %s of io_uring unseen", human_count(coverage->raw_rings, "ring").text);
    if (is_unseen || coverage->raw_rings) print_why(log, result);
}

// The packer has counted the bytes of the events, so none must be read again.
static void print_missing(const char *log_path, const struct pack_result *result) {
    struct coverage coverage = {0};
    struct log *log;
    if (log_open(&log, log_path) < 0) return;
    print_caps(log);
    memcpy(coverage.captured, result->counted, sizeof coverage.captured);
    if (coverage_finish(&coverage, log) == 0) print_unseen(&coverage, log, result);
    log_close(log);
}

void pack_report_result(const char *log_path, const char *program, const struct pack_result *result) {
    if (!result->processes && !result->unrecorded && !result->damaged_bytes && !result->unfollowed && !result->away) {
        cli_warn(NULL, "%s: nothing recorded: the recorder was not loaded; see 'ioseer doctor %s'", log_path, program);
        return;
    }
    fprintf(stderr, "ioseer: %s: %s, %s, %s read, %s written", log_path, human_count(result->events, "event").text,
            human_count(result->processes, "process").text, human_bytes(result->bytes[0]).text,
            human_bytes(result->bytes[1]).text);
    if (result->lost_events) fprintf(stderr, ", %s lost", human_count(result->lost_events, "event").text);
    if (result->unrecorded)
        fprintf(stderr, ", %s could not be recorded", human_count(result->unrecorded, "process").text);
    if (result->away) fprintf(stderr, ", records of %s have not arrived", human_count(result->away, "host").text);
    if (result->damaged_bytes) fprintf(stderr, ", %s unreadable", human_bytes(result->damaged_bytes).text);
    print_missing(log_path, result);
    if (result->running)
        fprintf(stderr, ", %s still running%s", human_count(result->running, "process").text,
                result->joined ? "" : " (--wait DURATION waits longer)");
    fputc('\n', stderr);
}
