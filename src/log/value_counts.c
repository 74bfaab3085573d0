#include "log/value_counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"

int log_value_counts_add(struct log_value_counts *counts, uint64_t value, uint64_t times, uint32_t *budget) {
    uint32_t at = lookup_find(&counts->lookup, value);
    if (at != LOOKUP_NONE) {
        counts->item[at].count += times;
        return 0;
    }
    if (counts->count == VALUE_COUNTS_MAX || *budget == 0) return 0;
    FORWARD(array_room(counts->item, counts->count));
    FORWARD(lookup_set(&counts->lookup, value, counts->count));
    counts->item[counts->count++] = (struct value_count){value, times};
    --*budget;
    return 0;
}

static int compare_items(const void *a, const void *b) {
    const struct value_count *left = a, *right = b;
    if (left->count != right->count) return left->count > right->count ? -1 : 1;
    return left->value > right->value ? -1 : left->value < right->value;
}

int log_value_counts_finish(const struct log_value_counts *counts, struct counters_common *common) {
    if (counts->count == 0) return 0;
    size_t count = counts->count + COUNTERS_CANDIDATES;
    struct value_count *all = malloc(count * sizeof *all);
    RETURN_IF(!all, -ENOMEM);
    memcpy(all, counts->item, counts->count * sizeof *all);
    for (unsigned i = 0; i < COUNTERS_CANDIDATES; i++)
        all[counts->count + i] = (struct value_count){common->value[i], common->count[i]};
    qsort(all, count, sizeof *all, compare_items);
    *common = (struct counters_common){0};
    for (unsigned i = 0; i < COUNTERS_CANDIDATES; i++) {
        if (all[i].count) counters_common_add(common, all[i].value, all[i].count);
    }
    free(all);
    return 0;
}

void log_value_counts_free(struct log_value_counts *counts) {
    lookup_free(&counts->lookup);
    free(counts->item);
}
