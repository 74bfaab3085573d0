// Answers as JSON, the same for `ioseer jobs` and for pages, and the words that values of answers stand for.
#pragma once

#include "base/human.h"
#include "base/json_out.h"
#include "catalogue/ask.h"

enum { ANSWER_LAYERS_BYTES = 160 };

bool answer_is_known(const struct answer_column *column, const struct store_value *value);
// Of texts, severities and measures; NULL for others.
const char *answer_name(const struct answer_column *column, const struct store_value *value);
// "2026-11" or "2026-11-19".
struct human answer_date(const struct answer_column *column, const struct store_value *value);
// "posix mpiio"; the names that bits stand for.
void answer_layers(const struct store_value *value, char names[ANSWER_LAYERS_BYTES]);

// What statistics consist of, after the sums.
enum { ANSWER_PARTS = 6 };
extern const struct answer_part {
    enum ask_by by;
    const char *key, *caption;
    enum ask_sort sort;
    uint64_t top;
} answer_parts[ANSWER_PARTS];

// Members of the open object. Rows are on a line each.
int answer_jobs_json(struct catalogue *catalogue, const struct ask *ask, struct json_out *json,
                     struct problem *problem);
int answer_groups_json(struct catalogue *catalogue, const struct ask *ask, enum ask_by by, struct json_out *json,
                       struct problem *problem);
int answer_slower_json(struct catalogue *catalogue, const struct ask *ask, struct json_out *json,
                       struct problem *problem);
int answer_statistics_json(struct catalogue *catalogue, const struct ask *ask, struct json_out *json,
                           struct problem *problem);
