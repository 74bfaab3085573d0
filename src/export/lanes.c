#include "export/lanes.h"

#include "base/array.h"
#include "base/err.h"

static struct lane_call *innermost(struct lane *lane) { return lane->depth ? &lane->open[lane->depth - 1] : NULL; }

static int end_innermost(struct lanes *lanes, uint32_t at) {
    struct lane *lane = &lanes->lane[at];
    FORWARD(lanes->end(lanes->context, at, innermost(lane)));
    lane->depth--;
    return 0;
}

// Ends what is over when the event begins. Clocks are coarse: a call may end when its child begins, and begin then,
// too.
static int end_before(struct lanes *lanes, uint32_t at, const struct log_event *event) {
    for (;;) {
        const struct lane_call *top = innermost(&lanes->lane[at]);
        if (!top || top->end_ns > event->start_ns) return 0;
        if (top->end_ns == event->start_ns && log_event_is_inside(event) && top->id == event->parent) return 0;
        FORWARD(end_innermost(lanes, at));
    }
}

static struct lane owner_of(const struct log_event *event) {
    uint32_t server = log_event_server(event);
    if (event->call->layer >= LAYER_SERVER && call_layer_is_below(event->call->layer) && server != LOG_NO_SERVER)
        return (struct lane){.server = server};
    return (struct lane){.process = event->process, .tid = event->raw.tid, .server = LOG_NO_SERVER};
}

static int add_lane(struct lanes *lanes, struct lane lane, uint32_t before, uint64_t key) {
    uint32_t at = (uint32_t)lanes->count;
    lane.next = LOOKUP_NONE;
    lane.number = before == LOOKUP_NONE ? 0 : lanes->lane[before].number + 1;
    FORWARD(array_push(lanes->lane, lanes->count, lane));
    if (before == LOOKUP_NONE)
        FORWARD(lookup_set(&lanes->first, key, at));
    else
        lanes->lane[before].next = at;
    FORWARD(lanes->add(lanes->context, at));
    return 0;
}

// Sets `found` to the event's lane, which is made if there is none.
static int find_lane(struct lanes *lanes, const struct log_event *event, uint32_t *found) {
    struct lane owner = owner_of(event);
    uint64_t key = owner.process ? lookup_pair(owner.process->index, owner.tid) : lookup_pair(UINT32_MAX, owner.server);
    bool is_apart = owner.process && event->call->traits & CALL_ASYNC;
    uint32_t last = LOOKUP_NONE;
    *found = LOOKUP_NONE;
    for (uint32_t at = lookup_find(&lanes->first, key); at != LOOKUP_NONE; at = lanes->lane[at].next) {
        FORWARD(end_before(lanes, at, event));
        const struct lane_call *top = innermost(&lanes->lane[at]);
        bool is_parent = top && log_event_is_inside(event) && top->id == event->parent;
        if (is_parent && event->start_ns + event->duration_ns <= top->end_ns) {
            *found = at;
            return 0;
        }
        if (!top && *found == LOOKUP_NONE && !(is_apart && !lanes->lane[at].number)) *found = at;
        last = at;
    }
    if (*found != LOOKUP_NONE) return 0;
    if (is_apart && last == LOOKUP_NONE) { // the first one stays empty
        FORWARD(add_lane(lanes, owner, last, key));
        last = (uint32_t)lanes->count - 1;
    }
    *found = (uint32_t)lanes->count;
    return add_lane(lanes, owner, last, key);
}

int lanes_event(struct lanes *lanes, const struct log_event *event) {
    struct lane_call call = {.id = event->id,
                             .end_ns = event->start_ns + event->duration_ns,
                             .call = event->call,
                             .bytes = log_event_bytes(event)};
    uint32_t at;
    FORWARD(find_lane(lanes, event, &at));
    FORWARD(lanes->begin(lanes->context, at, event, &call));
    struct lane *lane = &lanes->lane[at];
    return array_push(lane->open, lane->depth, call);
}

int lanes_finish(struct lanes *lanes) {
    for (uint32_t at = 0; at < lanes->count; at++) {
        while (lanes->lane[at].depth) FORWARD(end_innermost(lanes, at));
    }
    return 0;
}

void lanes_free(struct lanes *lanes) {
    for (size_t i = 0; i < lanes->count; i++) free(lanes->lane[i].open);
    free(lanes->lane);
    lookup_free(&lanes->first);
}
