// `ioseer predict`: how long a program's I/O would take on other storage.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/model_argument.h"
#include "cli/output.h"
#include "cli/verb.h"
#include "log/describe.h"
#include "model/scale.h"
#include "predict/analytic.h"
#include "predict/runs.h"

enum { RUNS = 7, QUICK_RUNS = 3 };

static struct {
    struct option_list on, system;
    const char *method, *reference, *launcher, *cache, *output;
    uint64_t repeat, np;
    bool quick, json, quiet;
} options = {.cache = "as-recorded"};

static const struct option_row rows[] = {
    {"on", 0, OPTION_LIST, &options.on, "DIR", "storage to run on; may be given several times"},
    {"system", 0, OPTION_LIST, &options.system, "SYSTEM", "profile of `measure` to calculate with; several times"},
    {"method", 0, OPTION_TEXT, &options.method, "LIST",
     "replay, analytic, mendez, meswani (default: replay for DIR, analytic for SYSTEM)"},
    {"reference", 0, OPTION_TEXT, &options.reference, "DIR|SYSTEM", "where the program was recorded; for meswani"},
    {"np", 0, OPTION_COUNT, &options.np, "N", "with so many processes (default: as recorded)"},
    {"repeat", 0, OPTION_COUNT, &options.repeat, "N", "runs on each DIR, in turns (default 7)"},
    {"quick", 0, OPTION_FLAG, &options.quick, NULL, "3 runs"},
    {"launcher", 0, OPTION_TEXT, &options.launcher, "COMMAND", "starts the processes: 'mpiexec.mpich -n {np}'"},
    {"cache", 0, OPTION_TEXT, &options.cache, "STATE",
     "of files that are there before: cold, warm or as-recorded (the default)"},
    {"json", 0, OPTION_FLAG, &options.json, NULL, "print one JSON object"},
    {"output", 'o', OPTION_TEXT, &options.output, "FILE", "write there instead of to standard output"},
    {"quiet", 'q', OPTION_FLAG, &options.quiet, NULL, "print no progress"},
    {0},
};

// --- arguments

static int choose_methods(struct predicting *p)
{
    if (!options.method) {
        p->method[METHOD_REPLAY] = options.on.count;
        p->method[METHOD_ANALYTIC] = options.system.count;
        return STATUS_OK;
    }
    for (const char *at = options.method; *at;) {
        size_t length = strcspn(at, ","), found = METHOD_COUNT;
        for (unsigned i = 0; i < METHOD_COUNT; i++) {
            if (strlen(predict_method_names[i]) == length && !strncmp(predict_method_names[i], at, length)) found = i;
        }
        if (found == METHOD_COUNT) return cli_usage("predict", at, "not one of replay, analytic, mendez, meswani");
        p->method[found] = true;
        at += length + (at[length] == ',');
    }
    if (p->method[METHOD_MESWANI] && !options.reference) {
        return cli_usage("predict", "meswani", "needs --reference, where the program was recorded");
    }
    return STATUS_OK;
}

static int open_system(struct predict_target *target, const char *path)
{
    struct json_in_error error;
    target->name = path;
    int code = system_read(&target->system, path, &error);
    if (code < 0) return cli_fail_json("predict", path, code, &error);
    return target->system.points ? STATUS_OK : cli_fail("predict", path, ERR_NOTHING);
}

static int open_directory(struct predict_target *target, const char *path)
{
    struct stat about;
    *target = (struct predict_target){.name = path, .is_directory = true};
    if (stat(path, &about) < 0) return cli_fail("predict", path, -errno);
    if (!S_ISDIR(about.st_mode)) return cli_fail("predict", path, -ENOTDIR);
    return access(path, W_OK) < 0 ? cli_fail("predict", path, -errno) : STATUS_OK;
}

static bool is_directory(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static int open_targets(struct predicting *p, struct predict_target *reference)
{
    p->target = calloc(options.on.count + options.system.count + 1, sizeof *p->target);
    if (!p->target) return cli_fail("predict", "memory", -ENOMEM);
    int status = STATUS_OK;
    for (size_t i = 0; i < options.on.count && status == STATUS_OK; i++) {
        status = open_directory(&p->target[p->targets++], options.on.item[i]);
    }
    for (size_t i = 0; i < options.system.count && status == STATUS_OK; i++) {
        status = open_system(&p->target[p->targets++], options.system.item[i]);
    }
    if (!options.reference || status != STATUS_OK) return status;
    p->reference = reference;
    return is_directory(options.reference) ? open_directory(reference, options.reference)
                                           : open_system(reference, options.reference);
}

// The requests of as many processes as there shall be. The runner of replays scales its model itself.
static int find_classes(struct predicting *p, char *name)
{
    if (p->np == p->model->program[p->program].np) return predict_find_classes(p, p->model);
    struct model_argument scaled;
    int status = model_argument_open(&scaled, "predict", name, &(struct model_options){0});
    if (status != STATUS_OK) return status;
    int code = model_scale(&scaled.model, p->program, p->np);
    status = code < 0 ? cli_fail("predict", "--np", code) : predict_find_classes(p, &scaled.model);
    model_argument_close(&scaled);
    return status;
}

// Whether the methods can do their work: there is a point for each kind of requests, and a time where one is needed.
static int check_methods(const struct predicting *p, const char *name)
{
    for (size_t i = 0; i <= p->targets; i++) {
        const struct predict_target *target = i < p->targets ? &p->target[i] : p->reference;
        struct estimate estimate;
        for (size_t k = 0; target && !target->is_directory && k < p->classes; k++) {
            if (analytic_estimate(&target->system, &p->class[k].io, &estimate) == 0) continue;
            fprintf(stderr, "ioseer predict: %s: it has no points of %s\n", target->name,
                    p->class[k].io.write ? "writing" : "reading");
            return STATUS_FAILURE;
        }
    }
    int64_t recorded_ns = 0;
    for (size_t i = 0; i < p->phases; i++) recorded_ns += p->model->phase[p->first + i].duration_ns;
    if (!p->method[METHOD_MESWANI] || recorded_ns > 0) return STATUS_OK;
    fprintf(stderr, "ioseer predict: %s: it has no recorded times, which meswani needs\n", name);
    return STATUS_FAILURE;
}

// --- output

static bool is_predicted(const struct predicted_target *target)
{
    for (size_t i = 0; i < target->phases; i++) {
        if (target->phase[i].predicted) return true;
    }
    return false;
}

static void print_targets(const struct prediction *prediction, FILE *out)
{
    fprintf(out, "%-32s %-9s %12s %27s %9s\n", "TARGET", "METHOD", "I/O TIME", "95 % INTERVAL", "VARIATION");
    for (size_t i = 0; i < prediction->targets; i++) {
        const struct predicted_target *target = &prediction->target[i];
        char range[2 * sizeof(struct human) + 4];
        snprintf(range, sizeof range, "%s - %s", human_time(target->total.low).text,
                 human_time(target->total.high).text);
        const char *remark = !target->reason ? "" : target->predictable ? "  " : "  not predictable: ";
        if (!is_predicted(target)) {
            fprintf(out, "%-32s %-9s %12s  %s\n", target->name, target->method, "-", target->reason);
            continue;
        }
        fprintf(out, "%-32s %-9s %12s %27s %9s%s%s\n", target->name, target->method,
                human_time(target->total.middle).text, range,
                target->runs > 1 ? human_percent(target->variation).text : "", remark,
                target->reason ? target->reason : "");
    }
    if (prediction->recorded > 0) {
        fprintf(out, "%-32s %-9s %12s\n", "as recorded", "", human_time(prediction->recorded).text);
    }
}

static void print_phases(const struct prediction *prediction, FILE *out)
{
    const struct predicted_target *first = &prediction->target[0];
    fprintf(out, "\n%-6s", "PHASE");
    for (size_t i = 0; i < prediction->targets; i++) {
        fprintf(out, " %*s", 24,
                prediction->target[i].name +
                    (strlen(prediction->target[i].name) > 24 ? strlen(prediction->target[i].name) - 24 : 0));
    }
    fprintf(out, "\n%-6s", "");
    for (size_t i = 0; i < prediction->targets; i++) fprintf(out, " %24s", prediction->target[i].method);
    fputc('\n', out);
    for (size_t k = 0; k < first->phases; k++) {
        fprintf(out, "%-6zu", (size_t)first->phase[k].id);
        for (size_t i = 0; i < prediction->targets; i++) {
            const struct predicted_phase *phase = &prediction->target[i].phase[k];
            fprintf(out, " %24s", phase->predicted ? human_time(phase->seconds.middle).text : "no transfers");
        }
        fputc('\n', out);
    }
}

static void print_points(const struct prediction *prediction, FILE *out)
{
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

static double relative_half(const struct interval *interval)
{
    return interval->middle > 0 ? (interval->high - interval->low) / 2 / interval->middle : 0;
}

// "A: 2.3 +- 0.1 times faster than B"
static void print_ratio(const struct predicted_target *quick, const struct predicted_target *slow, FILE *out)
{
    if (quick->total.middle <= 0) return;
    double ratio = slow->total.middle / quick->total.middle;
    double half = ratio * hypot(relative_half(&quick->total), relative_half(&slow->total));
    fprintf(out, "Run it on %s: %.*f ± %.*f times faster than on %s.\n", quick->name, half < 0.095 ? 2 : 1, ratio,
            half < 0.095 ? 2 : 1, half, slow->name);
}

static void print_choice(const struct prediction *prediction, FILE *out)
{
    const struct predicted_target *best = prediction_best(prediction), *next = NULL;
    size_t rivals = 0;
    for (size_t i = 0; i < prediction->targets; i++) {
        const struct predicted_target *target = &prediction->target[i];
        if (!prediction_is_first(prediction, i) || !is_predicted(target)) continue;
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
        fprintf(out, "%s is too noisy to be sure: %s.\n", prediction->target[i].name, prediction->target[i].reason);
    }
}

static int print_json(const struct prediction *prediction, FILE *out)
{
    struct json_out *json = json_out_begin(out, 4);
    RETURN_IF(!json, -ENOMEM);
    prediction_write(prediction, json);
    return json_out_end(json);
}

static int print_prediction(const struct predicting *p, const struct prediction *prediction)
{
    struct output output;
    int status = output_open(&output, "predict", options.output);
    if (status != STATUS_OK) return status;
    if (options.json) {
        output.error = print_json(prediction, output.out);
    } else {
        replay_print_program(output.out, p->model, p->program, "predicted");
        print_targets(prediction, output.out);
        print_phases(prediction, output.out);
        print_points(prediction, output.out);
        print_choice(prediction, output.out);
    }
    return output_close(&output, false);
}

// --- the verb

static int predict_model(struct model *model, char *name)
{
    struct predict_target reference = {0};
    struct predicting p = {.model = model,
                           .program = replay_main_program(model),
                           .launcher = options.launcher,
                           .cache = options.cache,
                           .progress = !options.quiet && isatty(STDERR_FILENO)};
    p.first = model->program[p.program].first;
    p.phases = model->program[p.program].end - p.first;
    p.np = options.np ? (uint32_t)options.np : model->program[p.program].np;
    p.repeat = options.repeat ? (unsigned)options.repeat : options.quick ? QUICK_RUNS : RUNS;
    int status = choose_methods(&p);
    if (status == STATUS_OK && p.method[METHOD_MESWANI] && p.np != model->program[p.program].np) {
        status = cli_usage("predict", "--np", "meswani is for the recorded number of processes");
    }
    if (status == STATUS_OK) status = open_targets(&p, &reference);
    if (status == STATUS_OK) status = find_classes(&p, name);
    if (status == STATUS_OK) status = check_methods(&p, name);
    if (status == STATUS_OK) status = predict_run_all(&p);
    if (status == STATUS_OK) {
        struct prediction prediction;
        int code = predict_conclude(&p, &prediction);
        if (code < 0)
            status = cli_fail("predict", "memory", code);
        else if (!prediction.targets)
            status = cli_usage("predict", "--method", "fits none of the targets: replay needs --on, analytic --system");
        else
            status = print_prediction(&p, &prediction);
        prediction_free(&prediction);
    }
    predict_free(&p);
    return status;
}

static int predict_verb(int argc, char **argv)
{
    struct model_argument argument;
    if (argc != 2) return cli_usage("predict", "MODEL|LOG", argc < 2 ? "is missing" : "one is enough");
    if (!options.on.count && !options.system.count) return cli_usage("predict", "--on or --system", "is missing");
    if (options.repeat > REPLAY_MOST_RUNS) return cli_usage("predict", "--repeat", "too many");
    if (options.np > REPLAY_MOST_PROCESSES) return cli_usage("predict", "--np", "too many");
    if (!replay_cache_is_known(options.cache)) {
        return cli_usage("predict", options.cache, "not cold, warm or as-recorded");
    }
    int status = output_check("predict", options.output);
    if (status == STATUS_OK) status = model_argument_open(&argument, "predict", argv[1], &(struct model_options){0});
    if (status != STATUS_OK) return status;
    if (!options.quiet) model_argument_warn(&argument);
    status = replay_check_model("predict", argv[1], &argument.model);
    if (status == STATUS_OK) status = predict_model(&argument.model, argv[1]);
    model_argument_close(&argument);
    return status;
}

const struct verb verb_predict = {
    .name = "predict",
    .summary = "say how long a program's I/O would take on other storage",
    .usage = "[OPTION]... MODEL|LOG {--on DIR | --system SYSTEM}...",
    .about =
        "Runs the phases of a model on storage, or calculates with a profile of it, and says how long the program's "
        "I/O\n"
        "would take there, with 95 % intervals; of several targets, which is the quickest. Where the storage is so\n"
        "noisy that no prediction can be trusted, it says so.",
    .options = rows,
    .run = predict_verb,
};
