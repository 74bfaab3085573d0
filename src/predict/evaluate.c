#include "predict/evaluate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "measure/statistics.h"
#include "replay/replay.h"

int evaluate_start(struct evaluation *e, const struct prediction *prediction, const char *target, const char *method,
                   size_t most_logs) {
    *e = (struct evaluation){0};
    for (size_t i = 0; i < prediction->targets && !e->target; i++) {
        const struct predicted_target *at = &prediction->target[i];
        if ((!target || !strcmp(target, at->name)) && (!method || !strcmp(method, at->method))) e->target = at;
    }
    RETURN_IF(!e->target, ERR_NOTHING);
    e->phase = calloc(e->target->phases + 1, sizeof *e->phase);
    e->total = calloc(most_logs + 1, sizeof *e->total);
    RETURN_IF(!e->phase || !e->total, -ENOMEM);
    while (e->phases < e->target->phases) {
        const struct predicted_phase *phase = &e->target->phase[e->phases];
        struct evaluated_phase *to = &e->phase[e->phases++];
        *to = (struct evaluated_phase){.id = phase->id, .predicted = phase->seconds.middle};
        to->seconds = calloc(most_logs + 1, sizeof *to->seconds);
        RETURN_IF(!to->seconds, -ENOMEM);
    }
    return 0;
}

// --- logs

static int add_bytes(const struct model *model, const struct model_phase *from, struct evaluated_phase *phase) {
    struct op_summary *row = NULL;
    size_t count = 0;
    FORWARD(model_summarise_ops(model, &model->family[from->family], &row, &count));
    for (size_t i = 0; i < count; i++)
        *(row[i].kind->class == CLASS_WRITE ? &phase->write_bytes : &phase->read_bytes) += (double)row[i].bytes;
    free(row);
    return 0;
}

int evaluate_add(struct evaluation *e, const struct model *model, const char *name, struct problem *problem) {
    if (!model->phases) return problem_code(problem, ERR_NOTHING, name);
    const struct model_program *program = &model->program[replay_main_program(model)];
    if (program->end - program->first != e->phases)
        return problem_set(problem, ERR_FORMAT, name, "has %zu phases, the prediction %zu: it is not the same program",
                           program->end - program->first, e->phases);
    for (size_t i = 0; i < e->phases; i++) {
        const struct model_phase *phase = &model->phase[program->first + i];
        e->phase[i].seconds[e->logs] = (double)phase->duration_ns / 1e9;
        e->total[e->logs] += (double)phase->duration_ns / 1e9;
        if (!e->logs) FORWARD(add_bytes(model, phase, &e->phase[i]));
    }
    if (e->total[e->logs++] > 0) return 0;
    return problem_set(problem, ERR_NOTHING, name, "it has no measured times");
}

// --- numbers

double evaluate_error_pct(double predicted, double measured) {
    return measured > 0 ? 100 * (predicted - measured) / measured : NAN;
}

// The time that the bytes of a phase would take at the peak, as a fraction of the measured time. Reads and writes each
// have their own peak.
static double usage_pct(const struct evaluated_phase *phase, const struct system *system) {
    double least = 0;
    if (!system || phase->measured <= 0) return NAN;
    if ((phase->read_bytes > 0 && system->peak_read <= 0) || (phase->write_bytes > 0 && system->peak_write <= 0))
        return NAN;
    if (phase->read_bytes > 0) least += phase->read_bytes / system->peak_read;
    if (phase->write_bytes > 0) least += phase->write_bytes / system->peak_write;
    return 100 * least / phase->measured;
}

void evaluate_finish(struct evaluation *e, const struct system *system) {
    for (size_t i = 0; i < e->phases; i++) {
        e->phase[i].measured = statistics_median(e->phase[i].seconds, e->logs).middle;
        e->phase[i].usage_pct = usage_pct(&e->phase[i], system);
        e->sum_measured += e->phase[i].measured;
        e->sum_predicted += e->phase[i].predicted;
    }
    e->variation = statistics_variation(e->total, e->logs);
    e->measured = statistics_median(e->total, e->logs).middle;
    for (size_t i = 0; i < e->logs; i++)
        e->inside += e->total[i] >= e->target->total.low && e->total[i] <= e->target->total.high;
}

void evaluate_free(struct evaluation *e) {
    for (size_t i = 0; i < e->phases; i++) free(e->phase[i].seconds);
    free(e->phase);
    free(e->total);
}
