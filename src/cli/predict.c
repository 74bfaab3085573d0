// `ioseer predict`: how long the I/O of a program would take on other storage.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/output.h"
#include "cli/predict_print.h"
#include "cli/targets.h"
#include "predict/predict.h"

// Two runs say how much runs vary. A precision that was asked for may take more than the one of the default.
enum { LEAST_RUNS = 2, MOST_RUNS = 7, MOST_RUNS_ASKED = 30 };
#define PRECISION "5%"

static struct {
    struct target_options targets;
    const char *method, *reference, *precision;
    bool quick;
} options = {.targets = {TARGET_DEFAULTS}};

static const struct option_row rows[] = {
    ROW_ON(options.targets, "run in a new folder in DIR, on the storage to predict (repeatable)"),
    ROW_SYSTEM(options.targets),
    {"method", 0, OPTION_CHOICES, &options.method, "replay|analytic|mendez|meswani",
     "how to predict (default: replay for DIR, analytic for SYSTEM)"},
    {"reference", 0, OPTION_TEXT, &options.reference, "DIR|SYSTEM",
     "storage on which the program was recorded, for meswani"},
    ROW_NP(options.targets),
    {"precision", 0, OPTION_TEXT, &options.precision, "PERCENT",
     "run until the time of each DIR is known within PERCENT, or which DIR is faster (default: " PRECISION
     ", at most 7 runs)"},
    {"repeat", 0, OPTION_COUNT, &options.targets.repeat, "N", "run so often on each DIR"},
    {"quick", 0, OPTION_FLAG, &options.quick, NULL, "run once on each DIR"},
    ROWS_TARGETS(options.targets),
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
    if (!!options.precision + !!options.targets.repeat + options.quick > 1)
        return cli_usage("predict", "--precision, --repeat and --quick", "give only one");
    settings->least_runs = options.quick ? 1 : options.targets.repeat ? (unsigned)options.targets.repeat : LEAST_RUNS;
    settings->most_runs = options.quick || options.targets.repeat ? settings->least_runs
                          : options.precision                     ? MOST_RUNS_ASKED
                                                                  : MOST_RUNS;
    return STATUS_OK;
}

static enum status predict_model(const struct model *model, const char *name, const struct predict_settings *settings) {
    struct prediction prediction;
    struct problem problem = {0};
    struct output output;
    int code = predict(model, name, settings, &prediction, &problem);
    if (settings->progress) fputs("\r\033[K", stderr);
    enum status status = code < 0 ? cli_problem("predict", name, &problem, code)
                                  : output_open(&output, "predict", options.targets.output);
    if (status == STATUS_OK) {
        if (options.targets.json)
            prediction_write(&prediction, output_json(&output, 4));
        else
            code = predict_print(model, &prediction, output.out);
        status = output_end(&output, "memory", code);
    }
    prediction_free(&prediction);
    return status;
}

static enum status predict_verb(int argc, char **argv) {
    const struct target_options *targets = &options.targets;
    struct argument argument;
    struct predict_settings settings = {.directory = targets->on.item,
                                        .directories = targets->on.count,
                                        .profile = targets->system.item,
                                        .profiles = targets->system.count,
                                        .reference = options.reference,
                                        .methods = options.method,
                                        .launcher = targets->launcher,
                                        .stall = targets->stall,
                                        .np = (uint32_t)targets->np,
                                        .progress = targets_show(targets) ? show_progress : NULL};
    enum status status = targets_check(targets, "predict", argc, argv, &settings.cache);
    if (status == STATUS_OK) status = choose_runs(&settings);
    if (status == STATUS_OK) status = targets_open(targets, "predict", argv[1], &argument);
    if (status != STATUS_OK) return status;
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
