// Predictions: what `predict` found and `evaluate` checks, and their JSON.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_in.h"
#include "base/json_out.h"
#include "measure/statistics.h"

struct predicted_phase {
    uint64_t id; // as in `phases`
    struct interval seconds;
    char *points; // of the analytic method: those used, in words; or NULL
    bool extrapolated;
    bool predicted; // it has transfers
};

struct predicted_target {
    char *name;
    char *method;
    bool predictable;
    char *reason; // why not, or a remark; or NULL
    struct interval total;
    double variation; // of the runs behind it; 0 without runs
    unsigned runs;
    struct predicted_phase *phase;
    size_t phases;
};

struct prediction {
    struct predicted_target *target;
    size_t targets;
    char *program;    // the command that was recorded, or NULL
    char *executable; // the program of it that is predicted, or NULL
    size_t programs;  // in the log
    double recorded;  // seconds of I/O in the recorded run, 0 where it is not known
};

// Whether it is by the first of its target's methods: by these, targets are compared.
bool prediction_is_first(const struct prediction *prediction, size_t target);
// The target that is quicker than all others beyond the intervals; NULL: none.
const struct predicted_target *prediction_best(const struct prediction *prediction);

void prediction_write(const struct prediction *prediction, struct json_out *json);
// Returns 0 or a negative code with the reason in `error`, and then leaves nothing to free.
int prediction_read(struct prediction *prediction, const char *path, struct json_in_error *error);
void prediction_free(struct prediction *prediction);
