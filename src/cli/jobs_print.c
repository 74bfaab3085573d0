#include "cli/jobs_print.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "catalogue/answer.h"

// --- values as texts

static struct human start_text(const struct store_value *value) {
    struct human text = {""};
    time_t seconds = (time_t)(store_integer(value) / 1000000000);
    struct tm local;
    if (localtime_r(&seconds, &local)) strftime(text.text, sizeof text.text, "%Y-%m-%d %H:%M", &local);
    return text;
}

// --- tables

static const enum table_kind table_kinds[] = {
    [ANSWER_TEXT] = TABLE_NAME,     [ANSWER_COUNT] = TABLE_NUMBER,  [ANSWER_BYTES] = TABLE_UNIT,
    [ANSWER_NS] = TABLE_UNIT,       [ANSWER_START] = TABLE_TEXT,    [ANSWER_SHARE] = TABLE_UNIT,
    [ANSWER_FACTOR] = TABLE_NUMBER, [ANSWER_CHANCE] = TABLE_NUMBER, [ANSWER_MONTH] = TABLE_TEXT,
    [ANSWER_LAYERS] = TABLE_TEXT,   [ANSWER_FLAG] = TABLE_TEXT,     [ANSWER_SEVERITY] = TABLE_TEXT,
    [ANSWER_MEASURE] = TABLE_TEXT,  [ANSWER_DAY] = TABLE_TEXT,
};

static void put_cell(struct table *table, const struct answer_column *column, const struct store_value *value) {
    double real = store_real(value);
    if (!answer_is_known(column, value)) {
        table_text(table, NULL);
        return;
    }
    switch (column->kind) {
    case ANSWER_COUNT: table_count(table, (uint64_t)llround(real)); break;
    case ANSWER_BYTES: table_bytes(table, (uint64_t)real); break;
    case ANSWER_NS: table_text(table, human_long_time(real / 1e9).text); break;
    case ANSWER_START: table_text(table, start_text(value).text); break;
    case ANSWER_SHARE: table_percent(table, real); break;
    case ANSWER_FACTOR: table_printf(table, "%.2f", real); break;
    case ANSWER_CHANCE: table_printf(table, "%.2g", real); break;
    case ANSWER_MONTH:
    case ANSWER_DAY: table_text(table, answer_date(column, value).text); break;
    default: table_text(table, answer_name(column, value));
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
    if (!answer_is_known(column, value)) return (struct sql_value){.kind = SQL_IS_NULL};
    if (column->kind == ANSWER_NS || column->kind == ANSWER_START)
        return (struct sql_value){.kind = SQL_IS_REAL, .real = store_real(value) / 1e9};
    if (answer_name(column, value)) return csv_text(answer_name(column, value));
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
    char layers[ANSWER_LAYERS_BYTES], findings[1024] = "";
    for (size_t i = 0; i < count; i++) {
        cell[i] = csv_value(&column[i], &value[i]);
        if (column[i].kind == ANSWER_LAYERS) answer_layers(&value[i], layers), cell[i] = csv_text(layers);
        if (column[i].kind != ANSWER_MONTH && column[i].kind != ANSWER_DAY) continue;
        month[i] = answer_date(&column[i], &value[i]);
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

int jobs_print_begin(struct jobs_printer *printer, const struct answer_column *column) {
    printer->rows = 0;
    if (printer->format == QUERY_CSV) return begin_csv(printer, column);
    begin_table(printer, column);
    return 0;
}

int jobs_print_row(void *context, const struct answer_column *column, const struct store_value *value, size_t count) {
    struct jobs_printer *printer = context;
    printer->rows++;
    if (output_failed(printer->output)) return ERR_LIMIT;
    return printer->format == QUERY_CSV ? csv_row(printer, column, value, count)
                                        : put_row(printer, column, value, count);
}

int jobs_print_end(struct jobs_printer *printer, int code) {
    if (printer->format == QUERY_CSV) return code;
    if (code < 0) printer->table.error = code; // then nothing of it is printed
    return table_end(&printer->table);
}

// --- statistics

static int print_parts(struct jobs_printer *printer, const struct ask *ask) {
    for (size_t i = 0; i < ANSWER_PARTS; i++) {
        const struct answer_part *part = &answer_parts[i];
        const struct ask own = {ask->filter, part->sort, part->top, 0};
        fprintf(printer->output->out, "\n%s\n", part->caption);
        FORWARD(jobs_print_begin(printer, ask_groups_columns(part->by)));
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
    (void)count;
    double jobs = value_of(column, value, "jobs");
    fprintf(out, "Jobs      %s\n", human_count((uint64_t)jobs, "").text);
    fprintf(out, "Run time  %s, with the number of processes %s\n",
            human_long_time(value_of(column, value, "run_time") / 1e9).text,
            human_long_time(value_of(column, value, "core_seconds") / 1e9).text);
    fprintf(out, "In I/O    %s, %s of the run time\n",
            human_long_time(value_of(column, value, "io_seconds") / 1e9).text,
            human_percent(value_of(column, value, "io_share")).text);
    fprintf(out, "Read      %s\n", human_bytes((uint64_t)value_of(column, value, "bytes_read")).text);
    fprintf(out, "Written   %s\n", human_bytes((uint64_t)value_of(column, value, "bytes_written")).text);
    fprintf(out, "Files     %s; with data %s of one process, %s of several\n",
            human_count((uint64_t)value_of(column, value, "files"), "").text,
            human_count((uint64_t)value_of(column, value, "files_of_one_process"), "").text,
            human_count((uint64_t)value_of(column, value, "files_shared"), "").text);
    fprintf(out, "At stake  %s in findings\n\n", human_long_time(value_of(column, value, "stake_seconds") / 1e9).text);
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
    FORWARD(ask_statistics(printer->catalogue, ask, print_totals, printer, printer->problem));
    return print_parts(printer, ask);
}
