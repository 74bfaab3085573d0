// Predictions, which `predict` makes and `evaluate` checks, and their JSON.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_in.h"
#include "base/json_out.h"
#include "measure/statistics.h"

struct predicted_phase {
    uint64_t id; // as `ioseer phases` prints it
    struct interval seconds;
    char *points; // that the analytic method uses, in words; or NULL
    bool extrapolated;
    bool predicted; // it has transfers
    unsigned runs;  // that replayed it; 0: it was calculated
};

// Why there were no more runs.
enum predict_end { PREDICT_AS_ASKED, PREDICT_PRECISE, PREDICT_TOLD_APART, PREDICT_MOST_RUNS, PREDICT_ENDS };

struct predicted_target {
    char *name;
    char *method;
    bool predicted;   // some phase is
    bool predictable; // its runs do not vary too much
    char *reason;     // why not, or a remark; or NULL
    struct interval total;
    double variation; // of the runs; 0 without runs
    double precision; // of the runs' mean: half of its 95 % interval, as a fraction; infinite for fewer than two runs
    unsigned runs;
    size_t left_out;     // phases that only the first run replayed, and the others stand for
    double sample_error; // of the total of that run, if it had left them out, too; as a fraction
    struct predicted_phase *phase;
    size_t phases;
};

struct prediction {
    struct predicted_target *target;
    size_t targets;
    char *program;    // the command that was recorded, or NULL
    char *executable; // the program in the log that is predicted, or NULL
    size_t programs;  // in the log
    double recorded;  // seconds of I/O in the recorded run; 0: not known
    double asked;     // precision, as a fraction
    enum predict_end end;
};

// Whether it is the first method of its target: targets are compared by their first methods.
bool prediction_is_first(const struct prediction *prediction, size_t target);
// The target that is faster than all others by more than the intervals; NULL: none.
const struct predicted_target *prediction_best(const struct prediction *prediction);

const char *predict_end_text(enum predict_end end); // as in JSON; NULL: the number of runs was asked for

void prediction_write(const struct prediction *prediction, struct json_out *json);
// Returns 0 or a negative code with the reason in `error`, and then leaves nothing to free.
int prediction_read(struct prediction *prediction, const char *path, struct json_in_error *error);
void prediction_free(struct prediction *prediction);
