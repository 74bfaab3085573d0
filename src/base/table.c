#include "base/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/terminal.h"
#include "base/utf8.h"

enum { MOST_COLUMNS = 64, ROWS_AT_ONCE = 200, LEAST_NAME = 12 }; // LEAST_NAME: names are never cut to fewer columns

struct table table_begin(FILE *out, const struct table_column *columns) {
    struct table t = {.out = out, .column = columns, .terminal_width = terminal_width(out)};
    while (columns[t.columns].header && t.columns < MOST_COLUMNS) t.columns++;
    return t;
}

struct table table_begin_stream(FILE *out, const struct table_column *columns, const unsigned *width) {
    struct table t = table_begin(out, columns);
    // People look at a terminal: it gets columns that fit, some rows at a time.
    if (t.terminal_width)
        t.rows_at_once = ROWS_AT_ONCE;
    else
        t.width = width;
    return t;
}

// --- cells

// Appends to `text`, with control characters as escapes; does not add the final 0.
static void append(struct table *t, const char *text, size_t len) {
    for (size_t at = 0; at < len && !t->error;) {
        size_t plain = human_plain(text + at, len - at);
        t->error = bytes_append(&t->text, text + at, plain);
        at += plain;
        if (at == len || t->error) return;
        struct human escape = human_escape((unsigned char)text[at++]);
        t->error = bytes_append(&t->text, escape.text, strlen(escape.text));
    }
}

static void cell_begin(struct table *t) {
    if (!t->error) t->error = array_room(t->cell, t->cells);
    if (!t->error) t->cell[t->cells++] = t->text.len;
}

static void cell_end(struct table *t) {
    if (!t->error) t->error = bytes_append(&t->text, "", 1);
}

static void fill(struct table *t, const char *text, size_t len) {
    cell_begin(t);
    append(t, text, len);
    cell_end(t);
}

void table_text(struct table *t, const char *text) {
    if (!text) text = "-";
    fill(t, text, strlen(text));
}

static void append_format(struct table *t, const char *format, va_list list) {
    char *text;
    int len = vasprintf(&text, format, list);
    if (len < 0) {
        t->error = -ENOMEM;
        return;
    }
    append(t, text, (size_t)len);
    free(text);
}

void table_printf(struct table *t, const char *format, ...) {
    va_list list;
    va_start(list, format);
    cell_begin(t);
    append_format(t, format, list);
    cell_end(t);
    va_end(list);
}

void table_append(struct table *t, const char *format, ...) {
    va_list list;
    va_start(list, format);
    if (!t->error) t->text.len--;
    append_format(t, format, list);
    cell_end(t);
    va_end(list);
}

void table_number(struct table *t, uint64_t value) {
    char room[24], *end = room + sizeof room;
    char *text = human_digits(end, value, 1);
    fill(t, text, (size_t)(end - text));
}

void table_seconds(struct table *t, int64_t ns) {
    char room[32], *end = room + sizeof room;
    uint64_t magnitude = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    char *text = human_digits(end, magnitude % 1000000000, 9);
    *--text = '.';
    text = human_digits(text, magnitude / 1000000000, 1);
    if (ns < 0) *--text = '-';
    fill(t, text, (size_t)(end - text));
}

void table_count(struct table *t, uint64_t count) { table_text(t, human_count(count, "").text); }

void table_number_if(struct table *t, bool known, uint64_t value) {
    known ? table_number(t, value) : table_text(t, NULL);
}

void table_bytes(struct table *t, uint64_t bytes) { table_text(t, human_bytes(bytes).text); }

void table_bandwidth(struct table *t, double bytes_per_second) {
    table_text(t, human_bandwidth(bytes_per_second).text);
}

void table_duration(struct table *t, int64_t ns) { table_text(t, human_seconds(ns).text); }

void table_percent(struct table *t, double fraction) { table_text(t, human_percent(fraction).text); }

// --- printing

struct width {
    unsigned all;
    unsigned unit; // width of the widest unit with the space before it
};

// The unit of a cell with the space before it, "" if there is none.
static const char *unit_of(const struct table_column *column, const char *text) {
    const char *space = column->kind == TABLE_UNIT ? strrchr(text, ' ') : NULL;
    return space ? space : "";
}

static void measure(const struct table *t, struct width width[MOST_COLUMNS]) {
    for (size_t c = 0; c < t->columns; c++) {
        const struct table_column *column = &t->column[c];
        unsigned number = 0, whole = t->width ? t->width[c] : utf8_columns(column->header);
        if (t->least && t->least[c] > whole) whole = t->least[c];
        for (size_t i = c; i < t->cells && !t->width; i += t->columns) {
            const char *text = (const char *)t->text.data + t->cell[i];
            unsigned all = utf8_columns(text), unit = utf8_columns(unit_of(column, text));
            if (unit > width[c].unit) width[c].unit = unit;
            if (unit && all - unit > number) number = all - unit;
            if (all > whole) whole = all;
        }
        width[c].all = number + width[c].unit > whole ? number + width[c].unit : whole;
    }
}

static unsigned gap_before(const struct table *t, size_t column) {
    if (!column) return t->indent;
    return t->width && t->column[column].kind != TABLE_NAME ? 1 : 2;
}

static bool can_be_narrow(const struct table *t, size_t column) {
    return t->column[column].kind == TABLE_NAME || (t->column[column].kind == TABLE_TEXT && column + 1 == t->columns);
}

// Makes columns narrower until the table fits the terminal.
static void narrow(const struct table *t, struct width width[MOST_COLUMNS]) {
    unsigned total = 0;
    for (size_t c = 0; c < t->columns; c++) total += gap_before(t, c) + width[c].all;
    for (size_t c = t->columns; c-- > 0 && total > t->terminal_width;) {
        if (!can_be_narrow(t, c) || width[c].all <= LEAST_NAME) continue;
        unsigned over = total - t->terminal_width, most = width[c].all - LEAST_NAME;
        unsigned less = over < most ? over : most;
        width[c].all -= less;
        total -= less;
    }
}

static void pad(FILE *out, unsigned count) {
    static const char spaces[] = "                                                                ";
    for (unsigned part; count; count -= part) {
        part = count < sizeof spaces - 1 ? count : sizeof spaces - 1;
        fwrite(spaces, 1, part, out);
    }
}

// `spaces` must still be printed before the cell. Returns those to print after it: a line never ends with spaces.
static unsigned print_cell(const struct table *t, size_t c, const struct width *width, const char *text,
                           const char *unit, unsigned spaces) {
    enum table_kind kind = t->column[c].kind;
    unsigned all = utf8_columns(text), after = *unit ? width->unit - utf8_columns(unit) : 0;
    spaces += gap_before(t, c);
    if (!all) return spaces + width->all;
    if (t->terminal_width && all > width->all) { // only what narrow() has changed
        pad(t->out, spaces);
        if (kind == TABLE_NAME) return width->all - utf8_print_short(t->out, text, width->all);
        human_words(t->out, t->terminal_width - width->all, t->terminal_width, text);
        return 0;
    }
    unsigned rest = width->all > all + after ? width->all - all - after : 0;
    bool right = kind == TABLE_NUMBER || kind == TABLE_UNIT;
    pad(t->out, spaces + (right ? rest : 0));
    fputs(text, t->out);
    return right ? after : rest;
}

static void print_header(struct table *t, const struct width width[MOST_COLUMNS]) {
    unsigned spaces = 0;
    fputs(terminal_style(t->out, STYLE_HEAD), t->out);
    for (size_t c = 0; c < t->columns; c++) spaces = print_cell(t, c, &width[c], t->column[c].header, "", spaces);
    fprintf(t->out, "%s\n", terminal_style(t->out, STYLE_NONE));
    t->has_header = true;
}

static void print_rows(struct table *t) {
    struct width width[MOST_COLUMNS] = {{0}};
    measure(t, width);
    for (size_t c = 0; t->least && c < t->columns; c++) t->least[c] = width[c].all;
    if (t->terminal_width) narrow(t, width);
    if (!t->has_header) print_header(t, width);
    for (size_t row = 0; row < t->cells; row += t->columns) {
        unsigned spaces = 0;
        for (size_t c = 0; c < t->columns; c++) {
            const char *text = (const char *)t->text.data + t->cell[row + c];
            spaces = print_cell(t, c, &width[c], text, unit_of(&t->column[c], text), spaces);
        }
        fputc('\n', t->out);
    }
    t->cells = t->text.len = 0;
}

void table_row(struct table *t) {
    while (!t->error && t->cells % t->columns) fill(t, "", 0);
    if (t->width && !t->error) print_rows(t);
    if (t->rows_at_once && t->cells >= t->rows_at_once * t->columns) table_flush(t);
}

void table_flush(struct table *t) {
    if (!t->least) t->least = calloc(MOST_COLUMNS, sizeof *t->least);
    if (!t->least && !t->error) t->error = -ENOMEM;
    if (!t->error) print_rows(t);
}

int table_end(struct table *t) {
    if (!t->error && (t->cells || !t->has_header)) print_rows(t);
    bytes_free(&t->text);
    free(t->cell);
    free(t->least);
    return t->error;
}
