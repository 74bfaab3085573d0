#include "report/files.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/order.h"
#include "log/stats.h"
#include "summary/summary.h"

// --- selection of the files

int files_init(struct files *files, struct log *log) {
    *files = (struct files){.log = log, .times.log = log};
    files->sum = calloc(log_file_count(log) + 1, sizeof *files->sum);
    files->row_of = calloc(log_file_count(log) + 1, sizeof *files->row_of);
    RETURN_IF(!files->sum || !files->row_of, -ENOMEM);
    FORWARD(log_images_find(&files->images, log));
    FORWARD(process_places_find(&files->places, &files->images));
    files->group = files->places.count ? (files->places.count + FILES_HEAT - 1) / FILES_HEAT : 1;
    return 0;
}

void files_free(struct files *files) {
    for (size_t i = 0; i < files->rows; i++) {
        for (unsigned layer = 0; layer < LAYER_COUNT; layer++) free(files->row[i].of[layer]);
    }
    free(files->row);
    free(files->sum);
    file_times_free(&files->times);
    free(files->row_of);
    process_places_free(&files->places);
    log_record_store_free(&files->records);
    log_images_free(&files->images);
    lookup_free(&files->users);
}

int64_t files_time_ns(const struct files *files, size_t index) {
    const int64_t *ns = files->sum[index].ns;
    return ns[FILE_TIME_READ] + ns[FILE_TIME_WRITE] + ns[FILE_TIME_META];
}

static int choose(struct files *files) {
    size_t all = log_file_count(files->log), used = 0;
    struct order *order = malloc((all + 1) * sizeof *order);
    RETURN_IF(!order, -ENOMEM);
    for (size_t i = 0; i < all; i++) {
        if (files->sum[i].is_used) order[used++] = (struct order){files_time_ns(files, i), i};
    }
    order_sort(order, used);
    files->rows = used < FILES_SHOWN ? used : FILES_SHOWN;
    files->left_out = used - files->rows;
    files->row = calloc(files->rows + 1, sizeof *files->row);
    for (size_t i = 0; files->row && i < files->rows; i++) {
        files->row[i].file = log_file_at(files->log, order[i].index);
        files->row[i].ranks = files->row[i].processes = files->sum[order[i].index].ranks;
        files->row_of[order[i].index] = (uint32_t)i + 1;
    }
    free(order);
    if (!files->row) files->rows = 0;
    return files->row ? 0 : -ENOMEM;
}

// --- times

static size_t column_of(const struct files *files, size_t process) {
    size_t column = files->places.place[process] / files->group;
    return column < FILES_HEAT ? column : FILES_HEAT - 1;
}

// Which ranks they were is not known, so these times have no place in the heat map.
static void add_added_up(struct files *files, const struct log_stats_record *record, const unsigned *counter) {
    struct files_sum *sum = &files->sum[log_file_index(files->log, record->file)];
    if (sum->by_mpi && record->layer != LAYER_MPIIO) return;
    if (record->ranks.count > sum->ranks) sum->ranks = record->ranks.count;
    sum->is_used = sum->by_program = true;
    for (unsigned kind = 0; kind < FILE_TIME_KINDS; kind++)
        sum->ns[kind] += (int64_t)record->counters.value[counter[kind]];
}

// After the trace there are only counters. Those of POSIX do not tell which calls MPI-IO made.
static int add_untraced(const struct log_stats_record *record, void *context) {
    static const unsigned counter[FILE_TIME_KINDS] = {COUNTER_READ_TIME, COUNTER_WRITE_TIME, COUNTER_META_TIME};
    struct files *files = context;
    if (!record->file || call_layer_is_above(record->layer)) return 0;
    if (!record->process) add_added_up(files, record, counter);
    if (!record->process || record->process->is_launcher) return 0;
    struct file_time time = {.process = (uint32_t)log_process_index(files->log, record->process),
                             .file = (uint32_t)log_file_index(files->log, record->file),
                             .is_there = true};
    if (files->sum[time.file].by_mpi && record->layer != LAYER_MPIIO) return 0;
    for (unsigned kind = 0; kind < FILE_TIME_KINDS; kind++)
        time.of[kind].ns = (int64_t)record->counters.value[counter[kind]];
    return array_push(files->times.time, files->times.count, time);
}

// What is inside other calls on the file does not count again.
static int sum_times(struct files *files) {
    FORWARD(log_stats_untraced(files->log, add_untraced, files));
    for (size_t i = 0; i < files->times.count; i++) {
        const struct file_time *time = &files->times.time[i];
        if (time->is_there) files->sum[time->file].is_used = true;
        if (!time->is_inside) files->sum[time->file].by_program = true;
    }
    for (size_t i = 0; i < files->times.count; i++) {
        const struct file_time *time = &files->times.time[i];
        struct files_sum *sum = &files->sum[time->file];
        if (time->is_inside && sum->by_program) continue;
        for (unsigned kind = 0; kind < FILE_TIME_KINDS; kind++) sum->ns[kind] += time->of[kind].ns;
    }
    return 0;
}

// The images of a process, and its calls after the trace, count once.
static int add_user(struct files *files, struct files_row *row, const struct file_time *time) {
    uint64_t key = lookup_pair(files->images.first[time->process], time->file);
    if (lookup_find(&files->users, key) != LOOKUP_NONE) return 0;
    row->processes++;
    row->ranks += log_process_at(files->log, time->process)->has_rank;
    return lookup_set(&files->users, key, 1);
}

static int add_times(struct files *files) {
    for (size_t i = 0; i < files->times.count; i++) {
        const struct file_time *time = &files->times.time[i];
        uint32_t place = files->row_of[time->file];
        if (!place || (time->is_inside && files->sum[time->file].by_program)) continue;
        struct files_row *row = &files->row[place - 1];
        int64_t *heat_ns = &row->heat_ns[column_of(files, time->process)];
        for (unsigned kind = 0; kind < FILE_TIME_KINDS; kind++) *heat_ns += time->of[kind].ns;
        if (time->is_there) FORWARD(add_user(files, row, time));
    }
    return 0;
}

// --- counters

static enum files_of of_layer(unsigned layer) { return layer == LAYER_MPIIO ? FILES_OF_MPIIO : FILES_OF_OTHERS; }

int files_add_record(const struct log_stats_record *record, void *context) {
    struct files *files = context;
    if (!record->file || (record->process && record->process->is_launcher)) return 0;
    if (call_layer_is_above(record->layer)) return 0;
    struct files_sum *sum = &files->sum[log_file_index(files->log, record->file)];
    sum->is_used = true;
    if (record->layer == LAYER_MPIIO) sum->by_mpi = true;
    return log_record_store_add(&files->records, record);
}

static void add_heat(struct files *files, struct files_row *row, const struct log_stored_record *stored,
                     const struct counters *counters) {
    if (!stored->process) return;
    size_t column = column_of(files, log_process_index(files->log, stored->process));
    struct files_heat *heat = &row->heat[of_layer(stored->layer)][column];
    heat->bytes[0] += counters->value[COUNTER_BYTES_READ];
    heat->bytes[1] += counters->value[COUNTER_BYTES_WRITTEN];
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
    FORWARD(sum_times(files));
    FORWARD(choose(files));
    FORWARD(add_times(files));
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
