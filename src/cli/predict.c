// `ioseer predict`: how long the I/O of a program would take on other storage.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/argument.h"
#include "cli/option_rows.h"
#include "cli/output.h"
#include "cli/predict_print.h"
#include "cli/verb.h"
#include "predict/predict.h"
#include "replay/replay.h"

// Two runs say how much runs vary. A precision that was asked for may take more than the one of the default.
enum { LEAST_RUNS = 2, MOST_RUNS = 7, MOST_RUNS_ASKED = 30 };
#define PRECISION "5%"

static struct {
    struct option_list on, system;
    const char *method, *reference, *launcher, *cache, *output, *precision;
    uint64_t repeat, np;
    double stall;
    struct model_choice model;
    bool quick, json, quiet;
} options = {.cache = "as-recorded", .stall = REPLAY_STALL_SECONDS};

static const struct option_row rows[] = {
    {"on", 0, OPTION_LIST, &options.on, "DIR", "run in a new folder in DIR, on the storage to predict (repeatable)"},
    {"system", 0, OPTION_LIST, &options.system, "SYSTEM", "calculate with a profile from `measure` (repeatable)"},
    {"method", 0, OPTION_CHOICES, &options.method, "replay|analytic|mendez|meswani",
     "how to predict (default: replay for DIR, analytic for SYSTEM)"},
    {"reference", 0, OPTION_TEXT, &options.reference, "DIR|SYSTEM",
     "storage on which the program was recorded, for meswani"},
    {"np", 0, OPTION_COUNT, &options.np, "N", "number of processes (default: as recorded)"},
    {"precision", 0, OPTION_TEXT, &options.precision, "PERCENT",
     "run until the time of each DIR is known within PERCENT, or which DIR is faster (default: " PRECISION
     ", at most 7 runs)"},
    {"repeat", 0, OPTION_COUNT, &options.repeat, "N", "run so often on each DIR"},
    {"quick", 0, OPTION_FLAG, &options.quick, NULL, "run once on each DIR"},
    ROW_LAUNCHER(&options.launcher),
    ROW_STALL(&options.stall),
    ROW_CACHE_STATE(&options.cache),
    ROW_STANDARD_STREAMS(&options.model.standard_streams),
    ROW_JSON(&options.json),
    ROW_OUTPUT(&options.output),
    ROW_QUIET(&options.quiet, "suppress progress messages and warnings"),
    {0},
};

// --- the verb

static void show_progress(const struct predict_progress *now) {
    fprintf(stderr, "\r\033[Kpredict: run %u on %s (%s)", now->run, now->target, now->method);
    if (now->phase) fprintf(stderr, ", phase %u of %zu", now->phase, now->phases);
    if (now->most_left > 0) fprintf(stderr, ", at most about %.0f s left", ceil(now->most_left));
}

static enum status choose_runs(struct predict_settings *settings) {
    const char *precision = options.precision ? options.precision : PRECISION;
    if (!options_percent(precision, &settings->precision))
        return cli_usage("predict", precision, "must be more than 0 % and less than 100 %, such as " PRECISION);
    if (!!options.precision + !!options.repeat + options.quick > 1)
        return cli_usage("predict", "--precision, --repeat and --quick", "give only one");
    settings->least_runs = options.quick ? 1 : options.repeat ? (unsigned)options.repeat : LEAST_RUNS;
    settings->most_runs = options.quick || options.repeat ? settings->least_runs
                          : options.precision             ? MOST_RUNS_ASKED
                                                          : MOST_RUNS;
    return STATUS_OK;
}

static enum status predict_model(const struct model *model, const char *name, const struct predict_settings *settings) {
    struct prediction prediction;
    struct problem problem = {0};
    struct output output;
    int code = predict(model, name, settings, &prediction, &problem);
    if (settings->progress) fputs("\r\033[K", stderr);
    enum status status =
        code < 0 ? cli_problem("predict", name, &problem, code) : output_open(&output, "predict", options.output);
    if (status == STATUS_OK) {
        if (options.json)
            prediction_write(&prediction, output_json(&output, 4));
        else
            code = predict_print(model, &prediction, output.out);
        status = output_end(&output, "memory", code);
    }
    prediction_free(&prediction);
    return status;
}

static enum status predict_verb(int argc, char **argv) {
    struct argument argument;
    struct problem problem = {0};
    struct predict_settings settings = {.directory = options.on.item,
                                        .directories = options.on.count,
                                        .profile = options.system.item,
                                        .profiles = options.system.count,
                                        .reference = options.reference,
                                        .methods = options.method,
                                        .launcher = options.launcher,
                                        .stall = options.stall,
                                        .np = (uint32_t)options.np,
                                        .progress = !options.quiet && isatty(STDERR_FILENO) ? show_progress : NULL};
    if (argc != 2) return cli_usage("predict", "MODEL|LOG", argc < 2 ? "is missing" : "give only one");
    if (!options.on.count && !options.system.count) return cli_usage("predict", "--on or --system", "is missing");
    int code = replay_check_options(options.cache, options.repeat, options.np, &settings.cache, &problem);
    if (code < 0) return cli_problem("predict", argv[1], &problem, code);
    enum status status = choose_runs(&settings);
    if (status == STATUS_OK) status = output_check("predict", options.output);
    if (status == STATUS_OK) status = argument_open_model(&argument, "predict", argv[1], &options.model);
    if (status != STATUS_OK) return status;
    if (!options.quiet) argument_warn(&argument);
    status = predict_model(&argument.model, argv[1], &settings);
    argument_close(&argument);
    return status;
}

const struct verb verb_predict = {
    .name = "predict",
    .summary = "predict how long a program's I/O takes on other storage",
    .usage = "[OPTION]... MODEL|LOG {--on DIR | --system SYSTEM}...",
    .about = "Predicts how long the program's I/O takes on other storage, with 95 % intervals, and which of several "
             "targets\n"
             "is the fastest. Runs the phases of the model on the storage, as often as needed, or calculates with a "
             "profile of\n"
             "the storage. Says if the storage is too noisy for a prediction.",
    .options = rows,
    .run = predict_verb,
};
