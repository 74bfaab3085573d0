#include "report/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/order.h"
#include "summary/summary.h"

// --- columns of the heat map

// Each rank has its own column; without MPI, each process in the order of start.
static int assign_columns(struct files *files) {
    const struct log *log = files->log;
    size_t count = log_process_count(log), others = 0;
    struct order *order = malloc((count + 1) * sizeof *order);
    files->position = calloc(count + 1, sizeof *files->position);
    if (!order || !files->position) {
        free(order);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        const struct log_process *process = log_process_at(log, i);
        if (process->has_rank) {
            files->position[i] = (uint32_t)process->rank;
            if ((uint64_t)process->rank + 1 > files->positions) files->positions = (uint64_t)process->rank + 1;
        } else if (summary_counts_process(log, process)) {
            order[others++] = (struct order){~process->start_ns, i}; // the earliest first
        }
    }
    order_sort(order, others);
    for (size_t i = 0; i < others; i++) files->position[order[i].index] = (uint32_t)i;
    if (others > files->positions) files->positions = others;
    files->group = (files->positions + FILES_HEAT - 1) / FILES_HEAT;
    if (!files->group) files->group = 1;
    free(order);
    return 0;
}

// --- selection of the files

int files_init(struct files *files, const struct log *log) {
    *files = (struct files){.log = log};
    size_t time_bytes = (log_file_count(log) + 1) * sizeof *files->time_ns;
    files->time_ns = malloc(time_bytes);
    if (files->time_ns) memset(files->time_ns, 0xff, time_bytes); // -1
    files->row_of = calloc(log_file_count(log) + 1, sizeof *files->row_of);
    RETURN_IF(!files->time_ns || !files->row_of, -ENOMEM);
    FORWARD(log_images_find(&files->images, log));
    return assign_columns(files);
}

void files_free(struct files *files) {
    for (size_t i = 0; i < files->rows; i++) {
        for (unsigned layer = 0; layer < LAYER_COUNT; layer++) free(files->row[i].of[layer]);
    }
    free(files->row);
    free(files->time_ns);
    free(files->row_of);
    free(files->position);
    log_record_store_free(&files->records);
    log_images_free(&files->images);
    lookup_free(&files->users);
}

int64_t files_row_ns(const struct files_row *row, unsigned counter) {
    const struct counters *mpiio = row->of[LAYER_MPIIO];
    uint64_t sum = mpiio ? mpiio->value[counter] : 0;
    for (unsigned layer = 0; layer < LAYER_COUNT && !mpiio; layer++)
        if (row->of[layer]) sum += row->of[layer]->value[counter];
    return (int64_t)sum;
}

int64_t files_row_time_ns(const struct files_row *row) {
    return files_row_ns(row, COUNTER_READ_TIME) + files_row_ns(row, COUNTER_WRITE_TIME) +
           files_row_ns(row, COUNTER_META_TIME);
}

int64_t files_time_ns(const struct files *files, size_t index) {
    const int64_t *ns = files->time_ns[index];
    return ns[FILES_OF_MPIIO] >= 0 ? ns[FILES_OF_MPIIO] : ns[FILES_OF_OTHERS];
}

static int choose(struct files *files) {
    size_t all = log_file_count(files->log), used = 0;
    struct order *order = malloc((all + 1) * sizeof *order);
    RETURN_IF(!order, -ENOMEM);
    for (size_t i = 0; i < all; i++) {
        int64_t own_ns = files_time_ns(files, i);
        if (own_ns >= 0) order[used++] = (struct order){own_ns, i};
    }
    order_sort(order, used);
    files->rows = used < FILES_SHOWN ? used : FILES_SHOWN;
    files->left_out = used - files->rows;
    files->row = calloc(files->rows + 1, sizeof *files->row);
    for (size_t i = 0; files->row && i < files->rows; i++) {
        files->row[i].file = log_file_at(files->log, order[i].index);
        files->row_of[order[i].index] = (uint32_t)i + 1;
    }
    free(order);
    if (!files->row) files->rows = 0;
    return files->row ? 0 : -ENOMEM;
}

// --- counters

static enum files_of of_layer(unsigned layer) { return layer == LAYER_MPIIO ? FILES_OF_MPIIO : FILES_OF_OTHERS; }

int files_add_record(const struct log_stats_record *record, void *context) {
    struct files *files = context;
    if (!record->file || !record->process || record->process->is_launcher) return 0;
    if (call_layer_is_above(record->layer)) return 0;
    int64_t *ns = &files->time_ns[log_file_index(files->log, record->file)][of_layer(record->layer)];
    *ns = (*ns < 0 ? 0 : *ns) + (int64_t)counters_time(&record->counters);
    return log_record_store_add(&files->records, record);
}

static void add_heat(struct files *files, struct files_row *row, const struct log_stored_record *stored,
                     const struct counters *counters) {
    size_t column = files->position[log_process_index(files->log, stored->process)] / files->group;
    struct files_heat *heat = &row->heat[of_layer(stored->layer)][column < FILES_HEAT ? column : FILES_HEAT - 1];
    heat->bytes[0] += counters->value[COUNTER_BYTES_READ];
    heat->bytes[1] += counters->value[COUNTER_BYTES_WRITTEN];
    heat->ns += (int64_t)counters_time(counters);
}

static int join(struct counters **sum, const struct counters *counters) {
    if (*sum) {
        counters_merge_rank(*sum, counters, NULL);
        return 0;
    }
    *sum = malloc(sizeof **sum);
    RETURN_IF(!*sum, -ENOMEM);
    **sum = *counters;
    return 0;
}

static int add_counters(struct files *files, struct files_row *row, const struct log_stored_record *stored,
                        const struct counters *counters) {
    if (row->last != stored->process) {
        uint32_t number = (uint32_t)log_file_index(files->log, row->file);
        int is_new = log_images_add_user(&files->images, &files->users, stored->process, number);
        FORWARD(is_new);
        row->processes += (unsigned)is_new;
        row->ranks += stored->process->has_rank;
        row->last = stored->process;
    }
    FORWARD(join(&row->of[stored->layer], counters));
    add_heat(files, row, stored, counters);
    // MPI-IO moves its bytes through POSIX. Of the two others, the program used the one with more bytes.
    if (stored->layer == LAYER_MPIIO) row->layer = LAYER_MPIIO;
    if (stored->layer != LAYER_POSIX && stored->layer != LAYER_STDIO) return 0;
    row->bytes[0] += counters->value[COUNTER_BYTES_READ];
    row->bytes[1] += counters->value[COUNTER_BYTES_WRITTEN];
    row->opens += counters_true_opens(counters, stored->layer);
    if (row->layer != LAYER_MPIIO &&
        (!row->layer || counters_bytes(row->of[stored->layer]) > counters_bytes(row->of[row->layer])))
        row->layer = stored->layer;
    return 0;
}

int files_finish(struct files *files) {
    struct log_record_store *records = &files->records;
    FORWARD(choose(files));
    for (size_t i = 0; i < records->count; i++) {
        struct counters counters;
        uint32_t place = files->row_of[log_file_index(files->log, records->stored[i].file)];
        if (!place) continue;
        FORWARD(log_record_store_get(records, &records->stored[i], &counters, NULL));
        FORWARD(add_counters(files, &files->row[place - 1], &records->stored[i], &counters));
    }
    log_record_store_free(records);
    *records = (struct log_record_store){0};
    return 0;
}
