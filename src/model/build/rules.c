// Splits families where the rule of their places changes: ten dumps from one place on, then ten from another.
//
// Within a run of phases each place moves by a constant step. Runs become families if there are few of them: any two
// phases are a run, so more than one run in three phases is no rule, and a table says more.
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/scoped.h"
#include "model/build/build.h"
#include "model/fit.h"

// Where the operations of a phase begin: one number after the other.
struct places {
    int64_t *value;
    size_t count;
    int code;
};

static void free_places(struct places *places) { free(places->value); }

static void note_places(const struct op *op, const struct loops_step *step, const uint64_t *count, unsigned steps,
                        void *context) {
    static const enum op_coordinate coordinates[] = {AT_MEMBER, AT_OFFSET, AT_SECOND};
    struct places *places = context;
    (void)step, (void)steps;
    for (size_t i = 0; count && i < sizeof coordinates / sizeof *coordinates && !places->code; i++) {
        places->code = array_push(places->value, places->count, op->at[coordinates[i]]);
    }
}

static int find_places(const struct building *b, size_t phase, struct places *places) {
    const struct align_phase *at = &b->align.phase[phase];
    places->count = 0;
    for (size_t i = 0; i < at->parts; i++) {
        loops_visit(&b->segments.segment[at->part[i].segment].ops, note_places, places);
    }
    return places->code;
}

static int64_t difference(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }

// The phases of a family while runs are searched.
struct family_run {
    struct places now, last, before; // of this phase and the two before it
    struct places step;              // none yet in a run of one phase
    size_t runs;
    size_t broke; // the first place that left a run
};

static void free_run(struct family_run *run) {
    free_places(&run->now);
    free_places(&run->last);
    free_places(&run->before);
    free_places(&run->step);
}

// Whether a phase continues the run.
static int continues(struct family_run *run, bool *is_next) {
    *is_next = run->now.count == run->last.count && run->runs;
    if (!*is_next) return 0;
    bool has_step = run->step.count;
    for (size_t i = 0; i < run->now.count && *is_next; i++) {
        int64_t step = difference(run->now.value[i], run->last.value[i]);
        if (!has_step) FORWARD(array_push(run->step.value, run->step.count, step));
        *is_next = run->step.value[i] == step;
        if (!*is_next && run->broke == SIZE_MAX) run->broke = i;
    }
    return 0;
}

// The second phase of a run of two may as well be the first of the next run, which now has its step.
static bool belongs_to_next(const struct family_run *run, size_t i, const uint32_t *run_of) {
    if (i < 3 || run_of[i] != run_of[i - 1] || run_of[i - 2] == run_of[i]) return false;
    if (run_of[i - 3] != run_of[i - 2] || (i > 3 && run_of[i - 4] == run_of[i - 2])) return false;
    for (size_t k = 0; k < run->step.count; k++) {
        if (difference(run->last.value[k], run->before.value[k]) != run->step.value[k]) return false;
    }
    return true;
}

// Fills `run_of` with the number of the run of each phase, from 0.
static int find_runs(const struct building *b, const size_t *phase, size_t count, struct family_run *run,
                     uint32_t *run_of) {
    for (size_t i = 0; i < count; i++) {
        bool is_next;
        FORWARD(find_places(b, phase[i], &run->now));
        FORWARD(continues(run, &is_next));
        if (!is_next) {
            run->step.count = 0;
            run->runs++;
        }
        run_of[i] = (uint32_t)run->runs - 1;
        if (belongs_to_next(run, i, run_of)) run_of[i - 2] = run_of[i];
        struct places before = run->before;
        run->before = run->last;
        run->last = run->now;
        run->now = before;
    }
    return 0;
}

// Whether one expression gives the place that left a run.
static int has_expression(const struct building *b, const size_t *phase, size_t count, size_t place, bool *has) {
    SCOPED_FREE struct fit_point *point = malloc(count * sizeof *point);
    SCOPED(free_places) struct places places = {0};
    char text[FIT_TEXT_BYTES];
    RETURN_IF(!point, -ENOMEM);
    *has = false;
    for (size_t i = 0; i < count; i++) {
        FORWARD(find_places(b, phase[i], &places));
        if (place >= places.count) return 0;
        point[i] = (struct fit_point){.ph = (int64_t)i + 1, .value = places.value[place]};
    }
    *has = fit_expression(&(struct fit_input){.point = point, .count = count, .np = 1}, text) == 0;
    return 0;
}

static int split_family(const struct building *b, const size_t *phase, size_t count, uint64_t *signatures) {
    SCOPED(free_run) struct family_run run = {.broke = SIZE_MAX};
    SCOPED_FREE uint32_t *run_of = malloc(count * sizeof *run_of);
    bool has = false;
    RETURN_IF(!run_of, -ENOMEM);
    FORWARD(find_runs(b, phase, count, &run, run_of));
    if (run.runs == 1 || run.runs * 3 > count + 1 || run.broke == SIZE_MAX) return 0;
    FORWARD(has_expression(b, phase, count, run.broke, &has));
    for (size_t i = 0; i < count && !has; i++) {
        if (run_of[i]) signatures[phase[i]] = hash_add(signatures[phase[i]], run_of[i]);
    }
    return 0;
}

static int by_signature(const void *x, const void *y, void *context) {
    size_t a = *(const size_t *)x, b = *(const size_t *)y;
    const uint64_t *signatures = context;
    if (signatures[a] != signatures[b]) return signatures[a] < signatures[b] ? -1 : 1;
    return a < b ? -1 : a > b;
}

int build_rules(const struct building *b, uint64_t *signatures) {
    size_t count = b->align.count;
    SCOPED_FREE size_t *phase = malloc((count + 1) * sizeof *phase);
    RETURN_IF(!phase, -ENOMEM);
    for (size_t i = 0; i < count; i++) phase[i] = i;
    qsort_r(phase, count, sizeof *phase, by_signature, signatures);
    for (size_t first = 0, end; first < count; first = end) {
        uint64_t signature = signatures[phase[first]];
        for (end = first + 1; end < count && signatures[phase[end]] == signature;) end++;
        if (end - first > 2) FORWARD(split_family(b, &phase[first], end - first, signatures));
    }
    return 0;
}
