#include "cli/jobs_print.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "catalogue/slower.h"
#include "findings/findings.h"
#include "fmt/call.h"

enum { START_BYTES = 32 };
static const char *const measure_names[SLOWER_MEASURES] = {[SLOWER_RUN] = "run_time", [SLOWER_IO] = "io_seconds"};

// --- values as texts

static bool is_known(const struct answer_column *column, const struct store_value *value) {
    return value->kind != STORE_NULL && !(column->kind == ANSWER_SHARE && store_real(value) < 0);
}

static const char *name_of(const struct answer_column *column, const struct store_value *value) {
    int64_t number = store_integer(value);
    switch (column->kind) {
    case ANSWER_TEXT: return store_text(value);
    case ANSWER_SEVERITY:
        return number >= 0 && number <= FINDING_HIGH ? finding_severity_name((enum finding_severity)number) : "unknown";
    case ANSWER_MEASURE: return number >= 0 && number < SLOWER_MEASURES ? measure_names[number] : "unknown";
    default: return NULL;
    }
}

static struct human month_text(const struct store_value *value) {
    struct human text;
    int64_t month = store_integer(value);
    snprintf(text.text, sizeof text.text, "%04" PRId64 "-%02" PRId64, month / 100, month % 100);
    return text;
}

static struct human start_text(const struct store_value *value) {
    struct human text = {""};
    time_t seconds = (time_t)(store_integer(value) / 1000000000);
    struct tm local;
    if (localtime_r(&seconds, &local)) strftime(text.text, sizeof text.text, "%Y-%m-%d %H:%M", &local);
    return text;
}

// "posix mpiio"; the names that bits stand for.
static void layer_names(const struct store_value *value, char names[160]) {
    uint64_t layers = (uint64_t)store_integer(value);
    size_t len = 0;
    names[0] = 0;
    for (unsigned layer = 1; layer < LAYER_COUNT; layer++) {
        if (layers >> layer & 1)
            len += (size_t)snprintf(names + len, 160 - len, "%s%s", len ? " " : "", call_layer_name(layer));
    }
}

// --- JSON

static void write_value(struct json_out *json, const struct answer_column *column, const struct store_value *value) {
    uint64_t layers = (uint64_t)store_integer(value);
    json_key(json, column->key);
    if (!is_known(column, value)) {
        json_null(json);
        return;
    }
    switch (column->kind) {
    case ANSWER_COUNT:
    case ANSWER_BYTES:
        json_signed(json, value->kind == STORE_REAL ? (int64_t)llround(value->real) : value->integer);
        break;
    case ANSWER_NS:
    case ANSWER_START:
        if (value->kind == STORE_INTEGER) json_seconds(json, value->integer);
        if (value->kind == STORE_REAL) json_double(json, value->real / 1e9);
        break;
    case ANSWER_SHARE:
    case ANSWER_FACTOR:
    case ANSWER_CHANCE: json_double(json, store_real(value)); break;
    case ANSWER_FLAG: json_bool(json, store_integer(value)); break;
    case ANSWER_MONTH: json_text(json, month_text(value).text); break;
    case ANSWER_LAYERS:
        json_array(json);
        for (unsigned layer = 1; layer < LAYER_COUNT; layer++) {
            if (layers >> layer & 1) json_text(json, call_layer_name(layer));
        }
        json_close(json);
        break;
    default: json_text(json, name_of(column, value));
    }
}

static int write_finding(void *context, const struct answer_column *column, const struct store_value *value,
                         size_t count) {
    struct json_out *json = context;
    json_object(json);
    for (size_t i = 0; i < count; i++) write_value(json, &column[i], &value[i]);
    json_close(json);
    return 0;
}

static int write_row(struct jobs_printer *printer, const struct answer_column *column, const struct store_value *value,
                     size_t count) {
    struct json_out *json = printer->output->json;
    int code = 0;
    json_fold(json);
    json_object(json);
    for (size_t i = 0; i < count; i++) write_value(json, &column[i], &value[i]);
    if (printer->has_findings) {
        key_array(json, "findings");
        code = ask_findings(printer->catalogue, store_integer(&value[0]), write_finding, json, printer->problem);
        json_close(json);
    }
    json_close(json);
    return code;
}

// --- tables

static const enum table_kind table_kinds[] = {
    [ANSWER_TEXT] = TABLE_NAME,     [ANSWER_COUNT] = TABLE_NUMBER,  [ANSWER_BYTES] = TABLE_UNIT,
    [ANSWER_NS] = TABLE_UNIT,       [ANSWER_START] = TABLE_TEXT,    [ANSWER_SHARE] = TABLE_UNIT,
    [ANSWER_FACTOR] = TABLE_NUMBER, [ANSWER_CHANCE] = TABLE_NUMBER, [ANSWER_MONTH] = TABLE_TEXT,
    [ANSWER_LAYERS] = TABLE_TEXT,   [ANSWER_FLAG] = TABLE_TEXT,     [ANSWER_SEVERITY] = TABLE_TEXT,
    [ANSWER_MEASURE] = TABLE_TEXT,
};

static void put_cell(struct table *table, const struct answer_column *column, const struct store_value *value) {
    double real = store_real(value);
    if (!is_known(column, value)) {
        table_text(table, NULL);
        return;
    }
    switch (column->kind) {
    case ANSWER_COUNT: table_count(table, (uint64_t)llround(real)); break;
    case ANSWER_BYTES: table_bytes(table, (uint64_t)real); break;
    case ANSWER_NS: table_text(table, human_time(real / 1e9).text); break;
    case ANSWER_START: table_text(table, start_text(value).text); break;
    case ANSWER_SHARE: table_percent(table, real); break;
    case ANSWER_FACTOR: table_printf(table, "%.2f", real); break;
    case ANSWER_CHANCE: table_printf(table, "%.2g", real); break;
    case ANSWER_MONTH: table_text(table, month_text(value).text); break;
    default: table_text(table, name_of(column, value));
    }
}

static int keep_first(void *context, const struct answer_column *column, const struct store_value *value,
                      size_t count) {
    char *name = context;
    (void)column, (void)count;
    if (!*name) snprintf(name, 64, "%s", store_text(&value[0]));
    return 0;
}

static int put_row(struct jobs_printer *printer, const struct answer_column *column, const struct store_value *value,
                   size_t count) {
    struct table *table = &printer->table;
    char finding[64] = "";
    for (size_t i = 0; i < count; i++) {
        if (printer->has_findings && i + 1 == count) {
            FORWARD(ask_findings(printer->catalogue, store_integer(&value[0]), keep_first, finding, printer->problem));
            table_text(table, *finding ? finding : NULL);
        }
        if (column[i].header) put_cell(table, &column[i], &value[i]);
    }
    table_row(table);
    return 0;
}

static void begin_table(struct jobs_printer *printer, const struct answer_column *column) {
    size_t heads = 0;
    for (; column->key; column++) {
        if (printer->has_findings && !column[1].key)
            printer->head[heads++] = (struct table_column){"FIRST FINDING", TABLE_TEXT};
        if (column->header) printer->head[heads++] = (struct table_column){column->header, table_kinds[column->kind]};
    }
    printer->head[heads] = (struct table_column){0};
    printer->table = table_begin(printer->output->out, printer->head);
}

// --- CSV: by the printer of `query`

enum { MOST_COLUMNS = 32 };

static int begin_csv(struct jobs_printer *printer, const struct answer_column *column) {
    const char *name[MOST_COLUMNS];
    size_t count = 0;
    for (; column[count].key; count++) name[count] = column[count].key;
    if (printer->has_findings) name[count++] = "findings";
    printer->csv = (struct query_printer){.format = QUERY_CSV, .output = printer->output};
    const struct sql_sink sink = query_printer_sink(&printer->csv);
    return sink.columns(sink.context, name, count);
}

static struct sql_value csv_text(const char *text) {
    return (struct sql_value){.kind = SQL_IS_TEXT, .text = text, .len = strlen(text)};
}

static struct sql_value csv_value(const struct answer_column *column, const struct store_value *value) {
    if (!is_known(column, value)) return (struct sql_value){.kind = SQL_IS_NULL};
    if (column->kind == ANSWER_NS || column->kind == ANSWER_START)
        return (struct sql_value){.kind = SQL_IS_REAL, .real = store_real(value) / 1e9};
    if (name_of(column, value)) return csv_text(name_of(column, value));
    bool is_real = column->kind == ANSWER_SHARE || column->kind == ANSWER_FACTOR || column->kind == ANSWER_CHANCE;
    if (is_real) return (struct sql_value){.kind = SQL_IS_REAL, .real = store_real(value)};
    return (struct sql_value){.kind = SQL_IS_INTEGER, .integer = store_integer(value)};
}

static int add_name(void *context, const struct answer_column *column, const struct store_value *value, size_t count) {
    char *names = context;
    size_t len = strlen(names);
    (void)column, (void)count;
    snprintf(names + len, 1024 - len, "%s%s", len ? " " : "", store_text(&value[0]));
    return 0;
}

static int csv_row(struct jobs_printer *printer, const struct answer_column *column, const struct store_value *value,
                   size_t count) {
    struct sql_value cell[MOST_COLUMNS];
    struct human month[MOST_COLUMNS];
    char layers[160], findings[1024] = "";
    for (size_t i = 0; i < count; i++) {
        cell[i] = csv_value(&column[i], &value[i]);
        if (column[i].kind == ANSWER_LAYERS) layer_names(&value[i], layers), cell[i] = csv_text(layers);
        if (column[i].kind != ANSWER_MONTH) continue;
        month[i] = month_text(&value[i]);
        cell[i] = csv_text(month[i].text);
    }
    if (printer->has_findings) {
        FORWARD(ask_findings(printer->catalogue, store_integer(&value[0]), add_name, findings, printer->problem));
        cell[count++] = csv_text(findings);
    }
    const struct sql_sink sink = query_printer_sink(&printer->csv);
    return sink.row(sink.context, cell, count);
}

// --- a list

int jobs_print_begin(struct jobs_printer *printer, const char *key, const struct answer_column *column) {
    printer->rows = 0;
    switch (printer->format) {
    case QUERY_JSON: key_array(printer->output->json, key); break;
    case QUERY_CSV: return begin_csv(printer, column);
    case QUERY_TEXT: begin_table(printer, column); break;
    }
    return 0;
}

int jobs_print_row(void *context, const struct answer_column *column, const struct store_value *value, size_t count) {
    struct jobs_printer *printer = context;
    printer->rows++;
    if (output_failed(printer->output)) return ERR_LIMIT;
    switch (printer->format) {
    case QUERY_JSON: return write_row(printer, column, value, count);
    case QUERY_CSV: return csv_row(printer, column, value, count);
    case QUERY_TEXT: break;
    }
    return put_row(printer, column, value, count);
}

int jobs_print_end(struct jobs_printer *printer, int code) {
    if (printer->format == QUERY_JSON) json_close(printer->output->json);
    if (printer->format != QUERY_TEXT) return code;
    int ended = table_end(&printer->table);
    return code < 0 ? code : ended;
}

// --- statistics

static const struct statistics_part {
    enum ask_by by;
    const char *key, *caption;
    enum ask_sort sort;
    uint64_t top;
} statistics_parts[] = {
    {BY_LAYER, "layers", "Layers: the jobs that use them", SORT_JOBS, 0},
    {BY_SIZE, "sizes", "Sizes of reads and writes that reach the file system", SORT_NAME, 0},
    {BY_FILE, "worst_files", "Files with the most time", SORT_TIME, 10},
    {BY_SYSTEM, "file_systems", "File systems", SORT_BYTES, 10},
    {BY_FINDING, "findings", "Findings", SORT_FINDINGS, 10},
    {BY_MONTH, "months", "Months (UTC)", SORT_NAME, 0},
};

static int print_parts(struct jobs_printer *printer, const struct ask *ask) {
    for (size_t i = 0; i < sizeof statistics_parts / sizeof *statistics_parts; i++) {
        const struct statistics_part *part = &statistics_parts[i];
        const struct ask own = {ask->filter, part->sort, part->top};
        if (printer->format == QUERY_TEXT) fprintf(printer->output->out, "\n%s\n", part->caption);
        FORWARD(jobs_print_begin(printer, part->key, ask_groups_columns(part->by)));
        FORWARD(jobs_print_end(
            printer, ask_groups(printer->catalogue, &own, part->by, jobs_print_row, printer, printer->problem)));
    }
    return 0;
}

static double value_of(const struct answer_column *column, const struct store_value *value, const char *key) {
    for (; strcmp(column->key, key) != 0; column++) value++;
    return store_real(value);
}

static int print_totals(void *context, const struct answer_column *column, const struct store_value *value,
                        size_t count) {
    static const struct {
        const char *label, *key;
    } shares[] = {{"with MPI", "mpi_jobs"},
                  {"with collective reads or writes", "collective_jobs"},
                  {"that read more than they write", "mostly_read_jobs"},
                  {"that write more than they read", "mostly_written_jobs"},
                  {"with a file per process", "file_per_process_jobs"},
                  {"with files that processes share", "shared_file_jobs"},
                  {"in I/O for less than 1 % of their run time", "share_below_1"},
                  {"in I/O for 1 to 5 %", "share_below_5"},
                  {"in I/O for 5 to 10 %", "share_below_10"},
                  {"in I/O for 10 to 25 %", "share_below_25"},
                  {"in I/O for 25 to 50 %", "share_below_50"},
                  {"in I/O for 50 % and more", "share_above_50"}};
    static const struct table_column columns[] = {
        {"JOBS", TABLE_NUMBER}, {"SHARE", TABLE_UNIT}, {"THAT ARE", TABLE_TEXT}, {0}};
    struct jobs_printer *printer = context;
    FILE *out = printer->output->out;
    double jobs = value_of(column, value, "jobs");
    if (printer->format == QUERY_JSON) {
        for (size_t i = 0; i < count; i++) write_value(printer->output->json, &column[i], &value[i]);
        return 0;
    }
    fprintf(out, "Jobs      %s\n", human_count((uint64_t)jobs, "").text);
    fprintf(out, "Run time  %s, with the number of processes %s\n",
            human_time(value_of(column, value, "run_time") / 1e9).text,
            human_time(value_of(column, value, "core_seconds") / 1e9).text);
    fprintf(out, "In I/O    %s, %s of the run time\n", human_time(value_of(column, value, "io_seconds") / 1e9).text,
            human_percent(value_of(column, value, "io_share")).text);
    fprintf(out, "Read      %s\n", human_bytes((uint64_t)value_of(column, value, "bytes_read")).text);
    fprintf(out, "Written   %s\n", human_bytes((uint64_t)value_of(column, value, "bytes_written")).text);
    fprintf(out, "Files     %s; with data %s of one process, %s of several\n",
            human_count((uint64_t)value_of(column, value, "files"), "").text,
            human_count((uint64_t)value_of(column, value, "files_of_one_process"), "").text,
            human_count((uint64_t)value_of(column, value, "files_shared"), "").text);
    fprintf(out, "At stake  %s in findings\n\n", human_time(value_of(column, value, "stake_seconds") / 1e9).text);
    struct table table = table_begin(out, columns);
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        double part = value_of(column, value, shares[i].key);
        table_count(&table, (uint64_t)part);
        table_percent(&table, jobs > 0 ? part / jobs : 0);
        table_text(&table, shares[i].label);
        table_row(&table);
    }
    return table_end(&table);
}

int jobs_print_statistics(struct jobs_printer *printer, const struct ask *ask) {
    struct json_out *json = printer->output->json;
    if (printer->format == QUERY_JSON) key_object(json, "statistics");
    FORWARD(ask_statistics(printer->catalogue, ask, print_totals, printer, printer->problem));
    FORWARD(print_parts(printer, ask));
    if (printer->format == QUERY_JSON) json_close(json);
    return 0;
}
