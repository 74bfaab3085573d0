// `ioseer evaluate`: a prediction against what was measured.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "cli/model_argument.h"
#include "cli/output.h"
#include "cli/verb.h"
#include "log/describe.h"
#include "predict/prediction.h"
#include "replay/replay.h"
#include "target/system/system.h"

static struct {
    const char *predicted, *target, *method, *system, *output;
    struct option_list measured;
    bool json, quiet;
} options;

static const struct option_row rows[] = {
    {"predicted", 0, OPTION_TEXT, &options.predicted, "FILE", "what `predict --json` printed"},
    {"target", 0, OPTION_TEXT, &options.target, "NAME", "which of its targets (default: the first)"},
    {"method", 0, OPTION_TEXT, &options.method, "NAME", "which method (default: the target's first)"},
    {"measured", 0, OPTION_LIST, &options.measured, "LOG", "of the program on that target; may be given several times"},
    {"system", 0, OPTION_TEXT, &options.system, "SYSTEM", "profile of the target: how much of its peak was used"},
    {"json", 0, OPTION_FLAG, &options.json, NULL, "print one JSON object"},
    {"output", 'o', OPTION_TEXT, &options.output, "FILE", "write there instead of to standard output"},
    {"quiet", 'q', OPTION_FLAG, &options.quiet, NULL, "print no warnings"},
    {0},
};

// What the logs say of a phase.
struct measured_phase {
    double *seconds; // log by log
    double read_bytes, write_bytes;
};

struct evaluation {
    const struct predicted_target *target;
    struct measured_phase *phase;
    size_t phases;
    double *total; // log by log
    size_t logs;
    const struct system *system; // or NULL
};

// --- what was measured

static int take_bytes(const struct model *model, const struct model_phase *of, struct measured_phase *phase)
{
    struct model_row *row = NULL;
    size_t count = 0;
    FORWARD(model_rows(model, &model->family[of->family], &row, &count));
    for (size_t i = 0; i < count; i++) {
        *(row[i].class == CLASS_WRITE ? &phase->write_bytes : &phase->read_bytes) += (double)row[i].bytes;
    }
    free(row);
    return 0;
}

static int take_model(struct evaluation *e, const struct model *model, const char *name)
{
    const struct model_program *program = &model->program[replay_main_program(model)];
    if (!model->phases) return cli_fail("evaluate", name, ERR_NOTHING);
    if (program->end - program->first != e->phases) {
        fprintf(stderr, "ioseer evaluate: %s: has %zu phases, the prediction %zu: it is not the same program\n", name,
                program->end - program->first, e->phases);
        return STATUS_FAILURE;
    }
    for (size_t i = 0; i < e->phases; i++) {
        const struct model_phase *phase = &model->phase[program->first + i];
        e->phase[i].seconds[e->logs] = (double)phase->duration_ns / 1e9;
        e->total[e->logs] += (double)phase->duration_ns / 1e9;
        int code = e->logs ? 0 : take_bytes(model, phase, &e->phase[i]);
        if (code < 0) return cli_fail("evaluate", name, code);
    }
    if (e->total[e->logs++] > 0) return STATUS_OK;
    fprintf(stderr, "ioseer evaluate: %s: it has no measured times\n", name);
    return STATUS_FAILURE;
}

static int take_logs(struct evaluation *e)
{
    int status = STATUS_OK;
    e->phases = e->target->phases;
    e->phase = calloc(e->phases + 1, sizeof *e->phase);
    e->total = calloc(options.measured.count + 1, sizeof *e->total);
    if (!e->phase || !e->total) return cli_fail("evaluate", "memory", -ENOMEM);
    for (size_t i = 0; i < e->phases; i++) {
        e->phase[i].seconds = calloc(options.measured.count + 1, sizeof *e->phase[i].seconds);
        if (!e->phase[i].seconds) return cli_fail("evaluate", "memory", -ENOMEM);
    }
    for (size_t i = 0; i < options.measured.count && status == STATUS_OK; i++) {
        struct model_argument argument;
        char *word = (char *)options.measured.item[i];
        status = model_argument_open(&argument, "evaluate", word, &(struct model_options){0});
        if (status != STATUS_OK) break;
        model_argument_warn(&argument);
        status = take_model(e, &argument.model, word);
        model_argument_close(&argument);
    }
    return status;
}

// --- numbers

static double error_pct(double predicted, double measured)
{
    return measured > 0 ? 100 * (predicted - measured) / measured : NAN;
}

// The share of the peak that the phase's bytes would have had, those read and those written by themselves.
static double usage_pct(const struct evaluation *e, const struct measured_phase *phase, double seconds)
{
    if (!e->system || seconds <= 0) return NAN;
    if ((phase->read_bytes > 0 && e->system->peak_read <= 0) || (phase->write_bytes > 0 && e->system->peak_write <= 0))
        return NAN;
    double least = 0;
    if (phase->read_bytes > 0) least += phase->read_bytes / e->system->peak_read;
    if (phase->write_bytes > 0) least += phase->write_bytes / e->system->peak_write;
    return 100 * least / seconds;
}

// --- output

static int print_json(struct evaluation *e, FILE *out)
{
    struct json_out *json = json_out_begin(out, 2);
    RETURN_IF(!json, -ENOMEM);
    json_object(json);
    key_text(json, "target", e->target->name);
    key_text(json, "method", e->target->method);
    json_key(json, "phases");
    json_array(json);
    for (size_t i = 0; i < e->phases; i++) {
        double predicted = e->target->phase[i].seconds.middle;
        struct interval measured = statistics_median(e->phase[i].seconds, e->logs);
        json_object(json);
        key_number(json, "id", e->target->phase[i].id);
        key_double(json, "predicted", predicted);
        key_double(json, "measured", measured.middle);
        key_double(json, "error_pct", error_pct(predicted, measured.middle));
        key_double(json, "error_abs_pct", fabs(error_pct(predicted, measured.middle)));
        key_double(json, "usage_pct", usage_pct(e, &e->phase[i], measured.middle));
        json_close(json);
    }
    json_close(json);
    double variation = statistics_variation(e->total, e->logs);
    struct interval total = statistics_median(e->total, e->logs);
    size_t inside = 0;
    for (size_t i = 0; i < e->logs; i++) {
        inside += e->total[i] >= e->target->total.low && e->total[i] <= e->target->total.high;
    }
    key_double(json, "predicted", e->target->total.middle);
    key_double(json, "measured", total.middle);
    key_double(json, "total_error_pct", error_pct(e->target->total.middle, total.middle));
    key_double(json, "total_error_abs_pct", fabs(error_pct(e->target->total.middle, total.middle)));
    key_double(json, "measured_cv", variation);
    key_number(json, "logs", e->logs);
    key_number(json, "inside_interval", inside);
    json_close(json);
    return json_out_end(json);
}

// `usage` is NAN where it is not known.
static void print_row(FILE *out, const char *name, double predicted, double measured, double usage)
{
    char error[32] = "";
    if (measured > 0) snprintf(error, sizeof error, "%+.1f %%", error_pct(predicted, measured));
    fprintf(out, "%-8s %14s %14s %11s", name, human_time(predicted).text, human_time(measured).text, error);
    if (isfinite(usage)) fprintf(out, " %10.1f %%", usage);
    fputc('\n', out);
}

static void print_text(struct evaluation *e, FILE *out)
{
    fprintf(out, "%s, %s, against %zu run%s\n\n", e->target->name, e->target->method, e->logs, e->logs == 1 ? "" : "s");
    fprintf(out, "%-8s %14s %14s %11s%s\n", "PHASE", "PREDICTED", "MEASURED", "ERROR",
            e->system ? "      OF PEAK" : "");
    for (size_t i = 0; i < e->phases; i++) {
        struct interval measured = statistics_median(e->phase[i].seconds, e->logs);
        char name[24];
        snprintf(name, sizeof name, "%zu", (size_t)e->target->phase[i].id);
        print_row(out, name, e->target->phase[i].seconds.middle, measured.middle,
                  usage_pct(e, &e->phase[i], measured.middle));
    }
    double variation = statistics_variation(e->total, e->logs);
    print_row(out, "total", e->target->total.middle, statistics_median(e->total, e->logs).middle, NAN);
    if (e->logs > 1) fprintf(out, "\nThe program's own runs vary by %s.\n", human_percent(variation).text);
}

static int print_evaluation(struct evaluation *e)
{
    struct output output;
    int status = output_open(&output, "evaluate", options.output);
    if (status != STATUS_OK) return status;
    if (options.json)
        output.error = print_json(e, output.out);
    else
        print_text(e, output.out);
    return output_close(&output, false);
}

// --- the verb

static const struct predicted_target *find_target(const struct prediction *prediction)
{
    const struct predicted_target *found = NULL;
    for (size_t i = 0; i < prediction->targets && !found; i++) {
        const struct predicted_target *target = &prediction->target[i];
        if (options.target && strcmp(options.target, target->name)) continue;
        if (options.method && strcmp(options.method, target->method)) continue;
        found = target;
    }
    if (!found) {
        fprintf(stderr, "ioseer evaluate: %s: no prediction for %s%s%s\n", options.predicted,
                options.target ? options.target : "any target", options.method ? " by " : "",
                options.method ? options.method : "");
    }
    return found;
}

static int evaluate(const struct prediction *prediction)
{
    struct evaluation e = {.target = find_target(prediction)};
    struct system system = {0};
    struct json_in_error error = {0};
    if (!e.target) return STATUS_FAILURE;
    if (options.system) {
        int code = system_read(&system, options.system, &error);
        if (code < 0) return cli_fail_json("evaluate", options.system, code, &error);
        e.system = &system;
    }
    int status = take_logs(&e);
    if (status == STATUS_OK) status = print_evaluation(&e);
    for (size_t i = 0; i < e.phases && e.phase; i++) free(e.phase[i].seconds);
    free(e.phase);
    free(e.total);
    system_free(&system);
    return status;
}

static int evaluate_verb(int argc, char **argv)
{
    struct prediction prediction;
    struct json_in_error error = {0};
    if (argc > 1) return cli_usage("evaluate", argv[1], "logs are given with --measured");
    if (!options.predicted) return cli_usage("evaluate", "--predicted", "is missing");
    if (!options.measured.count) return cli_usage("evaluate", "--measured", "is missing");
    int code = prediction_read(&prediction, options.predicted, &error);
    if (code < 0) return cli_fail_json("evaluate", options.predicted, code, &error);
    int status = evaluate(&prediction);
    prediction_free(&prediction);
    return status;
}

const struct verb verb_evaluate = {
    .name = "evaluate",
    .summary = "compare a prediction with what was measured",
    .usage = "--predicted FILE [--target NAME] --measured LOG... [OPTION]...",
    .about =
        "Compares the times that `predict` said for a target with those of the program there: each phase, and all of\n"
        "them. With a profile of the target, also how much of its peak bandwidth the program got.",
    .options = rows,
    .run = evaluate_verb,
};
