#include "log/iter.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "log/cursor.h"

struct log_iter {
    struct log *log;
    struct log_sieve sieve;
    const struct log_place **due; // blocks by their start
    size_t due_count;
    size_t due_at;
    struct log_cursor **heap; // blocks under way but for the front, the earliest event on top
    size_t heap_count;
    size_t heap_capacity;
    struct log_cursor *front; // whose event was handed out last
    int64_t front_until_ns;   // while its events start before this, nobody else's turn can come
    struct log_cursor **idle;
    size_t idle_count;
};

static int64_t place_start_ns(const struct log_place *place)
{
    return place->start_ns > INT64_MAX ? INT64_MAX : (int64_t)place->start_ns;
}

static int compare_places(const void *a, const void *b)
{
    const struct log_place *left = *(const struct log_place *const *)a, *right = *(const struct log_place *const *)b;
    if (left->start_ns != right->start_ns) return left->start_ns < right->start_ns ? -1 : 1;
    return left->offset < right->offset ? -1 : left->offset > right->offset;
}

// Ids put the events of one moment in a fixed order, parents first within their stream.
static bool comes_before(const struct log_cursor *a, const struct log_cursor *b)
{
    if (a->event.start_ns != b->event.start_ns) return a->event.start_ns < b->event.start_ns;
    return a->event.id < b->event.id;
}

static void discard(struct log_cursor *cursor)
{
    log_cursor_free(cursor);
    free(cursor);
}

// Room for one more under way; as many, and the front, may be idle.
static int heap_grow(struct log_iter *iter)
{
    size_t capacity = iter->heap_capacity ? iter->heap_capacity * 2 : 16;
    struct log_cursor **heap = realloc(iter->heap, capacity * sizeof *heap);
    RETURN_IF(!heap, -ENOMEM);
    iter->heap = heap;
    struct log_cursor **idle = realloc(iter->idle, (capacity + 1) * sizeof *idle);
    RETURN_IF(!idle, -ENOMEM);
    iter->idle = idle;
    iter->heap_capacity = capacity;
    return 0;
}

static int heap_push(struct log_iter *iter, struct log_cursor *cursor)
{
    if (iter->heap_count == iter->heap_capacity && heap_grow(iter) < 0) {
        discard(cursor);
        return -ENOMEM;
    }
    size_t at = iter->heap_count++;
    while (at > 0 && comes_before(cursor, iter->heap[(at - 1) / 2])) {
        iter->heap[at] = iter->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    iter->heap[at] = cursor;
    return 0;
}

static struct log_cursor *heap_pop(struct log_iter *iter)
{
    struct log_cursor *top = iter->heap[0], *last = iter->heap[--iter->heap_count];
    size_t at = 0;
    for (size_t down = 1; down < iter->heap_count; at = down, down = 2 * at + 1) {
        if (down + 1 < iter->heap_count && comes_before(iter->heap[down + 1], iter->heap[down])) down++;
        if (!comes_before(iter->heap[down], last)) break;
        iter->heap[at] = iter->heap[down];
    }
    if (iter->heap_count) iter->heap[at] = last;
    return top;
}

static void retire(struct log_iter *iter, struct log_cursor *cursor)
{
    if (!iter->heap_capacity) return discard(cursor);
    iter->idle[iter->idle_count++] = cursor;
}

static struct log_cursor *take_cursor(struct log_iter *iter)
{
    if (iter->idle_count) return iter->idle[--iter->idle_count];
    struct log_cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor) return NULL;
    cursor->log = iter->log;
    cursor->sieve = &iter->sieve;
    return cursor;
}

// Brings in the next block; one without events that pass, or a damaged one, is gone again at once.
static int activate_next(struct log_iter *iter)
{
    const struct log_place *place = iter->due[iter->due_at++];
    struct log_cursor *cursor = take_cursor(iter);
    RETURN_IF(!cursor, -ENOMEM);
    int code = log_cursor_start(cursor, place);
    if (code == 0) code = log_cursor_next(cursor);
    if (code > 0) return heap_push(iter, cursor);
    retire(iter, cursor);
    return place->damaged ? 0 : code;
}

static void find_turn(struct log_iter *iter)
{
    iter->front = heap_pop(iter);
    iter->front_until_ns = INT64_MAX;
    if (iter->heap_count) iter->front_until_ns = iter->heap[0]->event.start_ns;
    if (iter->due_at < iter->due_count) {
        int64_t start_ns = place_start_ns(iter->due[iter->due_at]);
        if (start_ns < iter->front_until_ns) iter->front_until_ns = start_ns;
    }
}

// The front gave its event; 1 where its next one is due as well.
static int advance_front(struct log_iter *iter)
{
    struct log_cursor *front = iter->front;
    int more = log_cursor_next(front);
    if (more > 0 && front->event.start_ns < iter->front_until_ns) return 1;
    iter->front = NULL;
    if (more > 0) return heap_push(iter, front);
    retire(iter, front);
    return more;
}

int log_iter_next(struct log_iter *iter, const struct log_event **event)
{
    if (iter->front) {
        int more = advance_front(iter);
        FORWARD(more);
        if (more > 0) {
            *event = &iter->front->event;
            return 1;
        }
    }
    while (iter->due_at < iter->due_count &&
           (!iter->heap_count || place_start_ns(iter->due[iter->due_at]) <= iter->heap[0]->event.start_ns))
        FORWARD(activate_next(iter));
    if (!iter->heap_count) return 0;
    find_turn(iter);
    *event = &iter->front->event;
    return 1;
}

static int find_due(struct log_iter *iter)
{
    const struct log_place *const *places;
    size_t count = log_event_places(iter->log, iter->sieve.filter.process, &places);
    iter->due = malloc((count + 1) * sizeof *iter->due);
    RETURN_IF(!iter->due, -ENOMEM);
    for (size_t i = 0; i < count; i++) {
        if (log_sieve_place(&iter->sieve, places[i])) iter->due[iter->due_count++] = places[i];
    }
    if (iter->due_count > 1) qsort(iter->due, iter->due_count, sizeof *iter->due, compare_places);
    return 0;
}

int log_iter_open(struct log_iter **out, struct log *log, const struct log_filter *filter)
{
    struct log_iter *iter = calloc(1, sizeof *iter);
    *out = NULL;
    RETURN_IF(!iter, -ENOMEM);
    iter->log = log;
    int code = log_sieve_init(&iter->sieve, log, filter);
    if (code == 0) code = find_due(iter);
    if (code < 0) {
        log_iter_close(iter);
        return code;
    }
    *out = iter;
    return 0;
}

static void discard_all(struct log_cursor **cursors, size_t count)
{
    for (size_t i = 0; i < count; i++) discard(cursors[i]);
}

void log_iter_close(struct log_iter *iter)
{
    if (!iter) return;
    if (iter->front) discard(iter->front);
    discard_all(iter->heap, iter->heap_count);
    discard_all(iter->idle, iter->idle_count);
    free(iter->heap);
    free(iter->idle);
    free(iter->due);
    log_sieve_free(&iter->sieve);
    free(iter);
}
