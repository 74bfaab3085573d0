// A process is a *unit*: a source that fills batches, the states of the consumers, and a ring of batches. A batch is
// filled, then consumed per process and then, with ordered callbacks, merged with those of the other units. Only one
// thread at a time does a given step of a unit, so batches keep their order. Different steps and different units run
// in parallel: even a log of one process keeps two cores busy.
#include "log/visit.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "log/communication.h"
#include "log/source.h"

enum {
    RING = 2, // batches per unit
    MOST_THREADS = 64,
    MOST_BATCH_EVENTS = 512,
    MOST_ORDERED_EVENTS = 2048, // in a batch, with ordered callbacks: another thread is woken per batch
    LEAST_BATCH_EVENTS = 64,
    ALL_BATCH_EVENTS = 1 << 13, // in all open units, so that they stay in the cache
    ORDERED_EVENTS = 512,       // events per ordered callback
    WAKE_UNITS = 32,
    AHEAD_UNITS = 4, // per thread: units opened before their turn
};

enum unit_status { UNIT_NEW, UNIT_OPEN, UNIT_FINISHING, UNIT_DONE, UNIT_ENDED };

struct unit {
    const struct log_process *process;
    enum unit_status status;
    int64_t start_ns; // of its first event; INT64_MAX: none
    struct log_source source;
    struct log_batch batch[RING];
    void **state;      // one per consumer
    uint64_t filled;   // number of batches filled so far
    uint64_t consumed; // number of batches consumed
    uint64_t released; // number of batches that can be filled again
    bool is_filling;
    bool is_consuming;
    bool is_at_end; // no more batches will be filled
    bool is_queued;
    struct unit *next; // in the queue of units that have work
    // For the merge, in the thread that called log_visit.
    size_t at;           // index of the next event in the batch
    uint32_t *thread_of; // the process's number of a thread -> the log's number + 1
    size_t threads;
};

struct visit {
    const struct log_visit *job;
    struct log_matcher matcher;
    bool has_events, has_comm, is_ordered;
    struct unit *unit;
    size_t units;
    size_t batch_events;
    pthread_mutex_t lock; // protects everything below, and the counts of the units
    pthread_cond_t changed;
    struct unit *first, *last; // the queue
    size_t queued;
    size_t opened; // number of units opened so far, in the order of `order`
    size_t open;   // number of open units
    struct unit **order;
    size_t done;  // number of units at their end
    size_t ended; // number of units whose consumers were told
    bool is_ending;
    unsigned waiting;           // number of idle threads
    const struct unit *awaited; // the merge waits for its next batch
    int code;
    bool is_over;
    uint32_t threads_seen; // in all processes, in the order of first events
};

// --- the queue; the caller holds the lock

static bool can_fill(const struct unit *unit) {
    return unit->status == UNIT_OPEN && !unit->is_filling && !unit->is_at_end && unit->filled - unit->released < RING;
}

static bool can_consume(const struct unit *unit) {
    return unit->status == UNIT_OPEN && !unit->is_consuming && unit->consumed < unit->filled;
}

static void wake(struct visit *visit) {
    if (visit->waiting) pthread_cond_broadcast(&visit->changed);
}

static void enqueue(struct visit *visit, struct unit *unit) {
    if (unit->is_queued || !(can_fill(unit) || can_consume(unit))) return;
    unit->is_queued = true;
    unit->next = NULL;
    if (visit->last) {
        visit->last->next = unit;
    } else {
        visit->first = unit;
    }
    visit->last = unit;
    visit->queued++;
    // Waking a thread costs more than one step: with many units it is woken for several.
    if (visit->queued * 2 >= visit->open || visit->queued >= WAKE_UNITS) wake(visit);
}

static struct unit *dequeue(struct visit *visit) {
    struct unit *unit = visit->first;
    if (!unit) return NULL;
    visit->first = unit->next;
    if (!visit->first) visit->last = NULL;
    visit->queued--;
    unit->is_queued = false;
    return unit;
}

static void wait_for_change(struct visit *visit) {
    visit->waiting++;
    pthread_cond_wait(&visit->changed, &visit->lock);
    visit->waiting--;
}

static void fail(struct visit *visit, int code) {
    if (code < 0 && !visit->code) visit->code = code;
    if (visit->code) wake(visit);
}

// --- units

static int open_unit(struct visit *visit, struct unit *unit) {
    const struct log_visit *job = visit->job;
    for (size_t i = 0; i < RING; i++) FORWARD(log_batch_init(&unit->batch[i], visit->batch_events));
    unit->state = calloc(job->consumers + 1, sizeof *unit->state);
    RETURN_IF(!unit->state, -ENOMEM);
    for (size_t i = 0; i < job->consumers; i++) {
        const struct log_consumer *consumer = &job->consumer[i];
        if (consumer->begin) FORWARD(consumer->begin(consumer->context, unit->process, &unit->state[i]));
    }
    return 0;
}

static void close_unit(struct unit *unit) {
    log_source_close(&unit->source);
    for (size_t i = 0; i < RING; i++) log_batch_free(&unit->batch[i]);
    memset(unit->batch, 0, sizeof unit->batch);
    free(unit->thread_of);
    unit->thread_of = NULL;
}

static int pass_untraced(const struct log_comm *comm, void *context) {
    struct unit *unit = context;
    struct log_batch *batch = &unit->batch[0];
    FORWARD(array_room(batch->comm, batch->comms));
    batch->comm[batch->comms++] = *comm;
    return 0;
}

static bool wants(const struct log_consumer *consumer, const struct log_event *event) {
    unsigned layer = event->call->layer;
    return (consumer->wants_above || !call_layer_is_above(layer)) &&
           (consumer->wants_below || !call_layer_is_below(layer));
}

// Hands over the events, without those that the consumer does not want.
static int give_events(const struct log_consumer *consumer, void *state, const struct log_batch *batch) {
    const struct log_event *event = batch->event, *end = event + batch->count;
    bool wants_all = (consumer->wants_above || !batch->has_above) && (consumer->wants_below || !batch->has_below);
    if (wants_all) return consumer->events(state, event, batch->count);
    while (event < end) {
        const struct log_event *first = event;
        while (event < end && wants(consumer, event)) event++;
        if (event > first) FORWARD(consumer->events(state, first, (size_t)(event - first)));
        while (event < end && !wants(consumer, event)) event++;
    }
    return 0;
}

static int consume(const struct visit *visit, struct unit *unit, const struct log_batch *batch) {
    for (size_t i = 0; i < visit->job->consumers; i++) {
        const struct log_consumer *consumer = &visit->job->consumer[i];
        if (consumer->comm && batch->comms) FORWARD(consumer->comm(unit->state[i], batch->comm, batch->comms));
        if (consumer->events && batch->count) FORWARD(give_events(consumer, unit->state[i], batch));
    }
    return 0;
}

// After the last batch: passes on the communication that the process counted outside its events.
static int finish_unit(struct visit *visit, struct unit *unit) {
    int code = 0;
    if (visit->has_comm) {
        unit->batch[0].count = unit->batch[0].comms = 0;
        code = log_comm_untraced(unit->process, pass_untraced, unit);
        if (code == 0) code = consume(visit, unit, &unit->batch[0]);
    }
    close_unit(unit);
    return code;
}

static int end_unit(const struct visit *visit, struct unit *unit) {
    int code = 0;
    for (size_t i = 0; i < visit->job->consumers; i++) {
        const struct log_consumer *consumer = &visit->job->consumer[i];
        void *state = unit->state[i];
        unit->state[i] = NULL;
        if (consumer->end && code == 0) {
            code = consumer->end(consumer->context, state);
        } else if (consumer->discard && state) {
            consumer->discard(state);
        }
    }
    free(unit->state);
    unit->state = NULL;
    return code;
}

// Ends the finished units in the order of the processes. The caller holds the lock; it is released during callbacks.
static void end_units(struct visit *visit) {
    while (!visit->is_ending && !visit->code && visit->ended < visit->units &&
           visit->unit[visit->ended].status == UNIT_DONE) {
        struct unit *unit = &visit->unit[visit->ended];
        visit->is_ending = true;
        pthread_mutex_unlock(&visit->lock);
        int code = end_unit(visit, unit);
        pthread_mutex_lock(&visit->lock);
        unit->status = UNIT_ENDED;
        visit->is_ending = false;
        visit->ended++;
        fail(visit, code);
        wake(visit);
    }
}

// --- steps; the caller holds the lock, which they release while they work

// Without ordered callbacks, units are opened when a thread is free for them.
static bool open_next(struct visit *visit) {
    size_t most = (size_t)visit->job->threads * AHEAD_UNITS;
    if (visit->opened == visit->units || visit->opened - visit->ended >= most) return false;
    struct unit *unit = visit->order[visit->opened++];
    visit->open++;
    pthread_mutex_unlock(&visit->lock);
    int code = open_unit(visit, unit);
    pthread_mutex_lock(&visit->lock);
    unit->status = UNIT_OPEN;
    fail(visit, code);
    enqueue(visit, unit);
    return true;
}

static void check_done(struct visit *visit, struct unit *unit) {
    if (unit->status != UNIT_OPEN || !unit->is_at_end || unit->released < unit->filled) return;
    unit->status = UNIT_FINISHING; // no other thread may end it before its communication is handed over
    visit->open--;
    visit->done++;
    pthread_mutex_unlock(&visit->lock);
    int code = finish_unit(visit, unit);
    pthread_mutex_lock(&visit->lock);
    unit->status = UNIT_DONE;
    fail(visit, code);
    end_units(visit);
    wake(visit);
}

static void fill_step(struct visit *visit, struct unit *unit) {
    struct log_batch *batch = &unit->batch[unit->filled % RING];
    unit->is_filling = true;
    enqueue(visit, unit); // another thread can do its other step
    pthread_mutex_unlock(&visit->lock);
    int more = log_source_fill(&unit->source, batch);
    pthread_mutex_lock(&visit->lock);
    unit->is_filling = false;
    if (more > 0) unit->filled++;
    if (more <= 0) unit->is_at_end = true;
    fail(visit, more);
    check_done(visit, unit);
}

static void consume_step(struct visit *visit, struct unit *unit) {
    struct log_batch *batch = &unit->batch[unit->consumed % RING];
    unit->is_consuming = true;
    enqueue(visit, unit);
    pthread_mutex_unlock(&visit->lock);
    int code = consume(visit, unit, batch);
    pthread_mutex_lock(&visit->lock);
    unit->is_consuming = false;
    unit->consumed++;
    if (!visit->is_ordered) unit->released++;
    fail(visit, code);
    check_done(visit, unit);
    if (unit == visit->awaited) wake(visit);
}

// A thread consumes at once what it has just filled, while it is in its cache.
static void work_on(struct visit *visit, struct unit *unit) {
    if (can_consume(unit)) {
        consume_step(visit, unit);
    } else if (can_fill(unit)) {
        fill_step(visit, unit);
        if (can_consume(unit) && !visit->code) consume_step(visit, unit);
    }
    enqueue(visit, unit);
}

// Does one step of any unit. Returns false if there is no work now.
static bool work(struct visit *visit) {
    struct unit *unit = dequeue(visit);
    if (unit) {
        work_on(visit, unit);
        return true;
    }
    return !visit->is_ordered && open_next(visit);
}

static void *work_until_over(void *argument) {
    struct visit *visit = argument;
    pthread_mutex_lock(&visit->lock);
    while (!visit->is_over && !visit->code) {
        if (!visit->is_ordered && visit->ended == visit->units) break;
        if (!work(visit)) wait_for_change(visit);
    }
    pthread_mutex_unlock(&visit->lock);
    return NULL;
}

// --- the merge

struct merge {
    struct visit *visit;
    struct log_heap heap; // of units
    const struct log_event *event[ORDERED_EVENTS];
    size_t count;
    const struct log_event *common[ORDERED_EVENTS]; // those of them that every consumer gets
    size_t common_count;
    const struct log_event *wanted[ORDERED_EVENTS]; // those that a consumer of some others gets
};

static int give_ordered(struct merge *merge, const struct log_consumer *consumer) {
    if (merge->common_count == merge->count || (consumer->wants_above && consumer->wants_below))
        return consumer->ordered(consumer->context, merge->event, merge->count);
    if (!consumer->wants_above && !consumer->wants_below)
        return merge->common_count ? consumer->ordered(consumer->context, merge->common, merge->common_count) : 0;
    size_t count = 0;
    for (size_t i = 0; i < merge->count; i++) {
        if (wants(consumer, merge->event[i])) merge->wanted[count++] = merge->event[i];
    }
    return count ? consumer->ordered(consumer->context, merge->wanted, count) : 0;
}

static int flush(struct merge *merge) {
    const struct log_visit *job = merge->visit->job;
    for (size_t i = 0; i < job->consumers && merge->count; i++) {
        if (job->consumer[i].ordered) FORWARD(give_ordered(merge, &job->consumer[i]));
    }
    merge->count = merge->common_count = 0;
    return 0;
}

// Waits until the unit's next batch with events is ready, and works in the meantime. Returns 1, 0 at the end, or a
// negative code.
static int next_batch(struct visit *visit, struct unit *unit) {
    int more = 0;
    pthread_mutex_lock(&visit->lock);
    while (!visit->code) {
        if (unit->released < unit->consumed) {
            more = unit->batch[unit->released % RING].count > 0;
            if (more) break;
            unit->released++;
            enqueue(visit, unit);
        } else if (unit->is_at_end && unit->consumed == unit->filled) {
            check_done(visit, unit);
            break;
        } else if (can_fill(unit) || can_consume(unit)) {
            work_on(visit, unit);
        } else if (!work(visit)) {
            visit->awaited = unit;
            wait_for_change(visit);
            visit->awaited = NULL;
        }
    }
    int code = visit->code;
    pthread_mutex_unlock(&visit->lock);
    unit->at = 0;
    return code ? code : more;
}

static int number_thread(struct visit *visit, struct unit *unit, struct log_event *event) {
    while (unit->threads <= event->thread) FORWARD(array_push(unit->thread_of, unit->threads, 0));
    uint32_t *number = &unit->thread_of[event->thread];
    if (!*number) *number = ++visit->threads_seen;
    event->thread = *number - 1;
    return 0;
}

static struct log_turn turn_of(struct unit *unit) {
    const struct log_event *event = &unit->batch[unit->released % RING].event[unit->at];
    return (struct log_turn){event->start_ns, event->id, unit};
}

// Passes on the unit's events up to the time at which another unit may have one.
static int pass_events(struct merge *merge, struct unit *unit, int64_t until_ns) {
    struct log_batch *batch = &unit->batch[unit->released % RING];
    struct log_event *event = &batch->event[unit->at], *end = batch->event + batch->count;
    do {
        FORWARD(number_thread(merge->visit, unit, event));
        unsigned layer = event->call->layer;
        if (!call_layer_is_above(layer) && !call_layer_is_below(layer)) merge->common[merge->common_count++] = event;
        merge->event[merge->count++] = event++;
        if (merge->count == ORDERED_EVENTS) FORWARD(flush(merge));
    } while (event < end && event->start_ns < until_ns);
    unit->at = (size_t)(event - batch->event);
    __builtin_prefetch(event + 1); // it is used after events of other units
    __builtin_prefetch((const char *)(event + 1) + 64);
    return 0;
}

static int open_ordered(struct merge *merge, struct unit *unit) {
    struct visit *visit = merge->visit;
    int more = next_batch(visit, unit);
    if (more <= 0) return more;
    return log_heap_push(&merge->heap, turn_of(unit));
}

// Opens units before their turn, so that other threads can fill them.
static int open_ahead(struct visit *visit, size_t most) {
    int code = 0;
    for (; visit->opened < most && visit->opened < visit->units && code == 0; visit->opened++) {
        struct unit *unit = visit->order[visit->opened];
        code = open_unit(visit, unit);
        pthread_mutex_lock(&visit->lock);
        unit->status = UNIT_OPEN;
        visit->open++;
        fail(visit, code);
        enqueue(visit, unit);
        pthread_mutex_unlock(&visit->lock);
    }
    return code;
}

static int end_turn(struct merge *merge, struct unit *unit) {
    struct visit *visit = merge->visit;
    if (unit->at < unit->batch[unit->released % RING].count) {
        log_heap_replace(&merge->heap, turn_of(unit));
        return 0;
    }
    FORWARD(flush(merge)); // the batch's events become invalid
    pthread_mutex_lock(&visit->lock);
    unit->released++;
    enqueue(visit, unit);
    pthread_mutex_unlock(&visit->lock);
    int more = next_batch(visit, unit);
    FORWARD(more);
    if (more) {
        log_heap_replace(&merge->heap, turn_of(unit));
    } else {
        log_heap_pop(&merge->heap);
    }
    return 0;
}

static int64_t due_ns(const struct visit *visit, size_t at) {
    return at < visit->units ? visit->order[at]->start_ns : INT64_MAX;
}

static int merge_all(struct merge *merge) {
    struct visit *visit = merge->visit;
    const struct log_heap *heap = &merge->heap;
    size_t begun = 0; // number of units that were added to the heap
    for (;;) {
        while (begun < visit->units && (!heap->count || due_ns(visit, begun) <= heap->turn[0].start_ns)) {
            FORWARD(open_ahead(visit, begun + 1 + (size_t)visit->job->threads * AHEAD_UNITS));
            FORWARD(open_ordered(merge, visit->order[begun++]));
        }
        if (!heap->count) return flush(merge);
        int64_t until_ns = due_ns(visit, begun);
        for (size_t i = 1; i < heap->count && i < 3; i++) {
            if (heap->turn[i].start_ns < until_ns) until_ns = heap->turn[i].start_ns;
        }
        struct unit *unit = heap->turn[0].owner;
        FORWARD(pass_events(merge, unit, until_ns));
        FORWARD(end_turn(merge, unit));
    }
}

static int visit_ordered(struct visit *visit) {
    struct merge *merge = calloc(1, sizeof *merge);
    RETURN_IF(!merge, -ENOMEM);
    merge->visit = visit;
    int code = merge_all(merge);
    free(merge->heap.turn);
    free(merge);
    return code;
}

// --- the whole visit

static int compare_units(const void *a, const void *b) {
    const struct unit *left = *(struct unit *const *)a, *right = *(struct unit *const *)b;
    if (left->start_ns != right->start_ns) return left->start_ns < right->start_ns ? -1 : 1;
    return left < right ? -1 : left > right;
}

static int make_unit(struct visit *visit, const struct log_process *process) {
    struct unit *unit = &visit->unit[visit->units];
    const struct log_place *const *places = NULL;
    size_t count = visit->has_events || visit->has_comm ? log_event_places(visit->job->log, process, &places) : 0;
    const struct log_source_options options = {.has_relations = true, .has_comm = visit->has_comm};
    unit->process = process;
    visit->order[visit->units++] = unit;
    FORWARD(log_source_open(&unit->source, visit->job->log, &visit->matcher, places, count, options));
    unit->start_ns = log_source_start_ns(&unit->source);
    return 0;
}

static int make_units(struct visit *visit) {
    struct log *log = visit->job->log;
    size_t count = log_process_count(log);
    visit->unit = calloc(count + 1, sizeof *visit->unit);
    visit->order = calloc(count + 1, sizeof *visit->order);
    RETURN_IF(!visit->unit || !visit->order, -ENOMEM);
    for (size_t i = 0; i < count; i++) {
        const struct log_process *process = log_process_at(log, i);
        if (log_filter_has_process(&visit->matcher.filter, process)) FORWARD(make_unit(visit, process));
    }
    if (visit->is_ordered) qsort(visit->order, visit->units, sizeof *visit->order, compare_units);
    size_t open = visit->is_ordered ? visit->units : (size_t)visit->job->threads;
    visit->batch_events = ALL_BATCH_EVENTS / (open + 1);
    size_t most = visit->is_ordered ? MOST_ORDERED_EVENTS : MOST_BATCH_EVENTS;
    if (visit->batch_events > most) visit->batch_events = most;
    if (visit->batch_events < LEAST_BATCH_EVENTS) visit->batch_events = LEAST_BATCH_EVENTS;
    return 0;
}

static void free_units(struct visit *visit) {
    for (size_t i = 0; i < visit->units; i++) {
        struct unit *unit = &visit->unit[i];
        close_unit(unit);
        for (size_t k = 0; unit->state && k < visit->job->consumers; k++) {
            const struct log_consumer *consumer = &visit->job->consumer[k];
            if (consumer->discard && unit->state[k]) consumer->discard(unit->state[k]);
        }
        free(unit->state);
    }
    free(visit->unit);
    free(visit->order);
}

static unsigned thread_count(const struct log_visit *job) {
    const char *text = getenv("IOSEER_THREADS");
    long count = job->threads ? (long)job->threads : text ? strtol(text, NULL, 10) : sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > MOST_THREADS ? MOST_THREADS : (unsigned)count;
}

// The calling thread works, too. If no other thread can be started, it does all the work.
static int run(struct visit *visit) {
    pthread_t thread[MOST_THREADS];
    unsigned started = 0;
    while (started + 1 < visit->job->threads && !pthread_create(&thread[started], NULL, work_until_over, visit)) {
        started++;
    }
    int code = 0;
    if (visit->is_ordered) {
        code = visit_ordered(visit);
    } else {
        work_until_over(visit);
    }
    pthread_mutex_lock(&visit->lock);
    fail(visit, code);
    visit->is_over = true;
    pthread_cond_broadcast(&visit->changed);
    pthread_mutex_unlock(&visit->lock);
    for (unsigned i = 0; i < started; i++) pthread_join(thread[i], NULL);
    return visit->code;
}

int log_visit(const struct log_visit *asked) {
    struct log_visit job = *asked;
    struct visit visit = {.job = &job};
    bool wants_below = false;
    job.threads = thread_count(asked);
    for (size_t i = 0; i < job.consumers; i++) {
        visit.has_comm = visit.has_comm || job.consumer[i].comm;
        wants_below = wants_below || job.consumer[i].wants_below;
        visit.is_ordered = visit.is_ordered || job.consumer[i].ordered;
        visit.has_events = visit.has_events || job.consumer[i].events || job.consumer[i].ordered;
    }
    pthread_mutex_init(&visit.lock, NULL);
    pthread_cond_init(&visit.changed, NULL);
    int code = log_matcher_init(&visit.matcher, job.log, job.filter);
    visit.matcher.filter.below = wants_below;
    if (code == 0) code = make_units(&visit);
    if (code == 0) code = run(&visit);
    free_units(&visit);
    log_matcher_free(&visit.matcher);
    pthread_cond_destroy(&visit.changed);
    pthread_mutex_destroy(&visit.lock);
    return code;
}
