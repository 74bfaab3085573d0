#include "base/json_keys.h"
#include "report/files.h"
#include "summary/summary.h"

static void counters_json(const struct files_row *row, struct json_out *json)
{
    key_array(json, "layers");
    for (unsigned layer = LAYER_COUNT - 1; layer > LAYER_NONE; layer--) {
        if (!row->of[layer]) continue;
        json_object(json);
        key_text(json, "layer", call_layer_name(layer));
        summary_key_counters(json, row->of[layer], NULL, layer);
        json_close(json);
    }
    json_close(json);
}

static void sizes_json(const struct counters *counters, struct json_out *json)
{
    static const char *const label[COUNTERS_BINS] = {"0-100",   "100-1 k",  "1 k-10 k",   "10 k-100 k", "100 k-1 M",
                                                     "1 M-4 M", "4 M-10 M", "10 M-100 M", "100 M-1 G",  "1 G and more"};
    static const struct {
        const char *key;
        unsigned first;
    } row[2] = {{"read", COUNTER_SIZE_READ}, {"write", COUNTER_SIZE_WRITE}};
    key_object(json, "sizes");
    key_array(json, "labels");
    for (unsigned i = 0; i < COUNTERS_BINS; i++) json_text(json, label[i]);
    json_close(json);
    for (unsigned k = 0; k < 2; k++) {
        key_array(json, row[k].key);
        for (unsigned i = 0; i < COUNTERS_BINS; i++) json_unsigned(json, counters->value[row[k].first + i]);
        json_close(json);
    }
    json_close(json);
}

// The most frequent ones first.
static void common_json(const struct counters_common *common, struct json_out *json, const char *key)
{
    bool shown[COUNTERS_CANDIDATES] = {false};
    key_array(json, key);
    for (unsigned n = 0; n < COUNTERS_TOP; n++) {
        unsigned best = COUNTERS_CANDIDATES;
        for (unsigned i = 0; i < common->used && i < COUNTERS_CANDIDATES; i++) {
            if (!shown[i] && common->count[i] &&
                (best == COUNTERS_CANDIDATES || common->count[i] > common->count[best]))
                best = i;
        }
        if (best == COUNTERS_CANDIDATES) break;
        shown[best] = true;
        json_object(json);
        key_signed(json, "value", (int64_t)common->value[best]);
        key_number(json, "count", common->count[best]);
        json_close(json);
    }
    json_close(json);
}

static void heat_json(const struct files *files, const struct files_row *row, struct json_out *json)
{
    uint64_t columns = (files->positions + files->group - 1) / files->group;
    const struct files_heat *heat = row->heat[row->layer];
    static const char *const key[2] = {"read_bytes", "write_bytes"};
    key_object(json, "heat");
    key_number(json, "first", 0);
    key_number(json, "ranks", files->group);
    for (unsigned direction = 0; direction < 2; direction++) {
        key_array(json, key[direction]);
        for (uint64_t i = 0; i < columns; i++) json_unsigned(json, heat[i].bytes[direction]);
        json_close(json);
    }
    key_array(json, "seconds");
    for (uint64_t i = 0; i < columns; i++) json_seconds(json, heat[i].ns);
    json_close(json);
    json_close(json);
}

static void row_json(const struct files *files, const struct files_row *row, struct json_out *json)
{
    static const struct counters nothing;
    const struct counters *counters = row->of[row->layer] ? row->of[row->layer] : &nothing;
    json_object(json);
    key_text(json, "name", row->file->name);
    key_text(json, "fs", row->file->fs_name);
    key_text(json, "mount", row->file->mount);
    key_number(json, "block_size", row->file->block_size);
    key_number(json, "bytes_read", row->bytes[0]);
    key_number(json, "bytes_written", row->bytes[1]);
    key_number(json, "opens", row->opens);
    key_number(json, "processes", row->processes);
    key_signed_if(json, "ranks", log_world_count(files->log), (int64_t)row->ranks);
    key_text(json, "layer", row->layer ? call_layer_name(row->layer) : NULL);
    key_object(json, "seconds");
    key_seconds(json, "read", (int64_t)counters->value[COUNTER_READ_TIME]);
    key_seconds(json, "write", (int64_t)counters->value[COUNTER_WRITE_TIME]);
    key_seconds(json, "meta", (int64_t)counters->value[COUNTER_META_TIME]);
    json_close(json);
    counters_json(row, json);
    sizes_json(counters, json);
    common_json(&counters->sizes, json, "common_sizes");
    common_json(&counters->strides, json, "strides");
    heat_json(files, row, json);
    json_close(json);
}

void files_json(const struct files *files, struct json_out *json, size_t most)
{
    json_array(json);
    for (size_t i = 0; i < files->rows && i < most; i++) row_json(files, &files->row[i], json);
    json_close(json);
}
