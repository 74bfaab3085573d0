#include "report/process_places.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/order.h"
#include "base/scoped.h"
#include "summary/summary.h"

int process_places_find(struct process_places *places, const struct log_images *images) {
    const struct log *log = images->log;
    size_t count = log_process_count(log), others = 0;
    SCOPED_FREE struct order *order = malloc((count + 1) * sizeof *order);
    uint32_t *place = places->place = calloc(count + 1, sizeof *place);
    RETURN_IF(!order || !place, -ENOMEM);
    for (size_t i = 0; i < count; i++) {
        const struct log_process *process = images->image[i];
        uint32_t first = images->first[process->index];
        if (process->has_rank) {
            place[process->index] = (uint32_t)process->rank;
            uint64_t last = (uint64_t)process->rank;
            if (process->group) {
                const struct group_ranks *range = &process->group->ranges[process->group->range_count - 1];
                last = range->first + range->count - 1;
            }
            if (last + 1 > places->count) places->count = last + 1;
        } else if (summary_counts_process(log, process) && !place[first]) {
            place[first] = 1;                                            // its other images share its place
            order[others++] = (struct order){~process->start_ns, first}; // the earliest first
        }
    }
    order_sort(order, others);
    for (size_t i = 0; i < others; i++) place[order[i].index] = (uint32_t)i;
    for (size_t i = 0; i < count; i++) {
        if (!log_process_at(log, i)->has_rank) place[i] = place[images->first[i]];
    }
    if (others > places->count) places->count = others;
    return 0;
}

void process_places_free(struct process_places *places) { free(places->place); }
