// Datasets and selections: their records.
#include <errno.h>
#include <string.h>

#include "log/private.h"

struct list {
    uint64_t value[SELECTION_MAX_RANK];
    unsigned count;
};

// Collects the values of a key.
static int read_list(struct fields_in body, unsigned key, struct list *list) {
    struct field field;
    int more;
    list->count = 0;
    while ((more = fields_next(&body, &field)) > 0) {
        if (field.key != key) continue;
        RETURN_IF(field.is_bytes || list->count == SELECTION_MAX_RANK, ERR_FORMAT);
        list->value[list->count++] = field.number;
    }
    return more;
}

// Keeps a list; NULL if it is empty.
static int parse_list(struct log *log, struct fields_in body, unsigned key, const uint64_t **kept, unsigned *count) {
    struct list list;
    FORWARD(read_list(body, key, &list));
    *kept = NULL;
    *count = list.count;
    if (!list.count) return 0;
    uint64_t *own = arena_alloc(&log->arena, list.count * sizeof *own);
    RETURN_IF(!own, -ENOMEM);
    memcpy(own, list.value, list.count * sizeof *own);
    *kept = own;
    return 0;
}

int log_parse_selection(struct log *log, struct fields_in body) {
    struct field f[SELECTION_BLOCKS + 1];
    unsigned counts[3];
    FORWARD(fields_by_key(body, f, SELECTION_BLOCKS + 1));
    struct log_selection selection = {
        .id = (uint32_t)f[SELECTION_ID].number,
        .kind = (unsigned)f[SELECTION_KIND].number,
        .points_known = f[SELECTION_POINTS].key,
        .points = f[SELECTION_POINTS].number,
        .blocks = f[SELECTION_BLOCKS].number,
    };
    RETURN_IF(f[SELECTION_KIND].number >= SELECTION_KINDS, ERR_FORMAT);
    FORWARD(parse_list(log, body, SELECTION_DIMS, &selection.dims, &selection.rank));
    FORWARD(parse_list(log, body, SELECTION_STRIDE, &selection.stride, &counts[0]));
    FORWARD(parse_list(log, body, SELECTION_COUNT, &selection.count, &counts[1]));
    FORWARD(parse_list(log, body, SELECTION_BLOCK, &selection.block, &counts[2]));
    for (unsigned i = 0; i < 3; i++) {
        bool has_lists = selection.kind >= SELECTION_REGULAR;
        RETURN_IF(counts[i] != (has_lists ? selection.rank : 0), ERR_FORMAT);
    }
    return log_put_row(&log->selections, &log->selection_by_id, selection.id, &selection, sizeof selection);
}

static int parse_filters(struct log *log, struct fields_in body, struct log_strings *filters) {
    enum { MOST = 32 };
    struct field field;
    const char *word[MOST];
    int more;
    while ((more = fields_next(&body, &field)) > 0) {
        if (field.key != DATASET_FILTER || filters->count == MOST) continue;
        RETURN_IF(!field.is_bytes || !field.len, ERR_FORMAT);
        FORWARD(log_parse_text(log, &field, &word[filters->count++]));
    }
    FORWARD(more);
    if (!filters->count) return 0;
    filters->word = arena_alloc(&log->arena, filters->count * sizeof *filters->word);
    RETURN_IF(!filters->word, -ENOMEM);
    memcpy(filters->word, word, filters->count * sizeof *filters->word);
    return 0;
}

int log_parse_dataset(struct log *log, struct fields_in body) {
    struct field f[DATASET_OLD_CALL + 1];
    unsigned max_rank;
    FORWARD(fields_by_key(body, f, DATASET_OLD_CALL + 1));
    struct log_dataset dataset = {
        .id = (uint32_t)f[DATASET_ID].number,
        .layout = (int)(uint8_t)f[DATASET_LAYOUT].number - 1,
        .type_class = (int)(uint8_t)f[DATASET_CLASS].number - 1,
        .bytes = f[DATASET_BYTES].number,
        .allocation_time = (int)(uint8_t)f[DATASET_ALLOCATION_TIME].number,
        .fill_time = (int)(uint8_t)f[DATASET_FILL_TIME].number - 1,
        .alignment_from = f[DATASET_ALIGNMENT_FROM].number,
        .alignment = f[DATASET_ALIGNMENT].number,
        .by_mpi = f[DATASET_MPI].number == 1,
        .collective_reads = f[DATASET_COLLECTIVE_READS].number == 1,
        .collective_writes = f[DATASET_COLLECTIVE_WRITES].number == 1,
        .old_call = f[DATASET_OLD_CALL].number == 1,
    };
    FORWARD(parse_list(log, body, DATASET_DIMS, &dataset.dims, &dataset.rank));
    FORWARD(parse_list(log, body, DATASET_MAX_DIMS, &dataset.max_dims, &max_rank));
    FORWARD(parse_list(log, body, DATASET_CHUNK, &dataset.chunk, &dataset.chunk_rank));
    RETURN_IF(max_rank != dataset.rank, ERR_FORMAT);
    FORWARD(parse_filters(log, body, &dataset.filters));
    return log_put_row(&log->datasets, &log->dataset_by_id, dataset.id, &dataset, sizeof dataset);
}

static uint32_t find_local(const struct lookup *by_local, const struct log_process *process, uint64_t local) {
    return local > UINT32_MAX ? LOOKUP_NONE : lookup_find(by_local, lookup_pair(process->id, (uint32_t)local));
}

const struct log_selection *log_process_selection(const struct log *log, const struct log_process *process,
                                                  uint64_t local) {
    uint32_t at = find_local(&log->selection_by_local, process, local);
    return at == LOOKUP_NONE ? NULL : (const struct log_selection *)log->selections.item + at;
}

const struct log_dataset *log_process_dataset(const struct log *log, const struct log_process *process,
                                              uint64_t local) {
    uint32_t at = find_local(&log->dataset_by_local, process, local);
    return at == LOOKUP_NONE ? NULL : (const struct log_dataset *)log->datasets.item + at;
}

const struct log_selection *log_selection_find(const struct log *log, uint32_t id) {
    uint32_t at = lookup_find(&log->selection_by_id, id);
    return at == LOOKUP_NONE ? NULL : (const struct log_selection *)log->selections.item + at;
}
