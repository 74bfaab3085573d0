#include "base/json_keys.h"
#include "base/table.h"
#include "cli/stats.h"

// --- files

static void row_json(struct json_out *json, const struct file_row *row, bool is_total) {
    const uint64_t *value = row->value;
    json_object(json);
    key_text(json, "layer", call_layer_name(row->layer));
    if (!is_total) {
        json_members(json, m_text("name", row->name), m_signed_if("rank", row->has_rank, row->rank),
                     m_number_if("pid", row->process, row->process ? row->process->pid : 0));
    }
    json_members(json, m_number("files", row->files ? row->files : 1), m_number("opens", value[COLUMN_OPENS]),
                 m_number("reads", value[COLUMN_READS]), m_number("writes", value[COLUMN_WRITES]),
                 m_number("bytes_read", value[COLUMN_BYTES_READ]),
                 m_number("bytes_written", value[COLUMN_BYTES_WRITTEN]),
                 m_seconds("read_time", (int64_t)value[COLUMN_READ_TIME]),
                 m_seconds("write_time", (int64_t)value[COLUMN_WRITE_TIME]),
                 m_seconds("meta_time", (int64_t)value[COLUMN_META_TIME]));
    json_close(json);
}

static size_t shown(size_t first, size_t end, uint64_t top) { return top && top < end - first ? first + top : end; }

static void rows_json(const struct file_rows *rows, uint64_t top, struct json_out *json) {
    json_object(json);
    key_array(json, "rows");
    for (size_t first = 0, end; first < rows->count; first = end) {
        end = file_rows_layer_end(rows, first);
        for (size_t i = first; i < shown(first, end, top); i++) row_json(json, &rows->row[i], false);
    }
    json_close(json);
    key_array(json, "totals");
    for (size_t first = 0, end; first < rows->count; first = end) {
        end = file_rows_layer_end(rows, first);
        struct file_row total = file_rows_total(rows, first, end);
        row_json(json, &total, true);
    }
    json_close(json);
    json_close(json);
}

static void row_text(struct table *table, const struct file_row *row) {
    table_text(table, "");
    for (unsigned i = 0; i <= COLUMN_WRITES; i++) table_count(table, row->value[i]);
    for (unsigned i = COLUMN_BYTES_READ; i <= COLUMN_BYTES_WRITTEN; i++) table_bytes(table, row->value[i]);
    for (unsigned i = COLUMN_READ_TIME; i <= COLUMN_META_TIME; i++) table_duration(table, (int64_t)row->value[i]);
}

static int layer_text(const struct file_rows *rows, size_t first, size_t end, uint64_t top, FILE *out) {
    static struct table_column columns[] = {{"", TABLE_TEXT},
                                            {"OPENS", TABLE_NUMBER},
                                            {"READS", TABLE_NUMBER},
                                            {"WRITES", TABLE_NUMBER},
                                            {"READ", TABLE_UNIT},
                                            {"WRITTEN", TABLE_UNIT},
                                            {"READ TIME", TABLE_UNIT},
                                            {"WRITE TIME", TABLE_UNIT},
                                            {"META TIME", TABLE_UNIT},
                                            {"FILE", TABLE_NAME},
                                            {0}};
    columns[0].header = call_layer_name(rows->row[first].layer);
    struct table table = table_begin(out, columns);
    size_t last = shown(first, end, top);
    for (size_t i = first; i < last; i++) {
        row_text(&table, &rows->row[i]);
        table_text(&table, rows->row[i].name);
        if (rows->row[i].files > 1) table_append(&table, "  (%s)", human_count(rows->row[i].files, "file").text);
        table_append(&table, "%s", rows->row[i].who);
        table_row(&table);
    }
    struct file_row total = file_rows_total(rows, first, end);
    if (end - first > 1) {
        row_text(&table, &total);
        table_text(&table, "total");
        if (last < end) table_append(&table, ", %s not shown", human_count(end - last, "row").text);
        table_row(&table);
    }
    return table_end(&table);
}

int stats_print_rows(const struct file_rows *rows, uint64_t top, bool as_json, struct output *output) {
    int code = 0;
    if (as_json) rows_json(rows, top, output_json(output, 2));
    for (size_t first = 0, end; !as_json && !code && first < rows->count; first = end) {
        end = file_rows_layer_end(rows, first);
        if (first) fputc('\n', output->out);
        code = layer_text(rows, first, end, top, output->out);
    }
    return code;
}

// --- calls

static void distribution_json(struct json_out *json, const char *key, const struct histogram *values, bool is_time) {
    const struct {
        const char *name;
        uint64_t value;
    } points[] = {{"min", values->smallest},
                  {"median", histogram_quantile(values, 0.5)},
                  {"p95", histogram_quantile(values, 0.95)},
                  {"p99", histogram_quantile(values, 0.99)},
                  {"max", values->largest}};
    key_object(json, key);
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        if (is_time)
            key_seconds(json, points[i].name, (int64_t)points[i].value);
        else
            key_number(json, points[i].name, points[i].value);
    }
    key_array(json, "histogram");
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        if (!values->bucket[i]) continue;
        uint64_t from = histogram_bucket_start(i), last = histogram_bucket_start(i + 1) - 1;
        if (is_time)
            json_object_of(json, m_seconds("from", (int64_t)from), m_seconds("to", (int64_t)last),
                           m_number("count", values->bucket[i]));
        else
            json_object_of(json, m_number("from", from), m_number("to", last), m_number("count", values->bucket[i]));
    }
    json_close(json);
    json_close(json);
}

static void call_json(struct json_out *json, const struct call_summary *call) {
    json_object(json);
    json_members(json, m_text("layer", call_layer_name(call->call->layer)), m_text("op", call->call->name),
                 m_text("class", call_class_name(call->call->class)), m_number("count", call->durations.count),
                 m_number("failed", call->failed), m_number("bytes", call->bytes),
                 m_seconds("time", (int64_t)call->durations.sum));
    distribution_json(json, "duration", &call->durations, true);
    if (call->sizes.count)
        distribution_json(json, "size", &call->sizes, false);
    else
        key_null(json, "size");
    json_close(json);
}

static void call_text(struct table *table, const struct call_summary *call) {
    const struct histogram *times = &call->durations, *sizes = &call->sizes;
    table_text(table, call_layer_name(call->call->layer));
    table_text(table, call->call->name);
    table_count(table, times->count);
    table_count(table, call->failed);
    table_duration(table, (int64_t)times->sum);
    table_duration(table, (int64_t)times->smallest);
    table_duration(table, (int64_t)histogram_quantile(times, 0.5));
    table_duration(table, (int64_t)histogram_quantile(times, 0.95));
    table_duration(table, (int64_t)histogram_quantile(times, 0.99));
    table_duration(table, (int64_t)times->largest);
    if (sizes->count) {
        table_bytes(table, call->bytes);
        table_bytes(table, sizes->smallest);
        table_bytes(table, histogram_quantile(sizes, 0.5));
        table_bytes(table, sizes->largest);
    }
    table_row(table);
}

int stats_print_calls(const struct call_list *calls, bool as_json, struct output *output) {
    static const struct table_column columns[] = {
        {"LAYER", TABLE_TEXT},       {"CALL", TABLE_TEXT},    {"COUNT", TABLE_NUMBER},
        {"FAILED", TABLE_NUMBER},    {"TIME", TABLE_UNIT},    {"FASTEST", TABLE_UNIT},
        {"MEDIAN", TABLE_UNIT},      {"95 %", TABLE_UNIT},    {"99 %", TABLE_UNIT},
        {"SLOWEST", TABLE_UNIT},     {"BYTES", TABLE_UNIT},   {"SMALLEST", TABLE_UNIT},
        {"MEDIAN SIZE", TABLE_UNIT}, {"LARGEST", TABLE_UNIT}, {0}};
    if (as_json) {
        struct json_out *json = output_json(output, 3);
        json_object(json);
        key_array(json, "calls");
        for (size_t i = 0; i < calls->count; i++) call_json(json, calls->item[i]);
        json_close(json);
        json_close(json);
        return 0;
    }
    struct table table = table_begin(output->out, columns);
    for (size_t i = 0; i < calls->count; i++) call_text(&table, calls->item[i]);
    return table_end(&table);
}
