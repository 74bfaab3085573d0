// `ioseer evaluate`: compares a prediction with what was measured.
#include <math.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "base/table.h"
#include "cli/argument.h"
#include "cli/option_rows.h"
#include "cli/output.h"
#include "cli/verb.h"
#include "predict/evaluate.h"

static struct {
    const char *predicted, *target, *method, *system, *output;
    struct option_list measured;
    struct model_choice model;
    bool json, quiet;
} options;

static const struct option_row rows[] = {
    {"predicted", 0, OPTION_TEXT, &options.predicted, "FILE", "output of `ioseer predict --json`"},
    {"target", 0, OPTION_TEXT, &options.target, "NAME", "name of the target, as given to predict (default: the first)"},
    {"method", 0, OPTION_CHOICE, &options.method, "replay|analytic|mendez|meswani",
     "how it was predicted (default: the first of the target)"},
    {"measured", 0, OPTION_WORDS, &options.measured, "LOG...", "logs or models of the program on the target"},
    {"system", 0, OPTION_TEXT, &options.system, "SYSTEM",
     "profile of the target; prints how much of its peak bandwidth the program got"},
    ROW_STANDARD_STREAMS(&options.model.standard_streams),
    ROW_JSON(&options.json),
    ROW_OUTPUT(&options.output),
    ROW_QUIET(&options.quiet, "suppress warnings"),
    {0},
};

// --- output

static void print_json(const struct evaluation *e, struct json_out *json) {
    double predicted = e->target->total.middle;
    json_object(json);
    json_members(json, m_text("target", e->target->name), m_text("method", e->target->method));
    key_array(json, "phases");
    for (size_t i = 0; i < e->phases; i++) {
        const struct evaluated_phase *phase = &e->phase[i];
        double error = evaluate_error_pct(phase->predicted, phase->measured);
        json_object_of(json, m_number("id", phase->id), m_double("predicted", phase->predicted),
                       m_double("measured", phase->measured), m_double("error_pct", error),
                       m_double("error_abs_pct", fabs(error)), m_double("usage_pct", phase->usage_pct));
    }
    json_close(json);
    json_members(json, m_double("predicted", predicted), m_double("measured", e->measured),
                 m_double("total_error_pct", evaluate_error_pct(predicted, e->measured)),
                 m_double("total_error_abs_pct", fabs(evaluate_error_pct(predicted, e->measured))),
                 m_double("phases_predicted", e->sum_predicted), m_double("phases_measured", e->sum_measured),
                 m_double("measured_cv", e->variation), m_number("logs", e->logs),
                 m_number("inside_interval", e->inside));
    json_close(json);
}

static void add_times(struct table *table, double predicted, double measured) {
    table_text(table, human_time(predicted).text);
    table_text(table, human_time(measured).text);
    if (measured > 0)
        table_printf(table, "%+.1f %%", evaluate_error_pct(predicted, measured));
    else
        table_text(table, "");
}

static int print_text(const struct evaluation *e, FILE *out) {
    struct table_column columns[] = {{"PHASE", TABLE_TEXT}, {"PREDICTED", TABLE_UNIT}, {"MEASURED", TABLE_UNIT},
                                     {"ERROR", TABLE_UNIT}, {"OF PEAK", TABLE_UNIT},   {0}};
    fprintf(out, "%s, %s, against %zu run%s\n\n", e->target->name, e->target->method, e->logs, e->logs == 1 ? "" : "s");
    if (!options.system) columns[4].header = NULL;
    struct table table = table_begin(out, columns);
    for (size_t i = 0; i < e->phases; i++) {
        const struct evaluated_phase *phase = &e->phase[i];
        table_number(&table, phase->id);
        add_times(&table, phase->predicted, phase->measured);
        if (isfinite(phase->usage_pct)) table_printf(&table, "%.1f %%", phase->usage_pct);
        table_row(&table);
    }
    table_text(&table, "total");
    add_times(&table, e->target->total.middle, e->measured);
    table_row(&table);
    FORWARD(table_end(&table));
    const double rounding = 1e-9;
    if (fabs(e->sum_predicted - e->target->total.middle) > rounding || fabs(e->sum_measured - e->measured) > rounding)
        fprintf(out,
                "\nThe totals are medians of whole runs. The phases, each a median of its own, add up to %s predicted "
                "and %s measured.\n",
                human_time(e->sum_predicted).text, human_time(e->sum_measured).text);
    if (e->logs > 1) fprintf(out, "\nThe program's own runs vary by %s.\n", human_percent(e->variation).text);
    return 0;
}

static enum status print_evaluation(const struct evaluation *e) {
    struct output output;
    int code = 0, status = output_open(&output, "evaluate", options.output);
    if (status != STATUS_OK) return status;
    if (options.json)
        print_json(e, output_json(&output, 2));
    else
        code = print_text(e, output.out);
    return output_end(&output, "memory", code);
}

// --- the verb

static enum status add_logs(struct evaluation *e) {
    enum status status = STATUS_OK;
    for (size_t i = 0; i < options.measured.count && status == STATUS_OK; i++) {
        struct argument argument;
        struct problem problem = {0};
        const char *word = options.measured.item[i];
        status = argument_open_model(&argument, "evaluate", word, &options.model);
        if (status != STATUS_OK) break;
        argument_warn(&argument);
        int code = evaluate_add(e, &argument.model, word, &problem);
        if (code < 0) status = cli_problem("evaluate", word, &problem, code);
        argument_close(&argument);
    }
    return status;
}

static enum status start(struct evaluation *e, const struct prediction *prediction) {
    int code = evaluate_start(e, prediction, options.target, options.method, options.measured.count);
    if (code != ERR_NOTHING) return code < 0 ? cli_fail("evaluate", "memory", code) : STATUS_OK;
    cli_prefix("evaluate");
    fprintf(stderr, "%s: no prediction for %s%s%s\n", options.predicted, options.target ? options.target : "any target",
            options.method ? " by " : "", options.method ? options.method : "");
    return STATUS_FAILURE;
}

static enum status evaluate(const struct prediction *prediction) {
    struct evaluation e;
    struct system system = {0};
    struct json_in_error error = {0};
    enum status status = start(&e, prediction);
    int code = status == STATUS_OK && options.system ? system_read(&system, options.system, &error) : 0;
    if (code < 0) status = cli_fail_json("evaluate", options.system, code, &error);
    if (status == STATUS_OK) status = add_logs(&e);
    if (status == STATUS_OK) {
        evaluate_finish(&e, options.system ? &system : NULL);
        status = print_evaluation(&e);
    }
    evaluate_free(&e);
    system_free(&system);
    return status;
}

static enum status evaluate_verb(int argc, char **argv) {
    struct prediction prediction;
    struct json_in_error error = {0};
    if (argc > 1) return cli_usage("evaluate", argv[1], "unexpected argument: give logs with --measured");
    if (!options.predicted) return cli_usage("evaluate", "--predicted", "is missing");
    if (!options.measured.count) return cli_usage("evaluate", "--measured", "is missing");
    int code = prediction_read(&prediction, options.predicted, &error);
    if (code < 0) return cli_fail_json("evaluate", options.predicted, code, &error);
    enum status status = evaluate(&prediction);
    prediction_free(&prediction);
    return status;
}

const struct verb verb_evaluate = {
    .name = "evaluate",
    .summary = "compare a prediction with measured times",
    .usage = "--predicted FILE [--target NAME] --measured LOG... [OPTION]...",
    .about =
        "Compares the times that `predict` printed for a target with the times that the program took there, for each\n"
        "phase and in total. With a profile of the target, prints how much of its peak bandwidth the program got.",
    .options = rows,
    .run = evaluate_verb,
};
