#include "cli/predict_print.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/table.h"
#include "cli/argument.h"
#include "replay/replay.h"

enum { NAME_COLUMNS = 24 };

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

// Why there were not more runs, and what stands for what.
static void print_runs(const struct prediction *prediction, FILE *out) {
    if (prediction->end == PREDICT_PRECISE)
        fprintf(out, "\nThe runs ended when all times were known within %s.\n", human_percent(prediction->asked).text);
    if (prediction->end == PREDICT_TOLD_APART)
        fprintf(out, "\nThe runs ended when one target was the fastest for sure.\n");
    for (size_t i = 0; i < prediction->targets; i++) {
        const struct predicted_target *target = &prediction->target[i];
        if (!target->left_out) continue;
        fprintf(out,
                "\n%zu of %zu phases were not replayed in each run on %s: others of their families stand for them. In "
                "a run "
                "of all phases, that changes the total by %s.\n",
                target->left_out, target->phases, target->name, human_percent(target->sample_error).text);
    }
}

int predict_print(const struct model *model, const struct prediction *prediction, FILE *out) {
    argument_print_program(out, model, replay_main_program(model), "predicted");
    FORWARD(print_targets(prediction, out));
    fputc('\n', out);
    FORWARD(print_phases(prediction, out));
    print_points(prediction, out);
    print_runs(prediction, out);
    print_choice(prediction, out);
    return 0;
}
