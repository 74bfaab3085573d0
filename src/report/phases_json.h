// The phases of a model as the JSON object that `ioseer phases --json` prints and the report contains.
#pragma once

#include "base/json_out.h"
#include "model/model.h"

// The processes and files that the phases of a family use.
struct family_use {
    uint32_t *rank; // ascending
    size_t ranks;
    struct model_file_use files;
    uint32_t main_file; // the one with the most bytes, an index of model->file; OP_NO_SET without one
};

// `op` as model_summarise_ops returns them. family_use_free in any case.
int family_use_init(struct family_use *use, const struct model *model, const struct model_family *family,
                    const struct op_summary *op, size_t op_count);
void family_use_free(struct family_use *use);

// The index after the last of the phases from `first` on that belong to the same family.
size_t phases_family_end(const struct model *model, size_t first);

// No list has more than `most` members.
int phases_json(const struct model *model, struct json_out *json, size_t most);
