// Reduces the records of many processes to those that `ioseer stats` shows. All records are stored, in a few hundred
// bytes each, until the last process is counted: only then is it known which files all ranks used.
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/varint.h"
#include "log/private.h"
#include "log/record_store.h"
#include "log/stats_slot.h"

enum { VALUE_BUDGET = 4 << 20 }; // values beyond the candidates, in all stored records or in one joined record

struct reduction {
    struct log *log;
    struct log_record_store list; // each record is followed by the values in its two counts
    uint32_t value_budget;
    log_stats_callback *callback;
    void *context;
};

// --- storing

static int store_counts(struct reduction *reduction, const struct log_value_counts *counts) {
    uint32_t count = counts->count < reduction->value_budget ? counts->count : reduction->value_budget;
    reduction->value_budget -= count;
    FORWARD(bytes_append_varint(&reduction->list.data, count));
    for (uint32_t i = 0; i < count; i++) {
        FORWARD(bytes_append_varint(&reduction->list.data, counts->item[i].value));
        FORWARD(bytes_append_varint(&reduction->list.data, counts->item[i].count));
    }
    return 0;
}

static int store(struct log_stats_slot *slot, void *context) {
    struct reduction *reduction = context;
    FORWARD(log_record_store_add(&reduction->list, &slot->record));
    FORWARD(store_counts(reduction, &slot->sizes));
    return store_counts(reduction, &slot->strides);
}

static int store_added_up(const struct log_stats_record *record, void *context) {
    struct log_stats_slot slot = {.record = *record};
    return store(&slot, context);
}

// --- joining

static int add_values(struct log_value_counts *counts, struct counters_common *common,
                      const struct counters_common *values, uint32_t *budget) {
    for (unsigned i = 0; i < values->used; i++) {
        if (!counters_common_add(common, values->value[i], values->count[i]))
            FORWARD(log_value_counts_add(counts, values->value[i], values->count[i], budget));
    }
    return 0;
}

static int add_stored_counts(struct log_value_counts *counts, struct counters_common *common, const uint8_t **at,
                             const uint8_t *end, uint32_t *budget) {
    uint64_t count, value, times;
    *at = varint_get(*at, end, &count);
    for (uint64_t i = 0; *at && i < count; i++) {
        *at = varint_get(*at, end, &value);
        if (*at) *at = varint_get(*at, end, &times);
        if (*at && !counters_common_add(common, value, times))
            FORWARD(log_value_counts_add(counts, value, times, budget));
    }
    return *at ? 0 : ERR_FORMAT;
}

// Adds a stored record to the slot, and returns the record. One that goes on is of the same process as the one before.
static int add_stored(const struct reduction *reduction, const struct log_stored_record *stored, bool is_first,
                      bool goes_on, struct log_stats_slot *slot, struct counters *own) {
    struct counters *sum = &slot->record.counters;
    struct counters_common left_out[2] = {{.used = 0}, {.used = 0}};
    struct fields_in in;
    uint32_t budget = VALUE_BUDGET;
    FORWARD(log_record_store_get(&reduction->list, stored, own, &in));
    const struct counters_ranks ranks = counters_ranks_of(stored->rank, own);
    if (is_first) {
        *sum = *own;
        slot->record.ranks = ranks;
    } else if (goes_on) {
        counters_merge(sum, own, left_out);
    } else {
        counters_merge_ranks(sum, &slot->record.ranks, own, &ranks, left_out);
    }
    FORWARD(add_values(&slot->sizes, &sum->sizes, &left_out[0], &budget));
    FORWARD(add_values(&slot->strides, &sum->strides, &left_out[1], &budget));
    FORWARD(add_stored_counts(&slot->sizes, &sum->sizes, &in.at, in.end, &budget));
    return add_stored_counts(&slot->strides, &sum->strides, &in.at, in.end, &budget);
}

static int join(const struct reduction *reduction, const struct log_stored_record *stored, size_t count,
                struct log_stats_slot *slot) {
    struct log_stats_record *record = &slot->record;
    struct counters own;
    for (size_t i = 0; i < count; i++) {
        bool goes_on = i > 0 && stored[i].process && stored[i].process == stored[i - 1].process;
        FORWARD(add_stored(reduction, &stored[i], i == 0, goes_on, slot, &own));
    }
    // What came after MPI_Finalize does not change how the ranks compare.
    if (stored->ranks.count > 1) record->ranks = stored->ranks;
    return log_stats_slot_finish(slot);
}

static int hand_on(const struct reduction *reduction, const struct log_stored_record *stored, size_t count,
                   bool is_reduced) {
    struct log_stats_slot *slot = calloc(1, sizeof *slot);
    RETURN_IF(!slot, -ENOMEM);
    slot->record.process = stored[count - 1].process == stored->process && !is_reduced ? stored->process : NULL;
    slot->record.has_rank = stored->has_rank;
    slot->record.rank = is_reduced ? -1 : stored->rank;
    slot->record.world = stored->world;
    slot->record.is_added_up = stored->is_added_up;
    slot->record.layer = stored->layer;
    slot->record.file = stored->file;
    slot->record.is_reduced = is_reduced;
    int code = join(reduction, stored, count, slot);
    if (code == 0) code = reduction->callback(&slot->record, reduction->context);
    log_stats_slot_free(slot);
    free(slot);
    return code;
}

// --- order of the output

// Files and processes are in arrays, so their addresses have the log's order.
static int compare_stored(const void *a, const void *b) {
    const struct log_stored_record *left = a, *right = b;
    if (left->layer != right->layer) return left->layer < right->layer ? -1 : 1;
    if (left->file != right->file) return left->file < right->file ? -1 : 1;
    if (left->world != right->world) return left->world < right->world ? -1 : 1;
    if (left->has_rank && left->rank != right->rank) return left->rank < right->rank ? -1 : 1;
    if (left->is_added_up != right->is_added_up) return left->is_added_up ? -1 : 1; // it came first
    return left->process < right->process ? -1 : left->process > right->process;
}

static size_t group_len(const struct log_stored_record *stored, size_t rest) {
    size_t len = 1;
    while (len < rest && stored[len].layer == stored->layer && stored[len].file == stored->file &&
           stored[len].world == stored->world)
        len++;
    return len;
}

// How many are of the same rank: added up at MPI_Finalize, and from after it.
static size_t same_rank_len(const struct log_stored_record *stored, size_t rest) {
    size_t len = 1;
    while (stored->is_added_up && len < rest && stored[len].process == stored->process) len++;
    return len;
}

static bool has_every_rank(const struct log *log, const struct log_stored_record *stored, size_t count) {
    if (!stored->has_rank || stored->world == LOG_NO_WORLD) return false;
    return count == log_world_at(log, stored->world)->size;
}

static int hand_on_all(const struct reduction *reduction, bool apart) {
    const struct log_stored_record *stored = reduction->list.stored;
    size_t count = reduction->list.count;
    for (size_t i = 0, len; i < count; i += len) {
        len = group_len(&stored[i], count - i);
        bool is_reduced = stored[i].is_added_up ? stored[i].ranks.count > 1
                                                : !apart && has_every_rank(reduction->log, &stored[i], len);
        if (is_reduced || (!apart && !stored[i].has_rank)) {
            FORWARD(hand_on(reduction, &stored[i], len, is_reduced));
        } else {
            for (size_t j = 0, same; j < len; j += same) {
                same = same_rank_len(&stored[i + j], len - j);
                FORWARD(hand_on(reduction, &stored[i + j], same, false));
            }
        }
    }
    return 0;
}

int log_reduce(struct log *log, const struct log_filter *filter, bool apart, log_stats_callback *callback,
               void *context) {
    if (log->is_import) return log_imported_stats(log, filter, true, callback, context);
    struct reduction reduction = {.log = log, .value_budget = VALUE_BUDGET, .callback = callback, .context = context};
    int code = log_stats_visit(
        &(struct log_stats_request){.log = log, .filter = filter, .slot_callback = store, .context = &reduction});
    if (code == 0) code = log_stats_added_up(log, filter, store_added_up, &reduction);
    if (code == 0) {
        if (reduction.list.count > 1)
            qsort(reduction.list.stored, reduction.list.count, sizeof *reduction.list.stored, compare_stored);
        code = hand_on_all(&reduction, apart);
    }
    log_record_store_free(&reduction.list);
    return code;
}
