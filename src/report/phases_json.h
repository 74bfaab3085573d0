// The phases of a model as the JSON object that `ioseer phases --json` prints and the report contains.
#pragma once

#include "base/json_out.h"
#include "model/model.h"

// Phases of one family that follow each other, with a summary of their operations.
struct phase_run {
    const struct model *model;
    const struct model_family *family;
    size_t first, end; // indices of model->phase
    int64_t ns;        // of all these phases
    int64_t other_ns;  // the same, for operations that make no phases
    struct op_summary *op;
    size_t ops;
    uint32_t *rank; // of the processes, ascending
    size_t ranks;
    struct model_file_use files;
    char *name;         // pattern of its files, or the folder of metadata on several sets of files; NULL: none
    const char *object; // in `name`: pattern of its objects, of a layer above MPI-IO; NULL: none
    bool moves;         // bytes
    uint64_t names;     // operations on names in one phase, over all processes
};

// Goes on to the next run, to the first one if only `model` is set. Returns 1, 0 after the last, or a negative code.
// Call phase_run_free in any case.
int phase_run_next(struct phase_run *run);
void phase_run_free(struct phase_run *run);

// No list has more than `most` members.
int phases_json(const struct model *model, struct json_out *json, size_t most);
