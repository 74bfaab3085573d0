#include "log/slowest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "log/heap.h"

enum { LIMIT = 1 << 20 };

// The heap has the fastest of the kept events on top; the next slower one takes its place.
struct search {
    struct log_heap heap;
    struct kept {
        struct log_event event;
        uint64_t attribute[ATTRIBUTE_LIMIT];
    } * kept;
    size_t count, most;
};

static void keep(struct kept *kept, const struct log_event *event) {
    kept->event = *event;
    for (uint32_t mask = event->raw.attribute_mask; mask; mask &= mask - 1) {
        int id = __builtin_ctz(mask);
        kept->attribute[id] = event->raw.attribute[id];
    }
}

static int offer(struct search *search, const struct log_event *event) {
    struct log_turn turn = {.start_ns = event->duration_ns, .id = ~event->id};
    if (search->count == search->most) {
        if (log_turn_before(&turn, &search->heap.turn[0])) return 0;
        turn.owner = search->heap.turn[0].owner;
        keep(&search->kept[(size_t)(uintptr_t)turn.owner], event);
        log_heap_replace(&search->heap, turn);
        return 0;
    }
    FORWARD(array_room(search->kept, search->count));
    keep(&search->kept[search->count], event);
    turn.owner = (void *)(uintptr_t)search->count++;
    return log_heap_push(&search->heap, turn);
}

static int take(struct search *search, struct log_slowest *slowest) {
    slowest->event = calloc(search->count + 1, sizeof *slowest->event);
    slowest->attributes = calloc(search->count + 1, sizeof search->kept->attribute);
    RETURN_IF(!slowest->event || !slowest->attributes, -ENOMEM);
    slowest->count = search->count;
    for (size_t i = search->count; i-- > 0; log_heap_pop(&search->heap)) {
        const struct kept *kept = &search->kept[(size_t)(uintptr_t)search->heap.turn[0].owner];
        uint64_t *attribute = &slowest->attributes[i * ATTRIBUTE_LIMIT];
        memcpy(attribute, kept->attribute, sizeof kept->attribute);
        slowest->event[i] = kept->event;
        slowest->event[i].raw.attribute = attribute;
    }
    return 0;
}

int log_slowest(struct log_slowest *slowest, struct log *log, const struct log_filter *filter, uint64_t most) {
    struct search search = {.most = most < LIMIT ? (size_t)most : LIMIT};
    struct log_iter *iter;
    const struct log_event *event;
    *slowest = (struct log_slowest){0};
    FORWARD(log_iter_open(&iter, log, filter));
    int code, kept = 0;
    while (!kept && (code = log_iter_next(iter, &event)) > 0) kept = offer(&search, event);
    log_iter_close(iter);
    if (kept < 0) code = kept;
    if (code == 0) code = take(&search, slowest);
    if (code < 0) log_slowest_free(slowest);
    free(search.heap.turn);
    free(search.kept);
    return code;
}

void log_slowest_free(struct log_slowest *slowest) {
    free(slowest->event);
    free(slowest->attributes);
    *slowest = (struct log_slowest){0};
}
