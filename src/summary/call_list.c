#include "summary/call_list.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"

// By the id of the call; entries that no event has are NULL. One table per process while the events are read.
struct table {
    uint32_t ids;
    struct call_summary *of[];
};

struct gathering {
    uint32_t ids;
    struct table *all;
};

static struct table *table_make(uint32_t ids) {
    struct table *table = calloc(1, sizeof *table + ids * sizeof *table->of);
    if (table) table->ids = ids;
    return table;
}

static void table_free(void *state) {
    struct table *table = state;
    for (uint32_t id = 0; table && id < table->ids; id++) free(table->of[id]);
    free(table);
}

static int begin(void *context, const struct log_process *process, void **state) {
    const struct gathering *gathering = context;
    (void)process;
    *state = table_make(gathering->ids);
    return *state ? 0 : -ENOMEM;
}

static int events(void *state, const struct log_event *event, size_t count) {
    struct table *table = state;
    for (size_t i = 0; i < count; i++, event++) {
        if (event->call->id >= table->ids) continue;
        struct call_summary **at = &table->of[event->call->id], *call = *at ? *at : (*at = calloc(1, sizeof **at));
        RETURN_IF(!call, -ENOMEM);
        call->call = event->call;
        histogram_add(&call->durations, event->duration_ns > 0 ? (uint64_t)event->duration_ns : 0);
        if (event->call->traits & CALL_HAS_SIZE) histogram_add(&call->sizes, event->raw.size);
        if (event->raw.error)
            call->failed++;
        else if (log_class_moves(event->call->class))
            call->bytes += log_event_bytes(event);
    }
    return 0;
}

static int end(void *context, void *state) {
    struct gathering *gathering = context;
    struct table *of_process = state;
    for (uint32_t id = 0; id < of_process->ids; id++) {
        struct call_summary **all = &gathering->all->of[id], *more = of_process->of[id];
        if (!*all) {
            *all = more;
            of_process->of[id] = NULL;
        } else if (more) {
            (*all)->failed += more->failed;
            (*all)->bytes += more->bytes;
            histogram_join(&(*all)->durations, &more->durations);
            histogram_join(&(*all)->sizes, &more->sizes);
        }
    }
    table_free(of_process);
    return 0;
}

static int compare(const void *a, const void *b) {
    const struct call_summary *left = *(struct call_summary *const *)a, *right = *(struct call_summary *const *)b;
    if (left->call->layer != right->call->layer) return left->call->layer < right->call->layer ? -1 : 1;
    uint64_t one = left->durations.sum, other = right->durations.sum;
    return one != other ? (one > other ? -1 : 1) : left->call->id < right->call->id ? -1 : 1;
}

int call_list_make(struct call_list *list, struct log *log) {
    struct gathering gathering = {.ids = log_call_ids(log), .all = table_make(log_call_ids(log))};
    struct log_consumer consumer = {.context = &gathering,
                                    .wants_above = true,
                                    .begin = begin,
                                    .events = events,
                                    .end = end,
                                    .discard = table_free};
    *list = (struct call_list){.item = calloc(gathering.ids + 1, sizeof *list->item)};
    int code = gathering.all && list->item ? 0 : -ENOMEM;
    if (!code) code = log_visit(&(struct log_visit){.log = log, .consumer = &consumer, .consumers = 1});
    for (uint32_t id = 0; !code && id < gathering.ids; id++) {
        if (!gathering.all->of[id]) continue;
        list->item[list->count++] = gathering.all->of[id];
        gathering.all->of[id] = NULL;
    }
    table_free(gathering.all);
    if (list->count) qsort(list->item, list->count, sizeof *list->item, compare);
    if (code < 0) call_list_free(list);
    return code;
}

void call_list_free(struct call_list *list) {
    for (size_t i = 0; i < list->count; i++) free(list->item[i]);
    free(list->item);
    *list = (struct call_list){0};
}
