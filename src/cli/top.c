// `ioseer top`: shows a job while it runs.
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "cli/option_rows.h"
#include "cli/output.h"
#include "cli/top_print.h"
#include "cli/top_screen.h"
#include "cli/verb.h"

static struct {
    bool json, once, list;
    uint64_t count;
    double interval;
    const char *sort_name;
    enum top_sort sort;
} options = {.interval = 1};

static const struct option_row rows[] = {
    {"once", '1', OPTION_FLAG, &options.once, NULL, "print what happens in one interval, and end"},
    {"count", 'n', OPTION_COUNT, &options.count, "N", "print N times, and end"},
    {"interval", 'd', OPTION_DURATION, &options.interval, "DURATION",
     "show what happened in this time, and again after it (default: 1s)"},
    {"sort", 0, OPTION_CHOICE, &options.sort_name, "bytes|read|write|calls|metadata|io|rank",
     "the order of processes and files (default: bytes)"},
    {"list", 'l', OPTION_FLAG, &options.list, NULL, "list the jobs that are recorded on this machine, and end"},
    ROW_JSON(&options.json),
    {0},
};

// --- snapshots

// Reads all that is there, in as many looks as that takes.
static int look(struct live *live) {
    do FORWARD(live_look(live));
    while (live->is_behind);
    return 0;
}

// Looks from time to time: spills of short processes must be found before they are removed.
static int wait_one_interval(struct live *live) {
    const int64_t pause_ns = 250000000;
    int64_t end_ns = clock_now_ns() + (int64_t)(options.interval * 1e9);
    while (!live->has_ended && clock_now_ns() < end_ns) {
        int64_t until_ns = clock_now_ns() + pause_ns;
        clock_sleep_until(until_ns < end_ns ? until_ns : end_ns);
        FORWARD(look(live));
    }
    live_mark(live);
    return 0;
}

// In JSON each snapshot is a document of its own.
static int print(const struct live *live, struct output *output, bool is_next) {
    const struct top_view view = {.sort = options.sort};
    if (options.json) {
        output_open(output, "top", NULL);
        output_live(output);
        top_json(live, options.sort, output_json(output, options.once ? 2 : 0));
        return output_end(output, "standard output", 0) == STATUS_OK ? 0 : -EPIPE;
    }
    if (is_next) fputc('\n', output->out);
    int code = top_text(live, &view, output->out);
    return fflush(output->out) && code == 0 ? -errno : code;
}

// Ends with the job.
static int print_snapshots(struct live *live, struct output *output) {
    uint64_t count = options.once ? 1 : options.count ? options.count : UINT64_MAX;
    FORWARD(look(live));
    live_mark(live);
    for (uint64_t i = 0; i < count && !(i && live->has_ended); i++) {
        FORWARD(wait_one_interval(live));
        FORWARD(print(live, output, i));
    }
    return 0;
}

// --- which job

static void print_end(const struct live *live) {
    char *log = top_log_name(live);
    if (log)
        printf("The job has ended. `ioseer info %s` sums it up.\n", log);
    else if (live->is_incomplete)
        printf("The job has ended. Processes that were short may be missing here.\n");
    else
        printf("The job has ended. `ioseer pack %s` makes its log.\n", live->directory);
    free(log);
}

static enum status show(const char *directory) {
    struct problem problem = {0};
    struct live live;
    struct output output;
    int code = live_open(&live, directory, &problem);
    output_open(&output, "top", NULL);
    output_live(&output);
    if (code < 0) {
        live_close(&live);
        return cli_problem("top", directory, &problem, code);
    }
    bool on_screen = !options.json && !options.once && !options.count && top_screen_is_possible();
    code = on_screen ? top_screen_run(&live, options.interval, options.sort) : print_snapshots(&live, &output);
    const struct top_view view = {.sort = options.sort};
    if (on_screen && code == 0 && live.has_ended) code = top_text(&live, &view, output.out);
    if (code == 0 && live.has_ended && !options.json) print_end(&live);
    live_close(&live);
    enum status status = output_end(&output, directory, code < 0 ? code : 0);
    return code > 0 ? STATUS_SIGNAL + (enum status)code : status;
}

static enum status list(const struct live_jobs *jobs) {
    struct output output;
    output_open(&output, "top", NULL);
    int code = 0;
    if (options.json)
        top_list_json(jobs, output_json(&output, 2));
    else
        code = top_list(jobs, output.out);
    return output_end(&output, "list", code);
}

static enum status show_only(const struct live_jobs *jobs) {
    if (jobs->count == 0) return cli_usage("top", "no job", "nothing is recorded on this machine that you may see");
    if (jobs->count == 1) return show(jobs->job[0].directory);
    if (options.json || options.once || options.count || !top_screen_is_possible()) {
        list(jobs);
        return cli_usage("top", "JOB", "several jobs are recorded; name one of them");
    }
    int chosen = top_screen_choose(jobs);
    return chosen < 0 ? STATUS_USAGE : show(jobs->job[chosen].directory);
}

static bool is_number(const char *word, uint32_t *number) {
    char *rest;
    unsigned long value = strtoul(word, &rest, 10);
    *number = (uint32_t)value;
    return *word >= '0' && *word <= '9' && !*rest && value <= INT32_MAX;
}

static enum status show_named(const struct live_jobs *jobs, const char *word) {
    bool several;
    uint32_t pid;
    const char *found = is_number(word, &pid) ? live_jobs_of_process(jobs, pid) : NULL;
    if (found) return show(found);
    found = live_jobs_named(jobs, word, &several);
    if (several) return cli_usage("top", word, "several jobs have this name; give the spill directory or a process");
    if (found) return show(found);
    if (is_number(word, &pid)) return cli_usage("top", word, "no process or job with this number is recorded here");
    return show(word);
}

static enum status top_run(int argc, char **argv) {
    struct live_jobs jobs;
    while (options.sort_name && strcmp(options.sort_name, top_sort_names[options.sort])) options.sort++;
    if (argc > 2) return cli_usage("top", argv[2], "only one job is expected");
    if (options.interval < 0.01 || options.interval > 86400)
        return cli_usage("top", "--interval", "is between 10ms and a day");
    int code = live_jobs_find(&jobs);
    enum status status = code < 0       ? cli_fail("top", "/proc", code)
                         : options.list ? list(&jobs)
                         : argc == 2    ? show_named(&jobs, argv[1])
                                        : show_only(&jobs);
    live_jobs_free(&jobs);
    return status;
}

const struct verb verb_top = {
    .name = "top",
    .summary = "show a job while it runs",
    .usage = "[OPTION]... [JOB]",
    .about =
        "Shows what a job that `ioseer record` runs does right now: bytes and calls per second of each process and\n"
        "file, and the slowest calls so far. JOB is the job's spill directory, a process of it, the name of its\n"
        "log or its program, or the batch system's number; without it, the only job that is recorded here. Keys:\n"
        "q quits, ? helps. Without a terminal it prints until the job ends.",
    .options = rows,
    .run = top_run,
};
