#include "cli/stats_merge.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"

// Processes run side by side: one's first access is no neighbour of another's last, so the seams must not join.
static void seams_clear(struct counters *counters)
{
    counters->value[COUNTER_READ_SEAM] = SEAM_NONE;
    counters->value[COUNTER_WRITE_SEAM] = SEAM_NONE;
    counters->value[COUNTER_FIRST_KIND] = 0;
}

int stats_merge_add(struct stats_merge *merge, const struct log_stats_record *record)
{
    RETURN_IF(record->layer >= LAYER_COUNT || !record->file, ERR_FORMAT);
    struct counters ***by_file = &merge->by_file[record->layer];
    if (!*by_file) *by_file = calloc(log_file_count(merge->log), sizeof **by_file);
    RETURN_IF(!*by_file, -ENOMEM);
    struct counters **sum = &(*by_file)[log_file_index(merge->log, record->file)];
    if (!*sum) {
        *sum = malloc(sizeof **sum);
        RETURN_IF(!*sum, -ENOMEM);
        **sum = record->counters;
        return 0;
    }
    struct counters side_by_side = record->counters;
    seams_clear(&side_by_side);
    counters_merge(*sum, &side_by_side, NULL);
    return 0;
}

int stats_merge_each(const struct stats_merge *merge, log_stats_take *take, void *context)
{
    for (unsigned layer = 0; layer < LAYER_COUNT; layer++) {
        struct counters **by_file = merge->by_file[layer];
        for (size_t i = 0; by_file && i < log_file_count(merge->log); i++) {
            if (!by_file[i]) continue;
            struct log_stats_record record = {.layer = layer, .file = log_file_at(merge->log, i)};
            record.counters = *by_file[i];
            FORWARD(take(&record, context));
        }
    }
    return 0;
}

void stats_merge_free(struct stats_merge *merge)
{
    for (unsigned layer = 0; layer < LAYER_COUNT; layer++) {
        struct counters **by_file = merge->by_file[layer];
        for (size_t i = 0; by_file && i < log_file_count(merge->log); i++) free(by_file[i]);
        free(by_file);
    }
}
