#include "cli/dump_inside.h"

#include <inttypes.h>

#include "base/array.h"
#include "base/err.h"
#include "base/human.h"
#include "base/json_keys.h"

static int add_call(const struct collective_call *call, void *context) {
    struct dump_inside *inside = context;
    return array_push(inside->call, inside->count, *call);
}

static int by_id(const void *a, const void *b) {
    const struct collective_call *left = a, *right = b;
    return left->id < right->id ? -1 : left->id > right->id;
}

int dump_inside_read(struct dump_inside *inside, struct log *log, const struct log_filter *filter) {
    struct log_collectives collectives;
    if ((filter->layers && !(filter->layers & 1u << LAYER_MPIIO)) || !log_has_collectives(log)) return 0;
    int code = log_collectives_init(&collectives, log, add_call, inside);
    const struct log_consumer consumer = log_collectives_consumer(&collectives);
    if (!code) code = log_visit(&(struct log_visit){.log = log, .consumer = &consumer, .consumers = 1});
    if (!code) code = log_collectives_finish(&collectives);
    log_collectives_free(&collectives);
    if (inside->count) qsort(inside->call, inside->count, sizeof *inside->call, by_id);
    return code;
}

void dump_inside_free(struct dump_inside *inside) { free(inside->call); }

const struct collective_call *dump_inside_find(const struct dump_inside *inside, uint64_t id) {
    const struct collective_call key = {.id = id};
    return inside->count ? bsearch(&key, inside->call, inside->count, sizeof key, by_id) : NULL;
}

void dump_inside_json(struct json_out *json, const struct collective_call *call) {
    if (!call->is_matched) {
        key_null(json, "inside");
        return;
    }
    key_object(json, "inside");
    for (unsigned i = 0; i < INSIDE_PARTS; i++) key_seconds(json, inside_part_names[i], call->ns[i]);
    json_members(json, m_number("ranks", call->ranks), m_number_if("rounds", call->rounds, call->rounds),
                 m_bool("aggregator", call->is_aggregator), m_bool("last", call->is_last));
    json_close(json);
}

void dump_inside_text(struct table *table, const struct collective_call *call) {
    if (!call->is_matched) return;
    const char *before = "  ";
    for (unsigned i = 0; i < INSIDE_PARTS; i++) {
        if (!call->ns[i]) continue;
        table_append(table, "%s%s %s", before, inside_part_names[i], human_seconds(call->ns[i]).text);
        before = ", ";
    }
    if (call->is_aggregator) table_append(table, ", aggregator");
    if (call->rounds > 1) table_append(table, ", %s", human_count(call->rounds, "round").text);
}
