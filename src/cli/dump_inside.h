// What happened inside the collective calls that `ioseer dump` prints (log/collectives.h).
#pragma once

#include "base/json_out.h"
#include "base/table.h"
#include "log/collectives.h"
#include "log/iter.h"

// When a rank waits depends on the others, so a second reader goes ahead of the one that prints, by as much as a call
// needs to find its counterparts. It reads nothing before the first such call that is printed.
struct dump_inside {
    struct log_collectives sweep;
    struct log_iter *ahead; // NULL: no such call can pass the filter
    bool is_over;
    struct collective_call *call; // known, and not printed yet, at the places in use
    struct inside_round *taken;   // the rounds of the call that was taken last
    size_t count;
    uint32_t *unused; // places
    size_t unused_count;
    struct lookup place_of; // id -> place
};

// The filter must stay valid.
int dump_inside_open(struct dump_inside *inside, struct log *log, const struct log_filter *filter);
void dump_inside_close(struct dump_inside *inside);

// Returns 1 and the call; 0 for events that are not such calls; a negative code if reading fails. Each call once;
// its rounds are valid until the next one.
int dump_inside_take(struct dump_inside *inside, const struct log_event *event, struct collective_call *call);
// The member "inside"; null for a call that is not matched.
void dump_inside_json(struct json_out *json, const struct collective_call *call);
void dump_inside_text(struct table *table, const struct collective_call *call);
