#include "cli/dump_inside.h"

#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/human.h"
#include "base/json_keys.h"

static int copy_rounds(struct collective_call *call) {
    if (!call->by_round) return 0;
    size_t bytes = call->rounds * sizeof *call->by_round;
    void *copy = malloc(bytes);
    RETURN_IF(!copy, -ENOMEM);
    call->by_round = memcpy(copy, call->by_round, bytes);
    return 0;
}

static int add_call(const struct collective_call *call, void *context) {
    struct dump_inside *inside = context;
    uint32_t place = (uint32_t)inside->count;
    if (inside->unused_count) {
        place = inside->unused[--inside->unused_count];
        inside->call[place] = *call;
    } else {
        // Room for all places, so that giving one back cannot fail.
        FORWARD(array_room(inside->unused, inside->count));
        FORWARD(array_push(inside->call, inside->count, *call));
    }
    int code = copy_rounds(&inside->call[place]);
    if (code) inside->call[place].by_round = NULL;
    return code ? code : lookup_set(&inside->place_of, call->id, place);
}

int dump_inside_open(struct dump_inside *inside, struct log *log, const struct log_filter *filter) {
    if (!log_has_collectives(log, filter)) return 0;
    FORWARD(log_collectives_init(&inside->sweep, log, add_call, inside));
    inside->sweep.filter = filter;
    return log_iter_open(&inside->ahead, log, &(struct log_filter){0});
}

void dump_inside_close(struct dump_inside *inside) {
    if (inside->ahead) log_iter_close(inside->ahead);
    log_collectives_free(&inside->sweep);
    for (size_t i = 0; i < inside->count; i++) free((void *)inside->call[i].by_round);
    free(inside->taken);
    free(inside->call);
    free(inside->unused);
    lookup_free(&inside->place_of);
}

static int go_ahead(struct dump_inside *inside) {
    const struct log_event *event;
    int more = log_iter_next(inside->ahead, &event);
    FORWARD(more);
    if (more) return log_collectives_add(&inside->sweep, event);
    inside->is_over = true;
    return log_collectives_finish(&inside->sweep);
}

int dump_inside_take(struct dump_inside *inside, const struct log_event *event, struct collective_call *call) {
    uint32_t place = LOOKUP_NONE;
    if (!inside->ahead || !log_collectives_divide(event->call)) return 0;
    while ((place = lookup_find(&inside->place_of, event->id)) == LOOKUP_NONE && !inside->is_over)
        FORWARD(go_ahead(inside));
    if (place == LOOKUP_NONE) return 0;
    *call = inside->call[place];
    inside->call[place].by_round = NULL;
    free(inside->taken);
    inside->taken = (struct inside_round *)call->by_round;
    inside->unused[inside->unused_count++] = place;
    if (inside->unused_count == inside->count) {
        inside->count = inside->unused_count = 0;
        lookup_clear(&inside->place_of);
    }
    return 1;
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
    if (call->by_round) {
        key_array(json, "by_round");
        for (uint32_t i = 0; i < call->rounds; i++) {
            const int64_t *ns = call->by_round[i].ns;
            json_object_of(json, m_seconds("wait", ns[INSIDE_WAIT]), m_seconds("exchange", ns[INSIDE_EXCHANGE]),
                           m_seconds("io", ns[INSIDE_IO]));
        }
        json_close(json);
    }
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
    if (call->is_aggregator) {
        table_append(table, "%saggregator", before);
        before = ", ";
    }
    if (call->rounds > 1) table_append(table, "%s%s", before, human_count(call->rounds, "round").text);
}
