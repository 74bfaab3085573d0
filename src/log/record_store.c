#include "log/record_store.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"

int log_record_store_add(struct log_record_store *list, const struct log_stats_record *record) {
    struct spill_counters entry = {.layer = record->layer, .counters = record->counters};
    FORWARD(array_push(list->stored, list->count,
                       (struct log_stored_record){.process = record->process,
                                                  .file = record->file,
                                                  .layer = record->layer,
                                                  .at = list->data.len,
                                                  .has_rank = record->has_rank,
                                                  .is_added_up = record->is_added_up,
                                                  .rank = record->rank,
                                                  .world = record->world,
                                                  .ranks = record->ranks}));
    uint8_t *room = bytes_reserve(&list->data, COUNTERS_MAX_RECORD);
    RETURN_IF(!room, -ENOMEM);
    struct fields_out out = {.at = room, .end = room + COUNTERS_MAX_RECORD};
    counters_put(&out, 0, &entry);
    RETURN_IF(out.overflow, ERR_LIMIT);
    list->data.len += (size_t)(out.at - room);
    return 0;
}

int log_record_store_get(const struct log_record_store *list, const struct log_stored_record *stored,
                         struct counters *counters, struct fields_in *behind) {
    struct fields_in in = {list->data.data + stored->at, list->data.data + list->data.len}, body;
    struct spill_counters entry;
    uint32_t process;
    unsigned kind;
    RETURN_IF(fields_next_record(&in, &kind, &body) <= 0, ERR_FORMAT);
    FORWARD(counters_get(body, &process, &entry));
    *counters = entry.counters;
    if (behind) *behind = in;
    return 0;
}

void log_record_store_free(struct log_record_store *list) {
    free(list->stored);
    bytes_free(&list->data);
}
