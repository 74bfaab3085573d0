// Bars in the terminal, as wide as it is: one for each row, or one for each label with its series side by side.
#pragma once

#include "query/query.h"
#include "sql/sql.h"

struct query_chart {
    FILE *out;
    enum query_unit unit;
    bool is_stacked;
    // Private.
    struct chart_row *row;
    size_t rows;
};

// Gets rows with label, series and value. `out`, `unit` and `is_stacked` are set, the rest is 0.
struct sql_sink query_chart_sink(struct query_chart *chart);
// Draws and frees; only frees after an error.
int query_chart_end(struct query_chart *chart, int code);
