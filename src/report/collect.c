#include "report/collect.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"

enum { SEEN_STEP = 1 << 16 };

int collect_init(struct collect *collect, struct log *log)
{
    const struct timeline_window window = timeline_whole(log);
    *collect = (struct collect){.log = log};
    FORWARD(summary_init(&collect->summary, log));
    FORWARD(timeline_init(&collect->timeline, log, &window));
    FORWARD(layers_init(&collect->layers, log));
    FORWARD(space_init(&collect->space, log));
    FORWARD(files_init(&collect->files, log));
    collect->facts = malloc(sizeof *collect->facts);
    RETURN_IF(!collect->facts, -ENOMEM);
    return facts_init(collect->facts, log);
}

void collect_free(struct collect *collect)
{
    summary_free(&collect->summary);
    timeline_free(&collect->timeline);
    layers_free(&collect->layers);
    space_free(&collect->space);
    files_free(&collect->files);
    if (collect->facts) facts_free(collect->facts);
    free(collect->facts);
}

static int take(struct collect *collect, const struct log_step *step)
{
    collect->own_events += step->is_own;
    summary_take(&collect->summary, step);
    layers_take(&collect->layers, step);
    files_take_event(&collect->files, step);
    FORWARD(space_take(&collect->space, step));
    FORWARD(facts_take(collect->facts, step));
    return timeline_take(&collect->timeline, step);
}

int collect_events(struct collect *collect)
{
    const struct log_filter everything = {0};
    struct log_walk walk;
    struct log_step step;
    uint64_t seen = 0;
    int more = log_walk_open(&walk, collect->log, &everything);
    while (more >= 0 && (more = log_walk_next(&walk, &step)) > 0) {
        if (++seen % SEEN_STEP == 0) __atomic_store_n(&collect->seen, seen, __ATOMIC_RELAXED);
        int code = take(collect, &step);
        if (code < 0) more = code;
    }
    log_walk_close(&walk);
    FORWARD(more);
    FORWARD(summary_finish(&collect->summary));
    collect->facts->run_ns = collect->summary.run_ns;
    FORWARD(facts_take_comm(collect->facts));
    return files_choose(&collect->files);
}

int collect_record(struct collect *collect, const struct log_stats_record *record)
{
    return files_take_record(&collect->files, record);
}
