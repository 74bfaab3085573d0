#include "cli/query_print.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_keys.h"
#include "base/terminal.h"

enum { ROWS_AT_ONCE = 1000, MOST_TEXT_COLUMNS = 64 };

// --- values

// Without the last digits, in which sums differ from what people expect. Small times are easier to compare without an
// exponent.
static struct human real_text(double real) {
    struct human text;
    double size = fabs(real);
    if (size >= 1e-4 || size < 1e-9) {
        snprintf(text.text, sizeof text.text, "%.14g", real);
        return text;
    }
    int len = snprintf(text.text, sizeof text.text, "%.15f", real);
    while (text.text[len - 1] == '0') len--;
    text.text[len] = '\0';
    return text;
}

// With as many digits as it takes to get the same number back.
static struct human exact_text(double real) {
    struct human text;
    snprintf(text.text, sizeof text.text, "%.15g", real);
    if (strtod(text.text, NULL) != real) snprintf(text.text, sizeof text.text, "%.17g", real);
    return text;
}

// --- tables

static int begin_table(struct query_printer *printer, const char *const *name, size_t count) {
    RETURN_IF(count > MOST_TEXT_COLUMNS, ERR_LIMIT);
    printer->column = calloc(count + 1, sizeof *printer->column);
    printer->is_text = calloc(count + 1, sizeof *printer->is_text);
    RETURN_IF(!printer->column || !printer->is_text, -ENOMEM);
    for (size_t i = 0; i < count; i++) {
        char *header = NULL;
        size_t len;
        FILE *out = open_memstream(&header, &len);
        RETURN_IF(!out, -ENOMEM);
        human_print_name(out, name[i]);
        RETURN_IF(fclose(out) != 0, -ENOMEM);
        printer->column[i] = (struct table_column){header, TABLE_NUMBER};
    }
    printer->table = table_begin(printer->output->out, printer->column);
    return 0;
}

static int table_value(struct query_printer *printer, const struct sql_value *value, size_t column) {
    struct table *table = &printer->table;
    char *blob = NULL;
    if (value->kind == SQL_IS_TEXT || value->kind == SQL_IS_BLOB) printer->is_text[column] = true;
    switch (value->kind) {
    case SQL_IS_NULL: table_text(table, NULL); break;
    case SQL_IS_INTEGER: table_printf(table, "%" PRId64, value->integer); break;
    case SQL_IS_REAL: table_text(table, real_text(value->real).text); break;
    case SQL_IS_TEXT: table_text(table, value->text); break;
    case SQL_IS_BLOB:
        blob = sql_blob_text(value);
        RETURN_IF(!blob, -ENOMEM);
        table_text(table, blob);
        free(blob);
        break;
    }
    return 0;
}

static void flush_table(struct query_printer *printer) {
    for (size_t i = 0; i < printer->table.columns; i++)
        printer->column[i].kind = printer->is_text[i] ? TABLE_NAME : TABLE_NUMBER;
    table_flush(&printer->table);
}

static int end_table(struct query_printer *printer) {
    int code = 0;
    if (printer->table.out) {
        if (printer->table.cells || !printer->table.has_header) flush_table(printer);
        code = table_end(&printer->table);
    }
    for (size_t i = 0; printer->column && printer->column[i].header; i++) free((char *)printer->column[i].header);
    free(printer->column);
    free(printer->is_text);
    return code;
}

// --- JSON

static void begin_json(struct query_printer *printer, const char *const *name, size_t count) {
    struct json_out *json = output_json(printer->output, 2);
    json_object(json);
    json_key(json, "columns");
    json_fold(json);
    json_array(json);
    for (size_t i = 0; i < count; i++) json_text(json, name[i]);
    json_close(json);
    key_array(json, "rows");
}

static void end_json(struct json_out *json) {
    json_close(json);
    json_close(json);
}

// --- CSV (RFC 4180)

// A cell keeps its bytes, so that what is read is what was recorded; only a terminal gets escapes. A spreadsheet would
// compute a text that begins like a formula, also in quotes: it gets an apostrophe.
static void csv_text(const struct query_printer *printer, const char *text, size_t len) {
    FILE *out = printer->output->out;
    bool is_formula = len && text[0] && strchr("=+-@\t\r", text[0]);
    bool is_quoted = !len || is_formula || text[0] == ' ' || text[len - 1] == ' ';
    for (size_t i = 0; i < len && !is_quoted; i++) is_quoted = text[i] == '\0' || strchr("\",\r\n", text[i]);
    if (is_quoted) fputc('"', out);
    if (is_formula) fputc('\'', out);
    for (size_t at = 0; at < len; at++) {
        size_t end = printer->is_terminal ? at + human_plain(text + at, len - at) : len;
        for (; at < end; at++) {
            if (text[at] == '"') fputc('"', out);
            fputc(text[at], out);
        }
        if (at < len) fputs(human_escape((unsigned char)text[at]).text, out);
    }
    if (is_quoted) fputc('"', out);
}

static int csv_value(const struct query_printer *printer, const struct sql_value *value) {
    FILE *out = printer->output->out;
    char *blob = NULL;
    switch (value->kind) {
    case SQL_IS_NULL: break;
    case SQL_IS_INTEGER: fprintf(out, "%" PRId64, value->integer); break;
    case SQL_IS_REAL: fputs(exact_text(value->real).text, out); break;
    case SQL_IS_TEXT: csv_text(printer, value->text, value->len); break;
    case SQL_IS_BLOB:
        blob = sql_blob_text(value);
        RETURN_IF(!blob, -ENOMEM);
        fputs(blob, out);
        free(blob);
        break;
    }
    return 0;
}

static void begin_csv(const struct query_printer *printer, const char *const *name, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (i) fputc(',', printer->output->out);
        csv_text(printer, name[i], strlen(name[i]));
    }
    fputs("\r\n", printer->output->out);
}

// --- the sink

static int begin(void *context, const char *const *name, size_t count) {
    struct query_printer *printer = context;
    printer->is_terminal = terminal_is(printer->output->out);
    switch (printer->format) {
    case QUERY_TEXT: return begin_table(printer, name, count);
    case QUERY_JSON: begin_json(printer, name, count); break;
    case QUERY_CSV: begin_csv(printer, name, count); break;
    }
    return 0;
}

static int add_row(void *context, const struct sql_value *value, size_t count) {
    struct query_printer *printer = context;
    struct output *output = printer->output;
    if (printer->format == QUERY_JSON) json_fold(output->json);
    if (printer->format == QUERY_JSON) json_array(output->json);
    for (size_t i = 0; i < count; i++) {
        if (printer->format == QUERY_TEXT) FORWARD(table_value(printer, &value[i], i));
        if (printer->format == QUERY_JSON) FORWARD(sql_value_json(output->json, &value[i]));
        if (printer->format != QUERY_CSV) continue;
        if (i) fputc(',', output->out);
        FORWARD(csv_value(printer, &value[i]));
    }
    if (printer->format == QUERY_CSV) fputs("\r\n", output->out);
    if (printer->format == QUERY_JSON) json_close(output->json);
    if (printer->format == QUERY_TEXT) table_row(&printer->table);
    if (++printer->rows % ROWS_AT_ONCE == 0 && printer->format == QUERY_TEXT) flush_table(printer);
    return output_failed(output) ? ERR_LIMIT : 0;
}

struct sql_sink query_printer_sink(struct query_printer *printer) {
    return (struct sql_sink){printer, begin, add_row};
}

int query_printer_end(struct query_printer *printer, int code) {
    struct output *output = printer->output;
    if (printer->format == QUERY_JSON && output->json && code == 0) end_json(output->json);
    if (printer->format == QUERY_JSON) output_json_end(output);
    if (printer->format != QUERY_TEXT) return code;
    int ended = end_table(printer);
    return code < 0 ? code : ended;
}
