// What happened inside the collective calls that `ioseer dump` prints (log/collectives.h).
#pragma once

#include "base/json_out.h"
#include "base/table.h"
#include "log/collectives.h"

struct dump_inside {
    struct collective_call *call; // by id
    size_t count;
};

// Reads the whole log once, if it has such calls and the filter may pass some: when a rank waits depends on the others.
int dump_inside_read(struct dump_inside *inside, struct log *log, const struct log_filter *filter);
void dump_inside_free(struct dump_inside *inside);

// NULL for events that are not such calls.
const struct collective_call *dump_inside_find(const struct dump_inside *inside, uint64_t id);
// The member "inside"; null for a call that is not matched.
void dump_inside_json(struct json_out *json, const struct collective_call *call);
void dump_inside_text(struct table *table, const struct collective_call *call);
