// `ioseer whatif`: how long the I/O of a program would take if it were done in another way.
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/output.h"
#include "cli/targets.h"
#include "cli/whatif_print.h"
#include "whatif/chart.h"
#include "whatif/whatif.h"

enum { VERIFY_RUNS = 3 };

static struct {
    struct target_options targets;
    struct option_list variant;
    const char *hints, *chart;
    double seconds;
    bool verify;
} options = {.targets = {TARGET_DEFAULTS}};

static const struct option_row rows[] = {
    ROW_ON(options.targets, "measure the storage of DIR first (repeatable)"),
    ROW_SYSTEM(options.targets),
    {"variant", 0, OPTION_LIST, &options.variant, "VARIANT",
     "only this way besides the recorded one, such as collective,cb_nodes=2 (repeatable)"},
    {"verify", 0, OPTION_FLAG, &options.verify, NULL, "replay the basic and the best ways on each DIR, and compare"},
    {"repeat", 0, OPTION_COUNT, &options.targets.repeat, "N", "runs of each way that is verified (default: 3)"},
    ROW_NP(options.targets),
    {"hints", 0, OPTION_TEXT, &options.hints, "FILE", "write the hints of the best way to FILE, for ROMIO_HINTS"},
    {"chart", 0, OPTION_TEXT, &options.chart, "FILE", "write charts of where collective I/O wins to FILE, as HTML"},
    {"time", 0, OPTION_DURATION, &options.seconds, "TIME", "measure each DIR for about TIME (default: 25s)"},
    ROWS_TARGETS(options.targets),
    {0},
};

static void show_progress(const struct whatif_progress *now) {
    fprintf(stderr, "\r\033[Kwhatif: %s: ", now->target);
    if (now->step == WHATIF_REPLAYS)
        fprintf(stderr, "replaying %s, run %u of %u", now->option, now->run, now->runs);
    else if (now->points)
        fprintf(stderr, "measuring %zu kinds of requests", now->points);
    else
        fprintf(stderr, "measuring MPI-IO");
}

// --- files

typedef int write_file(const struct whatif *result, FILE *out);

static int write_hints(const struct whatif *result, FILE *out) {
    const struct whatif_target *target = &result->target[0];
    const struct whatif_option *best = &target->option[target->best];
    for (unsigned i = 0; i < best->hints; i++) fprintf(out, "%s %s\n", best->hint[i].name, best->hint[i].value);
    return 0;
}

static int write_chart(const struct whatif *result, FILE *out) { return chart_write(result, out); }

static enum status write_to(const char *path, const struct whatif *result, write_file *write) {
    struct output output;
    if (!path) return STATUS_OK;
    enum status status = output_open(&output, "whatif", path);
    return status == STATUS_OK ? output_end(&output, path, write(result, output.out)) : status;
}

static enum status write_all(const struct model *model, const struct whatif *result) {
    struct output output;
    int code = 0;
    enum status status = write_to(options.hints, result, write_hints);
    if (status == STATUS_OK) status = write_to(options.chart, result, write_chart);
    if (status == STATUS_OK) status = output_open(&output, "whatif", options.targets.output);
    if (status != STATUS_OK) return status;
    if (options.targets.json)
        whatif_write(result, output_json(&output, 4));
    else
        code = whatif_print(model, result, output.out);
    return output_end(&output, "memory", code);
}

// --- the verb

static enum status ask(struct model *model, const char *name, const struct whatif_settings *settings) {
    struct whatif result;
    struct problem problem = {0};
    int code = whatif(model, name, settings, &result, &problem);
    if (settings->progress) fputs("\r\033[K", stderr);
    enum status status = code < 0 ? cli_problem("whatif", name, &problem, code) : write_all(model, &result);
    whatif_free(&result);
    return status;
}

static enum status check(void) {
    if (options.verify && !options.targets.on.count) return cli_usage("whatif", "--verify", "needs --on");
    if (options.hints && options.targets.on.count + options.targets.system.count > 1)
        return cli_usage("whatif", "--hints", "needs a single target");
    enum status status = output_check("whatif", options.hints);
    return status == STATUS_OK ? output_check("whatif", options.chart) : status;
}

static enum status whatif_verb(int argc, char **argv) {
    const struct target_options *targets = &options.targets;
    struct argument argument;
    struct whatif_settings settings = {.directory = targets->on.item,
                                       .directories = targets->on.count,
                                       .profile = targets->system.item,
                                       .profiles = targets->system.count,
                                       .variant = options.variant.item,
                                       .variants = options.variant.count,
                                       .launcher = targets->launcher,
                                       .stall = targets->stall,
                                       .seconds = options.seconds,
                                       .np = (uint32_t)targets->np,
                                       .verify = options.verify,
                                       .runs = targets->repeat ? (unsigned)targets->repeat : VERIFY_RUNS,
                                       .progress = targets_show(targets) ? show_progress : NULL};
    enum status status = targets_check(targets, "whatif", argc, argv, &settings.cache);
    if (status == STATUS_OK) status = check();
    if (status == STATUS_OK) status = targets_open(targets, "whatif", argv[1], &argument);
    if (status != STATUS_OK) return status;
    status = ask(&argument.model, argv[1], &settings);
    argument_close(&argument);
    return status;
}

const struct verb verb_whatif = {
    .name = "whatif",
    .summary = "compare other ways to do a program's I/O",
    .usage = "[OPTION]... MODEL|LOG {--on DIR | --system SYSTEM}...",
    .about = "Calculates how long the program's I/O would take if it were done in other ways: by collective, "
             "independent or POSIX\n"
             "calls, with other hints, other sizes of requests, a file for each process. Says which way is the best on "
             "each\n"
             "target, and what to set. With --verify, replays them there.",
    .options = rows,
    .run = whatif_verb,
};
