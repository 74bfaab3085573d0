// Counters of a layer and file summed over processes, for jobs without ranks.
#ifndef IOSEER_CLI_STATS_MERGE_H
#define IOSEER_CLI_STATS_MERGE_H

#include "log/log_stats.h"

struct stats_merge {
    const struct log *log;
    struct counters **by_file[LAYER_COUNT]; // [layer][the file's place in the log's table]; NULL where there is none
};

int stats_merge_add(struct stats_merge *merge, const struct log_stats_record *record);
// Hands on one record per layer and file, in that order.
int stats_merge_each(const struct stats_merge *merge, log_stats_take *take, void *context);
void stats_merge_free(struct stats_merge *merge);

#endif
