#include "cli/query_chart.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/human.h"
#include "base/terminal.h"
#include "base/utf8.h"

enum { DEFAULT_WIDTH = 80, LEAST_BAR = 10, MOST_LABEL = 40, MOST_SERIES = 12, EIGHTHS = 8 };

struct chart_row {
    char *label, *series;
    double value;
};

// How bars look in this terminal.
struct look {
    bool is_utf8, is_coloured;
    unsigned label, series, bar; // widths
    double most;                 // value of the longest bar
    const char *name[MOST_SERIES];
    unsigned names;
};

static const char *const ascii_fill = "#=+*o%x:~-@.";
static const char *const utf8_fill[] = {"█", "▓", "▒", "░", "▚", "▞", "▦", "▤", "▥", "▧", "▨", "▩"};
static const char *const utf8_part[EIGHTHS] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};

// --- rows

static int take_columns(void *context, const char *const *name, size_t count) {
    (void)context, (void)name;
    return count == 3 ? 0 : ERR_USAGE;
}

static char *text_of(const struct sql_value *value) {
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    if (!out) return NULL;
    human_print_name(out, value->kind == SQL_IS_TEXT ? value->text : "-");
    return fclose(out) == 0 ? text : NULL;
}

static int take_row(void *context, const struct sql_value *value, size_t count) {
    struct query_chart *chart = context;
    (void)count;
    struct chart_row row = {
        .label = text_of(&value[0]),
        .series = text_of(&value[1]),
        .value = value[2].kind == SQL_IS_INTEGER ? (double)value[2].integer
                 : value[2].kind == SQL_IS_REAL  ? value[2].real
                                                 : 0,
    };
    int code = row.label && row.series ? array_push(chart->row, chart->rows, row) : -ENOMEM;
    if (code < 0) free(row.label), free(row.series);
    return code;
}

struct sql_sink query_chart_sink(struct query_chart *chart) {
    return (struct sql_sink){chart, take_columns, take_row};
}

// --- the look

static bool is_first_of_label(const struct query_chart *chart, size_t i) {
    return i == 0 || strcmp(chart->row[i].label, chart->row[i - 1].label);
}

// Values of one bar, from row i on.
static double bar_value(const struct query_chart *chart, size_t i, size_t *end) {
    double sum = 0;
    for (*end = i; *end < chart->rows; ++*end) {
        if (*end > i && (!chart->is_stacked || is_first_of_label(chart, *end))) break;
        if (chart->row[*end].value > 0) sum += chart->row[*end].value;
    }
    return sum;
}

static unsigned series_place(struct look *look, const char *name) {
    unsigned i = 0;
    while (i < look->names && strcmp(look->name[i], name)) i++;
    if (i == MOST_SERIES) return MOST_SERIES - 1;
    if (i == look->names) look->name[look->names++] = name;
    return i;
}

static struct look look_of(const struct query_chart *chart) {
    const char *columns = getenv("COLUMNS");
    struct look look = {.is_utf8 = terminal_has_utf8(), .is_coloured = terminal_has_color(chart->out)};
    unsigned long width = terminal_width(chart->out);
    if (!width && columns) width = strtoul(columns, NULL, 10);
    if (width < 1 || width > 10000) width = DEFAULT_WIDTH;
    for (size_t i = 0, end; i < chart->rows; i++) {
        unsigned label = utf8_columns(chart->row[i].label), series = utf8_columns(chart->row[i].series);
        if (label > look.label) look.label = label;
        if (series > look.series) look.series = series;
        double value = bar_value(chart, i, &end);
        if (value > look.most) look.most = value;
        if (chart->is_stacked) series_place(&look, chart->row[i].series);
    }
    if (look.label > MOST_LABEL) look.label = MOST_LABEL;
    if (chart->is_stacked) look.series = 0;
    unsigned rest = look.label + look.series + (look.series > 0) + 14; // the value and blanks
    look.bar = width > rest + LEAST_BAR ? (unsigned)width - rest : LEAST_BAR;
    return look;
}

// --- bars

static struct human value_text(enum query_unit unit, double value) {
    struct human text;
    switch (unit) {
    case QUERY_SECONDS: return human_time(value);
    case QUERY_BYTES_PER_SECOND: return human_bandwidth(value);
    case QUERY_JOULES: snprintf(text.text, sizeof text.text, "%.3g J", value); break;
    case QUERY_CALLS: snprintf(text.text, sizeof text.text, "%.0f", value); break;
    }
    return text;
}

static void put_padded(FILE *out, const char *text, unsigned width) {
    for (unsigned used = utf8_print_short(out, text, width); used < width; used++) fputc(' ', out);
}

static void put_fill(FILE *out, const struct look *look, unsigned series, unsigned cells) {
    if (look->is_coloured) fprintf(out, "\x1b[%um", (series < 6 ? 31 : 85) + series);
    for (unsigned i = 0; i < cells; i++) {
        if (!look->is_utf8)
            fputc(ascii_fill[series], out);
        else
            fputs(utf8_fill[look->is_coloured ? 0 : series], out);
    }
}

// From `from` to `to`, parts of the longest bar. Only the end of a bar has parts of a cell.
static void put_part(FILE *out, const struct look *look, unsigned series, double from, double to, bool is_end) {
    double cells = to * look->bar;
    unsigned begin = (unsigned)(from * look->bar + 0.5);
    unsigned end = is_end && look->is_utf8 ? (unsigned)cells : (unsigned)(cells + 0.5);
    put_fill(out, look, series, end > begin ? end - begin : 0);
    bool has_eighths = is_end && look->is_utf8 && end >= begin && (series == 0 || look->is_coloured);
    if (has_eighths) fputs(utf8_part[(unsigned)((cells - end) * EIGHTHS) % EIGHTHS], out);
    if (look->is_coloured) fputs("\x1b[0m", out);
}

static void put_bar(const struct query_chart *chart, struct look *look, size_t i, size_t end, double value) {
    const struct chart_row *row = &chart->row[i];
    double from = 0, most = look->most > 0 ? look->most : 1;
    put_padded(chart->out, chart->is_stacked || is_first_of_label(chart, i) ? row->label : "", look->label);
    if (look->series) fputc(' ', chart->out);
    put_padded(chart->out, look->series ? row->series : "", look->series);
    fprintf(chart->out, "%11s ", value_text(chart->unit, chart->is_stacked ? value : row->value).text);
    for (; i < end; i++) {
        double to = from + (chart->row[i].value > 0 ? chart->row[i].value : 0);
        unsigned series = chart->is_stacked ? series_place(look, chart->row[i].series) : 0;
        put_part(chart->out, look, series, from / most, to / most, i + 1 == end);
        from = to;
    }
    fputc('\n', chart->out);
}

static void put_legend(const struct query_chart *chart, const struct look *look) {
    for (unsigned i = 0; i < look->names; i++) {
        put_fill(chart->out, look, i, 2);
        fprintf(chart->out, "%s %s%s", look->is_coloured ? "\x1b[0m" : "", look->name[i],
                i + 1 < look->names ? "   " : "\n\n");
    }
}

int query_chart_end(struct query_chart *chart, int code) {
    struct look look = look_of(chart);
    if (code == 0) put_legend(chart, &look);
    for (size_t i = 0, end; code == 0 && i < chart->rows; i = end) {
        double value = bar_value(chart, i, &end);
        put_bar(chart, &look, i, end, value);
    }
    for (size_t i = 0; i < chart->rows; i++) {
        free(chart->row[i].label);
        free(chart->row[i].series);
    }
    free(chart->row);
    return code;
}
