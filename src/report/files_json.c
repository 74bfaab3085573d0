#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "base/order.h"
#include "base/scoped.h"
#include "report/files.h"
#include "summary/summary.h"

static void counters_json(const struct files_row *row, struct json_out *json) {
    key_array(json, "layers");
    for (unsigned layer = LAYER_COUNT - 1; layer > LAYER_NONE; layer--) {
        if (!row->of[layer]) continue;
        json_object(json);
        key_text(json, "layer", call_layer_name(layer));
        summary_key_counters(json, row->of[layer], &(struct counters_module){.layer = layer});
        json_close(json);
    }
    json_close(json);
}

static void sizes_json(const struct counters *counters, struct json_out *json) {
    static const char *const label[COUNTERS_BINS] = {"0-100",   "100-1 k",  "1 k-10 k",   "10 k-100 k", "100 k-1 M",
                                                     "1 M-4 M", "4 M-10 M", "10 M-100 M", "100 M-1 G",  "1 G and more"};
    key_object(json, "sizes");
    key_texts(json, "labels", label, COUNTERS_BINS);
    key_numbers(json, "read", &counters->value[COUNTER_SIZE_READ], COUNTERS_BINS);
    key_numbers(json, "write", &counters->value[COUNTER_SIZE_WRITE], COUNTERS_BINS);
    json_close(json);
}

static void common_json(const struct counters_common *common, struct json_out *json, const char *key) {
    uint64_t value[COUNTERS_TOP] = {0}, count[COUNTERS_TOP] = {0};
    counters_top(common, value, count);
    key_array(json, key);
    for (unsigned i = 0; i < COUNTERS_TOP && count[i]; i++)
        json_object_of(json, m_signed("value", (int64_t)value[i]), m_number("count", count[i]));
    json_close(json);
}

static void heat_json(const struct files *files, const struct files_row *row, struct json_out *json) {
    uint64_t columns = (files->places.count + files->group - 1) / files->group;
    const struct files_heat *heat = row->heat[row->of[LAYER_MPIIO] ? FILES_OF_MPIIO : FILES_OF_OTHERS];
    static const char *const key[2] = {"read_bytes", "write_bytes"};
    key_object(json, "heat");
    json_members(json, m_number("first", 0), m_number("ranks", files->group));
    for (unsigned direction = 0; direction < 2; direction++) {
        key_array(json, key[direction]);
        for (uint64_t i = 0; i < columns; i++) json_unsigned(json, heat[i].bytes[direction]);
        json_close(json);
    }
    key_array(json, "seconds");
    for (uint64_t i = 0; i < columns; i++) json_seconds(json, row->heat_ns[i]);
    json_close(json);
    json_close(json);
}

static void row_json(const struct files *files, const struct files_row *row, struct json_out *json) {
    static const struct counters nothing;
    const struct counters *counters = row->of[row->layer] ? row->of[row->layer] : &nothing;
    json_object(json);
    json_members(json, m_text("name", row->file->name), m_text("fs", row->file->fs_name),
                 m_text("mount", row->file->mount), m_number("block_size", row->file->block_size),
                 m_number("bytes_read", row->bytes[0]), m_number("bytes_written", row->bytes[1]),
                 m_number("opens", row->opens), m_number("processes", row->processes),
                 m_signed_if("ranks", log_world_count(files->log), (int64_t)row->ranks),
                 m_text("layer", row->layer ? call_layer_name(row->layer) : NULL));
    const int64_t *ns = files->sum[log_file_index(files->log, row->file)].ns;
    key_object(json, "seconds");
    json_members(json, m_seconds("read", ns[FILE_TIME_READ]), m_seconds("write", ns[FILE_TIME_WRITE]),
                 m_seconds("meta", ns[FILE_TIME_META]));
    json_close(json);
    counters_json(row, json);
    sizes_json(counters, json);
    common_json(&counters->sizes, json, "common_sizes");
    common_json(&counters->strides, json, "strides");
    heat_json(files, row, json);
    json_close(json);
}

void files_json(const struct files *files, struct json_out *json, size_t most) {
    json_array(json);
    for (size_t i = 0; i < files->rows && i < most; i++) row_json(files, &files->row[i], json);
    json_close(json);
}

// By index in the log's table. Files that no counter counts are not in the summary: their row is empty.
static struct summary_file *rows_by_file(const struct files *files, const struct summary *summary) {
    struct summary_file *row = calloc(log_file_count(files->log) + 1, sizeof *row);
    for (size_t i = 0; row && i < summary->file_count; i++)
        row[log_file_index(files->log, summary->files[i].file)] = summary->files[i];
    return row;
}

int file_list_json(const struct files *files, const struct summary *summary, struct json_out *json, size_t most) {
    size_t all = log_file_count(files->log), count = 0;
    SCOPED_FREE struct order *order = malloc((all + 1) * sizeof *order);
    SCOPED_FREE struct summary_file *row = rows_by_file(files, summary);
    RETURN_IF(!order || !row, -ENOMEM);
    for (size_t i = 0; i < all; i++)
        if (files->sum[i].is_used || row[i].file) order[count++] = (struct order){files_time_ns(files, i), i};
    order_sort(order, count);
    json_array(json);
    for (size_t i = 0; i < count && i < most; i++) {
        const struct summary_file *file = &row[order[i].index];
        json_array_of(json, m_text(NULL, log_file_at(files->log, order[i].index)->name), m_seconds(NULL, order[i].key),
                      m_number(NULL, file->bytes[DIRECTION_READ]), m_number(NULL, file->bytes[DIRECTION_WRITE]),
                      m_number(NULL, file->opens));
    }
    json_close(json);
    return 0;
}
