#include "log/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"

int log_tally_add(struct log_tally *tally, uint64_t value, uint64_t times, uint32_t *budget)
{
    uint32_t at = lookup_find(&tally->lookup, value);
    if (at != LOOKUP_NONE) {
        tally->item[at].count += times;
        return 0;
    }
    if (tally->count == TALLY_VALUES || *budget == 0) return 0;
    FORWARD(array_room(tally->item, tally->count));
    FORWARD(lookup_set(&tally->lookup, value, tally->count));
    tally->item[tally->count++] = (struct tally_item){value, times};
    --*budget;
    return 0;
}

static int compare_items(const void *a, const void *b)
{
    const struct tally_item *left = a, *right = b;
    if (left->count != right->count) return left->count > right->count ? -1 : 1;
    return left->value < right->value ? -1 : left->value > right->value;
}

int log_tally_finish(const struct log_tally *tally, struct counters_common *common)
{
    if (tally->count == 0) return 0;
    size_t count = tally->count + COUNTERS_CANDIDATES;
    struct tally_item *all = malloc(count * sizeof *all);
    RETURN_IF(!all, -ENOMEM);
    memcpy(all, tally->item, tally->count * sizeof *all);
    for (unsigned i = 0; i < COUNTERS_CANDIDATES; i++)
        all[tally->count + i] = (struct tally_item){common->value[i], common->count[i]};
    qsort(all, count, sizeof *all, compare_items);
    *common = (struct counters_common){0};
    for (unsigned i = 0; i < COUNTERS_CANDIDATES; i++) {
        if (all[i].count) counters_common_add(common, all[i].value, all[i].count);
    }
    free(all);
    return 0;
}

void log_tally_free(struct log_tally *tally)
{
    lookup_free(&tally->lookup);
    free(tally->item);
}
