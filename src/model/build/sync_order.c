// Follows all threads of a program through their stations. A thread goes on when all items of its station are done.
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/scoped.h"
#include "model/build/syncs.h"

struct thread_state {
    size_t station, end;
    size_t pending; // items of the station
    bool is_here;   // at the station; its items have been looked at
};

struct ordering {
    struct syncs *syncs;
    const struct recorded *recorded;
    struct thread_state *thread;
    uint32_t *queue; // threads that can go on
    size_t queued;
    uint32_t order;
};

static uint32_t thread_of(const struct ordering *o, const struct sync_item *item) {
    return o->syncs->station[item->station].thread;
}

static int complete(struct ordering *o, struct sync_item *item) {
    uint32_t thread = thread_of(o, item);
    item->is_done = true;
    item->order = o->order++;
    if (--o->thread[thread].pending) return 0;
    return array_push(o->queue, o->queued, thread);
}

static int complete_waiting(struct ordering *o, struct sync_event *event) {
    while (event->waiting != SIZE_MAX) {
        struct sync_item *item = &o->syncs->item[event->waiting];
        event->waiting = item->next;
        FORWARD(complete(o, item));
    }
    return 0;
}

// Whether the event lets the thread pass, now that it is here. Any collective call may wait for all ranks: MPI passes
// what the root sends from rank to rank.
static bool passes(struct sync_event *event, uint32_t rank) {
    bool opens = event->sync == SYNC_SEND ? rank == event->root : ++event->arrived >= event->expected;
    event->is_open = event->is_open || opens;
    return event->is_open;
}

static int arrive(struct ordering *o, size_t at) {
    struct sync_item *item = &o->syncs->item[at];
    struct sync_event *event = &o->syncs->event[item->event];
    bool goes = passes(event, o->recorded->thread[thread_of(o, item)].rank) || event->is_cancelled;
    if (!goes) {
        item->next = event->waiting;
        event->waiting = at;
    } else {
        FORWARD(complete(o, item));
    }
    return event->is_open ? complete_waiting(o, event) : 0;
}

// The thread has done all items of its station: it goes to the next one.
static int advance(struct ordering *o, uint32_t number) {
    struct thread_state *thread = &o->thread[number];
    if (thread->is_here) thread->station++;
    if (thread->station == thread->end) return 0;
    const struct sync_station *station = &o->syncs->station[thread->station];
    thread->is_here = true;
    thread->pending = station->end - station->first + 1; // none may complete the station before all are looked at
    for (size_t i = station->first; i < station->end; i++) FORWARD(arrive(o, i));
    if (--thread->pending) return 0;
    return array_push(o->queue, o->queued, number);
}

static int run(struct ordering *o) {
    for (size_t next = 0; next < o->queued; next++) FORWARD(advance(o, o->queue[next]));
    o->queued = 0;
    return 0;
}

// Nobody can go on: what the first thread waits for does not happen.
static int cancel(struct ordering *o, const struct thread_state *thread) {
    const struct sync_station *station = &o->syncs->station[thread->station];
    for (size_t i = station->first; i < station->end; i++) {
        struct sync_item *item = &o->syncs->item[i];
        struct sync_event *event = &o->syncs->event[item->event];
        if (item->is_done) continue;
        event->is_cancelled = true;
        FORWARD(complete_waiting(o, event));
    }
    return 0;
}

static int follow(struct ordering *o) {
    for (uint32_t i = 0; i < o->recorded->count; i++) {
        if (o->thread[i].station < o->thread[i].end) FORWARD(array_push(o->queue, o->queued, i));
    }
    FORWARD(run(o));
    for (uint32_t i = 0; i < o->recorded->count; i++) {
        while (o->thread[i].station < o->thread[i].end) {
            FORWARD(cancel(o, &o->thread[i]));
            FORWARD(run(o));
        }
    }
    return 0;
}

int syncs_order(struct syncs *syncs, const struct recorded *recorded) {
    struct ordering o = {.syncs = syncs, .recorded = recorded};
    SCOPED_FREE struct thread_state *thread = calloc(recorded->count + 1, sizeof *thread);
    RETURN_IF(!thread, -ENOMEM);
    o.thread = thread;
    for (size_t i = 0; i < syncs->events; i++) syncs->event[i].waiting = SIZE_MAX;
    for (size_t i = 0; i < syncs->items; i++) syncs->item[i].next = SIZE_MAX;
    for (size_t first = 0, end; first < syncs->stations; first = end) {
        uint32_t number = syncs->station[first].thread;
        for (end = first; end < syncs->stations && syncs->station[end].thread == number;) end++;
        thread[number] = (struct thread_state){.station = first, .end = end};
    }
    int code = follow(&o);
    free(o.queue);
    return code;
}
