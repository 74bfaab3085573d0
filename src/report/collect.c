#include "report/collect.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"

static void add_transfer(struct collect *collect, const struct log_event *event)
{
    int64_t end_ns = event->start_ns + event->duration_ns;
    if (!event->moves || event->process->is_launcher || end_ns <= collect->transfer_until_ns) return;
    bool overlaps = event->start_ns < collect->transfer_until_ns;
    collect->transfer_ns += end_ns - (overlaps ? collect->transfer_until_ns : event->start_ns);
    collect->transfer_until_ns = end_ns;
}

// What needs the events of all processes in their order.
static int add_events(void *context, const struct log_event *const *events, size_t count)
{
    struct collect *collect = context;
    for (size_t i = 0; i < count; i++) {
        const struct log_event *event = events[i];
        collect->own_events += !event->has_parent;
        add_transfer(collect, event);
        FORWARD(space_add(&collect->space, event));
        FORWARD(facts_add(collect->facts, event));
        FORWARD(timeline_add(&collect->timeline, event));
    }
    __atomic_fetch_add(&collect->seen, count, __ATOMIC_RELAXED);
    return 0;
}

int collect_begin(struct collect *collect, struct log *log, struct log_consumer consumer[COLLECT_CONSUMERS])
{
    const struct timeline_window window = timeline_whole(log);
    *collect = (struct collect){.log = log};
    FORWARD(timeline_init(&collect->timeline, log, &window));
    FORWARD(layers_init(&collect->layers, log));
    FORWARD(space_init(&collect->space, log));
    FORWARD(files_init(&collect->files, log));
    collect->facts = malloc(sizeof *collect->facts);
    RETURN_IF(!collect->facts, -ENOMEM);
    FORWARD(facts_init(collect->facts, log));
    consumer[0] = layers_consumer(&collect->layers);
    consumer[1] = files_consumer(&collect->files);
    consumer[2] = facts_consumer(collect->facts);
    consumer[3] = (struct log_consumer){.context = collect, .ordered = add_events};
    return 0;
}

int collect_record(struct collect *collect, const struct log_stats_record *record)
{
    return files_add_record(&collect->files, record);
}

int collect_finish(struct collect *collect)
{
    collect->facts->run_ns = log_run_ns(collect->log);
    facts_finish(collect->facts);
    return files_finish(&collect->files);
}

void collect_free(struct collect *collect)
{
    timeline_free(&collect->timeline);
    layers_free(&collect->layers);
    space_free(&collect->space);
    files_free(&collect->files);
    if (collect->facts) facts_free(collect->facts);
    free(collect->facts);
}
