#include "predict/sample.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/lookup.h"
#include "base/scoped.h"

enum { LEAST_PHASES = 4 };             // of a family, in a sample
static const double LEAST_SAVED = 0.2; // share of the time in phases that are left out: below it a sample saves little

static const struct model_phase *phase_at(const struct predicting *p, size_t i) {
    return &p->model->phase[p->first + i];
}

// --- whether phases can run without the others

// A file, as the phases use it.
struct touched {
    uint32_t by;    // the first phase that does
    int64_t lowest; // offset that a phase writes which is left out
};

struct touching {
    const struct predicting *p;
    const bool *chosen;
    struct lookup find; // set and member -> place
    struct touched *file;
    size_t files;
    bool checks; // after all uses are known
    bool needs;  // a chosen phase needs what another one does
};

static int note_use(struct touching *t, uint64_t key, uint32_t phase, const struct model_step *step) {
    uint32_t at = lookup_find(&t->find, key);
    if (at == LOOKUP_NONE) {
        FORWARD(array_room(t->file, t->files));
        at = (uint32_t)t->files++;
        t->file[at] = (struct touched){.by = phase, .lowest = INT64_MAX};
        FORWARD(lookup_set(&t->find, key, at));
    }
    struct touched *file = &t->file[at];
    if (phase < file->by) file->by = phase;
    bool writes = step->kind->class == CLASS_WRITE && !t->chosen[phase];
    if (writes && step->op->at[AT_OFFSET] < file->lowest) file->lowest = step->op->at[AT_OFFSET];
    return 0;
}

// Pieces in a view are further apart than its bytes: only where they begin is compared.
static void check_use(struct touching *t, uint64_t key, uint32_t phase, const struct model_step *step) {
    uint32_t at = lookup_find(&t->find, key);
    if (at == LOOKUP_NONE || !t->chosen[phase]) return;
    const struct touched *file = &t->file[at];
    int64_t bytes = step->op->at[AT_SIZE] - step->op->at[AT_SHORT];
    int64_t end = step->op->at[AT_OFFSET] + (step->kind->has_view && bytes > 0 ? 1 : bytes);
    if (!t->chosen[file->by]) t->needs = true;
    if (step->kind->class == CLASS_READ && end > file->lowest) t->needs = true;
}

static int touch(const struct model_step *step, void *context) {
    struct touching *t = context;
    const struct op_kind *kind = step->kind;
    uint32_t phase = step->phase - (uint32_t)t->p->first;
    const uint32_t set[] = {kind->set, kind->set2};
    const int64_t member[] = {step->op->at[AT_MEMBER], step->op->at[AT_SECOND]};
    for (unsigned i = 0; i < 2 && !kind->sync; i++) {
        if (set[i] == OP_NO_SET) continue;
        uint64_t key = lookup_pair(set[i], (uint32_t)member[i]);
        if (t->checks)
            check_use(t, key, phase, step);
        else
            FORWARD(note_use(t, key, phase, step));
    }
    return t->needs;
}

static int touch_all(struct touching *t) {
    const struct model *model = t->p->model;
    uint32_t threads = model_threads(model, t->p->program);
    for (uint32_t rank = 0; rank < t->p->np; rank++) {
        for (uint32_t thread = 0; thread < threads; thread++) {
            int code = model_expand(model, t->p->program, rank, thread, touch, t);
            RETURN_IF(code, code < 0 ? code : 0);
        }
    }
    return 0;
}

// Whether the chosen phases use no file that another phase makes, and read nothing that another one may have written.
static int can_run_alone(const struct predicting *p, const bool *chosen, bool *can) {
    struct touching t = {.p = p, .chosen = chosen};
    int code = touch_all(&t);
    t.checks = true;
    if (!code) code = touch_all(&t);
    *can = !t.needs;
    lookup_free(&t.find);
    free(t.file);
    return code;
}

// --- choosing

// Chooses the first `most` phases of families that have at least twice as many, and all phases of others.
static void choose(const struct predicting *p, uint32_t most, bool *chosen) {
    for (size_t i = 0; i < p->phases; i++) {
        const struct model_phase *phase = phase_at(p, i);
        chosen[i] = phase->ph <= most || p->model->family[phase->family].count < 2 * most;
    }
}

// The seconds of the chosen phases, by family.
static double *sums_of_families(const struct predicting *p, const bool *chosen, const double *value) {
    double *sum = calloc(p->model->families + 1, sizeof *sum);
    for (size_t i = 0; i < p->phases && sum; i++) sum[phase_at(p, i)->family] += chosen[i] ? value[i] : 0;
    return sum;
}

// How far the total is off if the other phases take as long as the chosen ones do on average, as a fraction; and the
// share of the time in these other phases.
static int judge(const struct predicting *p, uint32_t most, const bool *chosen, const double *value, double *error,
                 double *saved) {
    SCOPED_FREE double *sum = sums_of_families(p, chosen, value);
    double total = 0, estimate = 0, others = 0;
    RETURN_IF(!sum, -ENOMEM);
    for (size_t i = 0; i < p->phases; i++) {
        total += value[i];
        estimate += chosen[i] ? value[i] : sum[phase_at(p, i)->family] / most;
        others += chosen[i] ? 0 : value[i];
    }
    *error = total > 0 ? fabs(estimate / total - 1) : INFINITY;
    *saved = total > 0 ? others / total : 0;
    return 0;
}

// As in 1-4,9-12: numbers of phases in the log, from 1.
static char *list_phases(const struct predicting *p, const bool *chosen) {
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out) return NULL;
    for (size_t i = 0, end; i < p->phases; i = end) {
        for (end = i + 1; end < p->phases && chosen[end] == chosen[i];) end++;
        if (!chosen[i]) continue;
        fprintf(out, "%s%zu", ftell(out) ? "," : "", p->first + i + 1);
        if (end > i + 1) fprintf(out, "-%zu", p->first + end);
    }
    if (fclose(out)) free(text), text = NULL;
    return text;
}

static uint32_t largest_family(const struct predicting *p) {
    uint32_t most = 0;
    for (size_t i = 0; i < p->phases; i++) {
        uint32_t count = p->model->family[phase_at(p, i)->family].count;
        if (count > most) most = count;
    }
    return most;
}

int sample_choose(const struct predicting *p, struct predict_sample *sample) {
    uint32_t largest = largest_family(p);
    if (p->np != p->model->program[p->program].np || largest < 2 * LEAST_PHASES) return 0;
    sample->chosen = calloc(p->phases + 1, sizeof *sample->chosen);
    RETURN_IF(!sample->chosen, -ENOMEM);
    for (uint32_t most = LEAST_PHASES; 2 * most <= largest; most *= 2) {
        double saved;
        bool can;
        choose(p, most, sample->chosen);
        FORWARD(judge(p, most, sample->chosen, sample->first, &sample->error, &saved));
        if (saved < LEAST_SAVED) return 0;
        if (sample->error > p->settings->precision / 2) continue;
        FORWARD(can_run_alone(p, sample->chosen, &can));
        if (!can) continue;
        sample->phases = list_phases(p, sample->chosen);
        return sample->phases ? 0 : -ENOMEM;
    }
    return 0;
}

// --- using

int sample_complete(const struct predicting *p, const struct predict_sample *sample, double *value, bool *stands) {
    SCOPED_FREE double *before = sums_of_families(p, sample->chosen, sample->first);
    SCOPED_FREE double *now = sums_of_families(p, sample->chosen, value);
    double all_before = 0, all_now = 0;
    RETURN_IF(!before || !now, -ENOMEM);
    for (size_t i = 0; i < p->model->families; i++) all_before += before[i], all_now += now[i];
    *stands = all_before > 0 && fabs(all_now / all_before - 1) <= 2 * p->settings->precision;
    for (size_t i = 0; i < p->phases; i++) {
        uint32_t family = phase_at(p, i)->family;
        if (!sample->chosen[i]) value[i] = before[family] > 0 ? sample->first[i] * now[family] / before[family] : 0;
    }
    return 0;
}

void sample_free(struct predict_sample *sample) {
    if (!sample) return;
    free(sample->chosen);
    free(sample->phases);
    free(sample);
}
