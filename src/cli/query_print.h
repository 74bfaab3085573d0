// The result of a question, as a table for people, as JSON or as CSV.
#pragma once

#include "base/table.h"
#include "cli/output.h"
#include "sql/sql.h"

enum query_format { QUERY_TEXT, QUERY_JSON, QUERY_CSV };

struct query_printer {
    enum query_format format;
    struct output *output;
    size_t rows;
    bool is_terminal;
    // Of tables:
    struct table_column *column;
    struct table table;
    bool *is_text; // by column: it has a value that is no number
};

// The sink of a statement. The printer must stay where it is; its format and output are set, the rest is 0.
struct sql_sink query_printer_sink(struct query_printer *printer);
// Ends the output of one statement. `code` is what the statement returned.
int query_printer_end(struct query_printer *printer, int code);
