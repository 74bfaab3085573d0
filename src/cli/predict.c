// `ioseer predict`: how long the I/O of a program would take on other storage.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/table.h"
#include "cli/argument.h"
#include "cli/option_rows.h"
#include "cli/output.h"
#include "cli/verb.h"
#include "predict/predict.h"
#include "replay/replay.h"

enum { RUNS = 7, QUICK_RUNS = 3, NAME_COLUMNS = 24 };

static struct {
    struct option_list on, system;
    const char *method, *reference, *launcher, *cache, *output;
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
    {"repeat", 0, OPTION_COUNT, &options.repeat, "N", "number of runs on each DIR (default: 7)"},
    {"quick", 0, OPTION_FLAG, &options.quick, NULL, "do 3 runs"},
    ROW_LAUNCHER(&options.launcher),
    ROW_STALL(&options.stall),
    ROW_CACHE_STATE(&options.cache),
    ROW_STANDARD_STREAMS(&options.model.standard_streams),
    ROW_JSON(&options.json),
    ROW_OUTPUT(&options.output),
    ROW_QUIET(&options.quiet, "suppress progress messages and warnings"),
    {0},
};

// --- output

static int print_targets(const struct prediction *prediction, FILE *out) {
    static const struct table_column columns[] = {{"TARGET", TABLE_NAME},
                                                  {"METHOD", TABLE_TEXT},
                                                  {"I/O TIME", TABLE_UNIT},
                                                  {"95 % INTERVAL", TABLE_NUMBER},
                                                  {"VARIATION", TABLE_UNIT},
                                                  {"", TABLE_TEXT},
                                                  {0}};
    struct table table = table_begin(out, columns);
    for (size_t i = 0; i < prediction->targets; i++) {
        const struct predicted_target *target = &prediction->target[i];
        bool known = target->predicted;
        table_text(&table, target->name);
        table_text(&table, target->method);
        table_text(&table, known ? human_time(target->total.middle).text : NULL);
        table_printf(&table, known ? "%s - %s" : "", human_time(target->total.low).text,
                     human_time(target->total.high).text);
        table_text(&table, known && target->runs > 1 ? human_percent(target->variation).text : "");
        table_printf(&table, "%s%s",
                     target->predictable || !known ? "" : "not predictable: ", target->reason ? target->reason : "");
        table_row(&table);
    }
    if (prediction->recorded > 0) {
        table_text(&table, "as recorded");
        table_text(&table, "");
        table_text(&table, human_time(prediction->recorded).text);
        table_row(&table);
    }
    return table_end(&table);
}

// One column per target and method; shows only the end of long names.
static int print_phases(const struct prediction *prediction, FILE *out) {
    struct table_column *column = calloc(prediction->targets + 2, sizeof *column);
    RETURN_IF(!column, -ENOMEM);
    column[0] = (struct table_column){"PHASE", TABLE_TEXT};
    for (size_t i = 0; i < prediction->targets; i++) {
        const char *name = prediction->target[i].name;
        size_t length = strlen(name);
        column[i + 1] = (struct table_column){name + (length > NAME_COLUMNS ? length - NAME_COLUMNS : 0), TABLE_NUMBER};
    }
    struct table table = table_begin(out, column);
    table_text(&table, "");
    for (size_t i = 0; i < prediction->targets; i++) table_text(&table, prediction->target[i].method);
    table_row(&table);
    for (size_t k = 0; k < prediction->target[0].phases; k++) {
        table_number(&table, prediction->target[0].phase[k].id);
        for (size_t i = 0; i < prediction->targets; i++) {
            const struct predicted_phase *phase = &prediction->target[i].phase[k];
            table_text(&table, phase->predicted ? human_time(phase->seconds.middle).text : "no transfers");
        }
        table_row(&table);
    }
    int code = table_end(&table);
    free(column);
    return code;
}

static void print_points(const struct prediction *prediction, FILE *out) {
    for (size_t i = 0; i < prediction->targets; i++) {
        const struct predicted_target *target = &prediction->target[i];
        if (strcmp(target->method, "analytic")) continue;
        fprintf(out, "\nPoints of %s:\n", target->name);
        for (size_t k = 0; k < target->phases; k++) {
            if (k && target->phase[k].points && target->phase[k - 1].points &&
                !strcmp(target->phase[k].points, target->phase[k - 1].points)) {
                continue;
            }
            fprintf(out, "  phase %zu: %s\n", (size_t)target->phase[k].id,
                    target->phase[k].predicted ? target->phase[k].points : "no transfers: not predicted");
        }
    }
}

static double relative_half(const struct interval *interval) {
    return interval->middle > 0 ? (interval->high - interval->low) / 2 / interval->middle : 0;
}

// "A: 2.3 +- 0.1 times faster than B". If one of them cannot be predicted, only what the intervals prove.
static void print_ratio(const struct predicted_target *quick, const struct predicted_target *slow, FILE *out) {
    if (quick->total.middle <= 0) return;
    if (!quick->predictable || !slow->predictable) {
        fprintf(out, "Run it on %s: faster than on %s, by how much is not predictable (at least %.2f times).\n",
                quick->name, slow->name, floor(100 * slow->total.low / quick->total.high) / 100);
        return;
    }
    double ratio = slow->total.middle / quick->total.middle;
    double half = ratio * hypot(relative_half(&quick->total), relative_half(&slow->total));
    fprintf(out, "Run it on %s: %.*f ± %.*f times faster than on %s.\n", quick->name, half < 0.095 ? 2 : 1, ratio,
            half < 0.095 ? 2 : 1, half, slow->name);
}

static void print_choice(const struct prediction *prediction, FILE *out) {
    const struct predicted_target *best = prediction_best(prediction), *next = NULL;
    size_t rivals = 0;
    for (size_t i = 0; i < prediction->targets; i++) {
        const struct predicted_target *target = &prediction->target[i];
        if (!prediction_is_first(prediction, i) || !target->predicted) continue;
        rivals++;
        if (target != best && (!next || target->total.middle < next->total.middle)) next = target;
    }
    if (rivals < 2) return;
    fputc('\n', out);
    if (best && next)
        print_ratio(best, next, out);
    else
        fprintf(out, "There is no difference larger than the uncertainty.\n");
    for (size_t i = 0; i < prediction->targets; i++) {
        if (prediction->target[i].predictable || !prediction_is_first(prediction, i)) continue;
        fprintf(out, "%s is noisy: %s.\n", prediction->target[i].name, prediction->target[i].reason);
    }
}

static int print_text(const struct model *model, const struct prediction *prediction, FILE *out) {
    argument_print_program(out, model, replay_main_program(model), "predicted");
    FORWARD(print_targets(prediction, out));
    fputc('\n', out);
    FORWARD(print_phases(prediction, out));
    print_points(prediction, out);
    print_choice(prediction, out);
    return 0;
}

// --- the verb

static unsigned runs(void) { return options.repeat ? (unsigned)options.repeat : options.quick ? QUICK_RUNS : RUNS; }

static void show_progress(unsigned run, const char *target, const char *method) {
    fprintf(stderr, "\r\033[Kpredict: run %u of %u on %s (%s)", run, runs(), target, method);
}

static enum status predict_model(const struct model *model, const char *name, uint32_t cache) {
    struct prediction prediction;
    struct problem problem = {0};
    struct output output;
    struct predict_settings settings = {.directory = options.on.item,
                                        .directories = options.on.count,
                                        .profile = options.system.item,
                                        .profiles = options.system.count,
                                        .reference = options.reference,
                                        .methods = options.method,
                                        .launcher = options.launcher,
                                        .stall = options.stall,
                                        .cache = cache,
                                        .np = (uint32_t)options.np,
                                        .repeat = runs(),
                                        .progress = !options.quiet && isatty(STDERR_FILENO) ? show_progress : NULL};
    int code = predict(model, name, &settings, &prediction, &problem);
    if (settings.progress) fputs("\r\033[K", stderr);
    enum status status =
        code < 0 ? cli_problem("predict", name, &problem, code) : output_open(&output, "predict", options.output);
    if (status == STATUS_OK) {
        if (options.json)
            prediction_write(&prediction, output_json(&output, 4));
        else
            code = print_text(model, &prediction, output.out);
        status = output_end(&output, "memory", code);
    }
    prediction_free(&prediction);
    return status;
}

static enum status predict_verb(int argc, char **argv) {
    struct argument argument;
    struct problem problem = {0};
    uint32_t cache;
    if (argc != 2) return cli_usage("predict", "MODEL|LOG", argc < 2 ? "is missing" : "give only one");
    if (!options.on.count && !options.system.count) return cli_usage("predict", "--on or --system", "is missing");
    int code = replay_check_options(options.cache, options.repeat, options.np, &cache, &problem);
    if (code < 0) return cli_problem("predict", argv[1], &problem, code);
    enum status status = output_check("predict", options.output);
    if (status == STATUS_OK) status = argument_open_model(&argument, "predict", argv[1], &options.model);
    if (status != STATUS_OK) return status;
    if (!options.quiet) argument_warn(&argument);
    status = predict_model(&argument.model, argv[1], cache);
    argument_close(&argument);
    return status;
}

const struct verb verb_predict = {
    .name = "predict",
    .summary = "predict how long a program's I/O takes on other storage",
    .usage = "[OPTION]... MODEL|LOG {--on DIR | --system SYSTEM}...",
    .about = "Predicts how long the program's I/O takes on other storage, with 95 % intervals, and which of several "
             "targets\n"
             "is the fastest. Runs the phases of the model on the storage, or calculates with a profile of the "
             "storage. Says\n"
             "if the storage is too noisy for a prediction.",
    .options = rows,
    .run = predict_verb,
};
