#include "log/walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"

enum { WALK_AROUND = 64 };

int log_walk_open(struct log_walk *walk, struct log *log, const struct log_filter *filter)
{
    *walk = (struct log_walk){.log = log};
    walk->around = calloc(log_process_count(log) + 1, sizeof *walk->around);
    RETURN_IF(!walk->around, -ENOMEM);
    return log_iter_open(&walk->iter, log, filter);
}

void log_walk_close(struct log_walk *walk)
{
    for (size_t i = 0; walk->around && i < log_process_count(walk->log); i++) free(walk->around[i]);
    free(walk->around);
    free(walk->lane);
    lookup_free(&walk->lane_of);
    log_iter_close(walk->iter);
    *walk = (struct log_walk){0};
}

static int find_lane(struct log_walk *walk, const struct log_event *event, uint32_t *lane)
{
    uint64_t key = lookup_pair((uint32_t)log_process_index(walk->log, event->process), event->raw.tid);
    *lane = lookup_find(&walk->lane_of, key);
    if (*lane != LOOKUP_NONE) return 0;
    FORWARD(array_room(walk->lane, walk->lanes));
    FORWARD(lookup_set(&walk->lane_of, key, (uint32_t)walk->lanes));
    *lane = (uint32_t)walk->lanes;
    walk->lane[walk->lanes++] = (struct log_lane){event->process, event->raw.tid};
    return 0;
}

static size_t place_of(uint64_t id)
{
    return (size_t)(id ^ id >> 32) % WALK_AROUND;
}

static const struct log_around *find_parent(const struct log_walk *walk, const struct log_event *event)
{
    const struct log_around *table = walk->around[log_process_index(walk->log, event->process)];
    if (!table || !event->has_parent) return NULL;
    const struct log_around *around = &table[place_of(event->parent)];
    return around->call && around->id == event->parent ? around : NULL;
}

// Calls that are many and never have children would push out the others.
static bool may_be_parent(const struct log_event *event)
{
    const struct log_call *call = event->call;
    if (call->layer > LAYER_STDIO) return true;
    return !event->has_parent && !log_class_moves(call->class) && call->class != CLASS_SEEK;
}

static int remember(struct log_walk *walk, const struct log_event *event)
{
    struct log_around **table = &walk->around[log_process_index(walk->log, event->process)];
    if (!*table) *table = calloc(WALK_AROUND, sizeof **table);
    RETURN_IF(!*table, -ENOMEM);
    (*table)[place_of(event->id)] = (struct log_around){event->id, event->call, event->start_ns, !event->has_parent};
    return 0;
}

// A call that consists of several transfers (copy_file_range, lio_listio) is no transfer itself.
static bool counts_once(const struct log_event *event, const struct log_around *parent)
{
    if (!log_class_moves(event->call->class) || event->raw.error) return false;
    return !event->has_parent ||
           (parent && parent->is_own && !log_class_moves(parent->call->class) && parent->call->layer <= LAYER_STDIO);
}

int log_walk_next(struct log_walk *walk, struct log_step *step)
{
    int more = log_iter_next(walk->iter, &step->event);
    if (more <= 0) return more;
    FORWARD(find_lane(walk, step->event, &step->lane));
    step->parent = find_parent(walk, step->event);
    step->is_own = !step->event->has_parent;
    step->moves = counts_once(step->event, step->parent);
    if (may_be_parent(step->event)) FORWARD(remember(walk, step->event));
    return 1;
}
